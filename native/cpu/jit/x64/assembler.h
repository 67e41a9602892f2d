// An assembler of x86-64: the vector instructions of AVX2 (VEX) or AVX-512 (EVEX), and the few scalar ones
// that loops around them need. Memory is addressed from one base register; constants lie behind the code.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/jit/code-buffer.h"

namespace weft::cpu::jit::x64 {

// A vector instruction: mandatory prefix (0, 1: 66, 2: F3, 3: F2), map (1: 0F, 2: 0F38, 3: 0F3A), byte.
// `wide` is the bit W, which EVEX takes for elements of 64 bits.
struct Opcode {
  uint8_t prefix, map, byte;
  bool wide = false;
};

enum class Width : uint8_t { xmm, ymm, zmm };
// By their numbers in code.
enum class Gpr : uint8_t {
  rax = 0,
  rcx = 1,
  rdx = 2,
  rbx = 3,
  rbp = 5,
  rsi = 6,
  rdi = 7,
  r8 = 8,
  r9 = 9,
  r10 = 10,
  r11 = 11,
  r12 = 12,
  r14 = 14,
  r15 = 15
};
// Codes of conditions in jumps.
enum class Condition : uint8_t { below = 2, notZero = 5, negative = 8, notNegative = 9 };

constexpr Gpr kBase = Gpr::rbx;
constexpr Gpr kIndex = Gpr::rcx;
// The index within memory that is gone through again and again.
constexpr Gpr kWrapped = Gpr::rbp;
// In code that does not.
constexpr Gpr kLength = Gpr::rbp;
// Registers of pointers: those that functions need not keep, then others; not r13, which as the base of an
// address takes a displacement.
constexpr Gpr kPointers[] = {Gpr::rax, Gpr::rdx, Gpr::rsi, Gpr::rdi, Gpr::r8, Gpr::r9,
                             Gpr::r10, Gpr::r11, Gpr::r12, Gpr::r14, Gpr::r15};
constexpr int kUnkeptPointers = 8;

class Assembler : public CodeBuffer {
 public:
  explicit Assembler(bool evex) : evex_(evex) {}
  bool isEvex() const { return evex_; }

  // out = instruction(first, second); those of two operands have no `first`. In stores `out` is the register
  // that is read, and `second` the memory.
  void vector(Opcode opcode, Width width, int out, int first, VectorOperand second);
  void vector(Opcode opcode, Width width, int out, int first, VectorOperand second, uint8_t immediate);
  // With AVX-512, in the lanes of a mask.
  void masked(Opcode opcode, int mask, int out, int first, VectorOperand second);
  // In VEX's form also with AVX-512, for instructions of scalars and masks that have no other.
  void vex(Opcode opcode, Width width, int out, int first, VectorOperand second, int immediate = -1);

  // Registers of 64 bits.
  void move(Gpr to, Gpr from);
  void moveImmediate(Gpr to, uint64_t value);
  void shiftLeft(Gpr to, uint8_t bits);
  void bitOr(Gpr to, Gpr from);
  void addImmediate(Gpr to, int32_t value);
  void compareImmediate(Gpr a, int32_t value);
  void store(int32_t offset, Gpr from);
  void load(Gpr to, int32_t offset);
  void compare(Gpr a, Gpr b);
  void compare(Gpr a, int32_t offset);
  void addWide(Gpr to, int32_t offset);
  void decrement(int32_t offset);
  void bitAndImmediate(Gpr to, int32_t value);
  void call(Gpr target);
  void push(Gpr from);
  void pop(Gpr to);
  // Of 32 bits.
  void clear(Gpr to);
  void add(Gpr to, int32_t offset);
  void test(Gpr a);
  void negate(Gpr to);

  void prefetch(VectorOperand pointed);
  void zeroUpper();
  void ret();

  void jump(Label label);
  void jump(Condition condition, Label label);
  void call(Label label);

  // The code and its constants, complete.
  std::vector<uint8_t> finish(size_t vectorBytes);

 private:
  struct Fix {
    size_t at;
    // Bytes of the instruction behind the displacement.
    int32_t after;
    int32_t target;
  };
  void vexPrefix(Opcode opcode, Width width, int out, int first, VectorOperand second);
  void evexPrefix(Opcode opcode, Width width, int out, int first, VectorOperand second, int mask = 0);
  void address(int out, VectorOperand second, int after);
  void displaced(int reg, int32_t offset);
  void patch(const Fix& fix, int64_t target);
  void gpr(int opcode, Gpr reg, Gpr rm);
  void gprImmediate(int operation, Gpr to, int32_t value);
  void gprMemory(int opcode, Gpr reg, int32_t offset);

  const bool evex_;
  std::vector<Fix> jumps_, loads_;
};

}  // namespace weft::cpu::jit::x64
