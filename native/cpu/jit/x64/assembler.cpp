#include "cpu/jit/x64/assembler.h"

#include <cstring>
#include <utility>

namespace weft::cpu::jit::x64 {
namespace {

constexpr int numberOf(Gpr gpr) { return static_cast<int>(gpr); }
// ModRM's r/m: a scaled index follows; relative to the next instruction.
constexpr int kScaled = 4, kRelative = 5;
constexpr int kDisplaced = 0x80, kDirect = 0xc0;
constexpr int kRexW = 0x48;

// The register in an operand: a vector's, or the pointer to one.
constexpr int registerIn(VectorOperand operand) {
  const bool isPointed =
      operand.kind == VectorOperand::Kind::pointed || operand.kind == VectorOperand::Kind::wrapped;
  if (isPointed) return numberOf(kPointers[operand.value]);
  return operand.isRegister() ? operand.value : 0;
}

}  // namespace

// Bits of register numbers, of the operand in vvvv and of W stand inverted, but for W itself.
void Assembler::vexPrefix(Opcode opcode, Width width, int out, int first, VectorOperand second) {
  const int rm = registerIn(second);
  byte(0xc4);
  byte((out & 8 ? 0 : 0x80) | 0x40 | (rm & 8 ? 0 : 0x20) | opcode.map);
  byte((opcode.wide ? 0x80 : 0) | (~first & 15) << 3 | (width == Width::ymm ? 4 : 0) | opcode.prefix);
}

void Assembler::evexPrefix(Opcode opcode, Width width, int out, int first, VectorOperand second, int mask) {
  const int rm = registerIn(second);
  byte(0x62);
  byte((out & 8 ? 0 : 0x80) | (rm & 16 ? 0 : 0x40) | (rm & 8 ? 0 : 0x20) | (out & 16 ? 0 : 0x10) |
       opcode.map);
  byte((opcode.wide ? 0x80 : 0) | (~first & 15) << 3 | 4 | opcode.prefix);
  byte(static_cast<int>(width) << 5 | (first & 16 ? 0 : 8) | mask);
}

// ModRM of memory at an offset from the base.
void Assembler::displaced(int reg, int32_t offset) {
  byte(kDisplaced | (reg & 7) << 3 | numberOf(kBase));
  word(offset);
}

// ModRM, and what it says that follows: `after` bytes stand behind it.
void Assembler::address(int out, VectorOperand second, int after) {
  const int reg = (out & 7) << 3;
  switch (second.kind) {
    case VectorOperand::Kind::vector:
      byte(kDirect | reg | (second.value & 7));
      return;
    case VectorOperand::Kind::memory:
      return displaced(out, second.value);
    case VectorOperand::Kind::moving:
      byte(kDisplaced | reg | kScaled);
      byte(numberOf(kIndex) << 3 | numberOf(kBase));
      return word(second.value);
    case VectorOperand::Kind::pointed:
    case VectorOperand::Kind::wrapped: {
      const Gpr index = second.kind == VectorOperand::Kind::pointed ? kIndex : kWrapped;
      byte(reg | kScaled);
      byte(numberOf(index) << 3 | (registerIn(second) & 7));
      return;
    }
    case VectorOperand::Kind::constant:
      byte(reg | kRelative);
      loads_.push_back({code_.size(), after, second.value});
      return word(0);
  }
}

void Assembler::vector(Opcode opcode, Width width, int out, int first, VectorOperand second) {
  if (!evex_) return vex(opcode, width, out, first, second);
  evexPrefix(opcode, width, out, first, second);
  byte(opcode.byte);
  address(out, second, 0);
}

void Assembler::vector(Opcode opcode, Width width, int out, int first, VectorOperand second,
                       uint8_t immediate) {
  if (!evex_) return vex(opcode, width, out, first, second, immediate);
  evexPrefix(opcode, width, out, first, second);
  byte(opcode.byte);
  address(out, second, 1);
  byte(immediate);
}

void Assembler::masked(Opcode opcode, int mask, int out, int first, VectorOperand second) {
  evexPrefix(opcode, Width::zmm, out, first, second, mask);
  byte(opcode.byte);
  address(out, second, 0);
}

void Assembler::vex(Opcode opcode, Width width, int out, int first, VectorOperand second, int immediate) {
  vexPrefix(opcode, width, out, first, second);
  byte(opcode.byte);
  address(out, second, immediate >= 0 ? 1 : 0);
  if (immediate >= 0) byte(immediate);
}

void Assembler::gpr(int opcode, Gpr reg, Gpr rm) {
  byte(kRexW);
  byte(opcode);
  byte(kDirect | numberOf(reg) << 3 | numberOf(rm));
}

void Assembler::move(Gpr to, Gpr from) { gpr(0x89, from, to); }

void Assembler::moveImmediate(Gpr to, uint64_t value) {
  byte(kRexW);
  byte(0xb8 | numberOf(to));
  quad(value);
}

void Assembler::shiftLeft(Gpr to, uint8_t bits) {
  gpr(0xc1, Gpr{4}, to);
  byte(bits);
}

void Assembler::bitOr(Gpr to, Gpr from) { gpr(0x09, from, to); }

// `operation` is in the place of the other register.
void Assembler::gprImmediate(int operation, Gpr to, int32_t value) {
  gpr(0x81, Gpr(operation), to);
  word(value);
}

void Assembler::gprMemory(int opcode, Gpr reg, int32_t offset) {
  byte(kRexW | (numberOf(reg) & 8 ? 4 : 0));
  byte(opcode);
  displaced(numberOf(reg), offset);
}

void Assembler::addImmediate(Gpr to, int32_t value) { gprImmediate(0, to, value); }
void Assembler::bitAndImmediate(Gpr to, int32_t value) { gprImmediate(4, to, value); }
void Assembler::compareImmediate(Gpr a, int32_t value) { gprImmediate(7, a, value); }

void Assembler::store(int32_t offset, Gpr from) { gprMemory(0x89, from, offset); }
void Assembler::load(Gpr to, int32_t offset) { gprMemory(0x8b, to, offset); }
void Assembler::compare(Gpr a, Gpr b) { gpr(0x39, b, a); }
void Assembler::compare(Gpr a, int32_t offset) { gprMemory(0x3b, a, offset); }
void Assembler::addWide(Gpr to, int32_t offset) { gprMemory(0x03, to, offset); }

// `operation` 5, a subtraction, is in the place of the register.
void Assembler::decrement(int32_t offset) {
  gprMemory(0x83, Gpr{5}, offset);
  byte(1);
}

// prefetcht0.
void Assembler::prefetch(VectorOperand pointed) {
  if (registerIn(pointed) & 8) byte(0x41);
  byte(0x0f);
  byte(0x18);
  address(1, pointed, 0);
}

void Assembler::call(Gpr target) {
  byte(0xff);
  byte(kDirect | 2 << 3 | numberOf(target));
}

void Assembler::push(Gpr from) {
  if (numberOf(from) & 8) byte(0x41);
  byte(0x50 | (numberOf(from) & 7));
}
void Assembler::pop(Gpr to) {
  if (numberOf(to) & 8) byte(0x41);
  byte(0x58 | (numberOf(to) & 7));
}

void Assembler::clear(Gpr to) {
  byte(0x31);
  byte(kDirect | numberOf(to) << 3 | numberOf(to));
}

void Assembler::add(Gpr to, int32_t offset) {
  byte(0x03);
  displaced(numberOf(to), offset);
}

void Assembler::test(Gpr a) {
  byte(0x85);
  byte(kDirect | numberOf(a) << 3 | numberOf(a));
}

void Assembler::negate(Gpr to) {
  byte(0xf7);
  byte(kDirect | 3 << 3 | numberOf(to));
}

void Assembler::zeroUpper() {
  byte(0xc5);
  byte(0xf8);
  byte(0x77);
}

void Assembler::ret() { byte(0xc3); }

void Assembler::jump(Label label) {
  byte(0xe9);
  jumps_.push_back({code_.size(), 0, label});
  word(0);
}

void Assembler::jump(Condition condition, Label label) {
  byte(0x0f);
  byte(0x80 | static_cast<int>(condition));
  jumps_.push_back({code_.size(), 0, label});
  word(0);
}

void Assembler::call(Label label) {
  byte(0xe8);
  jumps_.push_back({code_.size(), 0, label});
  word(0);
}

void Assembler::patch(const Fix& fix, int64_t target) {
  const auto distance = static_cast<int32_t>(target - static_cast<int64_t>(fix.at) - 4 - fix.after);
  std::memcpy(code_.data() + fix.at, &distance, sizeof distance);
}

std::vector<uint8_t> Assembler::finish(size_t vectorBytes) {
  for (const Fix& fix : jumps_) patch(fix, placeOf(fix.target));
  const size_t first = placeConstants(vectorBytes);
  for (const Fix& fix : loads_) patch(fix, static_cast<int64_t>(first + fix.target * vectorBytes));
  return std::move(code_);
}

}  // namespace weft::cpu::jit::x64
