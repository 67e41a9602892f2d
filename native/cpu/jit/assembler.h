// An assembler of x86-64: the vector instructions of AVX2 (VEX) or AVX-512 (EVEX), and the few scalar ones
// that loops around them need. Memory is addressed from one base register; constants lie behind the code.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace weft::cpu::jit {

// A vector instruction: mandatory prefix (0, 1: 66, 2: F3, 3: F2), map (1: 0F, 2: 0F38, 3: 0F3A), byte.
// `wide` is the bit W, which EVEX takes for elements of 64 bits.
struct Opcode {
  uint8_t prefix, map, byte;
  bool wide = false;
};

// An operand of an instruction: a vector register; memory at an offset from the base, which may move
// with the index register; a constant.
struct VectorOperand {
  enum class Kind : uint8_t { vector, memory, moving, constant };
  Kind kind = Kind::vector;
  int32_t value = 0;

  bool isRegister() const { return kind == Kind::vector; }
  bool operator==(const VectorOperand&) const = default;
};
inline VectorOperand vectorRegister(int number) { return {VectorOperand::Kind::vector, number}; }

enum class Width : uint8_t { xmm, ymm, zmm };
// By their numbers in code.
enum class Gpr : uint8_t { rax = 0, rcx = 1, rdx = 2, rbx = 3, rsi = 6, rdi = 7 };
// Codes of conditions in jumps.
enum class Condition : uint8_t { below = 2, notZero = 5, negative = 8, notNegative = 9 };

constexpr Gpr kBase = Gpr::rbx;
constexpr Gpr kIndex = Gpr::rcx;

class Assembler {
 public:
  explicit Assembler(bool evex) : evex_(evex) {}
  bool isEvex() const { return evex_; }

  // out = instruction(first, second); those of two operands have no `first`. In stores `out` is the register
  // that is read, and `second` the memory.
  void vector(Opcode opcode, Width width, int out, int first, VectorOperand second);
  void vector(Opcode opcode, Width width, int out, int first, VectorOperand second, uint8_t immediate);
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
  void call(Gpr target);
  void push(Gpr from);
  void pop(Gpr to);
  // Of 32 bits.
  void clear(Gpr to);
  void add(Gpr to, int32_t offset);
  void test(Gpr a);

  void zeroUpper();
  void ret();

  using Label = int32_t;
  Label label();
  void bind(Label label);
  void jump(Label label);
  void jump(Condition condition, Label label);
  void call(Label label);

  // A vector of equal elements of 64 bits.
  VectorOperand constant(uint64_t element);
  // The element of such a vector; none of other operands.
  std::optional<uint64_t> elementOf(VectorOperand operand) const;

  // The code and its constants, complete.
  std::vector<uint8_t> finish(size_t vectorBytes);

 private:
  struct Fix {
    size_t at;
    // Bytes of the instruction behind the displacement.
    int32_t after;
    int32_t target;
  };
  void byte(int value) { code_.push_back(static_cast<uint8_t>(value)); }
  void word(int32_t value);
  void quad(uint64_t value);
  void vexPrefix(Opcode opcode, Width width, int out, int first, VectorOperand second);
  void evexPrefix(Opcode opcode, Width width, int out, int first, VectorOperand second);
  void address(int out, VectorOperand second, int after);
  void patch(const Fix& fix, int64_t target);
  void gpr(int opcode, Gpr reg, Gpr rm);

  const bool evex_;
  std::vector<uint8_t> code_;
  std::vector<int64_t> labels_;
  std::vector<Fix> jumps_, loads_;
  std::vector<uint64_t> constants_;
  std::map<uint64_t, int32_t> constantIndex_;
};

}  // namespace weft::cpu::jit
