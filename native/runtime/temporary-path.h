// Temporary files and folders: removed when the JavaScript that writes them ends before they are complete. A
// thread that is terminated runs no handler of its own; its handles are still destroyed.
#pragma once
#include <napi.h>

#include <string>

namespace weft {

struct TemporaryPath {
  static constexpr const char* kWhat = "a temporary path";

  explicit TemporaryPath(std::string path) : path(std::move(path)) {}
  ~TemporaryPath();
  TemporaryPath(const TemporaryPath&) = delete;
  TemporaryPath& operator=(const TemporaryPath&) = delete;

  // Empty: there is nothing to remove.
  std::string path;
};

// guardPath(path: string): object
Napi::Value guardPath(const Napi::CallbackInfo& info);
// releasePath(handle: object): void
Napi::Value releasePath(const Napi::CallbackInfo& info);

// exchangePaths(one: string, other: string): Promise<boolean>
//
// Gives each of two files or folders the other's name, at once. False: the system or the file system cannot.
Napi::Value exchangePaths(const Napi::CallbackInfo& info);

}  // namespace weft
