// Reading JavaScript values strictly: a value of another type or range is an error that names the field.
//
// Also `guarded`, which every exported function goes through, and handles: values that own a native object.
// JavaScript thread only.
#pragma once
#include <napi.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/failure.h"
#include "runtime/process.h"
#include "shared/layout.h"

namespace weft::values {

inline constexpr int64_t kMaxSafeInteger = (int64_t{1} << 53) - 1;

// Throws a Failure for an argument: "[weft] expected <field> to be <what>".
[[noreturn]] void reject(const std::string& field, const std::string& what);

// "<list>[<i>]", an item of a list in the name of a field.
std::string item(const std::string& list, size_t i);

Napi::Object object(const Napi::Value& value, const std::string& field);
Napi::Array array(const Napi::Value& value, const std::string& field);
std::string text(const Napi::Value& value, const std::string& field);
// Whether a value is a number that is an integer in [low, high], which it gives then.
bool tryInteger(const Napi::Value& value, int64_t low, int64_t high, int64_t& integer);
// The same, or an error.
int64_t integer(const Napi::Value& value, const std::string& field, int64_t low = 0,
                int64_t high = kMaxSafeInteger);
// Bytes of values whose bytes are to be turned round: 2, 4 or 8, or 0 for none.
size_t wordByteLength(const Napi::Value& value, const std::string& field);
// A dtype that matrix products take.
DType productDType(const Napi::Value& value, const std::string& field);
// The bytes of a Uint8Array, copied.
std::vector<uint8_t> bytes(const Napi::Value& value, const std::string& field);
std::vector<std::string> texts(const Napi::Value& value, const std::string& field);

template <Napi::Value (*F)(const Napi::CallbackInfo&)>
Napi::Value guarded(const Napi::CallbackInfo& info) {
  try {
    checkNotForked();
    return F(info);
  } catch (...) {
    throw toError(info.Env(), std::current_exception());
  }
}

// The type of a handle's object, by the address of this object, of which there is one for each T. Not const:
// constants of one value may share an address, and so may equal string literals, or not.
template <typename T>
inline char typeTag;

// The start of every handle's box, so that its type is known before it is taken for a Boxed<T>.
struct Box {
  const void* const type;
};

template <typename T>
struct Boxed : Box {
  explicit Boxed(std::unique_ptr<T> owned) : Box{&typeTag<T>}, owned(std::move(owned)) {}
  const std::unique_ptr<T> owned;
};

// An external value that owns a T, which has a `static constexpr const char* kWhat`, its name in messages.
// The collector deletes the T. Externals come from here alone: src/exec/native/native.ts hands none of others
// on.
template <typename T>
Napi::Value makeHandle(Napi::Env env, std::unique_ptr<T> owned) {
  auto box = std::make_unique<Boxed<T>>(std::move(owned));
  napi_value value = nullptr;
  const auto release = [](napi_env, void* data, void*) {
    if (!isForked()) delete static_cast<Boxed<T>*>(static_cast<Box*>(data));
  };
  if (napi_create_external(env, static_cast<Box*>(box.get()), release, nullptr, &value) != napi_ok) {
    throw Failure(FailureCode::internal, "napi_create_external failed");
  }
  static_cast<void>(box.release());
  return {env, value};
}

// The T of a handle; null for another value.
template <typename T>
T* tryHandle(const Napi::Value& value) {
  void* data = nullptr;
  // Fails for what is no external.
  if (napi_get_value_external(value.Env(), value, &data) != napi_ok || data == nullptr) return nullptr;
  const auto* box = static_cast<const Box*>(data);
  return box->type == &typeTag<T> ? static_cast<const Boxed<T>*>(box)->owned.get() : nullptr;
}

template <typename T>
T& handle(const Napi::Value& value, const std::string& field) {
  T* found = tryHandle<T>(value);
  if (found == nullptr) reject(field, T::kWhat);
  return *found;
}

}  // namespace weft::values
