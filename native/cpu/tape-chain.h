// Chains: instructions of a tape that are computed together, a group of lanes at a time, with what goes from
// one to the next in vector registers. tape-parse.cpp reads them; tape-worker.cpp runs them, through
// `ChainRunner`.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cpu/lanes.h"
#include "shared/layout.h"

namespace weft::cpu::jit {
class ChainCall;
class ChainCodes;
}  // namespace weft::cpu::jit

namespace weft::cpu {

struct Instruction;

// An operand of a step: a value of the tape, memory for a group, the register or buffer of a result, or the
// leaf of a reduction.
struct ChainOperand {
  ChainOperandKind kind;
  int index;
  bool operator==(const ChainOperand&) const = default;
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
    std::string name;
    StepFunction function;
    // Asks for what its operand will find in the next block, instead of reading it.
    bool isPrefetch = false;
    // Of a step that an earlier one does.
    Arithmetic arithmetic = Arithmetic::none;
    int placeCount = 0;
    ChainOperand places[3] = {};
  };
  std::vector<Step> steps;
  // Null: it runs by its steps.
  std::shared_ptr<const jit::ChainCodes> codes;
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
    // The leaves have taken half of what two chunks are.
    bool isHalfLeaf = false;
    bool operator==(const Shape&) const = default;
  };
  // How an operand goes through a block.
  struct Pace {
    int64_t rowStep;
    int64_t chunkStep;
    bool streams;
    bool isAhead;
    int64_t aheadRowBytes;
    bool hasFirst;
    bool hasLast;
    bool operator==(const Pace&) const = default;
  };
  static Pace paceOf(const Operand& o) {
    const bool hasEdges = o.edges.areThere();
    return {o.rowStep,
            o.chunkStep,
            o.streams,
            o.ahead.lines > 0,
            o.ahead.rowBytes,
            hasEdges && o.edges.first,
            hasEdges && o.edges.last};
  }
  // An operand whose place may change.
  struct Moving {
    size_t step;
    int index;
    ChainOperandKind kind;
    bool isPrefetch;
    const Operand* operand;
    int reduction;
    Pace pace = {};
    // All of a row reads the same chunk of equal lanes.
    bool repeats = false;
    // Bytes before a row's first group.
    int64_t start = 0;
    bool isAhead() const { return isPrefetch && operand->ahead.lines > 0; }
  };
  struct Move {
    char** data;
    int64_t bytes;
  };
  bool takes(const Moving& m) const { return m.kind == ChainOperandKind::reduction && shape_.takes; }
  int64_t rowStepOf(const Moving& m) const {
    return m.isAhead() ? m.operand->ahead.rowBytes : m.operand->rowStep * chain_.byteLength;
  }
  char* firstOf(const Moving& m) const;
  bool bind(Extent extent, bool takes, bool rowsAreSteps);
  void setPaces(bool rowsAreSteps);
  void setMiddle();
  void setRuns(std::vector<ChainStep>& steps, bool isWide);
  bool readsNeighbours() const;
  bool wantsCode(bool rowsAreSteps) const;
  void considerCode(int64_t lanes, bool rowsAreSteps);
  void setCode(bool rowsAreSteps);
  void drive(int64_t chunks);
  void runChunks(int64_t chunks, bool takes, bool rowsAreSteps);
  void stepAll(int64_t count);
  void runColumn(int64_t chunk);

  const Chain& chain_;
  const std::vector<ReduceState*> states_;
  // Bytes of a group that is not wide, and of a chunk.
  const int64_t group_;
  const int64_t chunk_;
  std::vector<ChainStep> steps_;
  std::vector<Moving> moving_;
  // The block that the steps are set for.
  Shape shape_;
  bool isWide_ = false;
  // The first step: a kernel without loads to ask for has no part.
  size_t begin_ = 0;
  // Chunks [first, last) of the rows are walked row by row, others column by column with steps of their own.
  // Those have no reductions.
  int64_t first_ = 0;
  int64_t last_ = 0;
  std::vector<int64_t> columns_;
  std::vector<ChainStep> columnSteps_;
  std::vector<char> slots_;
  // The strides of operands between rows; of leaves, between chunks.
  std::vector<Move> rowMoves_;
  std::vector<Move> leafMoves_;
  // Code for the block that the steps are set for; null: it runs by these.
  std::shared_ptr<jit::ChainCall> code_;
  // It is to have code, once enough has run by steps; lanes that have since it was made.
  bool wantsCode_ = false;
  int64_t lanes_ = 0;
};

}  // namespace weft::cpu
