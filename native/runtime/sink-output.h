// Outputs of a run that go to files: what JavaScript says of them (FileOutput of
// src/exec/native/native-types.ts), and writing them when the run is over.
#pragma once
#include <napi.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/host-sink.h"

namespace weft {

class Executor;

// The sinks of a list of FileOutputs, each of `byteLength` bytes. Throws a Failure that names `field` for
// anything else.
std::vector<std::shared_ptr<HostSink>> readSinks(const Napi::Value& value, size_t byteLength,
                                                 const std::string& field);

// The threads that write results to files.
Executor& fileExecutor();

// writeFiles(bytes: ArrayBuffer, files: FileOutput[]): Promise<number[]>
//
// Writes all of the bytes to each of the files. Gives their checksums, as run() does.
Napi::Value writeFiles(const Napi::CallbackInfo& info);

// reserveFile(fd: number, byteLength: number, path: string): Promise<undefined>
//
// Takes the disk's room for a file that will have this length, so that a full disk is found before anything
// is computed. Where the file system cannot, nothing happens.
Napi::Value reserveFile(const Napi::CallbackInfo& info);

}  // namespace weft
