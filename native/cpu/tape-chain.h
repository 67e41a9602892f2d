// Chains: instructions of a tape that are computed together, a group of lanes at a time, with what goes from
// one to the next in vector registers. tape-parse.cpp reads them; tape-worker.cpp runs them, through
// `ChainRunner`.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/lanes.h"

namespace weft::cpu {

struct Instruction;

// What a step's operand is: a value of the tape, memory for a group, the register or buffer of a result, or
// the leaf of a reduction.
enum class PlaceKind { input, slot, output, reduction };
struct Place {
  PlaceKind kind;
  int index;
};

struct Chain {
  DType dtype;
  int64_t byteLength;
  DriveFunction drive;
  // Writes a group past the caches.
  StepFunction stream;
  // Writes a group for a reduction that takes it later.
  StepFunction save;
  // Values read, and values written (with where to, as of a map).
  std::vector<int> inputs;
  std::vector<Instruction> outputs;
  // With the register for what each takes, where it cannot take groups.
  std::vector<Instruction> reductions;
  int slots = 0;
  struct Step {
    StepFunction function;
    // Asks for what its operand will find in the next block, instead of reading it.
    bool isPrefetch = false;
    int placeCount = 0;
    Place places[3];
  };
  std::vector<Step> steps;
};

// One thread's way of running a chain: its steps, bound to what does not change from block to block.
class ChainRunner {
 public:
  // `operands`: those of the tape's values. `reduced`: of the registers for what the reductions take;
  // `states`: of the reductions. All are read when a block runs.
  ChainRunner(const Chain& chain, const Operand* operands, const Operand* reduced,
              std::vector<ReduceState*> states);

  // `takes`: reductions take groups as they are computed, else what they take is written to `reduced`.
  // `rowsAreSteps`: of the reductions, with a leaf for each chunk; else chunks are.
  void run(Extent extent, bool takes, bool rowsAreSteps);

 private:
  // A block as far as it says how it is walked.
  struct Shape {
    int64_t rows = 0;
    int64_t chunks = 0;
    bool takes = false;
    bool isWide = false;
    bool operator==(const Shape&) const = default;
  };
  // How an operand goes through a block.
  struct Pace {
    int64_t rowStep;
    int64_t chunkStep;
    bool streams;
    bool isAhead;
    int64_t aheadRowBytes;
    bool hasEdges;
    bool operator==(const Pace&) const = default;
  };
  static Pace paceOf(const Operand& o) {
    return {o.rowStep, o.chunkStep, o.streams, o.ahead.lines > 0, o.ahead.rowBytes, o.edges.areThere()};
  }
  // An operand whose place may change.
  struct Moving {
    size_t step;
    int index;
    PlaceKind kind;
    bool isPrefetch;
    const Operand* operand;
    int reduction;
    Pace pace = {};
  };
  struct Move {
    char** data;
    int64_t bytes;
  };
  // An operand with chunks apart.
  struct Edged {
    ChainStep* step;
    int index;
    const Operand* operand;
  };
  const StepForm& formOf(const StepFunction& function) const {
    return shape_.isWide ? function.wide : function.narrow;
  }
  char* firstOf(const Moving& m, bool takes) const;
  bool bind(Extent extent, bool takes, bool rowsAreSteps);
  void setPaces(bool rowsAreSteps);
  void drive(int64_t chunks);
  void runChunks(int64_t chunks, bool takes, bool rowsAreSteps);
  void stepAll(int64_t count);
  // Without reductions: chunks at the edges by themselves.
  void runRowWithEdges(int64_t row);

  const Chain& chain_;
  const std::vector<ReduceState*> states_;
  // Bytes of a group that is not wide.
  const int64_t group_;
  std::vector<ChainStep> steps_;
  std::vector<Moving> moving_;
  // What the steps are set for.
  Shape shape_;
  std::vector<char> slots_;
  // What to add to operands between rows; to leaves, between chunks.
  std::vector<Move> rowMoves_;
  std::vector<Move> leafMoves_;
  std::vector<Edged> edged_;
};

}  // namespace weft::cpu
