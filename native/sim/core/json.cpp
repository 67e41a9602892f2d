#include "core/json.h"

#include <charconv>
#include <cstdio>

namespace weft::sim {
namespace {

void quote(std::string& out, const std::string& text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
      out += code;
    } else {
      out += c;
    }
  }
  out += '"';
}

}  // namespace

std::string Json::print() const {
  std::string out;
  printTo(out);
  return out;
}

void Json::printTo(std::string& out) const {
  if (const bool* flag = std::get_if<bool>(&value_)) {
    out += *flag ? "true" : "false";
  } else if (const double* number = std::get_if<double>(&value_)) {
    char digits[32];
    const auto [end, error] = std::to_chars(digits, digits + sizeof digits, *number);
    out.append(digits, end);
  } else if (const std::string* text = std::get_if<std::string>(&value_)) {
    quote(out, *text);
  } else if (const Array* items = std::get_if<Array>(&value_)) {
    out += '[';
    for (size_t i = 0; i < items->size(); i++) {
      if (i > 0) out += ',';
      (*items)[i].printTo(out);
    }
    out += ']';
  } else if (const Object* members = std::get_if<Object>(&value_)) {
    out += '{';
    for (const auto& [key, value] : *members) {
      if (out.back() != '{') out += ',';
      quote(out, key);
      out += ':';
      value.printTo(out);
    }
    out += '}';
  } else {
    out += "null";
  }
}

}  // namespace weft::sim
