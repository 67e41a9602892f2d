// Temporary files: removed when the JavaScript that writes them ends before they are complete. A thread that
// is terminated runs no handler of its own; its handles are still destroyed.
#pragma once
#include <napi.h>

#include <string>

namespace weft {

struct TemporaryFile {
  static constexpr const char* kWhat = "a temporary file";

  explicit TemporaryFile(std::string path) : path(std::move(path)) {}
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  // Empty: there is nothing to remove.
  std::string path;
};

// guardFile(path: string): object
Napi::Value guardFile(const Napi::CallbackInfo& info);
// releaseFile(handle: object): void
Napi::Value releaseFile(const Napi::CallbackInfo& info);

}  // namespace weft
