#include "cpu/jit/narrow-value.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>

#include "cpu/element-loop.h"

namespace weft::cpu::jit {
namespace {

bool isNarrowDType(DType dtype) { return dtype == DType::boolean || dtype == DType::int32; }

// Ops that give the same numbers for int32 as for the other dtypes, where these are int32 as well.
bool isExact(std::string_view op) {
  static const auto& names = *new std::set<std::string_view>{
      "add",
      "subtract",
      "multiply",
      "square",
      "negative",
      "abs",
      "maximum",
      "minimum",
      "remainder",
      "where",
      "less",
      "lessEqual",
      "greater",
      "greaterEqual",
      "equal",
      "notEqual",
      "bitwiseAnd",
      "bitwiseOr",
      "bitwiseXor",
      "bitwiseRightShift",
      // Of whole numbers they are the numbers themselves (bounded-loop.cpp).
      "floor",
      "ceil",
      "trunc",
      "round",
      "copysign",
  };
  return names.contains(op);
}

void makeConstant(StepValue& value, int32_t number) {
  value.constant.resize(kChunk * sizeof number);
  for (int64_t lane = 0; lane < kChunk; lane++)
    std::memcpy(value.constant.data() + lane * sizeof number, &number, sizeof number);
}

}  // namespace

bool isNarrow(DType dtype, Range range) {
  return dtype == DType::boolean || range.isWholeWithin(INT32_MIN, INT32_MAX);
}

bool mayBeNarrow(const ElementLoop& loop) {
  return std::all_of(loop.values.begin(), loop.values.end(), [](const StepValue& value) {
    if (value.loop) return mayBeNarrow(*value.loop);
    if (!value.constant.empty())
      return isNarrow(value.dtype, rangeOfConstant(value.dtype, value.constant.data()));
    return value.op.empty() || isExact(value.op) || (isNarrowDType(value.dtype) && isNarrowDType(value.from));
  });
}

bool makeNarrow(StepValue& value, Range own, const std::vector<Range>& args) {
  const bool isInt32 = isNarrowDType(value.dtype) && isNarrowDType(value.from);
  if (isInt32) return true;
  if (!isNarrow(value.dtype, own) || !(value.op.empty() || isExact(value.op))) return false;
  // Masks, as those of choices, are no numbers; they are whole, too.
  if (!std::all_of(args.begin(), args.end(), [](const Range& each) { return isNarrow(DType::int32, each); }))
    return false;
  if (!value.constant.empty()) makeConstant(value, static_cast<int32_t>(own.least));
  value.dtype = narrowOf(value.dtype);
  value.from = narrowOf(value.from);
  value.byteLength = kElementBytes[static_cast<int>(value.dtype)];
  value.function = nullptr;
  return true;
}

StepValue narrowConstant(int32_t number) {
  StepValue value;
  value.dtype = DType::int32;
  value.byteLength = sizeof number;
  makeConstant(value, number);
  return value;
}

std::vector<bool> divisorsOf(const ElementLoop& loop) {
  const auto arguments = loop.argumentBytes.size();
  std::vector<bool> are(arguments + loop.values.size());
  for (size_t k = loop.values.size(); k-- > 0;) {
    const StepValue& value = loop.values[k];
    if (value.loop) {
      const std::vector<bool> inner = divisorsOf(*value.loop);
      for (size_t arg = 0; arg < inner.size(); arg++)
        if (inner[arg]) are[value.args[arg]] = true;
    } else if (value.op == "remainder") {
      are[value.args[1]] = true;
    } else if (value.constant.empty() && value.op.empty() && are[arguments + k]) {
      are[value.args[0]] = true;
    }
  }
  are.resize(arguments);
  return are;
}

}  // namespace weft::cpu::jit
