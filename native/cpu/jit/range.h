// Bounds of numbers, and what ops make of them.
#pragma once
#include <cstdint>
#include <string_view>

#include "cpu/element-step.h"
#include "cpu/jit/lane-dtypes.h"

namespace weft::cpu::jit {

// Numbers of a lane, from `least` to `most`. Floats that are known are finite and no -0; integers and
// booleans are always known to be whole, and to be within their dtype, but for uint64.
struct Range {
  bool isKnown = false;
  bool isWhole = false;
  int64_t least = 0, most = 0;

  bool operator==(const Range&) const = default;
  bool isWithin(int64_t from, int64_t to) const { return isKnown && from <= least && most <= to; }
  bool isWholeWithin(int64_t from, int64_t to) const { return isWhole && isWithin(from, to); }
  bool isOne(int64_t value) const { return isWholeWithin(value, value); }
};

// Whole numbers up to this have exact sums, quotients whose integer parts are those of the rounded ones, and
// conversions between integers and doubles by their bits.
constexpr int64_t kMostBounded = int64_t{1} << 50;

// Whole numbers up to this are float32, and so are their remainders, by quotients rounded to that.
constexpr int64_t kMostSingle = int64_t{1} << 24;

Range wholeRange(int64_t least, int64_t most);
// Bounds of a result as the dtype holds it: integers beyond them wrap; floats are rounded, and taken as
// unknown.
Range held(DType dtype, bool isWhole, __int128 least, __int128 most);
// All numbers of a dtype.
Range rangeOf(DType dtype);
Range join(Range a, Range b);
// The number whose bits stand in a constant.
Range rangeOfConstant(DType dtype, const char* bits);
// The result of an op or a cast, by the ranges of its arguments.
Range rangeOfValue(const StepValue& value, const Range* args);

}  // namespace weft::cpu::jit
