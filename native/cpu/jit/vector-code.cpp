#include "cpu/jit/vector-code.h"

#include <utility>

namespace weft::cpu::jit {
namespace {

constexpr Opcode kLoad{0, 1, 0x10}, kStore{0, 1, 0x11}, kCopy{0, 1, 0x28};
constexpr Opcode kAnd{1, 1, 0xdb, true}, kAndNot{1, 1, 0xdf, true}, kOr{1, 1, 0xeb, true},
    kXor{1, 1, 0xef, true};
constexpr Opcode kAdd32{1, 1, 0xfe}, kShuffle32{1, 1, 0x70}, kPermute32{1, 2, 0x36};
// The register of masks that code between instructions uses.
constexpr int kMask = 1;

}  // namespace

uint64_t laneOf(DType dtype, uint64_t bits) {
  if (dtype == DType::boolean) return (bits & 0xff) != 0 ? ~uint64_t{0} : 0;
  if (kElementBytes[static_cast<int>(dtype)] == 8) return bits;
  return (bits & 0xffffffff) | bits << 32;
}

void VectorCode::emit(Opcode opcode, int out, int first, VectorOperand second) {
  to_.vector(opcode, full(), out, first, second);
}
void VectorCode::emit(Opcode opcode, int out, int first, VectorOperand second, uint8_t immediate) {
  to_.vector(opcode, full(), out, first, second, immediate);
}

void VectorCode::move(int out, VectorOperand from) {
  if (from == vectorRegister(out)) return;
  emit(from.isRegister() ? kCopy : kLoad, out, 0, from);
}
void VectorCode::store(VectorOperand to, int from) { emit(kStore, from, 0, to); }

int VectorCode::inRegister(VectorOperand from, int spare) {
  if (from.isRegister()) return from.value;
  move(spare, from);
  return spare;
}

// AVX has these for any vector under one W, which EVEX takes for the size of elements under masks: none here.
void VectorCode::bitAnd(int out, int a, VectorOperand b) { emit(kAnd, out, a, b); }
void VectorCode::bitAndNot(int out, int a, VectorOperand b) { emit(kAndNot, out, a, b); }
void VectorCode::bitOr(int out, int a, VectorOperand b) { emit(kOr, out, a, b); }
void VectorCode::bitXor(int out, int a, VectorOperand b) { emit(kXor, out, a, b); }
void VectorCode::invert(int out, int a) { bitXor(out, a, to_.constant(~uint64_t{0})); }
void VectorCode::zero(int out) { bitXor(out, out, vectorRegister(out)); }
void VectorCode::addLanes32(int out, int a, VectorOperand b) { emit(kAdd32, out, a, b); }

void VectorCode::broadcastMask(bool isWide, int out) {
  emit({2, 2, 0x38, isWide}, out, 0, vectorRegister(kMask));
}

void VectorCode::compareFloats(bool isDouble, uint8_t predicate, int out, int a, VectorOperand b) {
  const Opcode compare{static_cast<uint8_t>(isDouble ? 1 : 0), 1, 0xc2, isDouble};
  if (!hasWide()) return emit(compare, out, a, b, predicate);
  emit(compare, kMask, a, b, predicate);
  broadcastMask(isDouble, out);
}

void VectorCode::compareIntegers(DType dtype, Order order, int out, VectorOperand a, VectorOperand b) {
  const bool isWide = kElementBytes[static_cast<int>(dtype)] == 8;
  const bool isUnsigned = dtype == DType::uint32 || dtype == DType::uint64;
  if (hasWide()) {
    constexpr uint8_t kPredicates[] = {0, 1, 2, 4, 5, 6};
    emit({1, 3, static_cast<uint8_t>(isUnsigned ? 0x1e : 0x1f), isWide}, kMask, inRegister(a, out), b,
         kPredicates[static_cast<int>(order)]);
    return broadcastMask(isWide, out);
  }
  const Opcode equal = isWide ? Opcode{1, 2, 0x29} : Opcode{1, 1, 0x76};
  const Opcode greater = isWide ? Opcode{1, 2, 0x37} : Opcode{1, 1, 0x66};
  const bool isEquality = order == Order::equal || order == Order::notEqual;
  if (isUnsigned && !isEquality) {
    // As signed ones, whose order is that of the others with the first bit changed.
    const VectorOperand first = to_.constant(isWide ? uint64_t{1} << 63 : 0x8000000080000000);
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

void VectorCode::select(int out, VectorOperand mask, VectorOperand a, VectorOperand b) {
  const VectorOperand own = vectorRegister(out);
  if (!hasWide()) {
    const int bits = inRegister(mask, kSecondScratch);
    const int otherwise = inRegister(b, a == own ? kFirstScratch : out);
    // The mask stands in the high half of the last byte.
    emit({1, 3, static_cast<uint8_t>(laneBytes_ == 8 ? 0x4b : 0x4a)}, out, otherwise, a,
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

void VectorCode::pack(int out, VectorOperand from) {
  if (hasWide()) {
    // vpmovqd, whose operands stand as those of a store.
    to_.vector({2, 2, 0x35}, Width::zmm, inRegister(from, out), 0, vectorRegister(out));
    return;
  }
  // (0, 2, 0, 2) in each half of 128 bits, then the two halves.
  emit(kShuffle32, out, 0, from, 0x88);
  emit({1, 3, 0x00, true}, out, 0, vectorRegister(out), 0x08);
}

void VectorCode::spread(int out, int from) {
  // vpmovzxdq, then the low half of each lane twice.
  emit({1, 2, 0x35}, out, 0, vectorRegister(from));
  emit(kShuffle32, out, 0, vectorRegister(out), 0xa0);
}

void VectorCode::sumLanes(int mask) {
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
    if (order == 0xb1 && laneBytes_ == 8) break;
    to_.vex(kShuffle32, Width::xmm, other, 0, vectorRegister(sum), order);
    to_.vex(kAdd32, Width::xmm, sum, sum, vectorRegister(other));
  }
  to_.vex({1, 1, 0x7e}, Width::xmm, sum, 0, vectorRegister(static_cast<int>(Gpr::rax)));
}

void VectorCode::maskBits(int mask) {
  const VectorOperand rax = vectorRegister(static_cast<int>(Gpr::rax));
  if (!hasWide()) {
    to_.vex({static_cast<uint8_t>(laneBytes_ == 8 ? 1 : 0), 1, 0x50}, Width::ymm, rax.value, 0,
            vectorRegister(mask));
    return;
  }
  // vpmovq2m or vpmovd2m, then kmovw.
  emit({2, 2, 0x39, laneBytes_ == 8}, kMask, 0, vectorRegister(mask));
  to_.vex({0, 1, 0x93}, Width::xmm, rax.value, 0, vectorRegister(kMask));
}

}  // namespace weft::cpu::jit
