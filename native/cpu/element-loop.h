// Loops of elements: the functions of a step, run over a chunk of lanes. Those that have ended take the next
// elements of the block; in loops within loops they keep their states until all have ended.
//
// `element-step-parse.cpp` reads them, `tape-worker.cpp` runs them where the instruction stands.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "cpu/element-step.h"

namespace weft::cpu {

namespace jit {
class NativeLoop;
}

struct ElementLoop {
  std::vector<DType> dtypes;
  // Bytes of an element of each argument, states first.
  std::vector<int> argumentBytes;
  std::vector<int> next;
  int condition = 0;
  // The values that the condition needs.
  size_t conditionLength = 0;
  std::vector<StepValue> values;
  // The conjunction of masks; a choice between two values of each state.
  LaneFunction conjunction = nullptr;
  std::vector<LaneFunction> choices;
  // Of each state, whether its next one has to be kept apart: a state itself, or what another one takes, too.
  std::vector<bool> keeps;
  // Bytes of memory for so many chunks: masks, arguments, next states, values, and a chunk of loops in the
  // step.
  size_t scratchBytes(int64_t chunks) const;
  // For the chunks that a block is run in.
  size_t scratchBytes() const;
};

// Runs a loop over some lanes of a block, by its code if there is such (jit/native-loop.h). `args` are the
// arguments, `scratch` has scratchBytes(), or those of the code. Lanes of each row from `valid` on are left
// out: nothing says that a loop would end on them.
void runElementLoop(const ElementLoop& loop, const jit::NativeLoop* native, int result, Extent extent,
                    int64_t valid, const Operand& out, const Operand* const* args, char* scratch);

}  // namespace weft::cpu
