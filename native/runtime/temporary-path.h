// Temporary files and folders: removed when the JavaScript that writes them ends before they are complete. A
// thread that is terminated runs no handler of its own; its handles are still destroyed. `process.exit()`
// destroys no handles of the main thread: there the process's exit removes what is left, after the threads
// that open files have ended, so that nothing comes into being later.
#pragma once
#include <napi.h>

#include <string>

namespace weft {

class TemporaryPath {
 public:
  static constexpr const char* kWhat = "a temporary path";

  explicit TemporaryPath(std::string path);
  ~TemporaryPath();
  TemporaryPath(const TemporaryPath&) = delete;
  TemporaryPath& operator=(const TemporaryPath&) = delete;

  // Ends the guard; nothing is removed.
  void release();

 private:
  // Empty: it was released.
  std::string path_;
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
