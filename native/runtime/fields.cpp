#include "runtime/fields.h"

namespace weft {

Fields::Fields(const Napi::Value& value, std::string path) : path_(std::move(path)) {
  object_ = values::object(value, path_.empty() ? "the argument" : path_);
}

int64_t Fields::integer(const char* name, int64_t low, int64_t high) const {
  const Napi::Value found = value(name);
  int64_t number = 0;
  if (values::tryInteger(found, low, high, number)) return number;
  return values::integer(found, path(name), low, high);
}

std::vector<int64_t> Fields::integers(const char* name, int64_t low) const {
  return list(name, [low](const Napi::Value& item, const std::string& path) {
    return values::integer(item, path, low);
  });
}

}  // namespace weft
