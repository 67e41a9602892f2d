#include "runtime/cancel.h"

#include "runtime/values.h"

namespace weft {

Napi::Value createCancel(const Napi::CallbackInfo& info) {
  return values::makeHandle(info.Env(), std::make_unique<Cancel>());
}

Napi::Value cancel(const Napi::CallbackInfo& info) {
  values::handle<Cancel>(info[0], "token").flag->store(true);
  return info.Env().Undefined();
}

Napi::Value tilesDone(const Napi::CallbackInfo& info) {
  const int64_t tiles = values::handle<Cancel>(info[0], "token").tiles->load(std::memory_order_relaxed);
  return Napi::Number::New(info.Env(), static_cast<double>(tiles));
}

void checkCancelled(const CancelFlag& flag) {
  if (flag.load(std::memory_order_relaxed)) throwCancelled();
}

void throwCancelled() { throw Failure(FailureCode::aborted, "the run was aborted"); }

}  // namespace weft
