// A loop of elements as machine code, which runs the lanes of a frame.
//
// There may be others, for blocks whose arguments are small whole numbers, as limits of counters are: numbers
// made of these have bounds (bounded-loop.h), or are all int32 (narrow-value.h).
//
// `loop-compiler.cpp` makes them. The code returns when few lanes are left in the loop; those are gathered in
// another frame, and the next elements take their place.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "cpu/element-loop.h"
#include "cpu/jit/executable-memory.h"
#include "cpu/jit/range.h"
#include "cpu/loop-counts.h"

namespace weft::cpu::jit {

// The begin of a frame; lanes of arguments, states and values follow.
struct FrameHeader {
  // The code returns when at most so many lanes are left.
  int32_t limit;
  int32_t unused;
  // A bit for each lane that is in the loop.
  uint64_t active;
};
constexpr int32_t kFrameHeaderBytes = 64;
constexpr int kMostLanes = 64;

// Lanes of numbers in a frame.
struct FrameLanes {
  DType dtype;
  // Bytes from the base; -1: none are needed.
  int32_t offset = -1;
  // Of the numbers in memory, which lanes of int32 hold as well.
  DType stored = dtype;
};

// A function of lanes that the code calls.
struct LaneCall {
  struct Argument {
    FrameLanes lanes;
    // A constant's chunk instead.
    const char* chunk = nullptr;
  };
  LaneFunction function = nullptr;
  std::vector<Argument> arguments;
  FrameLanes out;
  int laneBytes = 0;
};
void runLaneCall(char* frame, const LaneCall* call);

// A function of float32, float64 or int64 that the code calls for one vector. Its arguments stand one after
// the other in the frame, then its result.
struct VectorCall {
  LaneFunction function = nullptr;
  DType dtype{};
  int vectorBytes = 0, arguments = 0;
  int32_t offset = 0;
};
void runVectorCall(char* frame, const VectorCall* call);

struct LoopFrame {
  int lanes = 0, laneBytes = 0;
  // Arguments of the loop, states first.
  std::vector<FrameLanes> arguments;
  int states = 0;
  int32_t mask = 0;
  size_t byteLength = 0;
};

class NativeLoop {
 public:
  using Code = void (*)(char* frame);

  // `loop`: that of the code, whose constants calls read.
  NativeLoop(std::shared_ptr<const ElementLoop> loop, LoopFrame frame, int result,
             std::vector<std::unique_ptr<LaneCall>> calls,
             std::vector<std::unique_ptr<VectorCall>> vectorCalls, const std::vector<uint8_t>& code);

  // False where the system refused memory for the code.
  bool isThere() const { return memory_.entry() != nullptr; }
  size_t scratchBytes() const;
  // Takes the code for blocks whose arguments are whole numbers, and none -0, in these ranges, where such are
  // known, and that no code added before takes.
  void addSmall(LoopForm form, std::shared_ptr<const NativeLoop> loop, std::vector<Range> arguments) {
    small_.push_back({form, std::move(loop), std::move(arguments)});
  }
  int lanes() const { return frame_.lanes; }
  int laneBytes() const { return frame_.laneBytes; }
  // Runs the loop on the elements of a block, as runElementLoop().
  void run(Extent extent, int64_t valid, const Operand& out, const Operand* const* args, char* scratch) const;

 private:
  struct Small {
    LoopForm form;
    std::shared_ptr<const NativeLoop> loop;
    std::vector<Range> arguments;
  };
  void runCode(Extent extent, int64_t valid, const Operand& out, const Operand* const* args,
               char* scratch) const;
  // The code for the arguments of a block; null: this one.
  const Small* chosen(Extent extent, int64_t valid, const Operand* const* args) const;

  const std::shared_ptr<const ElementLoop> loop_;
  const LoopFrame frame_;
  const int result_;
  const std::vector<std::unique_ptr<LaneCall>> calls_;
  const std::vector<std::unique_ptr<VectorCall>> vectorCalls_;
  const ExecutableMemory memory_;
  std::vector<Small> small_;
};

// The greatest of small arguments, which are not negative, so that remainders by them have no signs. Float32
// holds all of them, and float64 the products of two.
constexpr int32_t kMostSmall = 1 << 24;

// The code of a loop whose result is a state; null: it is run by the functions of lanes instead. `constants`:
// of each argument, a chunk of equal lanes where it is a constant. They outlive it.
std::shared_ptr<const NativeLoop> compileLoop(std::shared_ptr<const ElementLoop> loop, int result,
                                              const std::vector<const char*>& constants);

// Whether loops are compiled: the processor has the instructions, the system gives executable memory, and it
// is allowed, as it is at first. Tapes that were read before keep what they have.
bool compilesLoops();
void allowLoopCode(bool isAllowed);

}  // namespace weft::cpu::jit
