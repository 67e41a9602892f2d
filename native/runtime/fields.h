// Fields: an object from JavaScript, read field by field as strictly as runtime/values.h reads values. An
// error names the field by its path, which is made for errors alone.
#pragma once
#include <napi.h>

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "runtime/values.h"

namespace weft {

class Fields {
 public:
  // `path` is the object's name in errors; that of an argument whose fields go by their own names is empty.
  Fields(const Napi::Value& value, std::string path);

  // Whether the field is there and not undefined.
  bool has(const char* name) const { return !object_.Get(name).IsUndefined(); }
  Napi::Value value(const char* name) const { return object_.Get(name); }
  const std::string& path() const { return path_; }
  std::string path(const char* name) const { return path_.empty() ? name : path_ + "." + name; }
  [[noreturn]] void reject(const char* name, const std::string& what) const {
    values::reject(path(name), what);
  }

  // An integer in [low, high].
  int64_t integer(const char* name, int64_t low = 0, int64_t high = values::kMaxSafeInteger) const;
  // As JavaScript takes the value for a condition: false where there is none.
  bool flag(const char* name) const { return object_.Get(name).ToBoolean(); }
  std::string text(const char* name) const { return values::text(value(name), path(name)); }
  std::vector<uint8_t> bytes(const char* name) const { return values::bytes(value(name), path(name)); }
  Fields object(const char* name) const { return {value(name), path(name)}; }
  // Reads an array by `read(value, path)`, which is called for each item: the list of its results, if it has
  // any.
  template <typename Read>
  auto list(const char* name, Read read) const {
    using Item = std::invoke_result_t<Read, Napi::Value, std::string>;
    const Napi::Array items = values::array(value(name), path(name));
    if constexpr (std::is_void_v<Item>) {
      eachItem(items, name, read);
    } else {
      std::vector<Item> result;
      result.reserve(items.Length());
      eachItem(items, name,
               [&](const Napi::Value& item, const std::string& path) { result.push_back(read(item, path)); });
      return result;
    }
  }
  std::vector<int64_t> integers(const char* name, int64_t low = 0) const;

 private:
  template <typename Read>
  void eachItem(const Napi::Array& items, const char* name, Read read) const {
    for (uint32_t i = 0; i < items.Length(); i++) {
      const Napi::HandleScope scope(items.Env());
      read(items.Get(i), values::item(path(name), i));
    }
  }

  Napi::Object object_;
  std::string path_;
};

}  // namespace weft
