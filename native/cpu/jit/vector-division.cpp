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

// Numbers of float32 or float64.
struct Floats {
  VectorCode& to;
  DType dtype;

  bool isDouble() const { return jit::isDouble(dtype); }
  DType bits() const { return isDouble() ? DType::int64 : DType::int32; }
  VectorOperand constant(uint64_t bits64, uint32_t bits32) const {
    return to.constant(isDouble() ? bits64 : laneOf(DType::float32, bits32));
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
  VectorOperand quotientBound() const { return bound(isDouble() ? 0x1p51 : 0x1p22); }
};

// Whether the quotient in `out` is too large to have a fraction, or the divisor is no number to multiply.
void findOutside(VectorCode& to, const Floats& floats, int out, VectorOperand divisor) {
  to.bitAnd(kFirstScratch, out, floats.magnitude());
  to.arithmetic(Arithmetic::add, floats.bits(), kFirstScratch, kFirst, floats.quotientBound());
  to.bitAnd(kSecondScratch, to.inRegister(divisor, kSecondScratch), floats.magnitude());
  to.arithmetic(Arithmetic::add, floats.bits(), kSecondScratch, kSecond, floats.bound(__builtin_inf()));
  to.bitOr(kFirstScratch, kFirstScratch, kSecond);
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
  if (floats.isDouble()) return normalDivisor(std::bit_cast<double>(*bits));
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
  to.arithmetic(isNegative ? Arithmetic::subtract : Arithmetic::add, floats.dtype, kSecondScratch, kSecond,
                dividend);
  to.multiplyAdd(floats.dtype, out, kSecondScratch, floats.number(std::abs(divisor.reciprocal)),
                 floats.number(0.375));
  to.round(Rounding::down, floats.dtype, out, vectorRegister(out));
  to.bitAnd(kFirstScratch, out, floats.magnitude());
  to.arithmetic(Arithmetic::add, floats.bits(), kFirstScratch, kFirst, floats.quotientBound());
  to.subtractProduct(floats.dtype, kSecondScratch, out, magnitude);
  to.arithmetic(Arithmetic::add, floats.dtype, out, kSecond, magnitude);
  to.unlessNegative(floats.dtype, out, kSecondScratch);
  if (isNegative) to.bitXor(out, out, floats.sign());
}

// ------------------------------------------------------------------------------------------------ integers

bool isPowerOfTwo(int64_t number) { return number > 0 && (number & (number - 1)) == 0; }

// As the last bits of this double, a whole number is an integer of 64 bits, whose low half is that of 32.
constexpr double kWhole = 0x1.8p52;

// The constant divisor of integers, if it is one.
std::optional<int64_t> integerDivisor(const VectorCode& to, DType dtype, VectorOperand operand) {
  const std::optional<uint64_t> element = to.elementOf(operand);
  if (!element) return std::nullopt;
  if (dtype == DType::int32) return static_cast<int32_t>(*element);
  return dtype == DType::uint32 ? static_cast<uint32_t>(*element) : static_cast<int64_t>(*element);
}

// The last bits, also of negative numbers: their remainders have the divisor's sign.
void remainderByPowerOfTwo(VectorCode& to, DType dtype, int out, VectorOperand dividend, int64_t divisor) {
  to.bitAnd(out, to.inRegister(dividend, out),
            to.constant(laneOf(dtype, static_cast<uint64_t>(divisor - 1))));
}

// The floor of the quotient of whole doubles in `out`.
//
// Of a constant it is a product: a quotient is whole, or at least u = 1 / |divisor| below the next whole
// number. The errors of the reciprocal and of the sum are less than u / 3 together, so that the sum with u /
// 2 has its floor.
void floorQuotient(VectorCode& to, int out, int dividend, VectorOperand divisor,
                   std::optional<int64_t> constant) {
  constexpr DType kFloat = DType::float64;
  if (constant) {
    const double reciprocal = 1 / static_cast<double>(*constant);
    to.multiplyAdd(kFloat, out, dividend, to.constant(std::bit_cast<uint64_t>(reciprocal)),
                   to.constant(std::bit_cast<uint64_t>(std::abs(reciprocal) / 2)));
  } else {
    to.arithmetic(Arithmetic::divide, kFloat, out, vectorRegister(dividend), divisor);
  }
  to.round(Rounding::down, kFloat, out, vectorRegister(out));
}

}  // namespace

