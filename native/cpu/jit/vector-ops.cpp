#include "cpu/jit/vector-ops.h"

#include <bit>
#include <map>
#include <string_view>

namespace weft::cpu::jit {
namespace {

using Emit = void (*)(VectorCode&, DType, int, const VectorOperand*);

constexpr bool isDouble(DType dtype) { return dtype == DType::float64; }
constexpr bool isWide(DType dtype) { return kElementBytes[static_cast<int>(dtype)] == 8; }
constexpr VectorOperand kFirst = {VectorOperand::Kind::vector, kFirstScratch};
constexpr VectorOperand kSecond = {VectorOperand::Kind::vector, kSecondScratch};
// Predicates of comparisons of floats, none of which holds for a NaN but `notEqual` and `unordered`.
constexpr uint8_t kEqual = 0, kUnordered = 3, kNotEqual = 4, kLess = 0x11, kLessEqual = 0x12,
                  kGreaterEqual = 0x1d, kGreater = 0x1e;

// ------------------------------------------------------------------------------------------------- floats

constexpr Opcode ofFloats(DType dtype, uint8_t byte) {
  return {static_cast<uint8_t>(isDouble(dtype) ? 1 : 0), 1, byte, isDouble(dtype)};
}
VectorOperand number(VectorCode& to, DType dtype, double value) {
  const uint64_t bits =
      isDouble(dtype) ? std::bit_cast<uint64_t>(value) : std::bit_cast<uint32_t>(static_cast<float>(value));
  return to.assembler().constant(laneOf(dtype, bits));
}
VectorOperand signBits(VectorCode& to, DType dtype) { return number(to, dtype, -0.0); }
VectorOperand otherBits(VectorCode& to, DType dtype) {
  return to.assembler().constant(isDouble(dtype) ? INT64_MAX : 0x7fffffff7fffffff);
}

template <uint8_t Byte>
void floatBinary(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  to.emit(ofFloats(dtype, Byte), out, to.inRegister(args[0], out), args[1]);
}
// The processor's gives the second number where one is a NaN; ours the first where that is.
template <uint8_t Byte>
void floatExtreme(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  const int a = to.inRegister(args[0], kFirstScratch);
  to.emit(ofFloats(dtype, Byte), out, a, args[1]);
  to.compareFloats(isDouble(dtype), kUnordered, kSecondScratch, a, vectorRegister(a));
  to.select(out, kSecond, vectorRegister(a), vectorRegister(out));
}
void floatSquare(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  const int a = to.inRegister(args[0], out);
  to.emit(ofFloats(dtype, 0x59), out, a, vectorRegister(a));
}
void squareRoot(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  to.emit(ofFloats(dtype, 0x51), out, 0, args[0]);
}
void reciprocal(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  to.move(out, number(to, dtype, 1));
  to.emit(ofFloats(dtype, 0x5e), out, out, args[0]);
}
void reciprocalRoot(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  squareRoot(to, dtype, kFirstScratch, args);
  reciprocal(to, dtype, out, &kFirst);
}
// By the mode of the instruction: 0 to nearest, 1 down, 2 up, 3 towards zero; 8: without the inexact flag.
template <uint8_t Mode>
void floatRound(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  to.emit({1, 3, static_cast<uint8_t>(isDouble(dtype) ? 0x09 : 0x08), isDouble(dtype)}, out, 0, args[0],
          Mode | 8);
}
void floatNegative(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  to.bitXor(out, to.inRegister(args[0], out), signBits(to, dtype));
}
void floatAbs(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  to.bitAnd(out, to.inRegister(args[0], out), otherBits(to, dtype));
}
void copySign(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  to.bitAnd(kFirstScratch, to.inRegister(args[1], kFirstScratch), signBits(to, dtype));
  to.bitAnd(out, to.inRegister(args[0], out), otherBits(to, dtype));
  to.bitOr(out, out, kFirst);
}
void floatSign(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  const int a = to.inRegister(args[0], out);
  const VectorOperand zero = number(to, dtype, 0), one = number(to, dtype, 1);
  to.compareFloats(isDouble(dtype), kGreater, kFirstScratch, a, zero);
  to.bitAnd(kFirstScratch, kFirstScratch, one);
  to.compareFloats(isDouble(dtype), kLess, kSecondScratch, a, zero);
  to.bitAnd(kSecondScratch, kSecondScratch, one);
  to.emit(ofFloats(dtype, 0x5c), kFirstScratch, kFirstScratch, kSecond);
  to.compareFloats(isDouble(dtype), kUnordered, kSecondScratch, a, vectorRegister(a));
  to.select(out, kSecond, vectorRegister(a), kFirst);
}

template <uint8_t Predicate>
void floatCompare(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  to.compareFloats(isDouble(dtype), Predicate, out, to.inRegister(args[0], out), args[1]);
}
void isNan(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  const int a = to.inRegister(args[0], out);
  to.compareFloats(isDouble(dtype), kUnordered, out, a, vectorRegister(a));
}
template <uint8_t Predicate>
void toInfinity(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  floatAbs(to, dtype, out, args);
  to.compareFloats(isDouble(dtype), Predicate, out, out, number(to, dtype, __builtin_inf()));
}
void topBit(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  to.compareIntegers(isDouble(dtype) ? DType::int64 : DType::int32, Order::less, out, args[0],
                     to.assembler().constant(0));
}

// ----------------------------------------------------------------------------------------------- integers

template <uint8_t Byte32, uint8_t Byte64>
void integerBinary(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  to.emit({1, 1, isWide(dtype) ? Byte64 : Byte32, isWide(dtype)}, out, to.inRegister(args[0], out), args[1]);
}
constexpr Emit addIntegers = integerBinary<0xfe, 0xd4>;
constexpr Emit subtractIntegers = integerBinary<0xfa, 0xfb>;

void shiftBy(VectorCode& to, uint8_t group, uint8_t bits, int out, int from) {
  // The group stands in the place of a register, the result in that of the first operand.
  to.emit({1, 1, 0x73, true}, group, out, vectorRegister(from), bits);
}
void integerMultiply(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  const int a = to.inRegister(args[0], out);
  if (!isWide(dtype) || to.hasWide()) return to.emit({1, 2, 0x40, isWide(dtype)}, out, a, args[1]);
  // The low halves' product, and those of a low and a high half, moved up.
  constexpr Opcode kHalves{1, 1, 0xf4};
  shiftBy(to, 2, 32, kFirstScratch, a);
  to.emit(kHalves, kFirstScratch, kFirstScratch, args[1]);
  shiftBy(to, 2, 32, kSecondScratch, to.inRegister(args[1], kSecondScratch));
  to.emit(kHalves, kSecondScratch, kSecondScratch, vectorRegister(a));
  to.emit({1, 1, 0xd4}, kFirstScratch, kFirstScratch, kSecond);
  shiftBy(to, 6, 32, kFirstScratch, kFirstScratch);
  to.emit(kHalves, out, a, args[1]);
  to.emit({1, 1, 0xd4}, out, out, kFirst);
}
void integerSquare(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  const VectorOperand both[] = {args[0], args[0]};
  integerMultiply(to, dtype, out, both);
}
void integerNegative(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  const VectorOperand both[] = {to.assembler().constant(0), args[0]};
  subtractIntegers(to, dtype, out, both);
}
void integerAbs(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  const int a = to.inRegister(args[0], out);
  to.compareIntegers(dtype, Order::less, kFirstScratch, vectorRegister(a), to.assembler().constant(0));
  to.bitXor(out, a, kFirst);
  const VectorOperand both[] = {vectorRegister(out), kFirst};
  subtractIntegers(to, dtype, out, both);
}
// Masks are -1: whether it is less than zero, minus whether it is greater.
void integerSign(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  const VectorOperand a = vectorRegister(to.inRegister(args[0], out)), zero = to.assembler().constant(0);
  to.compareIntegers(dtype, Order::less, kFirstScratch, a, zero);
  to.compareIntegers(dtype, Order::greater, kSecondScratch, a, zero);
  const VectorOperand both[] = {kFirst, kSecond};
  subtractIntegers(to, dtype, out, both);
}
template <Order Wanted>
void integerCompare(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  to.compareIntegers(dtype, Wanted, out, args[0], args[1]);
}
template <Order Wanted>
void integerExtreme(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  const VectorOperand a = vectorRegister(to.inRegister(args[0], out));
  to.compareIntegers(dtype, Wanted, kSecondScratch, a, args[1]);
  to.select(out, kSecond, a, args[1]);
}
// Counts beyond the width move every bit out, as ours.
template <uint8_t Byte>
void shift(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  to.emit({1, 2, Byte, isWide(dtype)}, out, to.inRegister(args[0], out), args[1]);
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
void all(VectorCode& to, DType, int out, const VectorOperand*) {
  to.move(out, to.assembler().constant(~uint64_t{0}));
}
void select(VectorCode& to, DType, int out, const VectorOperand* args) {
  to.select(out, args[0], args[1], args[2]);
}

using Table = std::map<std::string_view, Emit>;

const Table& floats() {
  static const Table& table = *new Table{
      {"add", floatBinary<0x58>},
      {"subtract", floatBinary<0x5c>},
      {"multiply", floatBinary<0x59>},
      {"divide", divideFloats},
      {"minimum", floatExtreme<0x5d>},
      {"maximum", floatExtreme<0x5f>},
      {"square", floatSquare},
      {"sqrt", squareRoot},
      {"rsqrt", reciprocalRoot},
      {"reciprocal", reciprocal},
      {"negative", floatNegative},
      {"abs", floatAbs},
      {"sign", floatSign},
      {"copysign", copySign},
      {"round", floatRound<0>},
      {"floor", floatRound<1>},
      {"ceil", floatRound<2>},
      {"trunc", floatRound<3>},
      {"equal", floatCompare<kEqual>},
      {"notEqual", floatCompare<kNotEqual>},
      {"less", floatCompare<kLess>},
      {"lessEqual", floatCompare<kLessEqual>},
      {"greater", floatCompare<kGreater>},
      {"greaterEqual", floatCompare<kGreaterEqual>},
      {"isnan", isNan},
      {"isinf", toInfinity<kEqual>},
      {"isfinite", toInfinity<kLess>},
      {"signbit", topBit},
  };
  return table;
}

const Table& integers() {
  static const Table& table = *new Table{
      {"add", addIntegers},
      {"subtract", subtractIntegers},
      {"multiply", integerMultiply},
      {"square", integerSquare},
      {"negative", integerNegative},
      {"equal", integerCompare<Order::equal>},
      {"notEqual", integerCompare<Order::notEqual>},
      {"less", integerCompare<Order::less>},
      {"lessEqual", integerCompare<Order::lessEqual>},
      {"greater", integerCompare<Order::greater>},
      {"greaterEqual", integerCompare<Order::greaterEqual>},
      {"maximum", integerExtreme<Order::greater>},
      {"minimum", integerExtreme<Order::less>},
      {"bitwiseAnd", bitAnd},
      {"bitwiseOr", bitOr},
      {"bitwiseXor", bitXor},
      {"bitwiseInvert", invert},
      {"bitwiseLeftShift", shift<0x47>},
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

// Ops whose instructions differ for signed integers, or that AVX-512 alone has.
Emit signedOp(std::string_view name, DType dtype, bool wide) {
  const bool isSigned = dtype == DType::int32 || dtype == DType::int64;
  if (name == "abs") return isSigned ? integerAbs : same;
  if (name == "sign" && isSigned) return integerSign;
  if (name != "bitwiseRightShift") return nullptr;
  if (!isSigned) return shift<0x45>;
  return dtype == DType::int32 || wide ? shift<0x46> : nullptr;
}

}  // namespace

bool isLaneDType(DType dtype) {
  switch (dtype) {
    case DType::boolean:
    case DType::int32:
    case DType::uint32:
    case DType::int64:
    case DType::uint64:
    case DType::float32:
    case DType::float64:
      return true;
    default:
      return false;
  }
}

VectorOp vectorOp(const char* name, DType dtype, bool wide) {
  if (!isLaneDType(dtype)) return {};
  if (const Emit emit = foundIn(others(), name)) return {emit};
  if (dtype == DType::boolean) return {foundIn(booleans(), name)};
  const bool isFloat = dtype == DType::float32 || dtype == DType::float64;
  if (std::string_view(name) == "remainder" && (isFloat || dtype == DType::int64))
    return {isFloat ? remainderOfFloats : remainderOfWide, true};
  if (isFloat) return {foundIn(floats(), name)};
  if (const Emit emit = foundIn(integers(), name)) return {emit};
  return {signedOp(name, dtype, wide)};
}

}  // namespace weft::cpu::jit
