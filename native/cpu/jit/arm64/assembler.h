// An assembler of arm64: vector instructions as words of `instructions.h`, and the few scalar ones that loops
// around them need. Constants lie behind the code, within 1 MiB of their loads.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/jit/code-buffer.h"

namespace weft::cpu::jit::arm64 {

// General registers, by number: a function's arguments; scratch; the frame, and where the vector at hand is
// as far from as the first one from the frame, which functions keep.
constexpr int kFirstArgument = 0, kSecondArgument = 1;
constexpr int kX9 = 9, kX10 = 10, kX11 = 11, kAddress = 12, kTarget = 16;
constexpr int kBase = 19, kMoving = 20, kLink = 30;

enum class Condition : uint8_t { below = 3, negative = 4, notNegative = 5 };

class Assembler : public CodeBuffer {
 public:
  // out = instruction(a, b), a vector's.
  void vector(uint32_t instruction, int out, int a, int b);
  void vector(uint32_t instruction, int out, int a);
  // By so many bits, of numbers of 32 or 64 bits.
  void shiftLeft(int out, int a, int bits, int width);
  void shiftRight(uint32_t instruction, int out, int a, int bits, int width);
  void loadVector(int out, int base, int32_t offset);
  void storeVector(int from, int base, int32_t offset);
  void loadConstant(int out, int32_t constant);

  // Registers of 64 bits.
  void move(int to, int from);
  void moveImmediate(int to, uint64_t value);
  void addImmediate(int to, int from, int value);
  void subtract(int to, int from, int other);
  void compareImmediate(int a, int value);
  // The first bit of one as a bit of another.
  void insertBit(int to, int bit, int from);
  void clear(int to);
  // The first 64 bits of a vector.
  void fromVector(int to, int vector);
  void store(int from, int base, int32_t offset);
  // Of 32 bits.
  void load32(int to, int base, int32_t offset);
  void fromVector32(int to, int vector);
  void compareNegated32(int a, int b);
  void compareZero32(int a);

  // Saves all that a function has to keep, which is what this code uses of that.
  void enter();
  void leave();
  void pushLink();
  void popLink();
  void ret();

  void jump(Label label);
  void jump(Condition condition, Label label);
  void jumpIfNotZero(int a, Label label);
  void call(Label label);
  void callRegister(int target);

  // A place in the code, and back to it: what was written since is dropped, but for labels and constants.
  struct Mark {
    size_t code, jumps, loads;
  };
  Mark mark() const { return {code_.size(), jumps_.size(), loads_.size()}; }
  void rewind(Mark mark);

  // The code and its constants, complete; empty where a jump goes too far, or a load or a store does.
  std::vector<uint8_t> finish();

 private:
  // A field of an instruction that takes a distance in words: in the last 26 bits, or in 19 from the fifth
  // on.
  enum class Reach : uint8_t { far, near };
  struct Fix {
    size_t at;
    Reach reach;
    int32_t target;
  };
  void emit(uint32_t instruction) { word(static_cast<int32_t>(instruction)); }
  void pair(uint32_t instruction, int first, int second, int slot);
  int reachable(int base, int32_t& offset, int32_t most);
  void patch(const Fix& fix, int64_t target);

  std::vector<Fix> jumps_, loads_;
  // Whether all places are as near as instructions reach.
  bool isReached_ = true;
};

}  // namespace weft::cpu::jit::arm64
