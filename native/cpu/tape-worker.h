// One thread's interpreter of a tape: walks the blocks of a tile and runs the sections on them.
//
// tape-run.cpp and tape-slots.cpp distribute the tiles and slots; tape-memory.* moves data between buffers
// and blocks, tape-chain.* runs chains, tape-partials.* keeps the partial results of reductions.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cpu/chain-rows.h"
#include "cpu/scratch.h"
#include "cpu/tape-job.h"
#include "cpu/tape-partials.h"
#include "cpu/tape-reads.h"

namespace weft::cpu {

class TapeWorker {
 public:
  explicit TapeWorker(const Tape& tape);

  // Takes memory to work in, which it has until `end`; where it had the same before, it is bound to it.
  void begin(const TapeJob& job);
  // Goes on with another job of the same tape.
  void rebind(const TapeJob& job);
  void end();

  TapePartials& partials() { return partials_; }

  // Row-level values of the tile lie here from now on.
  void bindRows(char* rows);

  void startTile(int64_t tile);

  void runRows(size_t phase);

  // Walks blocks [first, last) of the tile's reduced elements.
  void walk(size_t phase, int64_t first, int64_t last);

  // Writes the phase's results into the row registers.
  void finish(size_t phase, bool fromSlots) { partials_.finish(phase, fromSlots, operands_.data()); }

  // All of a tile.
  void runTile(int64_t tile);
  // Tiles [first, last), until the job is cancelled.
  void runTiles(int64_t first, int64_t last);
  // Of a map whose loops are its axes in order: elements of its domain in C order.
  void runElements(Range elements);

  // Of small tapes (tape-repeat.cpp): notes what a run has done, before its end.
  void noteRun();
  // Does all of that again, with the buffers of a job, which may lie elsewhere. False: nothing was done.
  bool runAgain(const TapeJob& job);

 private:
  void bindMemory(char* memory);
  void bindConstants(const char* constants);

  // Runs the elements given by starts_ and the tile's rows and lanes.
  void runStarted();
  // Starts as many elements from one on as a block has, but not `last`; how many.
  int64_t startElements(int64_t first, int64_t last);
  // Lanes of a block of so many elements in a row.
  int64_t lanesTogether(int64_t elements) const;

  // Asks for the lines of memory that the results of a tile's reductions go to, which come while it is
  // computed: those of the next tile lie elsewhere, so that hardware does not.
  void askForResults() const;

  // Puts a row-level value that was left in a buffer where other threads look for it.
  void keepRow(int index, const Position& at);

  // Sets the starts of loops [first, last) from a linear position, and what is left of a full block there.
  void locate(int64_t linear, size_t first, size_t last, int64_t& rows, int64_t& valid);
  // Rows of whole lanes first; what is left over is one short row.
  void locateShared(size_t i, int64_t step, int64_t& rows, int64_t& valid);

  void run(const Section& section, const Position& at, char* registers, bool isRow);

  Operand operandAt(const Value& value, char* memory) const;

  void runChain(const Instruction& instruction, const Position& at, char* registers);
  // A map that is a loop of each element; only lanes of the block are run.
  void runLoop(const Instruction& i, const Position& at, const Operand& out, bool isRow);

  // Whether every group of a block is a whole step of a reduction of `like`.
  bool takesGroups(const Value& like, const Position& at) const;

  // Whether a kept register holds what this load would fill it with; notes that it will.
  bool holds(const Instruction& i, const Position& at);

  // Lanes of a row section that are stored.
  int64_t rowLanes(const Position& at) const;

  // Has a result written where it is stored; false where rows end within a chunk.
  bool aimAtBuffer(const Instruction& i, const Position& at, Operand& out) const;
  // The same but for the last chunk of each row, which stays in the register.
  void aimWithEdge(const Instruction& i, const Position& at, Operand& out) const;
  // Where a result is stored.
  char* placeOf(const Instruction& i, const Position& at) const;

  struct BoundChain {
    std::vector<Operand> reduced;
    std::optional<ChainRunner> runner;
    std::optional<ChainRows> rows;
  };
  void bindChains();

  struct Kept {
    int64_t base;
    // 0 before the first.
    int64_t rows;
    int64_t valid;
    bool operator==(const Kept&) const = default;
  };

  // An entry of the note of a run.
  struct Repeat {
    enum class What : uint8_t { any, load, map, chain, take, reset, close, finish, storeOne };
    What what;
    const Instruction* instruction;
    Position at;
    char* registers;
    bool isRow;
    Extent extent;
    Operand* out;
    const Operand* args[4];
    ReduceState* state;
  };
  // An operand that lies in a buffer.
  struct Place {
    char** data;
    int buffer;
    int64_t offset;
    // Of a load whose last chunks are copied where steps read them; or null.
    RowEnds* ends;
  };
  void noteSection(const Section& section, const Position& at, char* registers, bool isRow);
  void noteReductions(size_t phase, Repeat::What what);
  void notePlace(char*& data, const Instruction& i, const Position& at, RowEnds* ends = nullptr);
  bool isInPlace(const Instruction& i, const Position& at) const;
  void follow(const Repeat& one);
  void runOne(const Instruction& i, const Position& at, char* registers, bool isRow);
  // Loads, or stores, all columns of which it is the first.
  void moveColumns(const Section& section, const Instruction& i, const Position& at, char* registers);
  Position rowsAt(size_t phase) const;

  const Tape& tape_;
  const int64_t byteLength_;
  const TapeJob* job_ = nullptr;
  const char* constants_ = nullptr;
  std::vector<BoundChain> chains_;
  // Where buffers are not in memory.
  std::optional<TapeReads> reads_;
  std::vector<Operand> operands_;
  std::vector<RowEnds> ends_;
  std::vector<Kept> kept_;
  std::vector<int64_t> starts_;
  TapePartials partials_;
  std::optional<Scratch> scratch_;
  char* block_ = nullptr;
  char* rows_ = nullptr;
  char* boundRows_ = nullptr;
  char* loops_ = nullptr;
  int64_t tileRows_ = 1;
  int64_t tileValid_ = 1;
  // The block's rows are shorter than the accumulators are wide.
  bool isTail_ = false;
  std::vector<Place> places_;
  std::vector<Repeat> repeats_;
};

// The tape's idle worker, or a new one, with a job. It is idle again afterwards, unless the job has failed.
class WorkerLease {
 public:
  explicit WorkerLease(const TapeJob& job);
  WorkerLease(const WorkerLease&) = delete;
  WorkerLease& operator=(const WorkerLease&) = delete;
  ~WorkerLease();
  TapeWorker& operator*() const { return *worker_; }
  TapeWorker* operator->() const { return worker_.get(); }

 private:
  const Tape& tape_;
  std::unique_ptr<TapeWorker> worker_;
};

// One worker for each thread that takes part, taken when it is first needed.
class TapeWorkers {
 public:
  TapeWorkers(const TapeJob& job, int count) : job_(job), workers_(count) {}
  int count() const { return static_cast<int>(workers_.size()); }
  TapeWorker& operator[](int worker) {
    std::optional<WorkerLease>& slot = workers_[worker];
    if (!slot) slot.emplace(job_);
    return **slot;
  }

 private:
  const TapeJob& job_;
  std::vector<std::optional<WorkerLease>> workers_;
};

}  // namespace weft::cpu