void divideFloats(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  const Floats floats{to, dtype};
  const std::optional<Divisor> divisor = divisorOf(floats, args[1]);
  if (divisor && divisor->isPowerOfTwo())
    to.arithmetic(Arithmetic::multiply, dtype, out, args[0], floats.number(divisor->reciprocal));
  else
    to.arithmetic(Arithmetic::divide, dtype, out, args[0], args[1]);
}

void remainderOfFloats(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  const Floats floats{to, dtype};
  const VectorOperand divisor = args[1];
  if (const auto constant = divisorOf(floats, divisor))
    return remainderByConstant(to, floats, out, args[0], *constant);
  const auto divisorSign = [&] {
    to.bitAnd(kSecondScratch, to.inRegister(divisor, kSecondScratch), floats.sign());
  };
  to.arithmetic(Arithmetic::divide, dtype, out, args[0], divisor);
  to.round(Rounding::down, dtype, out, vectorRegister(out));
  findOutside(to, floats, out, divisor);
  divisorSign();
  to.bitXor(out, out, kSecond);
  to.bitXor(kSecondScratch, kSecondScratch, args[0]);
  to.subtractProduct(dtype, kSecondScratch, out, divisor);
  to.absolute(dtype, out, divisor);
  to.arithmetic(Arithmetic::add, dtype, out, vectorRegister(out), kSecond);
  to.unlessNegative(dtype, out, kSecondScratch);
  divisorSign();
  to.bitXor(out, out, kSecond);
}

bool isWholeRemainder(const VectorCode& to, DType dtype, VectorOperand divisor) {
  return dtype == DType::int64 && isPowerOfTwo(integerDivisor(to, dtype, divisor).value_or(0));
}

// As doubles, which hold 32 bits, their quotient's integer part and the remainder exactly. A quotient by 0
// makes it a NaN of the processor's, whose low half is 0, as the remainder is then.
void remainderOfNarrow(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  const std::optional<int64_t> constant = integerDivisor(to, dtype, args[1]);
  if (constant == 0) return to.zero(out);
  if (isPowerOfTwo(constant.value_or(0))) return remainderByPowerOfTwo(to, dtype, out, args[0], *constant);
  const Emit toDouble = to.castOf(dtype, DType::float64);
  toDouble(to, dtype, kFirstScratch, &args[0]);
  VectorOperand divisor = kSecond;
  if (constant)
    divisor = to.constant(std::bit_cast<uint64_t>(static_cast<double>(*constant)));
  else
    toDouble(to, dtype, kSecondScratch, &args[1]);
  floorQuotient(to, out, kFirstScratch, divisor, constant);
  to.subtractProduct(DType::float64, kFirstScratch, out, divisor);
  to.arithmetic(Arithmetic::add, DType::float64, kFirstScratch, kFirst,
                to.constant(std::bit_cast<uint64_t>(kWhole)));
  to.castOf(DType::int64, DType::int32)(to, DType::int64, out, &kFirst);
}

// Of int32 up to 2^24, as float32. A quotient that is not whole is at least 1 / divisor below the next whole
// number, and rounded by less than that; the remainder is exact, as a difference of whole numbers.
static void remainderOfSmall(VectorCode& to, int out, const VectorOperand* args) {
  constexpr DType kFloat = DType::float32;
  const Emit toFloat = to.castOf(DType::int32, kFloat);
  toFloat(to, DType::int32, kFirstScratch, &args[0]);
  toFloat(to, DType::int32, kSecondScratch, &args[1]);
  to.arithmetic(Arithmetic::divide, kFloat, out, kFirst, kSecond);
  to.round(Rounding::down, kFloat, out, vectorRegister(out));
  to.subtractProduct(kFloat, kFirstScratch, out, kSecond);
  to.boundedCastOf(kFloat, DType::int32)(to, kFloat, out, &kFirst);
}

