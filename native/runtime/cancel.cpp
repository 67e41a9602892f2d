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

void checkCancelled(const CancelFlag& flag) {
  if (flag.load(std::memory_order_relaxed)) throw Failure(FailureCode::aborted, "the run was aborted");
}

}  // namespace weft
