// Divisions, and remainders with the bits of the functions of lanes (`ops-integer.cpp`).
//
// Of floats whose divisor is made positive by changing the signs of both, the integer part of the quotient
// is the true one, or one more where the quotient was rounded up to a whole number. A fused multiply-add then
// gives the remainder, or, exactly, one that is negative, which the divisor is added to.
//
// Constant divisors have reciprocals, products with which take the place of divisions. That with the
// reciprocal of a power of two is the quotient itself.
#include <bit>
#include <cmath>
#include <optional>

#include "cpu/jit/vector-ops.h"

namespace weft::cpu::jit {
namespace {

constexpr VectorOperand kFirst = {VectorOperand::Kind::vector, kFirstScratch};
constexpr VectorOperand kSecond = {VectorOperand::Kind::vector, kSecondScratch};

// Instructions and numbers of float32 or float64.
struct Floats {
  Assembler& to;
  bool isDouble;

  Opcode of(uint8_t prefix, uint8_t map, uint8_t byte) const { return {prefix, map, byte, isDouble}; }
  Opcode arithmetic(uint8_t byte) const { return of(isDouble ? 1 : 0, 1, byte); }
  Opcode round() const { return of(1, 3, isDouble ? 0x09 : 0x08); }
  Opcode addBits() const { return of(1, 1, isDouble ? 0xd4 : 0xfe); }

  VectorOperand constant(uint64_t bits64, uint32_t bits32) const {
    return to.constant(isDouble ? bits64 : laneOf(DType::float32, bits32));
  }
  VectorOperand number(double value) const {
    return constant(std::bit_cast<uint64_t>(value), std::bit_cast<uint32_t>(static_cast<float>(value)));
  }
  VectorOperand sign() const { return constant(uint64_t{1} << 63, uint32_t{1} << 31); }
  VectorOperand magnitude() const { return constant(~uint64_t{0} >> 1, ~uint32_t{0} >> 1); }
  // Added to a magnitude's bits, sets the sign where it is at least this number, or is a NaN.
  VectorOperand bound(double number) const {
    return constant((uint64_t{1} << 63) - std::bit_cast<uint64_t>(number),
                    (uint32_t{1} << 31) - std::bit_cast<uint32_t>(static_cast<float>(number)));
  }
  VectorOperand quotientBound() const { return bound(isDouble ? 0x1p51 : 0x1p22); }
};

// Whether the quotient in `out` is too large to have a fraction, or the divisor is no number to multiply.
void findOutside(VectorCode& to, const Floats& floats, int out, VectorOperand divisor) {
  to.bitAnd(kFirstScratch, out, floats.magnitude());
  to.emit(floats.addBits(), kFirstScratch, kFirstScratch, floats.quotientBound());
  to.bitAnd(kSecondScratch, to.inRegister(divisor, kSecondScratch), floats.magnitude());
  to.emit(floats.addBits(), kSecondScratch, kSecondScratch, floats.bound(__builtin_inf()));
  to.bitOr(kFirstScratch, kFirstScratch, kSecond);
}

// The remainder in the second scratch, never -0, or where it is negative its sum with the divisor, in `out`.
void chooseRemainder(VectorCode& to, const Floats& floats, int out) {
  // Negative numbers have greater bits than the sum, others less.
  if (to.hasWide())
    to.emit(floats.of(1, 2, 0x3b), out, out, kSecond);
  else
    to.emit({1, 3, static_cast<uint8_t>(floats.isDouble ? 0x4b : 0x4a)}, out, kSecondScratch,
            vectorRegister(out), static_cast<uint8_t>(kSecondScratch << 4));
}

// A constant divisor, and its reciprocal as the dtype rounds it. Both are normal numbers.
struct Divisor {
  double number, reciprocal;

