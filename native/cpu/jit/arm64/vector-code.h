// Vector instructions of NEON, four numbers of 32 bits or two of 64. None takes operands of memory: these,
// and constants, are loaded into registers of scratch beside those of `VectorCode`.
#pragma once
#include <map>

#include "cpu/jit/arm64/assembler.h"
#include "cpu/jit/vector-code.h"

namespace weft::cpu::jit::arm64 {

// For the operands of one instruction.
constexpr int kFirstLoad = 2, kSecondLoad = 3;

class Arm64Code final : public VectorCode {
 public:
  explicit Arm64Code(int laneBytes) : VectorCode(laneBytes, {16, 32, 4}) {}

  // out = instruction(a, b) of any operands.
  void emit(uint32_t instruction, int out, VectorOperand a, VectorOperand b);
  void emit(uint32_t instruction, int out, VectorOperand a);
  Assembler& assembler() { return to_; }

  VectorOperand constant(uint64_t element) override { return to_.constant(element); }
  std::optional<uint64_t> elementOf(VectorOperand operand) const override { return to_.elementOf(operand); }
  void move(int out, VectorOperand from) override;
  void store(VectorOperand to, int from) override;
  int inRegister(VectorOperand from, int spare) override;
  std::vector<VectorOperand> constantsLoadedBy(const std::function<void()>& emit) override;
  void hold(VectorOperand constant, int reg) override;
  void releaseHeld() override { held_.clear(); }

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
  bool hasShift(Shift, DType) const override { return true; }
  void shift(Shift kind, DType dtype, int out, VectorOperand a, VectorOperand count) override;
  void shiftRight64(int out, int a, int bits) override;
  void compare(DType dtype, Order order, int out, VectorOperand a, VectorOperand b) override;
  void select(int out, VectorOperand mask, VectorOperand a, VectorOperand b) override;
  Emit castOf(DType from, DType to) const override;
  void multiplyHalves(int out, VectorOperand a, VectorOperand b) override;

  void enter() override;
  void leave() override { to_.leave(); }
  Label label() override { return to_.label(); }
  void bind(Label label) override { to_.bind(label); }
  void jump(Label label) override { to_.jump(label); }
  void firstVector() override { to_.move(kMoving, kBase); }
  void nextVector(int vectors, Label again) override;
  void countLanes(int count, int mask) override;
  void compareCount(int count, std::optional<int32_t> limit) override;
  void jumpIfMore(Label label) override { to_.jump(Condition::negative, label); }
  void jumpUnlessMore(Label label) override { to_.jump(Condition::notNegative, label); }
  void jumpIfOutside(VectorOperand mask, Label label) override;
  void storeActive(int32_t masks, int vectors, int32_t to) override;
  void call(const void* function, const void* argument) override;
  void callRoutine(Label routine, const void* argument) override;
  void enterRoutine() override { to_.pushLink(); }
  void leaveRoutine() override;
  std::vector<uint8_t> finish() override { return to_.finish(); }

 private:
  // The bit of an instruction that makes its numbers as wide as lanes.
  uint32_t wideLanes() const;
  void extreme(bool isLargest, DType dtype, int out, int a, int b);
  void multiply64(int out, int a, int b);
  void shiftBy(Shift kind, DType dtype, int out, int a, uint64_t count);
  bool compareWithZero(DType dtype, Order order, int out, VectorOperand a, VectorOperand b);

  Assembler to_;
  // By number of a constant: the register that holds it; how often it was loaded.
  std::map<int32_t, int> held_, loads_;
};

}  // namespace weft::cpu::jit::arm64
