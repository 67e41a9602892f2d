// Json: the little of JSON that settings, fault plans and reports need.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace weft::sim {

class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::map<std::string, Json>;

  Json() : value_(nullptr) {}
  Json(bool value) : value_(value) {}
  Json(double value) : value_(value) {}
  Json(std::string value) : value_(std::move(value)) {}
  Json(const char* value) : value_(std::string(value)) {}
  Json(Array value) : value_(std::move(value)) {}
  Json(Object value) : value_(std::move(value)) {}

  // Throws std::invalid_argument for text that is no JSON.
  static Json parse(std::string_view text);
  std::string print() const;

  // The value as its type; throws std::invalid_argument for another.
  bool boolean() const { return as<bool>("a boolean"); }
  double number() const { return as<double>("a number"); }
  const std::string& text() const { return as<std::string>("a string"); }
  const Array& array() const { return as<Array>("an array"); }
  const Object& object() const { return as<Object>("an object"); }

  // A member of an object; null where it has none.
  const Json* find(const std::string& key) const;
  double number(const std::string& key, double fallback) const;
  std::string text(const std::string& key, const std::string& fallback) const;
  bool boolean(const std::string& key, bool fallback) const;

 private:
  template <typename T>
  const T& as(const char* what) const {
    if (const T* found = std::get_if<T>(&value_)) return *found;
    fail(what);
  }
  [[noreturn]] static void fail(const char* what);
  void printTo(std::string& out) const;

  std::variant<std::nullptr_t, bool, double, std::string, Array, Object> value_;
};

}  // namespace weft::sim
