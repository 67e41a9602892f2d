#include "runtime/temporary-file.h"

#include <unistd.h>

#include "runtime/values.h"

namespace weft {

// Nobody is left to tell of a failure; most often the file is gone already.
TemporaryFile::~TemporaryFile() {
  if (!path.empty()) static_cast<void>(unlink(path.c_str()));
}

Napi::Value guardFile(const Napi::CallbackInfo& info) {
  return values::makeHandle(info.Env(), std::make_unique<TemporaryFile>(values::text(info[0], "path")));
}

Napi::Value releaseFile(const Napi::CallbackInfo& info) {
  values::handle<TemporaryFile>(info[0], "handle").path.clear();
  return info.Env().Undefined();
}

}  // namespace weft
