// Loops, calls and counts of lanes around vector instructions.
#include "cpu/isa.h"
#include "cpu/jit/x64/vector-code.h"

namespace weft::cpu::jit::x64 {
namespace {

constexpr Opcode kAdd32{1, 1, 0xfe}, kShuffle32{1, 1, 0x70};
// The register of masks that code between instructions uses.
constexpr int kMask = 1;

}  // namespace

void X64Code::sumLanes(int mask) {
  const int sum = kFirstScratch, other = kSecondScratch;
  int all = mask;
  if (hasWide()) {
    to_.vector({1, 3, 0x3b, true}, Width::zmm, all, 0, vectorRegister(sum), 1);
    to_.vector(kAdd32, Width::ymm, sum, sum, vectorRegister(all));
    all = sum;
  }
  to_.vex({1, 3, 0x39}, Width::ymm, all, 0, vectorRegister(other), 1);
  to_.vex(kAdd32, Width::xmm, sum, other, vectorRegister(all));
  for (const int order : {0x4e, 0xb1}) {
    if (order == 0xb1 && laneBytes() == 8) break;
    to_.vex(kShuffle32, Width::xmm, other, 0, vectorRegister(sum), order);
    to_.vex(kAdd32, Width::xmm, sum, sum, vectorRegister(other));
  }
  to_.vex({1, 1, 0x7e}, Width::xmm, sum, 0, vectorRegister(static_cast<int>(Gpr::rax)));
}

void X64Code::maskBits(int mask) {
  const VectorOperand rax = vectorRegister(static_cast<int>(Gpr::rax));
  if (!hasWide()) {
    to_.vex({static_cast<uint8_t>(laneBytes() == 8 ? 1 : 0), 1, 0x50}, Width::ymm, rax.value, 0,
            vectorRegister(mask));
    return;
  }
  // vpmovq2m or vpmovd2m, then kmovw.
  emit({2, 2, 0x39, laneBytes() == 8}, kMask, 0, vectorRegister(mask));
  to_.vex({0, 1, 0x93}, Width::xmm, rax.value, 0, vectorRegister(kMask));
}

void X64Code::enter() {
  to_.push(kBase);
  to_.move(kBase, Gpr::rdi);
}
void X64Code::leave() {
  to_.zeroUpper();
  to_.pop(kBase);
  to_.ret();
}

void X64Code::firstVector() { to_.clear(kIndex); }
void X64Code::nextVector(int vectors, Label again) {
  to_.addImmediate(kIndex, vectorBytes());
  to_.compareImmediate(kIndex, vectors * vectorBytes());
  to_.jump(Condition::below, again);
}

void X64Code::enterWithPointers(int pointers) {
  enter();
  to_.push(kWrapped);
  for (int k = kUnkeptPointers; k < pointers; k++) to_.push(kPointers[k]);
}
void X64Code::leaveWithPointers(int pointers) {
  for (int k = pointers - 1; k >= kUnkeptPointers; k--) to_.pop(kPointers[k]);
  to_.pop(kWrapped);
  leave();
}

void X64Code::wrapVector(int32_t bytes) {
  to_.move(kWrapped, kIndex);
  to_.bitAndImmediate(kWrapped, bytes - 1);
}
void X64Code::holdLength(int32_t length) {
  to_.load(kLength, length);
  holdsLength_ = true;
}
void X64Code::nextVectorUpTo(int32_t length, Label again) {
  to_.addImmediate(kIndex, vectorBytes());
  if (holdsLength_)
    to_.compare(kIndex, kLength);
  else
    to_.compare(kIndex, length);
  to_.jump(Condition::below, again);
}

void X64Code::vectorAt(int32_t offset) { to_.load(kIndex, offset); }
void X64Code::movePointer(int pointer, int32_t offset) { to_.addWide(kPointers[pointer], offset); }
void X64Code::nextOf(int32_t offset, Label again) {
  to_.decrement(offset);
  to_.jump(Condition::notZero, again);
}

void X64Code::countLanes(int count, int mask) { emit(kAdd32, count, count, vectorRegister(mask)); }
void X64Code::compareCount(int count, std::optional<int32_t> limit) {
  if (limit) {
    sumLanes(count);
    return to_.add(Gpr::rax, *limit);
  }
  // Sums of masks are negative where there are any.
  maskBits(count);
  to_.negate(Gpr::rax);
}

void X64Code::jumpIfOutside(VectorOperand mask, Label label) {
  bitAnd(kFirstScratch, kFirstScratch, mask);
  maskBits(kFirstScratch);
  to_.test(Gpr::rax);
  to_.jump(Condition::notZero, label);
}

void X64Code::storeActive(int32_t masks, int vectors, int32_t to) {
  to_.clear(Gpr::rdx);
  for (int v = vectors - 1; v >= 0; v--) {
    move(kFirstScratch, {VectorOperand::Kind::memory, masks + v * vectorBytes()});
    maskBits(kFirstScratch);
    to_.shiftLeft(Gpr::rdx, static_cast<uint8_t>(lanes()));
    to_.bitOr(Gpr::rdx, Gpr::rax);
  }
  to_.store(to, Gpr::rdx);
}

void X64Code::call(const void* function, const void* argument) {
  to_.zeroUpper();
  to_.move(Gpr::rdi, kBase);
  if (argument != nullptr) to_.moveImmediate(Gpr::rsi, reinterpret_cast<uintptr_t>(argument));
  to_.moveImmediate(Gpr::rax, reinterpret_cast<uintptr_t>(function));
  to_.call(Gpr::rax);
}
void X64Code::callRoutine(Label routine, const void* argument) {
  to_.moveImmediate(Gpr::rsi, reinterpret_cast<uintptr_t>(argument));
  to_.call(routine);
}
void X64Code::leaveRoutine() {
  to_.pop(kIndex);
  to_.ret();
}

}  // namespace weft::cpu::jit::x64

namespace weft::cpu::jit {

bool hasVectorCode() { return currentIsa() == Isa::avx2 || currentIsa() == Isa::avx512; }
std::unique_ptr<VectorCode> makeVectorCode(int laneBytes, bool isNarrow) {
  return std::make_unique<x64::X64Code>(laneBytes, currentIsa() == Isa::avx512 && !isNarrow);
}

}  // namespace weft::cpu::jit
