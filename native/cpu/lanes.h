// The building blocks of tapes: functions that compute whole blocks of lanes, and the registries in which
// they are found.
//
// A block is `rows` x `chunks` chunks of 64 lanes. Each function is compiled once per instruction set
// (`ops-*.cpp`, `casts.cpp`, `reduce.cpp`, `moves.cpp`) and entered under its op's name. Tails are padded to
// whole chunks, so a function never has a scalar remainder: an element's value does not depend on where its
// block ends.
#pragma once
#include <cstdint>

#include "cpu/isa.h"
#include "shared/layout.h"

namespace weft::cpu {

int byteLengthOf(DType dtype);

// Memory that will be read soon: what the next block will find where this one reads in place.
struct Ahead {
  const char* data = nullptr;
  int64_t rowBytes = 0;
  // Cache lines of a chunk.
  int64_t lines = 0;
  // Of an array that the last-level cache does not hold.
  bool isInMemory = false;
};

// The first and the last chunk of each row of a block, in a register, where they do not lie with the others.
struct Edges {
  char* data = nullptr;
  int64_t rowStep = 0;
  bool first = false;
  bool last = false;
  bool areThere() const { return data != nullptr; }
  // Where those of a row are, in elements.
  int64_t placeOf(int64_t row, bool isLast) const { return row * rowStep + (isLast ? kChunk : 0); }
};
constexpr int64_t kEdgesOfRow = 2 * kChunk;

// A block of values. Steps are in elements; a step of 0 repeats the same chunk.
struct Operand {
  char* data;
  int64_t rowStep;
  int64_t chunkStep;
  // Of a result: large memory, aligned to 64 bytes, that is better written past the caches.
  bool streams = false;
  // Of an argument: its next block. Of a result: what to ask for while it is computed.
  Ahead ahead = {};
  // Of what chains alone read and write.
  Edges edges = {};
};

struct Extent {
  int64_t rows;
  int64_t chunks;
};

// out = f(args). `out` may be the very memory of an argument of equal extent and element size.
using LaneFunction = void (*)(Extent extent, const Operand& out, const Operand* const* args);

// The effect of a step on the group, which the step before it may have as well.
enum class Arithmetic : uint8_t { none, add, subtract, subtractFrom, multiply };

// One step of a chain on its way through a block: the function of the instruction set that it jumps to, and
// where its operands' next group lies.
struct ChainStep {
  void (*run)();
  char* data[3];
  // Bytes from one group to the next.
  int64_t advance[3];
  // Bytes from the first half of a wide group to its second; 0: all lanes are equal.
  int64_t half[3];
  // Of a step that an earlier one does (chain-arithmetic.h).
  Arithmetic arithmetic;
};

// The functions of a step, for groups of one width.
struct StepForm {
  void (*run)();
  // For operands that are chunks of equal lanes, all of them; null: there is none.
  void (*repeated)();
};

// How a step is found: its functions, how many operands it has, and what data[0] is for one that has none.
struct StepFunction {
  StepForm narrow;
  StepForm wide;
  int operands;
  void* fixed;
  Arithmetic arithmetic = Arithmetic::none;
};

// Runs a chain over groups of `groupLanes` lanes, or over wide groups of two chunks; null: there are none.
struct DriveFunction {
  void (*drive)(ChainStep* first, int64_t groups);
  void (*wide)(ChainStep* first, int64_t groups);
  int64_t groupLanes;
};

// Partial results of a reduction for `accumulators` x 64 lanes: a leaf that is being filled, complete leaves
// in a pairwise cascade (level k holds 2^k leaves), and the result once closed.
struct ReduceState {
  char* leaf;
  char* levels;
  char* node;
  int64_t accumulators;
  // Elements each lane of the leaf has seen, and leaves in the cascade.
  int64_t steps;
  int64_t leaves;
};

// How the lanes of a result follow from those of its accumulators.
struct Fold {
  // 0: as they are; 1: all lanes make one value; 2: `take` groups of `inner` lanes make `inner` values.
  int kind;
  int64_t take;
  int64_t inner;
};

struct ReduceFunctions {
  // Bytes of one accumulator's leaf and node.
  int64_t leafByteLength;
  int64_t nodeByteLength;
  void (*reset)(ReduceState& state);
  // After `count` steps were taken into the leaves by others, at most as many as the leaves had room for.
  void (*step)(ReduceState& state, int64_t count);
  // One accumulator for each chunk of a row; rows are steps. Only the first `valid` lanes of a row count.
  void (*columns)(ReduceState& state, Extent extent, int64_t valid, const Operand* const* args);
  // One accumulator; chunks are steps, row after row. Only the first `valid` lanes of a row count.
  void (*lanes)(ReduceState& state, Extent extent, int64_t valid, const Operand* const* args);
  // Completes state.node.
  void (*close)(ReduceState& state);
  // Adds from.node to the cascade of `into` as a leaf.
  void (*push)(ReduceState& into, const ReduceState& from);
  // Writes the result's chunks.
  void (*finish)(ReduceState& state, const Fold& fold, const Operand& out);
  // Reduces each row's first `valid` lanes to one value, written to all lanes of the row's chunk of `out`;
  // to one, where its rowStep is 1.
  void (*segments)(Extent extent, int64_t valid, const Operand* const* args, const Operand& out);
};

// Copies between memory and lanes. Strides in elements of the size they are found by.
struct MoveFunctions {
  void (*gather)(void* lanes, const void* memory, int64_t count, int64_t stride);
  void (*gatherTable)(void* lanes, const void* memory, int64_t count, const int64_t* offsets);
  void (*scatter)(void* memory, const void* lanes, int64_t count, int64_t stride);
  void (*scatterTable)(void* memory, const void* lanes, int64_t count, const int64_t* offsets);
  // lanes[r * laneRowStep + l] = memory[r * rowStride + l * stride], for strides of which rowStride is the
  // small one.
  void (*gatherTile)(void* lanes, int64_t laneRowStep, const void* memory, int64_t rows, int64_t count,
                     int64_t rowStride, int64_t stride);
  // One chunk of equal lanes for each row.
  void (*fill)(void* chunks, const void* memory, int64_t rows, int64_t rowStride);
};

// Copies whole cache lines past the caches: for results too large to be read again from there. Both are
// aligned to 64 bytes. Copied data is visible to other threads after `fence`.
struct StreamFunctions {
  void (*copy)(void* to, const void* from, int64_t byteLength);
  void (*fence)();
};

// The functions of one instruction set.
class Registry {
 public:
  static const Registry& of(Isa isa);

  // nullptr where there is none. `dtype` is that of the last argument.
  LaneFunction op(const char* name, DType dtype) const;
  LaneFunction cast(DType from, DType to) const;
  const ReduceFunctions* reduction(const char* name, DType dtype) const;
  const MoveFunctions& moves(int byteLength) const;
  const StreamFunctions& streams() const;
  // Without a function where there is none.
  StepFunction step(const char* name, DType dtype) const;
  DriveFunction drive(DType dtype) const;

  // Later entries replace earlier ones.
  void addOp(const char* name, DType dtype, LaneFunction function);
  void addCast(DType from, DType to, LaneFunction function);
  void addReduction(const char* name, DType dtype, const ReduceFunctions& functions);
  void addMoves(int byteLength, const MoveFunctions& functions);
  void addStreams(const StreamFunctions& functions);
  void addStep(const char* name, DType dtype, const StepFunction& function);
  void addDrive(DType dtype, const DriveFunction& function);

  struct Tables;

 private:
  explicit Registry(Isa isa);
  Tables* tables_;
};

}  // namespace weft::cpu
