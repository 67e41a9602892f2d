#include "cpu/jit/vector-ops.h"

#include <bit>
#include <map>
#include <string_view>

namespace weft::cpu::jit {
namespace {

template <Arithmetic Op>
void arithmetic(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  to.arithmetic(Op, dtype, out, args[0], args[1]);
}
template <Order Wanted>
void compare(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  to.compare(dtype, Wanted, out, args[0], args[1]);
}

// ------------------------------------------------------------------------------------------------- floats

VectorOperand number(VectorCode& to, DType dtype, double value) {
  const uint64_t bits =
      isDouble(dtype) ? std::bit_cast<uint64_t>(value) : std::bit_cast<uint32_t>(static_cast<float>(value));
  return to.constant(laneOf(dtype, bits));
}

void floatSquare(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  const VectorOperand a = vectorRegister(to.inRegister(args[0], out));
  to.arithmetic(Arithmetic::multiply, dtype, out, a, a);
}
void squareRoot(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  to.squareRoot(dtype, out, args[0]);
}
void reciprocal(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  to.arithmetic(Arithmetic::divide, dtype, out, number(to, dtype, 1), args[0]);
}
void reciprocalRoot(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  to.squareRoot(dtype, kFirstScratch, args[0]);
  reciprocal(to, dtype, out, &kFirst);
}
template <Rounding Mode>
void floatRound(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  to.round(Mode, dtype, out, args[0]);
}
void floatNegative(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  to.negative(dtype, out, args[0]);
}
void floatAbs(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  to.absolute(dtype, out, args[0]);
}
void copySign(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  to.bitAnd(kFirstScratch, to.inRegister(args[1], kFirstScratch), number(to, dtype, -0.0));
  to.absolute(dtype, out, args[0]);
  to.bitOr(out, out, kFirst);
}
void floatSign(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  const VectorOperand a = vectorRegister(to.inRegister(args[0], out));
  const VectorOperand zero = number(to, dtype, 0), one = number(to, dtype, 1);
  to.compare(dtype, Order::greater, kFirstScratch, a, zero);
  to.bitAnd(kFirstScratch, kFirstScratch, one);
  to.compare(dtype, Order::less, kSecondScratch, a, zero);
  to.bitAnd(kSecondScratch, kSecondScratch, one);
  to.arithmetic(Arithmetic::subtract, dtype, kFirstScratch, kFirst, kSecond);
  to.compare(dtype, Order::notEqual, kSecondScratch, a, a);
  to.select(out, kSecond, a, kFirst);
}
void isNan(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  const VectorOperand a = vectorRegister(to.inRegister(args[0], out));
  to.compare(dtype, Order::notEqual, out, a, a);
}
template <Order Wanted>
void toInfinity(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  to.absolute(dtype, out, args[0]);
  to.compare(dtype, Wanted, out, vectorRegister(out), number(to, dtype, __builtin_inf()));
}
void topBit(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  to.compare(isDouble(dtype) ? DType::int64 : DType::int32, Order::less, out, args[0], to.constant(0));
}

// ----------------------------------------------------------------------------------------------- integers

void integerSquare(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  to.arithmetic(Arithmetic::multiply, dtype, out, args[0], args[0]);
}
void boundedProduct(VectorCode& to, DType, int out, const VectorOperand* args) {
  to.multiplyHalves(out, args[0], args[1]);
}
void boundedSquare(VectorCode& to, DType, int out, const VectorOperand* args) {
  to.multiplyHalves(out, args[0], args[0]);
}
void integerNegative(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  to.arithmetic(Arithmetic::subtract, dtype, out, to.constant(0), args[0]);
}
void integerAbs(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  const int a = to.inRegister(args[0], out);
  to.compare(dtype, Order::less, kFirstScratch, vectorRegister(a), to.constant(0));
  to.bitXor(out, a, kFirst);
  to.arithmetic(Arithmetic::subtract, dtype, out, vectorRegister(out), kFirst);
}
// Masks are -1: whether it is less than zero, minus whether it is greater.
void integerSign(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  const VectorOperand a = vectorRegister(to.inRegister(args[0], out)), zero = to.constant(0);
  to.compare(dtype, Order::less, kFirstScratch, a, zero);
  to.compare(dtype, Order::greater, kSecondScratch, a, zero);
  to.arithmetic(Arithmetic::subtract, dtype, out, kFirst, kSecond);
}
template <Shift Kind>
void shift(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  to.shift(Kind, dtype, out, args[0], args[1]);
}

// ------------------------------------------------------------------------------------ bits, and any dtype

void bitAnd(VectorCode& to, DType, int out, const VectorOperand* args) {
  to.bitAnd(out, to.inRegister(args[0], out), args[1]);
}
void bitOr(VectorCode& to, DType, int out, const VectorOperand* args) {
  to.bitOr(out, to.inRegister(args[0], out), args[1]);
}
void bitXor(VectorCode& to, DType, int out, const VectorOperand* args) {
  to.bitXor(out, to.inRegister(args[0], out), args[1]);
}
void invert(VectorCode& to, DType, int out, const VectorOperand* args) {
  to.invert(out, to.inRegister(args[0], out));
}
// ~a & b, ~b & a: less and greater of booleans.
template <int Inverted>
void bitAndNot(VectorCode& to, DType, int out, const VectorOperand* args) {
  to.bitAndNot(out, to.inRegister(args[Inverted], out), args[1 - Inverted]);
}
template <int Inverted>
void bitOrNot(VectorCode& to, DType, int out, const VectorOperand* args) {
  to.invert(out, to.inRegister(args[Inverted], out));
  to.bitOr(out, out, args[1 - Inverted]);
}
void bitEqual(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  bitXor(to, dtype, out, args);
  to.invert(out, out);
}
void same(VectorCode& to, DType, int out, const VectorOperand* args) { to.move(out, args[0]); }
void zero(VectorCode& to, DType, int out, const VectorOperand*) { to.zero(out); }
void all(VectorCode& to, DType, int out, const VectorOperand*) { to.move(out, to.constant(~uint64_t{0})); }
void select(VectorCode& to, DType, int out, const VectorOperand* args) {
  to.select(out, args[0], args[1], args[2]);
}

using Table = std::map<std::string_view, Emit>;

const Table& floats() {
  static const Table& table = *new Table{
      {"add", arithmetic<Arithmetic::add>},
      {"subtract", arithmetic<Arithmetic::subtract>},
      {"multiply", arithmetic<Arithmetic::multiply>},
      {"divide", divideFloats},
      {"minimum", arithmetic<Arithmetic::minimum>},
      {"maximum", arithmetic<Arithmetic::maximum>},
      {"square", floatSquare},
      {"sqrt", squareRoot},
      {"rsqrt", reciprocalRoot},
      {"reciprocal", reciprocal},
      {"negative", floatNegative},
      {"abs", floatAbs},
      {"sign", floatSign},
      {"copysign", copySign},
      {"round", floatRound<Rounding::nearest>},
      {"floor", floatRound<Rounding::down>},
      {"ceil", floatRound<Rounding::up>},
      {"trunc", floatRound<Rounding::towardsZero>},
      {"equal", compare<Order::equal>},
      {"notEqual", compare<Order::notEqual>},
      {"less", compare<Order::less>},
      {"lessEqual", compare<Order::lessEqual>},
      {"greater", compare<Order::greater>},
      {"greaterEqual", compare<Order::greaterEqual>},
      {"isnan", isNan},
      {"isinf", toInfinity<Order::equal>},
      {"isfinite", toInfinity<Order::less>},
      {"signbit", topBit},
  };
  return table;
}

const Table& integers() {
  static const Table& table = *new Table{
      {"add", arithmetic<Arithmetic::add>},
      {"subtract", arithmetic<Arithmetic::subtract>},
      {"multiply", arithmetic<Arithmetic::multiply>},
      {"square", integerSquare},
      {"negative", integerNegative},
      {"equal", compare<Order::equal>},
      {"notEqual", compare<Order::notEqual>},
      {"less", compare<Order::less>},
      {"lessEqual", compare<Order::lessEqual>},
      {"greater", compare<Order::greater>},
      {"greaterEqual", compare<Order::greaterEqual>},
      {"maximum", arithmetic<Arithmetic::maximum>},
      {"minimum", arithmetic<Arithmetic::minimum>},
      {"bitwiseAnd", bitAnd},
      {"bitwiseOr", bitOr},
      {"bitwiseXor", bitXor},
      {"bitwiseInvert", invert},
      {"bitwiseLeftShift", shift<Shift::left>},
      {"isnan", zero},
      {"isinf", zero},
      {"isfinite", all},
      {"round", same},
      {"floor", same},
      {"ceil", same},
      {"trunc", same},
  };
  return table;
}

const Table& booleans() {
  static const Table& table = *new Table{
      {"add", bitOr},
      {"maximum", bitOr},
      {"logicalOr", bitOr},
      {"bitwiseOr", bitOr},
      {"multiply", bitAnd},
      {"minimum", bitAnd},
      {"logicalAnd", bitAnd},
      {"bitwiseAnd", bitAnd},
      {"notEqual", bitXor},
      {"logicalXor", bitXor},
      {"bitwiseXor", bitXor},
      {"logicalNot", invert},
      {"bitwiseInvert", invert},
      {"equal", bitEqual},
      {"less", bitAndNot<0>},
      {"greater", bitAndNot<1>},
      {"lessEqual", bitOrNot<0>},
      {"greaterEqual", bitOrNot<1>},
      {"abs", same},
      {"floor", same},
      {"ceil", same},
      {"trunc", same},
  };
  return table;
}

const Table& others() {
  static const Table& table =
      *new Table{{"where", select}, {"positive", same}, {"conj", same}, {"real", same}, {"imag", zero}};
  return table;
}

Emit foundIn(const Table& table, const char* name) {
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

// Ops whose instructions differ for signed integers, or that not all processors have.
Emit signedOp(std::string_view name, DType dtype, const VectorCode& to) {
  if (name == "abs") return isSigned(dtype) ? integerAbs : same;
  if (name == "sign" && isSigned(dtype)) return integerSign;
  if (name != "bitwiseRightShift") return nullptr;
  if (!isSigned(dtype)) return shift<Shift::right>;
  return to.hasShift(Shift::rightSigned, dtype) ? shift<Shift::rightSigned> : nullptr;
}

}  // namespace

VectorOp boundedOp(std::string_view name, DType from, DType to, const VectorCode& code) {
  if (name.empty()) return {code.boundedCastOf(from, to)};
  if (name == "remainder") return {remainderOfBounded};
  return {name == "square" ? boundedSquare : boundedProduct};
}

VectorOp vectorOp(const char* name, DType dtype, const VectorCode& to) {
  if (!isLaneDType(dtype)) return {};
  if (const Emit emit = foundIn(others(), name)) return {emit};
  if (dtype == DType::boolean) return {foundIn(booleans(), name)};
  if (std::string_view(name) == "remainder") {
    if (isFloat(dtype)) return {remainderOfFloats, true};
    if (dtype == DType::int64) return {remainderOfWide, true};
    return {dtype == DType::uint64 ? nullptr : remainderOfNarrow};
  }
  if (isFloat(dtype)) return {foundIn(floats(), name)};
  if (const Emit emit = foundIn(integers(), name)) return {emit};
  return {signedOp(name, dtype, to)};
}

}  // namespace weft::cpu::jit
