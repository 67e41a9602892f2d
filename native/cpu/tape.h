// Tape: a kernel ready to run on the CPU, as src/codegen/cpu/tape.ts encodes it. Immutable once parsed, but
// for the worker that one run leaves to the next.
//
// `tape-parse.cpp` reads it and finds its functions, `tape-run.cpp` runs it over tiles and blocks,
// `tape-memory.cpp` moves data between buffers and blocks, `tape-triangle.cpp` runs it over half of its
// tiles.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cpu/element-loop.h"
#include "cpu/lanes.h"
#include "cpu/monoid.h"
#include "cpu/tape-chain.h"
#include "shared/layout.h"

namespace weft::cpu {

// An affine function of the position: of each loop's, of the row, of the lane.
struct Affine {
  int64_t offset = 0;
  std::vector<int64_t> loops;
  int64_t row = 0;
  LaneMode mode = LaneMode::splat;
  int64_t lane = 0;
  std::vector<int64_t> table;
  // Least and largest entry of the table.
  int64_t tableLow = 0;
  int64_t tableHigh = 0;
};

// Holds where 0 <= affine < size. Elsewhere a load reads zero, or the element where the affine function is
// folded back, by which it moves on by so many elements for each step of the function.
struct Bound {
  Affine affine;
  int64_t size;
  Outside outside = Outside::zero;
  int64_t stride = 0;
};

struct Access {
  int buffer = 0;
  Affine affine;
  std::vector<Bound> bounds;
};

// A reduction by a monoid, and which values are which of its parts.
struct MonoidReduction {
  Monoid monoid;
  struct Result {
    int part;
    int value;
  };
  std::vector<Result> results;
};

// Positions in a section of loads, or stores, of neighbouring elements, in their order (tape-columns.h).
struct Columns {
  std::vector<size_t> places;
};

struct Instruction {
  Opcode code;
  int value;
  // Byte offset of the result in the block's registers, or in the row registers for row-level values.
  int64_t offset = 0;
  // Of a load or store, or of the store that the result may be written to at once.
  Access access;
  bool hasDirect = false;
  // Of a gather: the int64 value that chooses its place, elements from one index to the next, and indices.
  // -1: the load is affine.
  int indexValue = -1;
  int64_t indexStride = 0;
  int64_t indexSize = 0;
  // A load whose next block is asked for meanwhile, or -1.
  int prefetch = -1;
  // A load whose register is its own: not filled again while it would be with the same.
  bool isKept = false;
  // Of a sum of what two values make (simple-fold.h): where the lanes of one are equal, it reads the first.
  bool readsFirstOfEqual = false;
  // Of a load of equal lanes: those that read it need one lane of a chunk, so that it is read in place.
  bool isSingle = false;
  // Of a sum: nothing behind the last lane of a row is read, as where lanes are reduced. Of a load: such sums
  // alone read it, so that it is read in place at the end of memory, too.
  bool endsWithLanes = false;
  // Of a load, or of an output of a chain: chains alone read it, which find chunks at the edges in a
  // register.
  bool hasEdges = false;
  // Of a load or store whose neighbours are loaded or stored as well: the first of them has all.
  bool isOfColumns = false;
  std::shared_ptr<const Columns> columns;
  // Of `inside`.
  std::vector<Bound> bounds;
  int argCount = 0;
  int args[4] = {0, 0, 0, 0};
  LaneFunction function = nullptr;
  // Of a map that is a loop of each element: the state that it gives, and the loop's arguments.
  std::shared_ptr<const ElementLoop> loop;
  // Its code, if it was compiled.
  std::shared_ptr<const jit::NativeLoop> nativeLoop;
  int loopResult = 0;
  std::vector<int> loopArgs;
  // Of a reduction by a row of the table, or by a monoid of the user's own, whose results are several values.
  const ReduceFunctions* reduce = nullptr;
  std::shared_ptr<MonoidReduction> monoid;
  // Another instruction does the reduction that this one is a result of.
  bool isFollower = false;
  // Position among the tape's reductions.
  int reduction = -1;
  std::shared_ptr<const Chain> chain;
  // Position among the tape's chains.
  int chainIndex = -1;
  // Light instructions that take as long, of all ops that it does.
  double weight = 1;
};
using Section = std::vector<Instruction>;

struct Value {
  DType dtype;
  int byteLength;
  // Whether it varies along rows and lanes; if not, there is one row, or one chunk of equal lanes.
  bool rows;
  bool lanes;
  Storage storage;
  // Byte offset in the row registers, or in the constants.
  int64_t offset;
};

struct Loop {
  int64_t count;
  Role role;
  int64_t extent;
};

struct Buffer {
  DType dtype;
  bool isOutput;
  int64_t elementCount;
};

struct ReduceInfo {
  // Bytes of one accumulator's leaf and node.
  int64_t leafByteLength;
  int64_t nodeByteLength;
};

class Tape;

// Of a kernel whose values are the same with two axes exchanged: how it is computed by squares on and above
// the diagonal (tape-triangle.cpp).
struct Triangle {
  // Loops over tiles along the two axes, which are equally long.
  size_t rowLoop = 0;
  size_t columnLoop = 0;
  // Elements along a side of a square, a multiple of the steps of both loops.
  int64_t side = 1;
  struct Result {
    int buffer;
    // Where its squares lie among those of the buffer.
    int64_t squareOffset;
    // Where it belongs: offset, and stride along the axis of each loop over tiles.
    int64_t offset;
    std::vector<int64_t> loops;
  };
  std::vector<Result> results;
  // The tape that stores a square in memory of its own, row after row.
  std::shared_ptr<const Tape> square;
};

class TapeWorker;

// A worker that a run has left for the next one (WorkerLease, tape-worker.h), without the memory that it
// works in: to make one takes longer than to compute 1,000 elements. Runs at the same time have their own.
class IdleWorker {
 public:
  IdleWorker() = default;
  IdleWorker(const IdleWorker&) = delete;
  IdleWorker& operator=(const IdleWorker&) = delete;
  ~IdleWorker();
  // Null: there is none.
  std::unique_ptr<TapeWorker> take();
  void leave(std::unique_ptr<TapeWorker> worker);

