#include "runtime/temporary-path.h"

#include <filesystem>

#include "runtime/environment.h"
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

}  // namespace

// Nobody is left to tell of a failure; most often there is nothing any more.
TemporaryPath::~TemporaryPath() {
  std::error_code ignored;
  if (!path.empty()) std::filesystem::remove_all(path, ignored);
}

Napi::Value guardPath(const Napi::CallbackInfo& info) {
  return values::makeHandle(info.Env(), std::make_unique<TemporaryPath>(values::text(info[0], "path")));
}

Napi::Value releasePath(const Napi::CallbackInfo& info) {
  values::handle<TemporaryPath>(info[0], "handle").path.clear();
  return info.Env().Undefined();
}

Napi::Value exchangePaths(const Napi::CallbackInfo& info) {
  const auto task =
      std::make_shared<ExchangeTask>(values::text(info[0], "one"), values::text(info[1], "other"));
  return Environment::of(info.Env()).start(info.Env(), task, fileExecutor());
}

}  // namespace weft
