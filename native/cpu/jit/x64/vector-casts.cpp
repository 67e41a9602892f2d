// Casts between dtypes of numbers, but for those of a changed sign.
#include <bit>

#include "cpu/jit/x64/vector-code.h"

namespace weft::cpu::jit::x64 {
namespace {

constexpr uint64_t kLow = 0xffffffff, kWhole = std::bit_cast<uint64_t>(0x1p52);

// ------------------------------------------------------------------------------------------------ integers

// The low half of each lane, twice.
void lowHalf(X64Code& to, int out, VectorOperand from) { to.emit({1, 1, 0x70}, out, 0, from, 0xa0); }
// Of numbers that stand twice: the high half moved down, or all bits of its sign beside the low half.
void signedToWide(X64Code& to, int out, VectorOperand from) {
  constexpr int kRightSigned = 4;
  const VectorOperand a = vectorRegister(to.inRegister(from, out));
  if (to.hasWide()) return to.emit({1, 1, 0x72, true}, kRightSigned, out, a, 32);
  to.emit({1, 1, 0x72}, kRightSigned, kSecondScratch, a, 31);
  to.emit({1, 3, 0x02}, out, a.value, kSecond, 0xaa);
}
void unsignedToWide(X64Code& to, int out, VectorOperand from) {
  to.shiftRight64(out, to.inRegister(from, out), 32);
}

// ---------------------------------------------------------------------------------------- integers to floats

void int32ToDouble(X64Code& to, int out, VectorOperand from) {
  to.pack(out, from);
  to.emit({2, 1, 0xe6}, out, 0, vectorRegister(out));
}
// Of 32 bits, as the last bits of 2^52.
void uint32ToDouble(X64Code& to, int out, VectorOperand from) {
  unsignedToWide(to, out, from);
  to.bitOr(out, out, to.constant(kWhole));
  to.emit({1, 1, 0x5c, true}, out, out, to.constant(kWhole));
}
// The halves as the last bits of 2^84 (with its sign's bit changed, so 2^63 more) and 2^52: one rounding, at
// last.
void int64ToDouble(X64Code& to, int out, VectorOperand from) {
  if (to.hasWide()) return to.emit({2, 1, 0xe6, true}, out, 0, from);
  const int a = to.inRegister(from, out);
  to.emit({1, 1, 0x73, true}, 2, kFirstScratch, vectorRegister(a), 32);
  to.bitXor(kFirstScratch, kFirstScratch, to.constant(0x4530000080000000));
  to.emit({1, 1, 0x5c, true}, kFirstScratch, kFirstScratch, to.constant(0x4530000080100000));
  to.bitAnd(out, a, to.constant(kLow));
  to.bitOr(out, out, to.constant(kWhole));
  to.emit({1, 1, 0x58, true}, out, kFirstScratch, vectorRegister(out));
}
void int32ToFloat(X64Code& to, int out, VectorOperand from) { to.emit({0, 1, 0x5b}, out, 0, from); }

// ---------------------------------------------------------------------------------------- floats to integers

// For a number out of range the instruction gives the least integer, which is right for those below.
void saturate(X64Code& to, DType dtype, int out, int a, uint64_t above, uint64_t most) {
  to.compare(dtype, Order::greaterEqual, kSecondScratch, vectorRegister(a), to.constant(above));
  to.bitAndNot(out, kSecondScratch, vectorRegister(out));
  to.bitAnd(kSecondScratch, kSecondScratch, to.constant(most));
  to.bitOr(out, out, kSecond);
  to.compare(dtype, Order::notEqual, kSecondScratch, vectorRegister(a), vectorRegister(a));
  to.bitAndNot(out, kSecondScratch, vectorRegister(out));
}
constexpr uint64_t kMost32 = 0x7fffffff7fffffff;

void doubleToInt32(X64Code& to, int out, VectorOperand from) {
  const int a = to.inRegister(from, kFirstScratch);
  to.emit({1, 1, 0xe6, true}, out, 0, vectorRegister(a));
  to.spread(out, out);
  saturate(to, DType::float64, out, a, std::bit_cast<uint64_t>(0x1p31), kMost32);
}
void floatToInt32(X64Code& to, int out, VectorOperand from) {
  const int a = to.inRegister(from, kFirstScratch);
  to.emit({2, 1, 0x5b}, out, 0, vectorRegister(a));
  saturate(to, DType::float32, out, a, laneOf(DType::float32, std::bit_cast<uint32_t>(0x1p31f)), kMost32);
}
void doubleToInt64(X64Code& to, int out, VectorOperand from) {
  const int a = to.inRegister(from, kFirstScratch);
  to.emit({1, 1, 0x7a, true}, out, 0, vectorRegister(a));
  saturate(to, DType::float64, out, a, std::bit_cast<uint64_t>(0x1p63), INT64_MAX);
}

// ------------------------------------------------------------------------------------------------- bounded

// As the last bits of this double, a whole number up to 2^51 is an integer.
constexpr uint64_t kBounded = std::bit_cast<uint64_t>(0x1.8p52);

void boundedToDouble(X64Code& to, int out, VectorOperand from) {
  to.arithmetic(Arithmetic::add, DType::int64, out, from, to.constant(kBounded));
  to.arithmetic(Arithmetic::subtract, DType::float64, out, vectorRegister(out), to.constant(kBounded));
}
void boundedToInt64(X64Code& to, int out, VectorOperand from) {
  to.arithmetic(Arithmetic::add, DType::float64, out, from, to.constant(kBounded));
  to.arithmetic(Arithmetic::subtract, DType::int64, out, vectorRegister(out), to.constant(kBounded));
}
void boundedToInt32(X64Code& to, int out, VectorOperand from) {
  to.arithmetic(Arithmetic::add, DType::float64, out, from, to.constant(kBounded));
  lowHalf(to, out, vectorRegister(out));
}

void boundedFloatToInt32(X64Code& to, int out, VectorOperand from) { to.emit({1, 1, 0x5b}, out, 0, from); }

// -------------------------------------------------------------------------------------------------- floats

void floatToDouble(X64Code& to, int out, VectorOperand from) {
  to.pack(out, from);
  to.emit({0, 1, 0x5a}, out, 0, vectorRegister(out));
}
void doubleToFloat(X64Code& to, int out, VectorOperand from) {
  to.emit({1, 1, 0x5a, true}, out, 0, from);
  to.spread(out, out);
}

template <void (*Cast)(X64Code&, int, VectorOperand)>
void cast(VectorCode& to, DType, int out, const VectorOperand* args) {
  Cast(static_cast<X64Code&>(to), out, args[0]);
}

Emit fromInteger(DType from, DType to) {
  if (to == DType::int32 || to == DType::uint32) return cast<lowHalf>;
  if (to == DType::int64 || to == DType::uint64)
    return from == DType::int32 ? cast<signedToWide> : cast<unsignedToWide>;
  if (to == DType::float32) return from == DType::int32 ? cast<int32ToFloat> : nullptr;
  if (from == DType::int32) return cast<int32ToDouble>;
  if (!isWide(from)) return cast<uint32ToDouble>;
  return from == DType::int64 ? cast<int64ToDouble> : nullptr;
}

}  // namespace

Emit X64Code::boundedCastOf(DType from, DType to) const {
  if (from == DType::int64 && to == DType::float64 && !hasWide()) return cast<boundedToDouble>;
  if (from == DType::float64 && to == DType::int64) return cast<boundedToInt64>;
  if (from == DType::float64 && to == DType::int32) return cast<boundedToInt32>;
  if (from == DType::float32 && to == DType::int32) return cast<boundedFloatToInt32>;
  return castOf(from, to);
}

Emit X64Code::castOf(DType from, DType to) const {
  if (from == DType::float32) {
    if (to == DType::float64) return cast<floatToDouble>;
    return to == DType::int32 ? cast<floatToInt32> : nullptr;
  }
  if (from != DType::float64) return fromInteger(from, to);
  if (to == DType::float32) return cast<doubleToFloat>;
  if (to == DType::int32) return cast<doubleToInt32>;
  return to == DType::int64 && hasWide() ? cast<doubleToInt64> : nullptr;
}

}  // namespace weft::cpu::jit::x64
