#include "cpu/jit/arm64/assembler.h"

#include <cstring>
#include <utility>

#include "cpu/jit/arm64/instructions.h"

namespace weft::cpu::jit::arm64 {
namespace {

constexpr uint32_t field(int value, int at) { return static_cast<uint32_t>(value) << at; }
constexpr int kStack = 31, kNone = 31;
constexpr int kVectorBytes = 16;
// Bytes of the stack that a function keeps registers in: two general pairs, then eight vectors' halves.
constexpr int kKeptBytes = 96;

}  // namespace

void Assembler::vector(uint32_t instruction, int out, int a, int b) {
  emit(instruction | field(b, 16) | field(a, 5) | field(out, 0));
}
void Assembler::vector(uint32_t instruction, int out, int a) { vector(instruction, out, a, 0); }

void Assembler::shiftLeft(int out, int a, int bits, int width) {
  emit(kShl | field(width + bits, 16) | field(a, 5) | field(out, 0));
}
void Assembler::shiftRight(uint32_t instruction, int out, int a, int bits, int width) {
  emit(instruction | field(2 * width - bits, 16) | field(a, 5) | field(out, 0));
}

// A register that is at most so many bytes from an offset of another, and what is left of that.
int Assembler::reachable(int base, int32_t& offset, int32_t most) {
  if (offset <= most) return base;
  constexpr int kPage = 12;
  isReached_ = isReached_ && offset >> 2 * kPage == 0;
  emit(0x91400000 | field(offset >> kPage, 10) | field(base, 5) | field(kAddress, 0));
  offset &= (1 << kPage) - 1;
  return kAddress;
}
void Assembler::loadVector(int out, int base, int32_t offset) {
  const int from = reachable(base, offset, 0xfff * kVectorBytes);
  emit(0x3dc00000 | field(offset / kVectorBytes, 10) | field(from, 5) | field(out, 0));
}
void Assembler::storeVector(int from, int base, int32_t offset) {
  const int to = reachable(base, offset, 0xfff * kVectorBytes);
  emit(0x3d800000 | field(offset / kVectorBytes, 10) | field(to, 5) | field(from, 0));
}
void Assembler::loadConstant(int out, int32_t constant) {
  loads_.push_back({code_.size(), Reach::near, constant});
  emit(0x9c000000 | field(out, 0));
}

void Assembler::move(int to, int from) { emit(0xaa0003e0 | field(from, 16) | field(to, 0)); }
void Assembler::moveImmediate(int to, uint64_t value) {
  emit(0xd2800000 | field(value & 0xffff, 5) | field(to, 0));
  for (int k = 1; k < 4; k++) {
    const auto part = static_cast<int>(value >> 16 * k & 0xffff);
    if (part != 0) emit(0xf2800000 | field(k, 21) | field(part, 5) | field(to, 0));
  }
}
void Assembler::addImmediate(int to, int from, int value) {
  emit(0x91000000 | field(value, 10) | field(from, 5) | field(to, 0));
}
void Assembler::subtract(int to, int from, int other) {
  emit(0xcb000000 | field(other, 16) | field(from, 5) | field(to, 0));
}
void Assembler::compareImmediate(int a, int value) {
  emit(0xf1000000 | field(value, 10) | field(a, 5) | field(kNone, 0));
}
void Assembler::insertBit(int to, int bit, int from) {
  emit(0xb3400000 | field(-bit & 63, 16) | field(from, 5) | field(to, 0));
}
void Assembler::clear(int to) { move(to, kNone); }
void Assembler::fromVector(int to, int vector) { emit(0x9e660000 | field(vector, 5) | field(to, 0)); }
void Assembler::store(int from, int base, int32_t offset) {
  emit(0xf9000000 | field(offset / 8, 10) | field(base, 5) | field(from, 0));
}
void Assembler::load32(int to, int base, int32_t offset) {
  const int from = reachable(base, offset, 0xfff * 4);
  emit(0xb9400000 | field(offset / 4, 10) | field(from, 5) | field(to, 0));
}
void Assembler::fromVector32(int to, int vector) { emit(0x1e260000 | field(vector, 5) | field(to, 0)); }
void Assembler::compareNegated32(int a, int b) {
  emit(0x2b000000 | field(b, 16) | field(a, 5) | field(kNone, 0));
}
void Assembler::compareZero32(int a) { emit(0x71000000 | field(a, 5) | field(kNone, 0)); }

// Two registers in a slot of 16 bytes of the stack.
void Assembler::pair(uint32_t instruction, int first, int second, int slot) {
  emit(instruction | field(2 * slot & 0x7f, 15) | field(second, 10) | field(kStack, 5) | field(first, 0));
}
void Assembler::enter() {
  constexpr uint32_t kPush = 0xa9800000, kStore = 0xa9000000, kStoreHalves = 0x6d000000;
  pair(kPush, 29, kLink, -kKeptBytes / 16);
  pair(kStore, kBase, kMoving, 1);
  for (int k = 0; k < 4; k++) pair(kStoreHalves, 8 + 2 * k, 9 + 2 * k, 2 + k);
}
void Assembler::leave() {
  constexpr uint32_t kPop = 0xa8c00000, kLoad = 0xa9400000, kLoadHalves = 0x6d400000;
  for (int k = 0; k < 4; k++) pair(kLoadHalves, 8 + 2 * k, 9 + 2 * k, 2 + k);
  pair(kLoad, kBase, kMoving, 1);
  pair(kPop, 29, kLink, kKeptBytes / 16);
  ret();
}
void Assembler::pushLink() { emit(0xf81f0fe0 | field(kLink, 0)); }
void Assembler::popLink() { emit(0xf84107e0 | field(kLink, 0)); }
void Assembler::ret() { emit(0xd65f03c0); }

void Assembler::jump(Label label) {
  jumps_.push_back({code_.size(), Reach::far, label});
  emit(0x14000000);
}
void Assembler::jump(Condition condition, Label label) {
  jumps_.push_back({code_.size(), Reach::near, label});
  emit(0x54000000 | static_cast<uint32_t>(condition));
}
void Assembler::jumpIfNotZero(int a, Label label) {
  jumps_.push_back({code_.size(), Reach::near, label});
  emit(0xb5000000 | field(a, 0));
}
void Assembler::call(Label label) {
  jumps_.push_back({code_.size(), Reach::far, label});
  emit(0x94000000);
}
void Assembler::callRegister(int target) { emit(0xd63f0000 | field(target, 5)); }

void Assembler::rewind(Mark mark) {
  code_.resize(mark.code);
  jumps_.resize(mark.jumps);
  loads_.resize(mark.loads);
}

void Assembler::patch(const Fix& fix, int64_t target) {
  const int64_t words = (target - static_cast<int64_t>(fix.at)) / 4;
  const int bits = fix.reach == Reach::far ? 26 : 19;
  const int64_t most = int64_t{1} << (bits - 1);
  isReached_ = isReached_ && words >= -most && words < most;
  uint32_t instruction;
  std::memcpy(&instruction, code_.data() + fix.at, sizeof instruction);
  const uint32_t distance = static_cast<uint32_t>(words) & ((1u << bits) - 1);
  instruction |= fix.reach == Reach::far ? distance : distance << 5;
  std::memcpy(code_.data() + fix.at, &instruction, sizeof instruction);
}

std::vector<uint8_t> Assembler::finish() {
  const size_t first = placeConstants(kVectorBytes);
  for (const Fix& fix : jumps_) patch(fix, placeOf(fix.target));
  for (const Fix& fix : loads_) patch(fix, static_cast<int64_t>(first + fix.target * kVectorBytes));
  if (!isReached_) return {};
  return std::move(code_);
}

}  // namespace weft::cpu::jit::arm64
