#include "cpu/jit/x64/vector-code.h"

#include <array>
#include <utility>

namespace weft::cpu::jit::x64 {
namespace {

constexpr Opcode kLoad{0, 1, 0x10}, kStore{0, 1, 0x11}, kStorePast{0, 1, 0x2b}, kCopy{0, 1, 0x28};
constexpr Opcode kAnd{1, 1, 0xdb, true}, kAndNot{1, 1, 0xdf, true}, kOr{1, 1, 0xeb, true},
    kXor{1, 1, 0xef, true};
constexpr Opcode kShuffle32{1, 1, 0x70};
// The register of masks that code between instructions uses.
constexpr int kMask = 1;
// Predicates of comparisons of floats, by `Order`, and that of NaNs.
constexpr uint8_t kPredicates[] = {0, 0x11, 0x12, 4, 0x1d, 0x1e};
constexpr uint8_t kUnordered = 3;

// Of floats: arithmetic, and that of the maps 0F38 and 0F3A.
constexpr Opcode ofFloats(DType dtype, uint8_t byte) {
  return {static_cast<uint8_t>(isDouble(dtype) ? 1 : 0), 1, byte, isDouble(dtype)};
}
constexpr Opcode fused(DType dtype, uint8_t byte) { return {1, 2, byte, isDouble(dtype)}; }

}  // namespace

void X64Code::emit(Opcode opcode, int out, int first, VectorOperand second) {
  to_.vector(opcode, full(), out, first, second);
}
void X64Code::emit(Opcode opcode, int out, int first, VectorOperand second, uint8_t immediate) {
  to_.vector(opcode, full(), out, first, second, immediate);
}

void X64Code::move(int out, VectorOperand from) {
  if (from == vectorRegister(out)) return;
  emit(from.isRegister() ? kCopy : kLoad, out, 0, from);
}
void X64Code::moveWhere(int out, VectorOperand mask, VectorOperand from) {
  // vmaskmovps.
  emit({1, 2, 0x2c}, out, inRegister(mask, kFirstScratch), from);
}
void X64Code::store(VectorOperand to, int from) { emit(kStore, from, 0, to); }
void X64Code::storePast(VectorOperand to, int from) { emit(kStorePast, from, 0, to); }

// AVX has these for any vector under one W, which EVEX takes for the size of elements under masks: none here.
void X64Code::bitAnd(int out, int a, VectorOperand b) { emit(kAnd, out, a, b); }
void X64Code::bitAndNot(int out, int a, VectorOperand b) { emit(kAndNot, out, a, b); }
void X64Code::bitOr(int out, int a, VectorOperand b) { emit(kOr, out, a, b); }
void X64Code::bitXor(int out, int a, VectorOperand b) { emit(kXor, out, a, b); }
void X64Code::invert(int out, int a) { bitXor(out, a, to_.constant(~uint64_t{0})); }
void X64Code::zero(int out) { bitXor(out, out, vectorRegister(out)); }

void X64Code::broadcastMask(bool isWide, int out) {
  emit({2, 2, 0x38, isWide}, out, 0, vectorRegister(kMask));
}

void X64Code::compareFloats(bool isDouble, uint8_t predicate, int out, int a, VectorOperand b) {
  const Opcode compare{static_cast<uint8_t>(isDouble ? 1 : 0), 1, 0xc2, isDouble};
  if (!hasWide()) return emit(compare, out, a, b, predicate);
  emit(compare, kMask, a, b, predicate);
  broadcastMask(isDouble, out);
}

void X64Code::compareIntegers(DType dtype, Order order, int out, VectorOperand a, VectorOperand b) {
  const bool wide = isWide(dtype);
  if (hasWide()) {
    constexpr uint8_t kOfIntegers[] = {0, 1, 2, 4, 5, 6};
    emit({1, 3, static_cast<uint8_t>(isUnsigned(dtype) ? 0x1e : 0x1f), wide}, kMask, inRegister(a, out), b,
         kOfIntegers[static_cast<int>(order)]);
    return broadcastMask(wide, out);
  }
  const Opcode equal = wide ? Opcode{1, 2, 0x29} : Opcode{1, 1, 0x76};
  const Opcode greater = wide ? Opcode{1, 2, 0x37} : Opcode{1, 1, 0x66};
  const bool isEquality = order == Order::equal || order == Order::notEqual;
  if (isUnsigned(dtype) && !isEquality) {
    // As signed ones, whose order is that of the others with the first bit changed.
    const VectorOperand first = to_.constant(wide ? uint64_t{1} << 63 : 0x8000000080000000);
    bitXor(kFirstScratch, inRegister(a, kFirstScratch), first);
    bitXor(kSecondScratch, inRegister(b, kSecondScratch), first);
    a = vectorRegister(kFirstScratch);
    b = vectorRegister(kSecondScratch);
  }
  const bool isSwapped = order == Order::less || order == Order::greaterEqual;
  const bool isInverted =
      order == Order::notEqual || order == Order::lessEqual || order == Order::greaterEqual;
  if (isSwapped) std::swap(a, b);
  emit(isEquality ? equal : greater, out, inRegister(a, out), b);
  if (isInverted) invert(out, out);
}

void X64Code::select(int out, VectorOperand mask, VectorOperand a, VectorOperand b) {
  const VectorOperand own = vectorRegister(out);
  if (!hasWide()) {
    const int bits = inRegister(mask, kSecondScratch);
    const int otherwise = inRegister(b, a == own ? kFirstScratch : out);
    // The mask stands in the high half of the last byte.
    emit({1, 3, static_cast<uint8_t>(laneBytes() == 8 ? 0x4b : 0x4a)}, out, otherwise, a,
         static_cast<uint8_t>(bits << 4));
    return;
  }
  // By a table of a bit for each case of (out, second, mask).
  constexpr Opcode kTernary{1, 3, 0x25, true};
  if (a == own) return emit(kTernary, out, inRegister(b, kFirstScratch), mask, 0xe4);
  const int chosen = inRegister(a, kFirstScratch);
  move(out, b);
  emit(kTernary, out, chosen, mask, 0xd8);
}

void X64Code::choose(DType dtype, Order order, int out, const VectorOperand* xyab) {
  if (!hasWide()) return VectorCode::choose(dtype, order, out, xyab);
  const auto [x, y, a, b] = std::array{xyab[0], xyab[1], xyab[2], xyab[3]};
  emit(ofFloats(dtype, 0xc2), kMask, inRegister(x, out), y, kPredicates[static_cast<int>(order)]);
  to_.masked({1, 2, 0x65, isDouble(dtype)}, kMask, out, inRegister(b, out), a);
}

// ---------------------------------------------------------------------------------------------- arithmetic

void X64Code::arithmetic(Arithmetic op, DType dtype, int out, VectorOperand a, VectorOperand b) {
  if (isFloat(dtype)) return floatArithmetic(op, dtype, out, a, b);
  integerArithmetic(op, dtype, out, a, b);
}

void X64Code::floatArithmetic(Arithmetic op, DType dtype, int out, VectorOperand a, VectorOperand b) {
  constexpr uint8_t kBytes[] = {0x58, 0x5c, 0x59, 0x5e, 0x5d, 0x5f};
  const Opcode opcode = ofFloats(dtype, kBytes[static_cast<int>(op)]);
  if (op < Arithmetic::minimum) return emit(opcode, out, inRegister(a, out), b);
  const int first = inRegister(a, kFirstScratch);
  if (hasWide()) {
    // vrange, which gives the other number where one is a NaN; vfixupimm: by its table, a number where that
    // is a NaN (classes 0 and 1), else as it is.
    const int second = inRegister(b, kSecondScratch);
    emit({1, 3, 0x50, isDouble(dtype)}, out, first, vectorRegister(second),
         op == Arithmetic::minimum ? 4 : 5);
    for (const int number : {second, first})
      emit({1, 3, 0x54, isDouble(dtype)}, out, number, to_.constant(0x0000001100000011), 0);
    return;
  }
  // The processor's gives the second of zeros, and where one is a NaN: both ways, of which the signs of zeros
  // follow.
  emit(opcode, out, first, b);
  emit(opcode, kSecondScratch, inRegister(b, kSecondScratch), vectorRegister(first));
  if (op == Arithmetic::minimum)
    bitOr(out, out, kSecond);
  else
    bitAnd(out, out, kSecond);
  compareFloats(isDouble(dtype), kUnordered, kSecondScratch, first, b);
  // The NaN of two numbers, the first of two.
  floatArithmetic(Arithmetic::add, dtype, kFirstScratch, vectorRegister(first), b);
  select(out, kSecond, kFirst, vectorRegister(out));
}

void X64Code::integerArithmetic(Arithmetic op, DType dtype, int out, VectorOperand a, VectorOperand b) {
  const bool wide = isWide(dtype);
  const int first = inRegister(a, out);
  switch (op) {
    case Arithmetic::add:
      return emit({1, 1, static_cast<uint8_t>(wide ? 0xd4 : 0xfe), wide}, out, first, b);
    case Arithmetic::subtract:
      return emit({1, 1, static_cast<uint8_t>(wide ? 0xfb : 0xfa), wide}, out, first, b);
    case Arithmetic::multiply:
      if (wide && !hasWide()) return multiply64(out, first, b);
      return emit({1, 2, 0x40, wide}, out, first, b);
    case Arithmetic::divide:
      return;
    case Arithmetic::minimum:
    case Arithmetic::maximum:
      compareIntegers(dtype, op == Arithmetic::minimum ? Order::less : Order::greater, kSecondScratch,
                      vectorRegister(first), b);
      return select(out, kSecond, vectorRegister(first), b);
  }
}

void X64Code::shiftBy(uint8_t group, uint8_t bits, int out, int from) {
  // The group stands in the place of a register, the result in that of the first operand.
  emit({1, 1, 0x73, true}, group, out, vectorRegister(from), bits);
}

// The low halves' product, and those of a low and a high half, moved up.
void X64Code::multiply64(int out, int a, VectorOperand b) {
  constexpr Opcode kHalves{1, 1, 0xf4}, kAdd64{1, 1, 0xd4};
  shiftBy(2, 32, kFirstScratch, a);
  emit(kHalves, kFirstScratch, kFirstScratch, b);
  shiftBy(2, 32, kSecondScratch, inRegister(b, kSecondScratch));
  emit(kHalves, kSecondScratch, kSecondScratch, vectorRegister(a));
  emit(kAdd64, kFirstScratch, kFirstScratch, kSecond);
  shiftBy(6, 32, kFirstScratch, kFirstScratch);
  emit(kHalves, out, a, b);
  emit(kAdd64, out, out, kFirst);
}

void X64Code::round(Rounding mode, DType dtype, int out, VectorOperand a) {
  constexpr uint8_t kWithoutInexact = 8;
  emit({1, 3, static_cast<uint8_t>(isDouble(dtype) ? 0x09 : 0x08), isDouble(dtype)}, out, 0, a,
       static_cast<uint8_t>(mode) | kWithoutInexact);
}
void X64Code::squareRoot(DType dtype, int out, VectorOperand a) { emit(ofFloats(dtype, 0x51), out, 0, a); }
void X64Code::negative(DType dtype, int out, VectorOperand a) {
  bitXor(out, inRegister(a, out), constant(isDouble(dtype) ? uint64_t{1} << 63 : 0x8000000080000000));
}
void X64Code::absolute(DType dtype, int out, VectorOperand a) {
  bitAnd(out, inRegister(a, out), constant(isDouble(dtype) ? INT64_MAX : 0x7fffffff7fffffff));
}

void X64Code::multiplyAdd(DType dtype, int out, int a, VectorOperand b, VectorOperand c) {
  move(out, b);
  emit(fused(dtype, 0xa8), out, a, c);
}
void X64Code::subtractProduct(DType dtype, int out, int a, VectorOperand b) {
  emit(fused(dtype, 0xbc), out, a, b);
}

void X64Code::unlessNegative(DType dtype, int out, int a) {
  // Negative numbers have greater bits than `out`, others less.
  if (hasWide()) return emit(fused(dtype, 0x3b), out, out, vectorRegister(a));
  emit({1, 3, static_cast<uint8_t>(isDouble(dtype) ? 0x4b : 0x4a)}, out, a, vectorRegister(out),
       static_cast<uint8_t>(a << 4));
}

bool X64Code::hasShift(Shift kind, DType dtype) const {
  return kind != Shift::rightSigned || dtype == DType::int32 || hasWide();
}
void X64Code::shift(Shift kind, DType dtype, int out, VectorOperand a, VectorOperand count) {
  constexpr uint8_t kBytes[] = {0x47, 0x45, 0x46};
  emit({1, 2, kBytes[static_cast<int>(kind)], isWide(dtype)}, out, inRegister(a, out), count);
}
void X64Code::shiftRight64(int out, int a, int bits) { shiftBy(2, static_cast<uint8_t>(bits), out, a); }

void X64Code::compare(DType dtype, Order order, int out, VectorOperand a, VectorOperand b) {
  if (!isFloat(dtype)) return compareIntegers(dtype, order, out, a, b);
  compareFloats(isDouble(dtype), kPredicates[static_cast<int>(order)], out, inRegister(a, out), b);
}

// ------------------------------------------------------------------------------------------------- lanes

void X64Code::pack(int out, VectorOperand from) {
  if (hasWide()) {
    // vpmovqd, whose operands stand as those of a store.
    to_.vector({2, 2, 0x35}, Width::zmm, inRegister(from, out), 0, vectorRegister(out));
    return;
  }
  // (0, 2, 0, 2) in each half of 128 bits, then the two halves.
  emit(kShuffle32, out, 0, from, 0x88);
  emit({1, 3, 0x00, true}, out, 0, vectorRegister(out), 0x08);
}

void X64Code::spread(int out, int from) {
  // vpmovzxdq, then the low half of each lane twice.
  emit({1, 2, 0x35}, out, 0, vectorRegister(from));
  emit(kShuffle32, out, 0, vectorRegister(out), 0xa0);
}

}  // namespace weft::cpu::jit::x64
