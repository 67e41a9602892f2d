// Reading JavaScript values strictly: a value of another type or range is an error that names the field.
//
// Also `guarded`, which every exported function goes through, and handles: JavaScript objects that own a
// native object and are told apart by a type tag. JavaScript thread only.
#pragma once
#include <napi.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/failure.h"

namespace weft::values {

inline constexpr int64_t kMaxSafeInteger = (int64_t{1} << 53) - 1;

// Throws a Failure for an argument: "[weft] expected <field> to be <what>".
[[noreturn]] void reject(const std::string& field, const std::string& what);

Napi::Object object(const Napi::Value& value, const std::string& field);
Napi::Array array(const Napi::Value& value, const std::string& field);
std::string text(const Napi::Value& value, const std::string& field);
// A number that is an integer in [low, high].
int64_t integer(const Napi::Value& value, const std::string& field, int64_t low = 0,
                int64_t high = kMaxSafeInteger);
// The bytes of a Uint8Array, copied.
std::vector<uint8_t> bytes(const Napi::Value& value, const std::string& field);
std::vector<std::string> texts(const Napi::Value& value, const std::string& field);

template <Napi::Value (*F)(const Napi::CallbackInfo&)>
Napi::Value guarded(const Napi::CallbackInfo& info) {
  try {
    return F(info);
  } catch (...) {
    throw toError(info.Env(), std::current_exception());
  }
}

// An object that owns a T, which has a `static constexpr napi_type_tag kTag`. The collector deletes the T.
template <typename T>
Napi::Object makeHandle(Napi::Env env, std::unique_ptr<T> owned) {
  Napi::Object object = Napi::Object::New(env);
  object.TypeTag(&T::kTag);
  napi_status status = napi_wrap(
      env, object, owned.get(), [](napi_env, void* data, void*) { delete static_cast<T*>(data); }, nullptr,
      nullptr);
  if (status != napi_ok) throw Failure(FailureCode::internal, "napi_wrap failed");
  owned.release();
  return object;
}

template <typename T>
T* tryHandle(const Napi::Value& value) {
  if (!value.IsObject() || !value.As<Napi::Object>().CheckTypeTag(&T::kTag)) return nullptr;
  void* data = nullptr;
  if (napi_unwrap(value.Env(), value, &data) != napi_ok) return nullptr;
  return static_cast<T*>(data);
}

template <typename T>
T& handle(const Napi::Value& value, const std::string& field) {
  T* found = tryHandle<T>(value);
  if (found == nullptr) reject(field, T::kWhat);
  return *found;
}

}  // namespace weft::values
