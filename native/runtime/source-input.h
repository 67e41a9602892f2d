// Inputs of a run that JavaScript describes instead of handing over memory: regions of files, arrays in
// several pieces, and readers (FileInput, ChunkedInput and ReaderInput of src/exec/native/native-types.ts).
#pragma once
#include <napi.h>

#include <memory>
#include <string>

#include "runtime/host-source.h"

namespace weft {

// The source that an object describes. Throws a Failure that names `field` for anything else. The memory of
// pieces is the caller's to keep.
std::unique_ptr<HostSource> readHostInput(const Napi::Value& value, const std::string& field);

}  // namespace weft