 private:
  // Most tapes run once: the first run's is not kept.
  enum class Stage : uint8_t { isNew, hasRun, keeps };
  bool keeps();

  std::atomic<TapeWorker*> worker_{nullptr};
  std::atomic<Stage> stage_{Stage::isNew};
};

class Tape {
 public:
  std::string name;
  // Block: `rows` rows of `take` steps of `inner` lanes.
  int64_t rows = 1;
  int64_t take = 1;
  int64_t inner = 1;
  bool rowsReduced = false;
  LaneKind laneKind = LaneKind::parallel;
  // Loops over tiles, then over the blocks of a tile's reduced elements.
  std::vector<Loop> loops;
  size_t tileLoops = 0;
  std::vector<Buffer> buffers;
  std::vector<Value> values;
  // Constants as chunks of equal lanes, 64 x 16 bytes each.
  std::vector<char> constants;
  // For each constant its position among those that come with a run, or -1; empty: none comes so, else the
  // chunks of the constants in the run (`setConstants`) are the memory of one more buffer behind the tape's.
  std::vector<int32_t> numbers;
  // The lanes of the last row section, and of the reductions that it takes, are the rows of blocks that are
  // reduced by themselves.
  bool turnsRows = false;
  bool keepsBlock = false;
  int64_t slotBlocks = 1;
  int64_t rowByteLength = 0;
  int64_t blockByteLength = 0;
  // rowSections[0], walks[0], rowSections[1] ...
  std::vector<Section> rowSections;
  std::vector<Section> walks;
  std::vector<ReduceInfo> reductions;
  int chainCount = 0;
  // The int64 value that gathers of windowed buffers have as their index: elements with indices outside of
  // the job's window are not stored. -1: there is none.
  int windowIndex = -1;
  // Bytes that a worker's loops of elements need, one after the other.
  size_t loopByteLength = 0;
  // Of a map of one axis that reads and writes everything in place: lanes of several blocks that may be one,
  // at most. 0: of others.
  int64_t seamlessLanes = 0;
  // Null: all of it is computed.
  std::unique_ptr<const Triangle> triangle;
  const Registry* registry = nullptr;
  mutable IdleWorker idle;

  // Of a reduction's state: results beside each other, and levels of its cascade.
  int64_t accumulators = 1;
  int64_t levels = 0;
  // Runs of blocks of the reduced axes whose partial results are combined before they meet others.
  int64_t slots = 1;

  bool isSeamless() const { return seamlessLanes > 0; }
  int64_t width() const { return take * inner; }
  int64_t chunks() const { return (width() + kChunk - 1) / kChunk; }
  int64_t paddedWidth() const { return chunks() * kChunk; }
  // Lanes of a register of a value that varies along them.
  int64_t lanesOf(Storage storage) const {
    return storage == Storage::row && turnsRows ? (rows + kChunk - 1) / kChunk * kChunk : paddedWidth();
  }
  // Rows on a parallel axis, lanes on reduced ones: each row of a block is reduced by itself.
  bool isSegmented() const { return laneKind == LaneKind::reduced && !rowsReduced && rows > 1; }
  int64_t tileCount() const { return countOf(0, tileLoops); }
  // Elements along the axis of a loop that each of its steps covers, but for the last one.
  int64_t stepOf(size_t loop) const {
    const Role role = loops[loop].role;
    return role == Role::lanes ? take : role == Role::rows ? rows : role == Role::shared ? rows * take : 1;
  }
  int64_t walkBlocks() const { return countOf(tileLoops, loops.size()); }
  // How many constants come with a run at least: the largest of their positions, and one.
  size_t numberCount() const {
    int32_t last = -1;
    for (const int32_t at : numbers) last = std::max(last, at);
    return static_cast<size_t>(last + 1);
  }

 private:
  int64_t countOf(size_t first, size_t last) const {
    int64_t count = 1;
    for (size_t i = first; i < last; i++) count *= loops[i].count;
    return count;
  }
};

// Sets those of the chunks of a tape's constants that come with a run, of kConstantBytes each. Empty: all are
// to be set.
void setConstants(const Tape& tape, const uint8_t* numbers, std::vector<char>& chunks);

}  // namespace weft::cpu
