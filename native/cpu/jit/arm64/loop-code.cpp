// Loops, calls and counts of lanes around vector instructions.
#include "cpu/isa.h"
#include "cpu/jit/arm64/instructions.h"
#include "cpu/jit/arm64/vector-code.h"

namespace weft::cpu::jit::arm64 {

uint32_t Arm64Code::wideLanes() const { return laneBytes() == 8 ? kWide : 0; }

void Arm64Code::enter() {
  to_.enter();
  to_.move(kBase, kFirstArgument);
}

void Arm64Code::nextVector(int vectors, Label again) {
  to_.addImmediate(kMoving, kMoving, vectorBytes());
  to_.subtract(kX9, kMoving, kBase);
  to_.compareImmediate(kX9, vectors * vectorBytes());
  to_.jump(Condition::below, again);
}

void Arm64Code::countLanes(int count, int mask) { to_.vector(kAdd | wideLanes(), count, count, mask); }
// Minus the lanes that masks were counted of, and the limit: negative where they are more.
void Arm64Code::compareCount(int count, std::optional<int32_t> limit) {
  to_.vector(laneBytes() == 8 ? kAddp : kAddv, kFirstScratch, count);
  to_.fromVector32(kX9, kFirstScratch);
  if (!limit) return to_.compareZero32(kX9);
  to_.load32(kX10, kBase, *limit);
  to_.compareNegated32(kX9, kX10);
}

void Arm64Code::jumpIfOutside(VectorOperand mask, Label label) {
  to_.vector(kCmlt0 | wideLanes(), kFirstScratch, kFirstScratch);
  bitAnd(kFirstScratch, kFirstScratch, mask);
  to_.vector(kUmaxp, kFirstScratch, kFirstScratch, kFirstScratch);
  to_.fromVector(kX9, kFirstScratch);
  to_.jumpIfNotZero(kX9, label);
}

void Arm64Code::storeActive(int32_t masks, int vectors, int32_t to) {
  to_.clear(kX11);
  for (int lane = 0; lane < vectors * lanes(); lane++) {
    to_.load32(kX9, kBase, masks + lane * laneBytes());
    to_.insertBit(kX11, lane, kX9);
  }
  to_.store(kX11, kBase, to);
}

void Arm64Code::call(const void* function, const void* argument) {
  to_.move(kFirstArgument, kBase);
  if (argument != nullptr) to_.moveImmediate(kSecondArgument, reinterpret_cast<uintptr_t>(argument));
  to_.moveImmediate(kTarget, reinterpret_cast<uintptr_t>(function));
  to_.callRegister(kTarget);
}
void Arm64Code::callRoutine(Label routine, const void* argument) {
  to_.moveImmediate(kSecondArgument, reinterpret_cast<uintptr_t>(argument));
  to_.call(routine);
}
void Arm64Code::leaveRoutine() {
  to_.popLink();
  to_.ret();
}

}  // namespace weft::cpu::jit::arm64

namespace weft::cpu::jit {

bool hasVectorCode() { return currentIsa() == Isa::neon; }
std::unique_ptr<VectorCode> makeVectorCode(int laneBytes, bool) {
  return std::make_unique<arm64::Arm64Code>(laneBytes);
}

}  // namespace weft::cpu::jit
