#include "runtime/temporary-path.h"

#include <filesystem>
#include <mutex>
#include <set>

#include "runtime/environment.h"
#include "runtime/executor.h"
#include "runtime/file.h"
#include "runtime/sink-output.h"
#include "runtime/values.h"

namespace weft {
namespace {

class ExchangeTask : public NativeTask {
 public:
  ExchangeTask(std::string one, std::string other) : one_(std::move(one)), other_(std::move(other)) {}
  void run() override { isDone_ = exchange(one_, other_); }
  Napi::Value result(Napi::Env env) override { return Napi::Boolean::New(env, isDone_); }

 private:
  const std::string one_;
  const std::string other_;
  bool isDone_ = false;
};

// Nobody is left to tell of a failure; most often there is nothing any more.
void removeIfPresent(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

// The paths that are guarded, of all threads.
class Guarded {
 public:
  void add(const std::string& path) {
    const std::lock_guard lock(mutex_);
    paths_.insert(path);
  }
  void drop(const std::string& path) {
    const std::lock_guard lock(mutex_);
    paths_.erase(path);
  }
  void removeAll() {
    const std::lock_guard lock(mutex_);
    for (const std::string& path : paths_) removeIfPresent(path);
    paths_.clear();
  }

 private:
  std::mutex mutex_;
  std::set<std::string> paths_;
};

// Never destroyed: the process's exit looks at it.
Guarded& guarded() {
  static Guarded& it = *new Guarded();
  return it;
}

}  // namespace

TemporaryPath::TemporaryPath(std::string path) : path_(std::move(path)) {
  static std::once_flag once;
  std::call_once(once, [] { quietAtExit([] { guarded().removeAll(); }); });
  guarded().add(path_);
}

TemporaryPath::~TemporaryPath() {
  if (path_.empty()) return;
  removeIfPresent(path_);
  release();
}

void TemporaryPath::release() {
  guarded().drop(path_);
  path_.clear();
}

Napi::Value guardPath(const Napi::CallbackInfo& info) {
  return values::makeHandle(info.Env(), std::make_unique<TemporaryPath>(values::text(info[0], "path")));
}

Napi::Value releasePath(const Napi::CallbackInfo& info) {
  values::handle<TemporaryPath>(info[0], "handle").release();
  return info.Env().Undefined();
}

Napi::Value exchangePaths(const Napi::CallbackInfo& info) {
  const auto task =
      std::make_shared<ExchangeTask>(values::text(info[0], "one"), values::text(info[1], "other"));
  return Environment::of(info.Env()).start(info.Env(), task, fileExecutor());
}

}  // namespace weft
