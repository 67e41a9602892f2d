// Vector instructions by what they do to lanes, for AVX2 and AVX-512 alike.
//
// All lanes of a loop are of one size, 4 or 8 bytes, and a vector has the same lanes whatever its dtype:
// numbers of 32 bits in lanes of 64 stand there twice, so that instructions for 32 bits do on both halves
// what is done on one, and comparisons fill the lane. Booleans are masks: all bits of a lane.
#pragma once
#include "cpu/jit/assembler.h"
#include "shared/layout.h"

namespace weft::cpu::jit {

// Of comparisons.
enum class Order : uint8_t { equal, less, lessEqual, notEqual, greaterEqual, greater };
// Vectors that code between instructions may use, but no value lies in; the least register that values have.
constexpr int kFirstScratch = 0, kSecondScratch = 1, kFirstFree = 2;

// Bits of a number of the dtype in a lane, as in every other one.
uint64_t laneOf(DType dtype, uint64_t bits);

class VectorCode {
 public:
  VectorCode(Assembler& to, int laneBytes) : to_(to), laneBytes_(laneBytes) {}

  Assembler& assembler() { return to_; }
  bool hasWide() const { return to_.isEvex(); }
  int laneBytes() const { return laneBytes_; }
  int vectorBytes() const { return to_.isEvex() ? 64 : 32; }
  int registers() const { return to_.isEvex() ? 32 : 16; }
  int lanes() const { return vectorBytes() / laneBytes_; }

  // out = instruction(first, second), of whole vectors.
  void emit(Opcode opcode, int out, int first, VectorOperand second);
  void emit(Opcode opcode, int out, int first, VectorOperand second, uint8_t immediate);

  // Into a register; none where it is there.
  void move(int out, VectorOperand from);
  void store(VectorOperand to, int from);
  // The register that holds an operand: `spare`, where it lies in memory.
  int inRegister(VectorOperand from, int spare);

  // Any bits.
  void bitAnd(int out, int a, VectorOperand b);
  // ~a & b.
  void bitAndNot(int out, int a, VectorOperand b);
  void bitOr(int out, int a, VectorOperand b);
  void bitXor(int out, int a, VectorOperand b);
  void invert(int out, int a);
  void zero(int out);
  void addLanes32(int out, int a, VectorOperand b);

  // A mask.
  void compareFloats(bool isDouble, uint8_t predicate, int out, int a, VectorOperand b);
  void compareIntegers(DType dtype, Order order, int out, VectorOperand a, VectorOperand b);
  // mask ? a : b. `out` may be that of `a` or of `b`, not of the mask.
  void select(int out, VectorOperand mask, VectorOperand a, VectorOperand b);

  // The first half of a vector: its lanes of 64 bits as 32 bits each; and back, each twice.
  void pack(int out, VectorOperand from);
  void spread(int out, int from);
  // Minus the number of lanes of masks that were added as 32 bits, into rax.
  void sumLanes(int mask);
  // A bit for each lane of a mask, into rax.
  void maskBits(int mask);

 private:
  Width full() const { return to_.isEvex() ? Width::zmm : Width::ymm; }
  void broadcastMask(bool isWide, int out);

  Assembler& to_;
  const int laneBytes_;
};

}  // namespace weft::cpu::jit
