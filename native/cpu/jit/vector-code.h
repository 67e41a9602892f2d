// The part of the compiler that differs between processors: instructions of one vector of lanes, by what they
// do, and the few around them that make loops and calls. The rooms `x64` and `arm64` have one each.
//
// All lanes of a loop are of one size, 4 or 8 bytes, and a vector has the same lanes whatever its dtype:
// numbers of 32 bits in lanes of 64 stand there twice, so that instructions for 32 bits do on both halves
// what is done on one, and comparisons fill the lane. Booleans are masks: all bits of a lane.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "cpu/jit/lane-dtypes.h"
#include "cpu/jit/operand.h"

namespace weft::cpu::jit {

enum class Arithmetic : uint8_t { add, subtract, multiply, divide, minimum, maximum };
enum class Rounding : uint8_t { nearest, down, up, towardsZero };
enum class Shift : uint8_t { left, right, rightSigned };
// Of comparisons. None of floats holds for a NaN but `notEqual`.
enum class Order : uint8_t { equal, less, lessEqual, notEqual, greaterEqual, greater };

// Vectors that code between instructions may use, but no value lies in.
constexpr int kFirstScratch = 0, kSecondScratch = 1;
constexpr VectorOperand kFirst = vectorRegister(kFirstScratch), kSecond = vectorRegister(kSecondScratch);

class VectorCode;
// out = op(args), in a register that is none of theirs. `dtype` is that of the last argument.
using Emit = void (*)(VectorCode& to, DType dtype, int out, const VectorOperand* args);

class VectorCode {
 public:
  // Registers from `firstFree` on hold values; those below are scratch.
  struct Registers {
    int vectorBytes, count, firstFree;
  };

  VectorCode(int laneBytes, Registers registers) : laneBytes_(laneBytes), registers_(registers) {}
  VectorCode(const VectorCode&) = delete;
  VectorCode& operator=(const VectorCode&) = delete;
  virtual ~VectorCode() = default;

  int laneBytes() const { return laneBytes_; }
  int vectorBytes() const { return registers_.vectorBytes; }
  int registers() const { return registers_.count; }
  int firstFree() const { return registers_.firstFree; }
  int lanes() const { return vectorBytes() / laneBytes_; }

  // A vector of equal elements of 64 bits.
  virtual VectorOperand constant(uint64_t element) = 0;
  // The element of such a vector; none of other operands.
  virtual std::optional<uint64_t> elementOf(VectorOperand operand) const = 0;
  // Into a register; none where it is there.
  virtual void move(int out, VectorOperand from) = 0;
  virtual void store(VectorOperand to, int from) = 0;
  // The register that holds an operand, not to be written to: `spare`, where it lies in memory.
  virtual int inRegister(VectorOperand from, int spare);

  // The constants that code would load, each as often as it stands there, the most frequent first; the code
  // is dropped. None where instructions take constants from memory.
  virtual std::vector<VectorOperand> constantsLoadedBy(const std::function<void()>&) { return {}; }
  // Keeps a constant in a register for the code that follows, until all are released.
  virtual void hold(VectorOperand, int) {}
  virtual void releaseHeld() {}

  // -------------------------------------------------------------------------------------------- instructions
  // They change no register but `out`, where nothing else is said.

  virtual void bitAnd(int out, int a, VectorOperand b) = 0;
  // ~a & b.
  virtual void bitAndNot(int out, int a, VectorOperand b) = 0;
  virtual void bitOr(int out, int a, VectorOperand b) = 0;
  virtual void bitXor(int out, int a, VectorOperand b) = 0;
  virtual void invert(int out, int a) = 0;
  virtual void zero(int out) = 0;

