#include "runtime/values.h"

#include <cmath>

namespace weft::values {

void reject(const std::string& field, const std::string& what) {
  throw Failure(FailureCode::argument, "[weft] expected " + field + " to be " + what);
}

std::string item(const std::string& list, size_t i) { return list + "[" + std::to_string(i) + "]"; }

Napi::Object object(const Napi::Value& value, const std::string& field) {
  if (!value.IsObject()) reject(field, "an object");
  return value.As<Napi::Object>();
}

Napi::Array array(const Napi::Value& value, const std::string& field) {
  if (!value.IsArray()) reject(field, "an array");
  return value.As<Napi::Array>();
}

std::string text(const Napi::Value& value, const std::string& field) {
  if (!value.IsString()) reject(field, "a string");
  return value.As<Napi::String>().Utf8Value();
}

bool tryInteger(const Napi::Value& value, int64_t low, int64_t high, int64_t& integer) {
  if (!value.IsNumber()) return false;
  const double number = value.As<Napi::Number>().DoubleValue();
  if (!(number >= static_cast<double>(low) && number <= static_cast<double>(high))) return false;
  if (number != std::floor(number)) return false;
  integer = static_cast<int64_t>(number);
  return true;
}

int64_t integer(const Napi::Value& value, const std::string& field, int64_t low, int64_t high) {
  int64_t found = 0;
  if (!tryInteger(value, low, high, found))
    reject(field, "an integer from " + std::to_string(low) + " to " + std::to_string(high));
  return found;
}

size_t wordByteLength(const Napi::Value& value, const std::string& field) {
  const int64_t word = integer(value, field, 0, 8);
  if (word != 0 && word != 2 && word != 4 && word != 8) reject(field, "0, 2, 4 or 8");
  return static_cast<size_t>(word);
}

DType productDType(const Napi::Value& value, const std::string& field) {
  return static_cast<DType>(integer(value, field, static_cast<int>(DType::float16), kDTypes - 1));
}

std::vector<uint8_t> bytes(const Napi::Value& value, const std::string& field) {
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != napi_uint8_array) {
    reject(field, "a Uint8Array");
  }
  const Napi::Uint8Array view = value.As<Napi::Uint8Array>();
  return {view.Data(), view.Data() + view.ByteLength()};
}

std::vector<std::string> texts(const Napi::Value& value, const std::string& field) {
  const Napi::Array list = array(value, field);
  std::vector<std::string> result;
  result.reserve(list.Length());
  for (uint32_t i = 0; i < list.Length(); i++) {
    result.push_back(text(list.Get(i), item(field, i)));
  }
  return result;
}

}  // namespace weft::values
