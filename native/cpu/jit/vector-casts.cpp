// Casts between dtypes of lanes: integers wrap, floats saturate to integers and NaN becomes 0, anything
// becomes true unless it is 0.
#include <bit>

#include "cpu/jit/vector-ops.h"

namespace weft::cpu::jit {
namespace {

using Emit = void (*)(VectorCode&, DType, int, const VectorOperand*);

constexpr VectorOperand kSecond = {VectorOperand::Kind::vector, kSecondScratch};
constexpr uint8_t kUnordered = 3, kNotEqual = 4, kGreaterEqual = 0x1d;

VectorOperand constant(VectorCode& to, uint64_t lane) { return to.assembler().constant(lane); }
VectorOperand constant(VectorCode& to, double value) { return constant(to, std::bit_cast<uint64_t>(value)); }

void same(VectorCode& to, DType, int out, const VectorOperand* args) { to.move(out, args[0]); }

// ------------------------------------------------------------------------------------- to and from booleans

template <DType To>
void fromBoolean(VectorCode& to, DType, int out, const VectorOperand* args) {
  const uint64_t one = To == DType::float64   ? std::bit_cast<uint64_t>(1.0)
                       : To == DType::float32 ? std::bit_cast<uint32_t>(1.0f)
                                              : 1;
  to.bitAnd(out, to.inRegister(args[0], out), constant(to, laneOf(To, one)));
}
void toBoolean(VectorCode& to, DType from, int out, const VectorOperand* args) {
  if (from == DType::float32 || from == DType::float64)
    return to.compareFloats(from == DType::float64, kNotEqual, out, to.inRegister(args[0], out),
                            constant(to, uint64_t{0}));
  to.compareIntegers(from, Order::notEqual, out, args[0], constant(to, uint64_t{0}));
}

// ------------------------------------------------------------------------------------------------ integers

// The low half of each lane, twice.
void lowHalf(VectorCode& to, DType, int out, const VectorOperand* args) {
  to.emit({1, 1, 0x70}, out, 0, args[0], 0xa0);
}
void signedToWide(VectorCode& to, DType, int out, const VectorOperand* args) {
  const int a = to.inRegister(args[0], out);
  to.compareIntegers(DType::int32, Order::less, kSecondScratch, vectorRegister(a), constant(to, uint64_t{0}));
  to.bitAnd(kSecondScratch, kSecondScratch, constant(to, uint64_t{0xffffffff} << 32));
  to.bitAnd(out, a, constant(to, uint64_t{0xffffffff}));
  to.bitOr(out, out, kSecond);
}
void unsignedToWide(VectorCode& to, DType, int out, const VectorOperand* args) {
  to.bitAnd(out, to.inRegister(args[0], out), constant(to, uint64_t{0xffffffff}));
}

// ---------------------------------------------------------------------------------------- integers to floats

void int32ToDouble(VectorCode& to, DType, int out, const VectorOperand* args) {
  to.pack(out, args[0]);
  to.emit({2, 1, 0xe6}, out, 0, vectorRegister(out));
}
// Of 32 bits, as the last bits of 2^52.
void uint32ToDouble(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  unsignedToWide(to, dtype, out, args);
  to.bitOr(out, out, constant(to, 0x1p52));
  to.emit({1, 1, 0x5c, true}, out, out, constant(to, 0x1p52));
}
// The halves as the last bits of 2^84 (with its sign's bit changed, so 2^63 more) and 2^52: one rounding, at
// last.
void int64ToDouble(VectorCode& to, DType, int out, const VectorOperand* args) {
  if (to.hasWide()) return to.emit({2, 1, 0xe6, true}, out, 0, args[0]);
  const int a = to.inRegister(args[0], out);
  to.emit({1, 1, 0x73, true}, 2, kFirstScratch, vectorRegister(a), 32);
  to.bitXor(kFirstScratch, kFirstScratch, constant(to, uint64_t{0x4530000080000000}));
  to.emit({1, 1, 0x5c, true}, kFirstScratch, kFirstScratch, constant(to, uint64_t{0x4530000080100000}));
  to.bitAnd(out, a, constant(to, uint64_t{0xffffffff}));
  to.bitOr(out, out, constant(to, 0x1p52));
  to.emit({1, 1, 0x58, true}, out, kFirstScratch, vectorRegister(out));
}
void int32ToFloat(VectorCode& to, DType, int out, const VectorOperand* args) {
  to.emit({0, 1, 0x5b}, out, 0, args[0]);
}

// ---------------------------------------------------------------------------------------- floats to integers

// For a number out of range the instruction gives the least integer, which is right for those below.
void saturate(VectorCode& to, bool isDouble, int out, int a, uint64_t above, uint64_t most) {
  to.compareFloats(isDouble, kGreaterEqual, kSecondScratch, a, constant(to, above));
  to.bitAndNot(out, kSecondScratch, vectorRegister(out));
  to.bitAnd(kSecondScratch, kSecondScratch, constant(to, most));
  to.bitOr(out, out, kSecond);
  to.compareFloats(isDouble, kUnordered, kSecondScratch, a, vectorRegister(a));
  to.bitAndNot(out, kSecondScratch, vectorRegister(out));
}
constexpr uint64_t kMost32 = 0x7fffffff7fffffff;

void doubleToInt32(VectorCode& to, DType, int out, const VectorOperand* args) {
  const int a = to.inRegister(args[0], kFirstScratch);
  to.emit({1, 1, 0xe6, true}, out, 0, vectorRegister(a));
  to.spread(out, out);
  saturate(to, true, out, a, std::bit_cast<uint64_t>(0x1p31), kMost32);
}
void floatToInt32(VectorCode& to, DType, int out, const VectorOperand* args) {
  const int a = to.inRegister(args[0], kFirstScratch);
  to.emit({2, 1, 0x5b}, out, 0, vectorRegister(a));
  saturate(to, false, out, a, laneOf(DType::float32, std::bit_cast<uint32_t>(0x1p31f)), kMost32);
}
void doubleToInt64(VectorCode& to, DType, int out, const VectorOperand* args) {
  const int a = to.inRegister(args[0], kFirstScratch);
  to.emit({1, 1, 0x7a, true}, out, 0, vectorRegister(a));
  saturate(to, true, out, a, std::bit_cast<uint64_t>(0x1p63), INT64_MAX);
}

// -------------------------------------------------------------------------------------------------- floats

void floatToDouble(VectorCode& to, DType, int out, const VectorOperand* args) {
  to.pack(out, args[0]);
  to.emit({0, 1, 0x5a}, out, 0, vectorRegister(out));
}
void doubleToFloat(VectorCode& to, DType, int out, const VectorOperand* args) {
  to.emit({1, 1, 0x5a, true}, out, 0, args[0]);
  to.spread(out, out);
}

Emit fromBooleanTo(DType to) {
  switch (to) {
    case DType::float64:
      return fromBoolean<DType::float64>;
    case DType::float32:
      return fromBoolean<DType::float32>;
    case DType::int64:
    case DType::uint64:
      return fromBoolean<DType::int64>;
    default:
      return fromBoolean<DType::int32>;
  }
}

Emit fromInteger(DType from, DType to) {
  const bool isWide = from == DType::int64 || from == DType::uint64;
  if (to == DType::int32 || to == DType::uint32) return isWide ? lowHalf : same;
  if (to == DType::int64 || to == DType::uint64) {
    if (isWide) return same;
    return from == DType::int32 ? signedToWide : unsignedToWide;
  }
  if (to == DType::float32) return from == DType::int32 ? int32ToFloat : nullptr;
  switch (from) {
    case DType::int32:
      return int32ToDouble;
    case DType::uint32:
      return uint32ToDouble;
    case DType::int64:
      return int64ToDouble;
    default:
      return nullptr;
  }
}

}  // namespace

VectorOp vectorCast(DType from, DType to, bool wide) {
  if (!isLaneDType(from) || !isLaneDType(to)) return {};
  if (from == to) return {same};
  if (from == DType::boolean) return {fromBooleanTo(to)};
  if (to == DType::boolean) return {toBoolean};
  if (from == DType::float32) {
    if (to == DType::float64) return {floatToDouble};
    return {to == DType::int32 ? floatToInt32 : nullptr};
  }
  if (from != DType::float64) return {fromInteger(from, to)};
  if (to == DType::float32) return {doubleToFloat};
  if (to == DType::int32) return {doubleToInt32};
  return {to == DType::int64 && wide ? doubleToInt64 : nullptr};
}

}  // namespace weft::cpu::jit
