// HeldReference: a reference to a JavaScript value in an object that ends on any thread. It is dropped on the
// JavaScript thread soon after, or never, where that is going away: the engine frees the value with
// everything else.
#pragma once
#include <napi.h>

#include <functional>
#include <memory>
#include <utility>

#include "runtime/environment.h"

namespace weft {

template <typename Reference>
class HeldReference {
 public:
  // On the JavaScript thread.
  template <typename Value>
  explicit HeldReference(const Value& value)
      : call_(Environment::of(value.Env()).caller()),
        held_(std::make_shared<Reference>(Napi::Persistent(value))) {}
  HeldReference(const HeldReference&) = delete;
  HeldReference& operator=(const HeldReference&) = delete;

  // Once, on any thread: `last` is called with the reference on the JavaScript thread before it goes.
  void drop(const std::function<void(Reference&)>& last) {
    Reference* const reference = held_.get();
    const bool isCalled = call_([last, held = std::move(held_)](Napi::Env) mutable {
      last(*held);
      held.reset();
    });
    if (!isCalled) reference->SuppressDestruct();
  }

 private:
  const CallOnJavaScript call_;
  std::shared_ptr<Reference> held_;
};

}  // namespace weft
