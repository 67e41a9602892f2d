// Cancel: a token that stops the runs it is given to, between their steps and inside long CPU steps.
#pragma once
#include <napi.h>

#include <atomic>
#include <memory>

namespace weft {

using CancelFlag = std::atomic<bool>;

struct Cancel {
  static constexpr const char* kWhat = "a cancel token";
  std::shared_ptr<CancelFlag> flag = std::make_shared<CancelFlag>(false);
};

// createCancel(): object
Napi::Value createCancel(const Napi::CallbackInfo& info);
// cancel(token: object): void
Napi::Value cancel(const Napi::CallbackInfo& info);

// Throws the failure of an aborted run if the flag is set.
void checkCancelled(const CancelFlag& flag);

}  // namespace weft