// The quotient's integer part is that of the rounded one, and the remainder is exact, as a difference of
// whole numbers. Of a float64 by 0 it is a NaN, by the product of 0 and an infinite quotient.
void remainderOfBounded(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  constexpr DType kFloat = DType::float64;
  const std::optional<int64_t> integer = integerDivisor(to, dtype, args[1]);
  if (!isDouble(dtype) && isPowerOfTwo(integer.value_or(0)))
    return remainderByPowerOfTwo(to, dtype, out, args[0], *integer);
  if (dtype == DType::int32) return remainderOfSmall(to, out, args);
  // Without a divisor of 0.
  std::optional<int64_t> constant = isDouble(dtype) ? std::nullopt : integer;
  if (const auto element = to.elementOf(args[1]); element && isDouble(dtype))
    constant = static_cast<int64_t>(std::bit_cast<double>(*element));
  if (constant == 0) constant.reset();
  VectorOperand dividend = args[0], divisor = args[1];
  if (!isDouble(dtype)) {
    to.boundedCastOf(dtype, kFloat)(to, dtype, kFirstScratch, &dividend);
    dividend = kFirst;
    divisor = kSecond;
    if (constant)
      to.move(kSecondScratch, to.constant(std::bit_cast<uint64_t>(static_cast<double>(*constant))));
    else
      to.boundedCastOf(dtype, kFloat)(to, dtype, kSecondScratch, &args[1]);
  }
  const int first = to.inRegister(dividend, kFirstScratch);
  floorQuotient(to, out, first, divisor, constant);
  to.move(kFirstScratch, vectorRegister(first));
  to.subtractProduct(kFloat, kFirstScratch, out, divisor);
  if (isDouble(dtype))
    to.move(out, kFirst);
  else
    to.boundedCastOf(kFloat, dtype)(to, kFloat, out, &kFirst);
}

// As doubles, which hold numbers of up to 2^49, their quotient's integer part and the remainder exactly.
void remainderOfWide(VectorCode& to, DType, int out, const VectorOperand* args) {
  constexpr DType kBits = DType::int64, kFloat = DType::float64;
  constexpr int64_t kMostWide = int64_t{1} << 49;
  const VectorOperand whole = to.constant(std::bit_cast<uint64_t>(kWhole));
  const auto toDouble = [&](int reg, VectorOperand from) {
    to.arithmetic(Arithmetic::add, kBits, reg, from, whole);
    to.arithmetic(Arithmetic::subtract, kFloat, reg, vectorRegister(reg), whole);
  };
  const int64_t divisor = integerDivisor(to, DType::int64, args[1]).value_or(0);
  if (isPowerOfTwo(divisor)) return remainderByPowerOfTwo(to, DType::int64, out, args[0], divisor);
  const bool isConstant = divisor != 0 && divisor >= -kMostWide && divisor <= kMostWide;
  toDouble(kFirstScratch, args[0]);
  if (isConstant)
    to.move(kSecondScratch, to.constant(std::bit_cast<uint64_t>(static_cast<double>(divisor))));
  else
    toDouble(kSecondScratch, args[1]);
  floorQuotient(to, out, kFirstScratch, kSecond, isConstant ? std::optional(divisor) : std::nullopt);
  to.subtractProduct(kFloat, kFirstScratch, out, kSecond);
  to.arithmetic(Arithmetic::add, kFloat, out, kFirst, whole);
  to.arithmetic(Arithmetic::subtract, kBits, out, vectorRegister(out), whole);
  // Bits above the 50 of the numbers plus 2^49, moved down, and negative where there are any.
  const VectorOperand half = to.constant(uint64_t{1} << 49);
  to.arithmetic(Arithmetic::add, kBits, kFirstScratch, args[0], half);
  if (!isConstant) {
    to.arithmetic(Arithmetic::add, kBits, kSecondScratch, args[1], half);
    to.bitOr(kFirstScratch, kFirstScratch, kSecond);
  }
  to.shiftRight64(kSecondScratch, kFirstScratch, 50);
  to.zero(kFirstScratch);
  to.arithmetic(Arithmetic::subtract, kBits, kFirstScratch, kFirst, kSecond);
  if (isConstant) return;
  to.compare(kBits, Order::equal, kSecondScratch, args[1], to.constant(0));
  to.bitOr(kFirstScratch, kFirstScratch, kSecond);
}

}  // namespace weft::cpu::jit