  bool isPowerOfTwo() const {
    int exponent;
    return std::abs(std::frexp(number, &exponent)) == 0.5;
  }
};

template <typename T>
std::optional<Divisor> normalDivisor(T number) {
  const T reciprocal = 1 / number;
  if (!std::isnormal(number) || !std::isnormal(reciprocal)) return std::nullopt;
  return Divisor{number, reciprocal};
}
std::optional<Divisor> divisorOf(const Floats& floats, VectorOperand operand) {
  const std::optional<uint64_t> bits = floats.to.elementOf(operand);
  if (!bits) return std::nullopt;
  if (floats.isDouble) return normalDivisor(std::bit_cast<double>(*bits));
  return normalDivisor(std::bit_cast<float>(static_cast<uint32_t>(*bits)));
}

// Of a, whose sign is changed where the divisor is negative, and the divisor's magnitude b > 0, with t = a /
// b and N = floor(t): q = floor(a * fl(1 / b) + 3/8), rounded once before it is floored.
//
// Where |q| < 2^51 (2^22 of float32), q is N or N + 1. The reciprocal's error, of half a unit in its last
// place, changes t by at most 1/4 and a trifle: the sum is between t + 1/9 and t + 7/11. It is rounded to
// multiples of 1/4 at most, by at most 1/8, and to no number on the other side of N, which is one itself.
//
// a - q b is exact, or what is wanted:
// - Where |a| >= b, it is a multiple of the unit in the last place of b, from -b to less than b.
// - Where 0 <= a < b, q = 0 gives a; q = 1 only where a > b / 2, and then differences with b are exact.
// - Where -b < a < 0, q = -1 gives the rounded sum with b, as the function does; q = 0 gives a.
// So b is added where it is negative. -0, whose sign would be taken for that, becomes 0 first.
void remainderByConstant(VectorCode& to, const Floats& floats, int out, VectorOperand dividend,
                         Divisor divisor) {
  const bool isNegative = divisor.number < 0;
  const VectorOperand magnitude = floats.number(std::abs(divisor.number));
  to.zero(kSecondScratch);
  to.emit(floats.arithmetic(isNegative ? 0x5c : 0x58), kSecondScratch, kSecondScratch, dividend);
  to.move(out, floats.number(std::abs(divisor.reciprocal)));
  // vfmadd213, vfnmadd231.
  to.emit(floats.of(1, 2, 0xa8), out, kSecondScratch, floats.number(0.375));
  to.emit(floats.round(), out, 0, vectorRegister(out), 1 | 8);
  to.bitAnd(kFirstScratch, out, floats.magnitude());
  to.emit(floats.addBits(), kFirstScratch, kFirstScratch, floats.quotientBound());
  to.emit(floats.of(1, 2, 0xbc), kSecondScratch, out, magnitude);
  to.emit(floats.arithmetic(0x58), out, kSecondScratch, magnitude);
  chooseRemainder(to, floats, out);
  if (isNegative) to.bitXor(out, out, floats.sign());
}

}  // namespace

void divideFloats(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  const Floats floats{to.assembler(), dtype == DType::float64};
  const std::optional<Divisor> divisor = divisorOf(floats, args[1]);
  const int dividend = to.inRegister(args[0], out);
  if (divisor && divisor->isPowerOfTwo())
    to.emit(floats.arithmetic(0x59), out, dividend, floats.number(divisor->reciprocal));
  else
    to.emit(floats.arithmetic(0x5e), out, dividend, args[1]);
}

void remainderOfFloats(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  const Floats floats{to.assembler(), dtype == DType::float64};
  const VectorOperand divisor = args[1];
  if (const auto constant = divisorOf(floats, divisor))
    return remainderByConstant(to, floats, out, args[0], *constant);
  const auto divisorSign = [&] {
    to.bitAnd(kSecondScratch, to.inRegister(divisor, kSecondScratch), floats.sign());
  };
  to.emit(floats.arithmetic(0x5e), out, to.inRegister(args[0], out), divisor);
  to.emit(floats.round(), out, 0, vectorRegister(out), 1 | 8);
  findOutside(to, floats, out, divisor);
  divisorSign();
  to.bitXor(out, out, kSecond);
  to.bitXor(kSecondScratch, kSecondScratch, args[0]);
  // vfnmadd231: the second scratch minus the product.
  to.emit(floats.of(1, 2, 0xbc), kSecondScratch, out, divisor);
  to.bitAnd(out, to.inRegister(divisor, out), floats.magnitude());
  to.emit(floats.arithmetic(0x58), out, out, kSecond);
  chooseRemainder(to, floats, out);
  divisorSign();
  to.bitXor(out, out, kSecond);
}

// As doubles, which hold numbers of up to 2^49, their quotient's integer part and the remainder exactly.
void remainderOfWide(VectorCode& to, DType, int out, const VectorOperand* args) {
  constexpr Opcode kAddBits{1, 1, 0xd4, true}, kSubtractBits{1, 1, 0xfb, true};
  constexpr Opcode kAdd{1, 1, 0x58, true}, kSubtract{1, 1, 0x5c, true}, kDivide{1, 1, 0x5e, true};
  constexpr Opcode kRound{1, 3, 0x09, true}, kSubtractProduct{1, 2, 0xbc, true}, kShift{1, 1, 0x73, true};
  constexpr Opcode kAddProduct{1, 2, 0xa8, true};
  constexpr int64_t kMostWide = int64_t{1} << 49;
  // A whole number as the last bits of this one, whose unit in the last place is 1.
  const VectorOperand whole = to.assembler().constant(std::bit_cast<uint64_t>(0x1.8p52));
  const auto toDouble = [&](int reg, VectorOperand from) {
    to.emit(kAddBits, reg, to.inRegister(from, reg), whole);
    to.emit(kSubtract, reg, reg, whole);
  };
  const std::optional<uint64_t> element = to.assembler().elementOf(args[1]);
  const auto divisor = static_cast<int64_t>(element.value_or(0));
  const bool isConstant = divisor != 0 && divisor >= -kMostWide && divisor <= kMostWide;
  toDouble(kFirstScratch, args[0]);
  if (isConstant) {
    // A quotient is whole, or at least u = 1 / |divisor| below the next whole number. The errors of the
    // reciprocal and of the sum are less than u / 3 together, so that the sum with u / 2 has its floor.
    const double number = static_cast<double>(divisor), reciprocal = 1 / number;
    to.move(kSecondScratch, to.assembler().constant(std::bit_cast<uint64_t>(number)));
    to.move(out, to.assembler().constant(std::bit_cast<uint64_t>(reciprocal)));
    to.emit(kAddProduct, out, kFirstScratch,
            to.assembler().constant(std::bit_cast<uint64_t>(std::abs(reciprocal) / 2)));
  } else {
    toDouble(kSecondScratch, args[1]);
    to.emit(kDivide, out, kFirstScratch, kSecond);
  }
  to.emit(kRound, out, 0, vectorRegister(out), 1 | 8);
  to.emit(kSubtractProduct, kFirstScratch, out, kSecond);
  to.emit(kAdd, out, kFirstScratch, whole);
  to.emit(kSubtractBits, out, out, whole);
  // Bits above the 50 of the numbers plus 2^49, moved down, and negative where there are any.
  const VectorOperand half = to.assembler().constant(uint64_t{1} << 49);
  to.emit(kAddBits, kFirstScratch, to.inRegister(args[0], kFirstScratch), half);
  if (!isConstant) {
    to.emit(kAddBits, kSecondScratch, to.inRegister(args[1], kSecondScratch), half);
    to.bitOr(kFirstScratch, kFirstScratch, kSecond);
  }
  to.emit(kShift, 2, kSecondScratch, kFirst, 50);
  to.zero(kFirstScratch);
  to.emit(kSubtractBits, kFirstScratch, kFirstScratch, kSecond);
  if (isConstant) return;
  to.compareIntegers(DType::int64, Order::equal, kSecondScratch, args[1], to.assembler().constant(0));
  to.bitOr(kFirstScratch, kFirstScratch, kSecond);
}

}  // namespace weft::cpu::jit