  // Integers wrap and are not divided. Extremes are as in extremes.h.
  // Products of 64 bits and extremes may use the scratches.
  virtual void arithmetic(Arithmetic op, DType dtype, int out, VectorOperand a, VectorOperand b) = 0;
  // Of floats.
  virtual void round(Rounding mode, DType dtype, int out, VectorOperand a) = 0;
  virtual void squareRoot(DType dtype, int out, VectorOperand a) = 0;
  virtual void negative(DType dtype, int out, VectorOperand a) = 0;
  virtual void absolute(DType dtype, int out, VectorOperand a) = 0;
  // a * b + c and out - a * b, rounded once. `out` is none of the operands.
  virtual void multiplyAdd(DType dtype, int out, int a, VectorOperand b, VectorOperand c) = 0;
  virtual void subtractProduct(DType dtype, int out, int a, VectorOperand b) = 0;
  // `a`, unless it is negative, and not -0: `out` stays then. That is a positive number, and none less than
  // `a`.
  virtual void unlessNegative(DType dtype, int out, int a) = 0;
  // Of integers; counts beyond the width move every bit out. It may use the scratches.
  virtual bool hasShift(Shift kind, DType dtype) const = 0;
  virtual void shift(Shift kind, DType dtype, int out, VectorOperand a, VectorOperand count) = 0;
  // Of 64 bits, filled with zeros.
  virtual void shiftRight64(int out, int a, int bits) = 0;
  // A mask. Of unsigned integers it may use the scratches.
  virtual void compare(DType dtype, Order order, int out, VectorOperand a, VectorOperand b) = 0;
  // mask ? a : b. `out` may be that of `a` or of `b`, not of the mask. It may use the scratches.
  virtual void select(int out, VectorOperand mask, VectorOperand a, VectorOperand b) = 0;
  // x order y ? a : b, of floats. It may use the scratches.
  virtual void choose(DType dtype, Order order, int out, const VectorOperand* xyab);
  // Between two dtypes of numbers that differ in more than their sign; null: none.
  virtual Emit castOf(DType from, DType to) const = 0;
  // Between floats and integers, of whole numbers up to 2^51 that the other dtype has.
  virtual Emit boundedCastOf(DType from, DType to) const { return castOf(from, to); }
  // The products of 64 bits of numbers whose low halves are them, with their signs.
  virtual void multiplyHalves(int out, VectorOperand a, VectorOperand b) = 0;

  // ----------------------------------------------------------------------------------------- loops and calls

  // Of the function whose argument is a frame.
  virtual void enter() = 0;
  virtual void leave() = 0;

  virtual Label label() = 0;
  virtual void bind(Label label) = 0;
  virtual void jump(Label label) = 0;
  // A loop over the vectors of a frame, between these; `moving` operands are those of the vector at hand.
  virtual void firstVector() = 0;
  virtual void nextVector(int vectors, Label again) = 0;

  // Pointers that code holds at a time; 0: the following are not there.
  virtual int pointers() const { return 0; }
  // As `enter` and `leave`, of code with so many pointers.
  virtual void enterWithPointers(int) {}
  virtual void leaveWithPointers(int) {}
  // From the frame, at an offset.
  virtual void loadPointer(int, int32_t) {}
  // Has `wrapped` operands begin anew after so many bytes, a power of two.
  virtual void wrapVector(int32_t) {}
  // Keeps the bytes that loops go up to, which the frame has at an offset: in code without `wrapped`
  // operands.
  virtual void holdLength(int32_t) {}
  // As `nextVector`, up to the bytes that the frame has at an offset.
  virtual void nextVectorUpTo(int32_t, Label) {}
  // Past the caches, to an address that is a multiple of a vector's bytes.
  virtual void storePast(VectorOperand, int) {}
  // Asks for memory that will be read.
  virtual void prefetch(VectorOperand) {}
  // The vector at the bytes that the frame has at an offset.
  virtual void vectorAt(int32_t) {}
  // By the bytes that the frame has at an offset.
  virtual void movePointer(int, int32_t) {}
  // Counts down what the frame has at an offset, and goes on until that is 0.
  virtual void nextOf(int32_t, Label) {}
  // The lanes of a mask in memory, others are 0 and not read: of code in narrow vectors.
  virtual void moveWhere(int, VectorOperand, VectorOperand) {}

  // Counts the lanes of a mask in a register that was zero at first.
  virtual void countLanes(int count, int mask) = 0;
  // Whether so many lanes are more than none, or than the frame's limit at an offset. It may change all of
  // the registers of scratch and the count.
  virtual void compareCount(int count, std::optional<int32_t> limit) = 0;
  // By that comparison.
  virtual void jumpIfMore(Label label) = 0;
  virtual void jumpUnlessMore(Label label) = 0;
  // Where the first scratch is negative in a lane of a mask.
  virtual void jumpIfOutside(VectorOperand mask, Label label) = 0;
  // A bit for each lane of the masks of so many vectors, into the frame.
  virtual void storeActive(int32_t masks, int vectors, int32_t to) = 0;

  // function(frame, argument); all vectors are lost. Null: the argument that a routine was called with.
  virtual void call(const void* function, const void* argument) = 0;
  virtual void callRoutine(Label routine, const void* argument) = 0;
  virtual void enterRoutine() = 0;
  virtual void leaveRoutine() = 0;

  // The code and its constants, complete; empty where the processor's instructions do not reach.
  virtual std::vector<uint8_t> finish() = 0;

 private:
  const int laneBytes_;
  const Registers registers_;
};

// The room of this processor: whether it has the instructions, and its code.
bool hasVectorCode();
// `isNarrow`: in vectors of 32 bytes, whatever there is.
std::unique_ptr<VectorCode> makeVectorCode(int laneBytes, bool isNarrow = false);

}  // namespace weft::cpu::jit
