#include "core/json.h"

#include <charconv>
#include <cstdio>
#include <stdexcept>

namespace weft::sim {
namespace {

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Json document() {
    Json value = this->value();
    space();
    if (at_ != text_.size()) fail("the end");
    return value;
  }

 private:
  [[noreturn]] void fail(const char* wanted) const {
    throw std::invalid_argument("JSON: expected " + std::string(wanted) + " at " + std::to_string(at_));
  }

  void space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) at_++;
  }

  bool take(std::string_view word) {
    space();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  Json value() {
    if (take("{")) return members();
    if (take("[")) return items();
    if (take("true")) return true;
    if (take("false")) return false;
    if (take("null")) return {};
    if (take("\"")) return string();
    double number = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), number);
    if (error != std::errc()) fail("a value");
    at_ = static_cast<size_t>(end - text_.data());
    return number;
  }

  std::string string() {
    std::string result;
    for (; at_ < text_.size() && text_[at_] != '"'; at_++) {
      if (text_[at_] == '\\') {
        if (++at_ >= text_.size()) break;
        const char code = text_[at_];
        if (code == 'u') fail("no \\u escape");
        result += code == 'n' ? '\n' : code == 't' ? '\t' : code;
      } else {
        result += text_[at_];
      }
    }
    if (!take("\"")) fail("a closing quote");
    return result;
  }

  Json items() {
    Json::Array result;
    if (take("]")) return result;
    do {
      result.push_back(value());
    } while (take(","));
    if (!take("]")) fail("]");
    return result;
  }

  Json members() {
    Json::Object result;
    if (take("}")) return result;
    do {
      if (!take("\"")) fail("a key");
      std::string key = string();
      if (!take(":")) fail(":");
      result[std::move(key)] = value();
    } while (take(","));
    if (!take("}")) fail("}");
    return result;
  }

  const std::string_view text_;
  size_t at_ = 0;
};

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

Json Json::parse(std::string_view text) { return Reader(text).document(); }

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

const Json* Json::find(const std::string& key) const {
  const auto found = object().find(key);
  return found == object().end() ? nullptr : &found->second;
}

double Json::number(const std::string& key, double fallback) const {
  const Json* found = find(key);
  return found == nullptr ? fallback : found->number();
}

std::string Json::text(const std::string& key, const std::string& fallback) const {
  const Json* found = find(key);
  return found == nullptr ? fallback : found->text();
}

bool Json::boolean(const std::string& key, bool fallback) const {
  const Json* found = find(key);
  return found == nullptr ? fallback : found->boolean();
}

void Json::fail(const char* what) { throw std::invalid_argument("JSON: expected " + std::string(what)); }

}  // namespace weft::sim
