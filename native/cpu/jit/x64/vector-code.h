// Vector instructions of AVX2 and AVX-512.
#pragma once
#include <iterator>

#include "cpu/jit/vector-code.h"
#include "cpu/jit/x64/assembler.h"

namespace weft::cpu::jit::x64 {

class X64Code final : public VectorCode {
 public:
  X64Code(int laneBytes, bool wide)
      : VectorCode(laneBytes, wide ? Registers{64, 32, 2} : Registers{32, 16, 2}), to_(wide) {}

  bool hasWide() const { return to_.isEvex(); }
  // out = instruction(first, second), of whole vectors.
  void emit(Opcode opcode, int out, int first, VectorOperand second);
  void emit(Opcode opcode, int out, int first, VectorOperand second, uint8_t immediate);
  // The first half of a vector: its lanes of 64 bits as 32 bits each; and back, each twice.
  void pack(int out, VectorOperand from);
  void spread(int out, int from);

  VectorOperand constant(uint64_t element) override { return to_.constant(element); }
  std::optional<uint64_t> elementOf(VectorOperand operand) const override { return to_.elementOf(operand); }
  void move(int out, VectorOperand from) override;
  void store(VectorOperand to, int from) override;

  void bitAnd(int out, int a, VectorOperand b) override;
  void bitAndNot(int out, int a, VectorOperand b) override;
  void bitOr(int out, int a, VectorOperand b) override;
  void bitXor(int out, int a, VectorOperand b) override;
  void invert(int out, int a) override;
  void zero(int out) override;

  void arithmetic(Arithmetic op, DType dtype, int out, VectorOperand a, VectorOperand b) override;
  void round(Rounding mode, DType dtype, int out, VectorOperand a) override;
  void squareRoot(DType dtype, int out, VectorOperand a) override;
  void negative(DType dtype, int out, VectorOperand a) override;
  void absolute(DType dtype, int out, VectorOperand a) override;
  void multiplyAdd(DType dtype, int out, int a, VectorOperand b, VectorOperand c) override;
  void subtractProduct(DType dtype, int out, int a, VectorOperand b) override;
  void unlessNegative(DType dtype, int out, int a) override;
  bool hasShift(Shift kind, DType dtype) const override;
  void shift(Shift kind, DType dtype, int out, VectorOperand a, VectorOperand count) override;
  void shiftRight64(int out, int a, int bits) override;
  void compare(DType dtype, Order order, int out, VectorOperand a, VectorOperand b) override;
  void select(int out, VectorOperand mask, VectorOperand a, VectorOperand b) override;
  void choose(DType dtype, Order order, int out, const VectorOperand* xyab) override;
  Emit castOf(DType from, DType to) const override;
  Emit boundedCastOf(DType from, DType to) const override;
  void multiplyHalves(int out, VectorOperand a, VectorOperand b) override {
    emit({1, 2, 0x28, true}, out, inRegister(a, out), b);
  }

  void enter() override;
  void leave() override;
  Label label() override { return to_.label(); }
  void bind(Label label) override { to_.bind(label); }
  void jump(Label label) override { to_.jump(label); }
  void firstVector() override;
  void nextVector(int vectors, Label again) override;
  int pointers() const override { return static_cast<int>(std::size(kPointers)); }
  void enterWithPointers(int pointers) override;
  void leaveWithPointers(int pointers) override;
  void wrapVector(int32_t bytes) override;
  void loadPointer(int pointer, int32_t offset) override { to_.load(kPointers[pointer], offset); }
  void holdLength(int32_t length) override;
  void nextVectorUpTo(int32_t length, Label again) override;
  void storePast(VectorOperand to, int from) override;
  void prefetch(VectorOperand pointed) override { to_.prefetch(pointed); }
  void vectorAt(int32_t offset) override;
  void movePointer(int pointer, int32_t offset) override;
  void nextOf(int32_t offset, Label again) override;
  void moveWhere(int out, VectorOperand mask, VectorOperand from) override;
  void countLanes(int count, int mask) override;
  void compareCount(int count, std::optional<int32_t> limit) override;
  void jumpIfMore(Label label) override { to_.jump(Condition::negative, label); }
  void jumpUnlessMore(Label label) override { to_.jump(Condition::notNegative, label); }
  void jumpIfOutside(VectorOperand mask, Label label) override;
  void storeActive(int32_t masks, int vectors, int32_t to) override;
  void call(const void* function, const void* argument) override;
  void callRoutine(Label routine, const void* argument) override;
  void enterRoutine() override { to_.push(kIndex); }
  void leaveRoutine() override;
  std::vector<uint8_t> finish() override { return to_.finish(vectorBytes()); }

 private:
  Width full() const { return hasWide() ? Width::zmm : Width::ymm; }
  void broadcastMask(bool isWide, int out);
  void compareFloats(bool isDouble, uint8_t predicate, int out, int a, VectorOperand b);
  void compareIntegers(DType dtype, Order order, int out, VectorOperand a, VectorOperand b);
  void floatArithmetic(Arithmetic op, DType dtype, int out, VectorOperand a, VectorOperand b);
  void integerArithmetic(Arithmetic op, DType dtype, int out, VectorOperand a, VectorOperand b);
  void shiftBy(uint8_t group, uint8_t bits, int out, int from);
  void multiply64(int out, int a, VectorOperand b);
  // Minus the number of lanes of masks that were added as 32 bits, into rax.
  void sumLanes(int mask);
  // A bit for each lane of a mask, into rax.
  void maskBits(int mask);

  Assembler to_;
  bool holdsLength_ = false;
};

}  // namespace weft::cpu::jit::x64
