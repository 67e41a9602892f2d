#include "shared/constants.h"

#include <cctype>
#include <string>
#include <utility>
#include <vector>

#include "shared/layout.h"

namespace weft {
namespace {

using Names = std::vector<const char*>;

#define WEFT_TEXT(enumerator, text, ...) text,
#define WEFT_FIELD(type, name) {#name, #type},
#define WEFT_PARTIAL(name, ...) {#name, {__VA_ARGS__}},

// kMostStreams is MOST_STREAMS, kMaxGridYZ is MAX_GRID_YZ.
std::string upperCase(const std::string& name) {
  std::string upper;
  for (size_t i = 1; i < name.size(); i++) {
    const auto letter = static_cast<unsigned char>(name[i]);
    const bool isWord =
        i > 1 && std::isupper(letter) && std::islower(static_cast<unsigned char>(name[i - 1]));
    if (isWord) upper += '_';
    upper += static_cast<char>(std::toupper(letter));
  }
  return upper;
}

class Constants {
 public:
  explicit Constants(Napi::Env env) : env_(env), all_(Napi::Array::New(env)) {}

  void value(const std::string& name, const char* about, Napi::Value value) {
    Napi::Object entry = Napi::Object::New(env_);
    entry.Set("name", name);
    entry.Set("about", about);
    entry.Set("value", value);
    all_.Set(all_.Length(), entry);
  }
  template <typename T>
  void list(const char* name, const char* about, const T& items) {
    value(name, about, arrayOf(items));
  }
  // The position of each name.
  void positions(const char* name, const char* about, const Names& names) {
    Napi::Object result = Napi::Object::New(env_);
    for (size_t i = 0; i < names.size(); i++) result.Set(names[i], static_cast<double>(i));
    value(name, about, result);
  }
  void number(const char* name, double number, const char* about) {
    value(upperCase(name), about, Napi::Number::New(env_, number));
  }
  template <typename T>
  Napi::Array arrayOf(const T& items) {
    Napi::Array array = Napi::Array::New(env_);
    for (const auto& one : items) array.Set(array.Length(), one);
    return array;
  }
  Napi::Array all() const { return all_; }

 private:
  Napi::Env env_;
  Napi::Array all_;
};

void addLists(Constants& to) {
  to.list("DTYPES", "Every dtype, in promotion order within its kind. The position is its code.",
          Names{WEFT_DTYPES(WEFT_TEXT)});
  to.list("DTYPE_BYTES", "Bytes of an element of each.", kElementBytes);
  to.positions("OPCODE", "First word of an instruction of a tape.", {WEFT_OPCODES(WEFT_NAME)});
  to.positions("LOOP_ROLE", "Roles of a tape's loops: the axes that they walk.",
               {WEFT_LOOP_ROLES(WEFT_NAME)});
  to.positions("LANE_KIND", "Axes that a block's lanes lie on.", {WEFT_LANE_KINDS(WEFT_NAME)});
  to.positions("LANE_MODE", "How an affine function changes from lane to lane.",
               {WEFT_LANE_MODES(WEFT_NAME)});
  to.positions("OUTSIDE", "The value of a load outside of a bound.", {WEFT_OUTSIDES(WEFT_NAME)});
  to.positions("STORAGE", "Where a tape keeps a value.", {WEFT_STORAGES(WEFT_NAME)});
  to.positions("CHAIN_OPERAND", "Operands of a chain's steps.", {WEFT_CHAIN_OPERANDS(WEFT_NAME)});
  to.positions("WINDOW", "Numbers of a window of a sweep, for each tile.", {WEFT_WINDOW(WEFT_NAME)});
  to.positions("RANGE", "Numbers of what a step of a sweep runs, for each tile.", {WEFT_RANGE(WEFT_NAME)});
  to.positions("SPAN", "Numbers of a span of a timeline.", {WEFT_SPAN(WEFT_NAME)});
  to.positions("SAMPLE", "Numbers of a sample of memory in a timeline.", {WEFT_SAMPLE(WEFT_NAME)});
  to.list("NATIVE_SPAN_KINDS", "Kinds of spans of native work.", Names{WEFT_SPAN_KINDS(WEFT_TEXT)});
  to.list("BUFFER_ROLES", "Roles of a program's buffers.", Names{WEFT_BUFFER_ROLES(WEFT_NAME)});
  to.list("LAUNCH_ARGUMENTS", "The property of a launch's argument that says which it is.",
          Names{WEFT_LAUNCH_ARGUMENTS(WEFT_NAME)});
}

void addTables(Constants& to, Napi::Env env) {
  Napi::Object record = Napi::Object::New(env);
  for (const auto& [name, type] :
       std::vector<std::pair<const char*, const char*>>{WEFT_LOOP_RECORD(WEFT_FIELD)})
    record.Set(name, type);
  to.value("LOOP_RECORD", "Fields, with their types, of what counts a loop's steps on a GPU.", record);
  Napi::Object partial = Napi::Object::New(env);
  for (const auto& [name, counts] :
       std::vector<std::pair<const char*, std::vector<int>>>{WEFT_PARTIAL_RESULTS(WEFT_PARTIAL)})
    partial.Set(name, to.arrayOf(counts));
  to.value("PARTIAL_RESULTS",
           "Values of a partial result: of the argument's dtype, its component's, the result's.", partial);
}

}  // namespace

Napi::Value constants(const Napi::CallbackInfo& info) {
  Constants to(info.Env());
  addLists(to);
  addTables(to, info.Env());
  to.number("kWindowFields", kWindowFields, "How many those of a window are.");
  to.number("kRangeFields", kRangeFields, "How many those of a range are.");
  to.number("kSpanFields", kSpanFields, "How many those of a span are.");
  to.number("kSampleFields", kSampleFields, "How many those of a sample are.");
  to.number("kLoopRecordBytes", kLoopRecordBytes, "Bytes of a loop's record.");
#define WEFT_ADD_NUMBER(type, name, value, about) to.number(#name, static_cast<double>(name), about);
  WEFT_NUMBERS(WEFT_ADD_NUMBER)
  return to.all();
}

}  // namespace weft
