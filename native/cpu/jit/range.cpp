#include "cpu/jit/range.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>

namespace weft::cpu::jit {
namespace {

using Wide = __int128;

// Up to which floats hold every whole number.
int64_t mostExact(DType dtype) { return dtype == DType::float32 ? kMostSingle : int64_t{1} << 53; }

using Arguments = const Range*;
// `dtype`: of the result, which is that of the arguments but for comparisons.
using Rule = Range (*)(DType dtype, Arguments args);

Range add(DType dtype, Arguments a) {
  return held(dtype, a[0].isWhole && a[1].isWhole, Wide{a[0].least} + a[1].least,
              Wide{a[0].most} + a[1].most);
}
Range subtract(DType dtype, Arguments a) {
  return held(dtype, a[0].isWhole && a[1].isWhole, Wide{a[0].least} - a[1].most,
              Wide{a[0].most} - a[1].least);
}
// Of floats, a product of 0 and a negative number is -0.
Range multiply(DType dtype, Arguments a) {
  const auto isPositive = [&](int k) { return a[k].least >= 0; };
  if (isFloat(dtype) && !(isPositive(0) && isPositive(1))) return rangeOf(dtype);
  const Wide products[] = {Wide{a[0].least} * a[1].least, Wide{a[0].least} * a[1].most,
                           Wide{a[0].most} * a[1].least, Wide{a[0].most} * a[1].most};
  return held(dtype, a[0].isWhole && a[1].isWhole, *std::min_element(products, products + 4),
              *std::max_element(products, products + 4));
}
Range negative(DType dtype, Arguments a) {
  if (isFloat(dtype) && a[0].least <= 0 && a[0].most >= 0) return rangeOf(dtype);
  return held(dtype, a[0].isWhole, -Wide{a[0].most}, -Wide{a[0].least});
}
Range absolute(DType dtype, Arguments a) {
  const Wide least = a[0].least, most = a[0].most;
  return held(dtype, a[0].isWhole, std::max<Wide>({0, least, -most}), std::max(-least, most));
}
Range square(DType dtype, Arguments a) {
  const Range magnitude = absolute(dtype, a), both[] = {magnitude, magnitude};
  return magnitude.isKnown ? multiply(dtype, both) : magnitude;
}
Range maximum(DType dtype, Arguments a) {
  return held(dtype, a[0].isWhole && a[1].isWhole, std::max(a[0].least, a[1].least),
              std::max(a[0].most, a[1].most));
}
Range minimum(DType dtype, Arguments a) {
  return held(dtype, a[0].isWhole && a[1].isWhole, std::min(a[0].least, a[1].least),
              std::min(a[0].most, a[1].most));
}
// A fraction's bounds are whole numbers around it; negative ones might be rounded up to -0.
Range rounded(DType dtype, Arguments a) {
  if (!a[0].isWhole && a[0].least < 0) return rangeOf(dtype);
  return {true, true, a[0].least, a[0].most};
}
Range divide(DType dtype, Arguments a) {
  if (a[1].least < 1 || a[0].least < 0) return rangeOf(dtype);
  return {true, false, a[0].least / a[1].most, a[0].most / a[1].least + 1};
}
// Of floats by 0 it is a NaN, and of a multiple of a negative divisor -0; of integers by 0 it is 0.
Range remainder(DType dtype, Arguments a) {
  if (!a[0].isWhole || !a[1].isWhole || a[1].least < (isFloat(dtype) ? 1 : 0)) return rangeOf(dtype);
  const int64_t most = std::max<int64_t>(0, a[1].most - 1);
  return wholeRange(0, a[0].least >= 0 ? std::min(most, a[0].most) : most);
}
Range copySign(DType dtype, Arguments a) {
  return a[0].least >= 0 && a[1].least >= 0 ? a[0] : rangeOf(dtype);
}
Range bitAnd(DType dtype, Arguments a) {
  if (a[0].least < 0 && a[1].least < 0) return rangeOf(dtype);
  if (a[0].least < 0 || a[1].least < 0) return wholeRange(0, a[0].least < 0 ? a[1].most : a[0].most);
  return wholeRange(0, std::min(a[0].most, a[1].most));
}
// Of or and exclusive or: no bit above those of both.
Range bitsOf(DType dtype, Arguments a) {
  if (a[0].least < 0 || a[1].least < 0) return rangeOf(dtype);
  const auto most = static_cast<uint64_t>(a[0].most | a[1].most);
  return wholeRange(0, most == 0 ? 0 : static_cast<int64_t>(~uint64_t{0} >> std::countl_zero(most)));
}
Range shiftRight(DType dtype, Arguments a) {
  return a[0].least < 0 ? rangeOf(dtype) : wholeRange(0, a[0].most);
}
Range choose(DType, Arguments a) {
  if (a[0].isOne(0)) return a[2];
  return a[0].isOne(1) ? a[1] : join(a[1], a[2]);
}

// ------------------------------------------------------------------------------------- booleans, 0 and 1

Range truth(bool isTrue, bool isFalse) { return wholeRange(isTrue ? 1 : 0, isFalse ? 0 : 1); }

Range less(DType, Arguments a) { return truth(a[0].most < a[1].least, a[0].least >= a[1].most); }
Range lessEqual(DType, Arguments a) { return truth(a[0].most <= a[1].least, a[0].least > a[1].most); }
Range greater(DType dtype, Arguments a) {
  const Range swapped[] = {a[1], a[0]};
  return less(dtype, swapped);
}
Range greaterEqual(DType dtype, Arguments a) {
  const Range swapped[] = {a[1], a[0]};
  return lessEqual(dtype, swapped);
}
Range equal(DType, Arguments a) {
  const bool isApart = a[0].most < a[1].least || a[1].most < a[0].least;
  return truth(a[0].least == a[0].most && a[1] == a[0], isApart);
}
Range logicalNot(DType, Arguments a) { return wholeRange(1 - a[0].most, 1 - a[0].least); }
Range notEqual(DType dtype, Arguments a) {
  const Range same = equal(dtype, a);
  return logicalNot(dtype, &same);
}

const std::map<std::string_view, Rule>& rules() {
  static const auto& table = *new std::map<std::string_view, Rule>{
      {"add", add},
      {"subtract", subtract},
      {"multiply", multiply},
      {"square", square},
      {"negative", negative},
      {"abs", absolute},
      {"maximum", maximum},
      {"minimum", minimum},
      {"floor", rounded},
      {"ceil", rounded},
      {"trunc", rounded},
      {"round", rounded},
      {"remainder", remainder},
      {"copysign", copySign},
      {"bitwiseAnd", bitAnd},
      {"bitwiseOr", bitsOf},
      {"bitwiseXor", bitsOf},
      {"bitwiseRightShift", shiftRight},
      {"less", less},
      {"lessEqual", lessEqual},
      {"greater", greater},
      {"greaterEqual", greaterEqual},
      {"equal", equal},
      {"notEqual", notEqual},
      {"logicalAnd", minimum},
      {"logicalOr", maximum},
      {"logicalNot", logicalNot},
  };
  return table;
}

// Integers wrap; floats are truncated, and negative fractions may be rounded to -0.
Range cast(DType to, Range from) {
  if (to == DType::boolean) return truth(from.least > 0 || from.most < 0, from.isOne(0));
  if (!isFloat(to)) return held(to, true, from.least, from.most);
  return from.isWhole || from.least >= 0 ? held(to, from.isWhole, from.least, from.most) : rangeOf(to);
}

}  // namespace

Range wholeRange(int64_t least, int64_t most) { return {true, true, least, most}; }

Range held(DType dtype, bool isWhole, Wide least, Wide most) {
  const Range all = rangeOf(dtype);
  const Wide exact = mostExact(dtype);
  const bool isHeld = isFloat(dtype) ? -exact <= least && most <= exact
                                     : all.isKnown && all.least <= least && most <= all.most;
  if (!isHeld) return all;
  return {true, isWhole, static_cast<int64_t>(least), static_cast<int64_t>(most)};
}

Range rangeOf(DType dtype) {
  switch (dtype) {
    case DType::boolean:
      return wholeRange(0, 1);
    case DType::int32:
      return wholeRange(INT32_MIN, INT32_MAX);
    case DType::uint32:
      return wholeRange(0, UINT32_MAX);
    case DType::int64:
      return wholeRange(INT64_MIN, INT64_MAX);
    default:
      return {};
  }
}

Range join(Range a, Range b) {
  if (!a.isKnown || !b.isKnown) return {};
  return {true, a.isWhole && b.isWhole, std::min(a.least, b.least), std::max(a.most, b.most)};
}

Range rangeOfConstant(DType dtype, const char* bits) {
  const auto read = [&](auto value) {
    std::memcpy(&value, bits, sizeof value);
    return value;
  };
  const auto ofFloat = [](double value) -> Range {
    const bool isKnown = std::abs(value) < 0x1p53 && !(value == 0 && std::signbit(value));
    if (!isKnown) return {};
    return {true, value == std::floor(value), static_cast<int64_t>(std::floor(value)),
            static_cast<int64_t>(std::ceil(value))};
  };
  const auto one = [](int64_t value) { return wholeRange(value, value); };
  switch (dtype) {
    case DType::boolean:
      return one(read(uint8_t{}) != 0);
    case DType::int32:
      return one(read(int32_t{}));
    case DType::uint32:
      return one(read(uint32_t{}));
    case DType::int64:
      return one(read(int64_t{}));
    case DType::float32:
      return ofFloat(read(0.0f));
    case DType::float64:
      return ofFloat(read(0.0));
    default:
      return {};
  }
}

Range rangeOfValue(const StepValue& value, const Range* args) {
  const auto count = value.args.size();
  if (value.op == "where") return choose(value.dtype, args);
  if (!std::all_of(args, args + count, [](const Range& each) { return each.isKnown; }))
    return rangeOf(value.dtype);
  if (value.op.empty()) return cast(value.dtype, args[0]);
  // Quotients of integers are those of floats.
  if (value.op == "divide" && isFloat(value.from)) return divide(value.dtype, args);
  const auto found = rules().find(value.op);
  return found == rules().end() ? rangeOf(value.dtype) : found->second(value.dtype, args);
}

}  // namespace weft::cpu::jit
