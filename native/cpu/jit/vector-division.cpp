// Remainders, with the bits of the functions of lanes (`ops-integer.cpp`).
//
// Of floats whose divisor is made positive by changing the signs of both, the integer part of the quotient
// is the true one, or one more where the quotient was rounded up to a whole number. A fused multiply-add then
// gives the remainder, or, exactly, one that is negative, which the divisor is added to.
#include <bit>

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
  VectorOperand sign() const { return constant(uint64_t{1} << 63, uint32_t{1} << 31); }
  VectorOperand magnitude() const { return constant(~uint64_t{0} >> 1, ~uint32_t{0} >> 1); }
  // Added to a magnitude's bits, sets the sign where it is at least this number, or is a NaN.
  VectorOperand bound(double number) const {
    return constant((uint64_t{1} << 63) - std::bit_cast<uint64_t>(number),
                    (uint32_t{1} << 31) - std::bit_cast<uint32_t>(static_cast<float>(number)));
  }
};

// Whether the quotient in `out` is too large to have a fraction, or the divisor is no number to multiply.
void findOutside(VectorCode& to, const Floats& floats, int out, VectorOperand divisor) {
  to.bitAnd(kFirstScratch, out, floats.magnitude());
  to.emit(floats.addBits(), kFirstScratch, kFirstScratch, floats.bound(floats.isDouble ? 0x1p51 : 0x1p22));
  to.bitAnd(kSecondScratch, to.inRegister(divisor, kSecondScratch), floats.magnitude());
  to.emit(floats.addBits(), kSecondScratch, kSecondScratch, floats.bound(__builtin_inf()));
  to.bitOr(kFirstScratch, kFirstScratch, kSecond);
}

}  // namespace

void remainderOfFloats(VectorCode& to, DType dtype, int out, const VectorOperand* args) {
  const bool isDouble = dtype == DType::float64;
  const Floats floats{to.assembler(), isDouble};
  const VectorOperand divisor = args[1];
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
  // Negative numbers have greater bits than the sum, others less.
  if (to.hasWide())
    to.emit(floats.of(1, 2, 0x3b), out, out, kSecond);
  else
    to.emit({1, 3, static_cast<uint8_t>(isDouble ? 0x4b : 0x4a)}, out, kSecondScratch, vectorRegister(out),
            static_cast<uint8_t>(kSecondScratch << 4));
  divisorSign();
  to.bitXor(out, out, kSecond);
}

// As doubles, which hold numbers of up to 2^49, their quotient's integer part and the remainder exactly.
void remainderOfWide(VectorCode& to, DType, int out, const VectorOperand* args) {
  constexpr Opcode kAddBits{1, 1, 0xd4, true}, kSubtractBits{1, 1, 0xfb, true};
  constexpr Opcode kAdd{1, 1, 0x58, true}, kSubtract{1, 1, 0x5c, true}, kDivide{1, 1, 0x5e, true};
  constexpr Opcode kRound{1, 3, 0x09, true}, kSubtractProduct{1, 2, 0xbc, true}, kShift{1, 1, 0x73, true};
  // A whole number as the last bits of this one, whose unit in the last place is 1.
  const VectorOperand whole = to.assembler().constant(std::bit_cast<uint64_t>(0x1.8p52));
  const auto toDouble = [&](int reg, VectorOperand from) {
    to.emit(kAddBits, reg, to.inRegister(from, reg), whole);
    to.emit(kSubtract, reg, reg, whole);
  };
  toDouble(kFirstScratch, args[0]);
  toDouble(kSecondScratch, args[1]);
  to.emit(kDivide, out, kFirstScratch, kSecond);
  to.emit(kRound, out, 0, vectorRegister(out), 1 | 8);
  to.emit(kSubtractProduct, kFirstScratch, out, kSecond);
  to.emit(kAdd, out, kFirstScratch, whole);
  to.emit(kSubtractBits, out, out, whole);
  // Bits above the 50 of the numbers plus 2^49, moved down, and negative where there are any.
  const VectorOperand half = to.assembler().constant(uint64_t{1} << 49);
  to.emit(kAddBits, kFirstScratch, to.inRegister(args[0], kFirstScratch), half);
  to.emit(kAddBits, kSecondScratch, to.inRegister(args[1], kSecondScratch), half);
  to.bitOr(kSecondScratch, kSecondScratch, kFirst);
  to.emit(kShift, 2, kSecondScratch, kSecond, 50);
  to.zero(kFirstScratch);
  to.emit(kSubtractBits, kFirstScratch, kFirstScratch, kSecond);
  to.compareIntegers(DType::int64, Order::equal, kSecondScratch, args[1], to.assembler().constant(0));
  to.bitOr(kFirstScratch, kFirstScratch, kSecond);
}

}  // namespace weft::cpu::jit
