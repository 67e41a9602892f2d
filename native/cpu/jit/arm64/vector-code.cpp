#include "cpu/jit/arm64/vector-code.h"

#include <algorithm>
#include <utility>

#include "cpu/jit/arm64/instructions.h"

namespace weft::cpu::jit::arm64 {
namespace {

// An instruction for 32 bits as that of a dtype.
constexpr uint32_t of(DType dtype, uint32_t instruction) { return instruction | (isWide(dtype) ? kWide : 0); }

}  // namespace

void Arm64Code::emit(uint32_t instruction, int out, VectorOperand a, VectorOperand b) {
  const int first = inRegister(a, kFirstLoad);
  to_.vector(instruction, out, first, b == a ? first : inRegister(b, kSecondLoad));
}
void Arm64Code::emit(uint32_t instruction, int out, VectorOperand a) {
  to_.vector(instruction, out, inRegister(a, kFirstLoad));
}

void Arm64Code::move(int out, VectorOperand from) {
  switch (from.kind) {
    case VectorOperand::Kind::vector:
      if (from.value != out) to_.vector(kOrr, out, from.value, from.value);
      return;
    case VectorOperand::Kind::memory:
      return to_.loadVector(out, kBase, from.value);
    case VectorOperand::Kind::moving:
      return to_.loadVector(out, kMoving, from.value);
    case VectorOperand::Kind::pointed:
    case VectorOperand::Kind::wrapped:
      // There are no pointers (`pointers`).
      return;
    case VectorOperand::Kind::constant:
      if (to_.elementOf(from) == 0) return zero(out);
      if (const auto held = held_.find(from.value); held != held_.end())
        return move(out, vectorRegister(held->second));
      loads_[from.value]++;
      return to_.loadConstant(out, from.value);
  }
}
void Arm64Code::store(VectorOperand to, int from) {
  to_.storeVector(from, to.kind == VectorOperand::Kind::moving ? kMoving : kBase, to.value);
}

int Arm64Code::inRegister(VectorOperand from, int spare) {
  const bool isConstant = from.kind == VectorOperand::Kind::constant;
  const auto held = isConstant ? held_.find(from.value) : held_.end();
  return held != held_.end() ? held->second : VectorCode::inRegister(from, spare);
}

std::vector<VectorOperand> Arm64Code::constantsLoadedBy(const std::function<void()>& emit) {
  const Assembler::Mark mark = to_.mark();
  loads_.clear();
  emit();
  to_.rewind(mark);
  std::vector<VectorOperand> constants;
  for (const auto& [constant, count] : loads_) constants.push_back({VectorOperand::Kind::constant, constant});
  std::stable_sort(constants.begin(), constants.end(),
                   [&](auto a, auto b) { return loads_[a.value] > loads_[b.value]; });
  return constants;
}
void Arm64Code::hold(VectorOperand constant, int reg) {
  move(reg, constant);
  held_[constant.value] = reg;
}

void Arm64Code::bitAnd(int out, int a, VectorOperand b) { emit(kAnd, out, vectorRegister(a), b); }
void Arm64Code::bitAndNot(int out, int a, VectorOperand b) { emit(kBic, out, b, vectorRegister(a)); }
void Arm64Code::bitOr(int out, int a, VectorOperand b) { emit(kOrr, out, vectorRegister(a), b); }
void Arm64Code::bitXor(int out, int a, VectorOperand b) { emit(kEor, out, vectorRegister(a), b); }
void Arm64Code::invert(int out, int a) { to_.vector(kNot, out, a); }
void Arm64Code::zero(int out) { to_.vector(kZero, out, 0); }

// ---------------------------------------------------------------------------------------------- arithmetic

void Arm64Code::arithmetic(Arithmetic op, DType dtype, int out, VectorOperand a, VectorOperand b) {
  constexpr uint32_t kFloats[] = {kFadd, kFsub, kFmul, kFdiv}, kIntegers[] = {kAdd, kSub, kMul};
  const bool isExtreme = op >= Arithmetic::minimum;
  const bool isProduct64 = op == Arithmetic::multiply && isWide(dtype) && !isFloat(dtype);
  if (!isExtreme && !isProduct64)
    return emit(of(dtype, (isFloat(dtype) ? kFloats : kIntegers)[static_cast<int>(op)]), out, a, b);
  const int first = inRegister(a, kFirstLoad), second = b == a ? first : inRegister(b, kSecondLoad);
  if (isProduct64) return multiply64(out, first, second);
  extreme(op == Arithmetic::maximum, dtype, out, first, second);
}

void Arm64Code::extreme(bool isLargest, DType dtype, int out, int a, int b) {
  if (isFloat(dtype)) return to_.vector(of(dtype, isLargest ? kFmax : kFmin), out, a, b);
  if (!isWide(dtype)) {
    if (isUnsigned(dtype)) return to_.vector(isLargest ? kUmax : kUmin, out, a, b);
    return to_.vector(isLargest ? kSmax : kSmin, out, a, b);
  }
  to_.vector(of(dtype, isUnsigned(dtype) ? kCmhi : kCmgt), out, isLargest ? a : b, isLargest ? b : a);
  to_.vector(kBsl, out, a, b);
}

// The products of a low and a high half, moved up, and that of the low halves.
void Arm64Code::multiply64(int out, int a, int b) {
  to_.vector(kRev64, out, b);
  to_.vector(kMul, out, out, a);
  to_.vector(kUaddlp, out, out);
  to_.shiftLeft(out, out, 32, 64);
  to_.vector(kXtn, kFirstScratch, a);
  to_.vector(kXtn, kSecondScratch, b);
  to_.vector(kUmlal, out, kFirstScratch, kSecondScratch);
}

void Arm64Code::multiplyHalves(int out, VectorOperand a, VectorOperand b) {
  emit(kXtn, kFirstScratch, a);
  emit(kXtn, kSecondScratch, b);
  to_.vector(kSmull, out, kFirstScratch, kSecondScratch);
}

void Arm64Code::round(Rounding mode, DType dtype, int out, VectorOperand a) {
  constexpr uint32_t kModes[] = {kFrintn, kFrintm, kFrintp, kFrintz};
  emit(of(dtype, kModes[static_cast<int>(mode)]), out, a);
}
void Arm64Code::squareRoot(DType dtype, int out, VectorOperand a) { emit(of(dtype, kFsqrt), out, a); }
void Arm64Code::negative(DType dtype, int out, VectorOperand a) { emit(of(dtype, kFneg), out, a); }
void Arm64Code::absolute(DType dtype, int out, VectorOperand a) { emit(of(dtype, kFabs), out, a); }

void Arm64Code::multiplyAdd(DType dtype, int out, int a, VectorOperand b, VectorOperand c) {
  move(out, c);
  emit(of(dtype, kFmla), out, vectorRegister(a), b);
}
void Arm64Code::subtractProduct(DType dtype, int out, int a, VectorOperand b) {
  emit(of(dtype, kFmls), out, vectorRegister(a), b);
}
void Arm64Code::unlessNegative(DType dtype, int out, int a) {
  to_.vector(of(dtype, kCmlt0), kFirstLoad, a);
  to_.vector(kBif, out, a, kFirstLoad);
}

void Arm64Code::shift(Shift kind, DType dtype, int out, VectorOperand a, VectorOperand count) {
  const int first = inRegister(a, kFirstLoad);
  if (const std::optional<uint64_t> element = to_.elementOf(count))
    return shiftBy(kind, dtype, out, first, isWide(dtype) ? *element : *element & 0xffffffff);
  // The instruction takes the last byte of a count: the width for all that are more.
  const int counts = inRegister(count, kSecondLoad);
  move(kFirstScratch, to_.constant(isWide(dtype) ? 64 : laneOf(dtype, 32)));
  if (isWide(dtype)) {
    to_.vector(of(dtype, kCmhi), kSecondScratch, kFirstScratch, counts);
    to_.vector(kBsl, kSecondScratch, counts, kFirstScratch);
  } else {
    to_.vector(kUmin, kSecondScratch, kFirstScratch, counts);
  }
  if (kind != Shift::left) to_.vector(of(dtype, kNeg), kSecondScratch, kSecondScratch);
  to_.vector(of(dtype, kind == Shift::rightSigned ? kSshl : kUshl), out, first, kSecondScratch);
}

void Arm64Code::shiftBy(Shift kind, DType dtype, int out, int a, uint64_t count) {
  const int width = isWide(dtype) ? 64 : 32;
  const auto bits = static_cast<int>(std::min<uint64_t>(count, width));
  if (bits == 0) return move(out, vectorRegister(a));
  if (kind != Shift::left) return to_.shiftRight(kind == Shift::right ? kUshr : kSshr, out, a, bits, width);
  if (bits == width) return zero(out);
  to_.shiftLeft(out, a, bits, width);
}
void Arm64Code::shiftRight64(int out, int a, int bits) { to_.shiftRight(kUshr, out, a, bits, 64); }

// ----------------------------------------------------------------------------------------------- comparisons

void Arm64Code::compare(DType dtype, Order order, int out, VectorOperand a, VectorOperand b) {
  if (compareWithZero(dtype, order, out, a, b)) return;
  if (order == Order::less || order == Order::lessEqual) {
    std::swap(a, b);
    order = order == Order::less ? Order::greater : Order::greaterEqual;
  }
  const auto choose = [&](uint32_t ofFloats, uint32_t ofSigned, uint32_t ofUnsigned) {
    return isFloat(dtype) ? ofFloats : isUnsigned(dtype) ? ofUnsigned : ofSigned;
  };
  const uint32_t instruction = order == Order::greater        ? choose(kFcmgt, kCmgt, kCmhi)
                               : order == Order::greaterEqual ? choose(kFcmge, kCmge, kCmhs)
                                                              : choose(kFcmeq, kCmeq, kCmeq);
  emit(of(dtype, instruction), out, a, b);
  if (order == Order::notEqual) invert(out, out);
}

bool Arm64Code::compareWithZero(DType dtype, Order order, int out, VectorOperand a, VectorOperand b) {
  // By `Order`, where `notEqual` is inverted.
  constexpr uint32_t kFloats[] = {kFcmeq0, kFcmlt0, kFcmle0, kFcmeq0, kFcmge0, kFcmgt0};
  constexpr uint32_t kIntegers[] = {kCmeq0, kCmlt0, kCmle0, kCmeq0, kCmge0, kCmgt0};
  const bool isEquality = order == Order::equal || order == Order::notEqual;
  if (to_.elementOf(b) != 0 || (isUnsigned(dtype) && !isEquality)) return false;
  emit(of(dtype, (isFloat(dtype) ? kFloats : kIntegers)[static_cast<int>(order)]), out, a);
  if (order == Order::notEqual) invert(out, out);
  return true;
}

void Arm64Code::select(int out, VectorOperand mask, VectorOperand a, VectorOperand b) {
  const VectorOperand own = vectorRegister(out);
  if (a == own) return emit(kBif, out, b, mask);
  if (b == own) return emit(kBit, out, a, mask);
  move(out, mask);
  emit(kBsl, out, a, b);
}

}  // namespace weft::cpu::jit::arm64
