// How a loop of elements becomes code: the values that its results need, in stretches of vector instructions
// between calls and loops within the loop.
#pragma once
#include <memory>
#include <vector>

#include "cpu/element-loop.h"
#include "cpu/jit/vector-ops.h"

namespace weft::cpu::jit {

struct LoopPlan;

struct LoopPart {
  enum class Kind : uint8_t { instructions, call, loop };
  Kind kind;
  // Positions among the loop's values: of instructions in order, of one call, or of all results of a loop
  // within.
  std::vector<int> values;
  // Of instructions, what follows them: the lanes that go on are known; the states move on.
  bool updatesMask = false;
  bool updatesStates = false;
  std::unique_ptr<LoopPlan> inner;
};

struct LoopPlan {
  // `results`: of each state, whether it is read after the loop.
  LoopPlan(const ElementLoop& loop, std::vector<bool> results, const VectorCode& code);

  const ElementLoop& loop;
  std::vector<bool> results;
  // Of each position, arguments first: whether the results depend on it.
  std::vector<bool> needed;
  std::vector<LoopPart> parts;

  int arguments() const { return static_cast<int>(loop.argumentBytes.size()); }
  int states() const { return static_cast<int>(loop.next.size()); }
  const StepValue& value(int position) const { return loop.values[position - arguments()]; }
  // Instructions alone.
  bool isFlat() const { return parts.size() == 1; }
  bool hasCalls() const;
  // Of instructions alone: the values of the condition, and those of the next states, which may need some of
  // the condition's again.
  LoopPart test() const;
  LoopPart body() const;
  int instructions() const;

 private:
  LoopPart& stretch();
  void add(int value, const VectorCode& code);
};

// The instruction of a value; without one, it is a call.
VectorOp instructionOf(const StepValue& value, const VectorCode& code);

// Bytes of lanes that hold all numbers of a loop, and doubles where remainders of integers need them: 4 or 8;
// 0 where one has a dtype that lanes do not hold.
int laneBytesOf(const ElementLoop& loop);

}  // namespace weft::cpu::jit
