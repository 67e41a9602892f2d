// Runs a tape: tiles of the parallel axes are dealt to the threads; each walks its blocks and interprets the
// sections.
//
// Where there are too few tiles for the threads, the reduced axes' slots are dealt out as well, one phase at
// a time. The partial results of slots are always combined in slot order, so the bits do not depend on which
// way was taken.
#include <algorithm>
#include <bit>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>

#include "cpu/cpu.h"
#include "cpu/tape-memory.h"
#include "cpu/threads.h"

namespace weft::cpu {
namespace {

// Memory of a worker's registers, kept for the next run.
class Scratch {
 public:
  explicit Scratch(size_t byteLength) : block_(acquire(byteLength)) {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    Pool& pool = shared();
    const std::lock_guard lock(pool.mutex);
    if (pool.blocks.size() < kKept && block_.byteLength <= kLargestKept) {
      pool.blocks.push_back(std::move(block_));
    }
  }
  char* data() const { return block_.data.get(); }

 private:
  static constexpr size_t kKept = 64;
  static constexpr size_t kLargestKept = size_t{4} << 20;
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(char* data) const { operator delete(data, kAlignment); }
  };
  struct Block {
    std::unique_ptr<char, Free> data;
    size_t byteLength;
  };
  struct Pool {
    std::mutex mutex;
    std::vector<Block> blocks;
  };
  // Never destroyed: threads may outlive static destructors.
  static Pool& shared() {
    static Pool& pool = *new Pool;
    return pool;
  }
  static Block acquire(size_t byteLength) {
    {
      Pool& pool = shared();
      const std::lock_guard lock(pool.mutex);
      for (Block& block : pool.blocks) {
        if (block.byteLength < byteLength) continue;
        Block found = std::move(block);
        block = std::move(pool.blocks.back());
        pool.blocks.pop_back();
        return found;
      }
    }
    const size_t rounded = std::max<size_t>(std::bit_ceil(byteLength), 64 << 10);
    return {std::unique_ptr<char, Free>(static_cast<char*>(operator new(rounded, kAlignment))), rounded};
  }
  Block block_;
};

constexpr int64_t align(int64_t bytes) { return (bytes + 63) / 64 * 64; }

// Outputs of this size and more are written past the caches: at memory speed that is twice as fast as reading
// each line into the cache first, and little of them would still be there for the next kernel.
constexpr int64_t kStreamBytes = int64_t{32} << 20;

// Everything about a run that its workers share.
struct Job {
  const Tape& tape;
  const TapeBuffer* buffers;
  const std::atomic<bool>* cancel;
  // An output lies in an input's memory: loads are copied, results are stored last.
  bool isAliased;
  int64_t accumulators;
  int64_t levels;
  int64_t slots;
  bool streams(int buffer) const {
    const TapeBuffer& b = buffers[buffer];
    return (b.last - b.first) * byteLengthOf(tape.buffers[buffer].dtype) >= kStreamBytes;
  }
  bool cancelled() const { return cancel && cancel->load(std::memory_order_relaxed); }
};

// The partial results of all of a tape's reductions.
class States {
 public:
  static int64_t byteLength(const Job& job) {
    int64_t bytes = 0;
    for (const ReduceInfo& info : job.tape.reductions) bytes += bytesOf(job, info);
    return bytes;
  }
  static int64_t nodesByteLength(const Job& job) {
    int64_t bytes = 0;
    for (const ReduceInfo& info : job.tape.reductions) {
      bytes += align(info.functions->nodeByteLength * job.accumulators);
    }
    return bytes;
  }
  void bind(const Job& job, char* memory) {
    for (const ReduceInfo& info : job.tape.reductions) {
      const int64_t node = align(info.functions->nodeByteLength * job.accumulators);
      const int64_t leaf = align(info.functions->leafByteLength * job.accumulators);
      states_.push_back({memory + node, memory + node + leaf, memory, job.accumulators, job.levels, 0, 0});
      memory += bytesOf(job, info);
    }
  }
  ReduceState& operator[](int reduction) { return states_[reduction]; }

 private:
  static int64_t bytesOf(const Job& job, const ReduceInfo& info) {
    const int64_t node = align(info.functions->nodeByteLength * job.accumulators);
    return align(info.functions->leafByteLength * job.accumulators) + node * (1 + job.levels);
  }
  std::vector<ReduceState> states_;
};

// One thread's interpreter.
class Worker {
 public:
  explicit Worker(const Job& job)
      : job_(job),
        tape_(job.tape),
        operands_(tape_.values.size()),
        kept_(tape_.values.size()),
        starts_(tape_.loops.size()),
        scratch_(align(tape_.blockByteLength) + align(tape_.rowByteLength) + 2 * States::byteLength(job) +
                 64) {
    block_ = scratch_.data();
    rows_ = block_ + align(tape_.blockByteLength);
    char* states = rows_ + align(tape_.rowByteLength);
    slot_.bind(job, states);
    tile_.bind(job, states + States::byteLength(job));
    for (size_t i = 0; i < tape_.values.size(); i++) {
      const Value& value = tape_.values[i];
      if (value.storage == Storage::constant) {
        operands_[i] = {const_cast<char*>(tape_.constants.data()) + value.offset, 0, 0};
      }
    }
    bindRows(rows_);
    bindChains();
  }

  char* ownRows() const { return rows_; }

  // Row-level values of the tile lie here from now on.
  void bindRows(char* rows) {
    boundRows_ = rows;
    for (size_t i = 0; i < tape_.values.size(); i++) {
      const Value& value = tape_.values[i];
      if (value.storage != Storage::row) continue;
      const int64_t rowStep = value.lanes ? tape_.paddedWidth() : kChunk;
      operands_[i] = {rows + value.offset, value.rows ? rowStep : 0, value.lanes ? kChunk : 0};
    }
  }

  void startTile(int64_t tile) {
    tileRows_ = tape_.rows;
    tileValid_ = tape_.width();
    locate(tile, 0, tape_.tileLoops, tileRows_, tileValid_);
  }

  void runRows(size_t phase) {
    const Section& section = tape_.rowSections[phase];
    if (section.empty()) return;
    for (size_t i = tape_.tileLoops; i < starts_.size(); i++) starts_[i] = 0;
    const Position at{starts_.data(), starts_.size(), tape_.rowsReduced ? 1 : tileRows_, tileValid_};
    run(section, at, boundRows_, true);
    if (boundRows_ == rows_) return;
    for (const Instruction& i : section) {
      if (i.code == Opcode::chain) {
        for (const Instruction& output : i.chain->outputs) keepRow(output.value, at);
      } else if (i.code != Opcode::store) {
        keepRow(i.value, at);
      }
    }
  }

  // Walks blocks [first, last) of the tile's reduced elements.
  void walk(size_t phase, int64_t first, int64_t last) {
    for (int64_t block = first; block < last; block++) {
      int64_t rows = tileRows_;
      int64_t valid = tileValid_;
      isTail_ = false;
      locate(block, tape_.tileLoops, tape_.loops.size(), rows, valid);
      run(tape_.walks[phase], {starts_.data(), starts_.size(), rows, valid}, block_, false);
    }
  }

  void resetSlot(size_t phase) {
    eachReduction(phase, [&](const Instruction& i) { i.reduce->reset(slot_[i.reduction]); });
  }
  void resetTile(size_t phase) {
    eachReduction(phase, [&](const Instruction& i) { i.reduce->reset(tile_[i.reduction]); });
  }
  void closeSlot(size_t phase) {
    eachReduction(phase, [&](const Instruction& i) { i.reduce->close(slot_[i.reduction]); });
  }
  void pushSlot(size_t phase) {
    eachReduction(phase,
                  [&](const Instruction& i) { i.reduce->push(tile_[i.reduction], slot_[i.reduction]); });
  }
  // Writes the phase's results into the row registers.
  void finish(size_t phase, bool fromSlots) {
    const int kind = static_cast<int>(tape_.laneKind);
    const Fold fold{kind, tape_.take, tape_.inner};
    eachReduction(phase, [&](const Instruction& i) {
      ReduceState& state = fromSlots ? tile_[i.reduction] : slot_[i.reduction];
      if (fromSlots) i.reduce->close(state);
      i.reduce->finish(state, fold, operands_[i.value]);
    });
  }

  // Copies a closed slot's nodes out and in, for slots that other threads computed.
  void saveSlot(size_t phase, char* nodes) { copyNodes(phase, nodes, true); }
  void loadSlot(size_t phase, char* nodes) { copyNodes(phase, nodes, false); }

  // All of a tile.
  void runTile(int64_t tile) {
    startTile(tile);
    const int64_t blocks = tape_.walkBlocks();
    const bool segmented = tape_.isSegmented();
    for (size_t phase = 0; phase < tape_.walks.size(); phase++) {
      runRows(phase);
      if (segmented) {
        walk(phase, 0, blocks);
        continue;
      }
      const bool several = job_.slots > 1;
      if (several) resetTile(phase);
      for (int64_t slot = 0; slot < job_.slots; slot++) {
        resetSlot(phase);
        walk(phase, slot * tape_.slotBlocks, std::min(blocks, (slot + 1) * tape_.slotBlocks));
        closeSlot(phase);
        if (several) pushSlot(phase);
        if (job_.cancelled()) return;
      }
      finish(phase, several);
    }
    runRows(tape_.walks.size());
  }

 private:
  template <typename F>
  void eachReduction(size_t phase, F body) {
    for (const Instruction& instruction : tape_.walks[phase]) {
      if (instruction.code == Opcode::reduce) body(instruction);
      if (instruction.code != Opcode::chain) continue;
      for (const Instruction& reduction : instruction.chain->reductions) body(reduction);
    }
  }

  void copyNodes(size_t phase, char* nodes, bool out) {
    eachReduction(phase, [&](const Instruction& i) {
      const int64_t bytes = i.reduce->nodeByteLength * job_.accumulators;
      char* node = slot_[i.reduction].node;
      if (out)
        std::copy_n(node, bytes, nodes);
      else
        std::copy_n(nodes, bytes, node);
      nodes += align(bytes);
    });
  }

  // Puts a row-level value that was left in a buffer where other threads look for it.
  void keepRow(int index, const Position& at) {
    const Value& value = tape_.values[index];
    if (value.storage != Storage::row) return;
    const Operand from = operands_[index];
    const Operand to = operandAt(value, boundRows_ + value.offset);
    if (from.data == to.data) return;
    const int64_t size = value.byteLength;
    for (int64_t row = 0; row < (value.rows ? at.rows : 1); row++) {
      for (int64_t chunk = 0; chunk < (value.lanes ? at.chunks() : 1); chunk++) {
        std::memcpy(to.data + (row * to.rowStep + chunk * to.chunkStep) * size,
                    from.data + (row * from.rowStep + chunk * from.chunkStep) * size, kChunk * size);
      }
    }
    operands_[index] = to;
  }

  // Sets the starts of loops [first, last) from a linear position, and what is left of a full block there.
  void locate(int64_t linear, size_t first, size_t last, int64_t& rows, int64_t& valid) {
    for (size_t i = last; i-- > first;) {
      const Loop& loop = tape_.loops[i];
      const int64_t step = loop.count > 1 ? linear % loop.count : 0;
      if (loop.count > 1) linear /= loop.count;
      switch (loop.role) {
        case Role::unit:
          starts_[i] = step;
          break;
        case Role::lanes:
          starts_[i] = step * tape_.take;
          valid = std::min(tape_.take, loop.extent - starts_[i]) * tape_.inner;
          isTail_ = valid < tape_.width();
          break;
        case Role::rows:
          starts_[i] = step * tape_.rows;
          rows = std::min(tape_.rows, loop.extent - starts_[i]);
          break;
        case Role::shared:
          locateShared(i, step, rows, valid);
          break;
      }
    }
  }
  // Rows of whole lanes first; what is left over is one short row.
  void locateShared(size_t i, int64_t step, int64_t& rows, int64_t& valid) {
    const int64_t full = tape_.loops[i].extent / tape_.take;
    if (step * tape_.rows < full) {
      starts_[i] = step * tape_.rows * tape_.take;
      rows = std::min(tape_.rows, full - step * tape_.rows);
    } else {
      starts_[i] = full * tape_.take;
      rows = 1;
      valid = (tape_.loops[i].extent - starts_[i]) * tape_.inner;
      isTail_ = true;
    }
  }

  void run(const Section& section, const Position& at, char* registers, bool isRow) {
    const Operand* args[4];
    for (const Instruction& i : section) {
      if (i.code == Opcode::chain) {
        runChain(i, at, registers);
        continue;
      }
      Operand& out = operands_[i.value];
      char* const memory = registers + i.offset;
      switch (i.code) {
        case Opcode::map:
        case Opcode::cast: {
          const Value& value = tape_.values[i.value];
          out = operandAt(value, memory);
          if (i.hasDirect) aimAtBuffer(i, at, out);
          if (i.prefetch >= 0) out.ahead = operands_[i.prefetch].ahead;
          for (int k = 0; k < i.argCount; k++) args[k] = &operands_[i.args[k]];
          i.function({value.rows ? at.rows : 1, value.lanes ? at.chunks() : 1}, out, args);
          break;
        }
        case Opcode::load:
          if (i.isKept && holds(i, at)) break;
          out = load(tape_, i, at, job_.buffers, memory, !job_.isAliased);
          break;
        case Opcode::index:
          out = index(tape_, i, at, memory);
          break;
        case Opcode::inside:
          out = inside(tape_, i, at, memory);
          break;
        case Opcode::reduce:
          for (int k = 0; k < i.argCount; k++) args[k] = &operands_[i.args[k]];
          reduce(i, at, args, out);
          break;
        case Opcode::store:
          store(tape_, i.access, at, at.rows, isRow ? rowLanes() : at.valid, out, job_.buffers,
                job_.streams(i.access.buffer));
          break;
        case Opcode::chain:
          break;
      }
    }
  }

  Operand operandAt(const Value& value, char* memory) const {
    return {memory, value.rows ? (value.lanes ? tape_.paddedWidth() : kChunk) : 0, value.lanes ? kChunk : 0};
  }

  void runChain(const Instruction& instruction, const Position& at, char* registers) {
    const Chain& chain = *instruction.chain;
    BoundChain& bound = chains_[instruction.chainIndex];
    const Value& like = tape_.values[instruction.value];
    for (const Instruction& i : chain.outputs) {
      Operand& out = operands_[i.value] = operandAt(like, registers + i.offset);
      if (i.hasDirect) aimAtBuffer(i, at, out);
    }
    for (size_t r = 0; r < chain.reductions.size(); r++)
      bound.reduced[r] = operandAt(like, registers + chain.reductions[r].offset);
    const bool takes = !chain.reductions.empty() && takesGroups(like, at);
    bound.runner->run({like.rows ? at.rows : 1, like.lanes ? at.chunks() : 1}, takes,
                      tape_.laneKind != LaneKind::reduced);
    if (takes) return;
    for (size_t r = 0; r < chain.reductions.size(); r++) {
      const Operand* args[1] = {&bound.reduced[r]};
      reduce(chain.reductions[r], at, args, operands_[chain.reductions[r].value]);
    }
  }

  // Whether every group of a block is a whole step of a reduction of `like`.
  bool takesGroups(const Value& like, const Position& at) const {
    if (tape_.isSegmented() || !like.lanes || (!like.rows && at.rows > 1)) return false;
    return at.valid % kChunk == 0 || tape_.laneKind == LaneKind::parallel;
  }

  // Whether a kept register holds what this load would fill it with; notes that it will.
  bool holds(const Instruction& i, const Position& at) {
    const Kept now{baseOf(i.access.affine, at), at.rows, at.valid};
    Kept& last = kept_[i.value];
    if (last == now) return true;
    last = now;
    return false;
  }

  // Lanes of a tile that row-level values are stored from.
  int64_t rowLanes() const {
    switch (tape_.laneKind) {
      case LaneKind::parallel:
        return tileValid_;
      case LaneKind::reduced:
        return 1;
      case LaneKind::reducedThenParallel:
        return tape_.inner;
    }
    return 1;
  }

  void aimAtBuffer(const Instruction& i, const Position& at, Operand& out) const {
    if (job_.isAliased || at.valid % kChunk != 0) return;
    char* const memory = static_cast<char*>(job_.buffers[i.access.buffer].data);
    const int64_t size = tape_.values[i.value].byteLength;
    char* const to = memory + baseOf(i.access.affine, at) * size;
    const auto bits = reinterpret_cast<uintptr_t>(to) | static_cast<uintptr_t>(i.access.affine.row * size);
    out = {to, i.access.affine.row, kChunk, bits % kChunk == 0 && job_.streams(i.access.buffer)};
  }

  void reduce(const Instruction& i, const Position& at, const Operand* const* args, const Operand& out) {
    const Extent extent{at.rows, at.chunks()};
    if (tape_.isSegmented()) {
      i.reduce->segments(extent, at.valid, args, out);
    } else if (tape_.laneKind == LaneKind::reduced) {
      i.reduce->lanes(slot_[i.reduction], extent, at.valid, args);
    } else {
      const bool cut = tape_.laneKind == LaneKind::reducedThenParallel && isTail_;
      i.reduce->columns(slot_[i.reduction], extent, cut ? at.valid : extent.chunks * kChunk, args);
    }
  }

  struct BoundChain {
    std::vector<Operand> reduced;
    std::optional<ChainRunner> runner;
  };
  void bindChains() {
    chains_.resize(tape_.chainCount);
    for (const Section& section : tape_.walks) {
      for (const Instruction& i : section) {
        if (!i.chain) continue;
        BoundChain& bound = chains_[i.chainIndex];
        bound.reduced.resize(i.chain->reductions.size());
        std::vector<ReduceState*> states;
        for (const Instruction& reduction : i.chain->reductions)
          states.push_back(&slot_[reduction.reduction]);
        bound.runner.emplace(*i.chain, operands_.data(), bound.reduced.data(), std::move(states));
      }
    }
  }

  struct Kept {
    int64_t base;
    // 0 before the first.
    int64_t rows;
    int64_t valid;
    bool operator==(const Kept&) const = default;
  };

  const Job& job_;
  const Tape& tape_;
  std::vector<BoundChain> chains_;
  std::vector<Operand> operands_;
  std::vector<Kept> kept_;
  std::vector<int64_t> starts_;
  Scratch scratch_;
  char* block_ = nullptr;
  char* rows_ = nullptr;
  char* boundRows_ = nullptr;
  States slot_;
  States tile_;
  int64_t tileRows_ = 1;
  int64_t tileValid_ = 1;
  // The block's rows are shorter than the accumulators are wide.
  bool isTail_ = false;
};

// One worker for each thread that takes part, made when it is first needed.
class Workers {
 public:
  Workers(const Job& job, int count) : job_(job), workers_(count) {}
  Worker& operator[](int worker) {
    std::optional<Worker>& slot = workers_[worker];
    if (!slot) slot.emplace(job_);
    return *slot;
  }

 private:
  const Job& job_;
  std::vector<std::optional<Worker>> workers_;
};

// Lane operations that are worth waking a thread for.
constexpr int64_t kTaskWork = 1 << 17;

int64_t workOfTile(const Tape& tape) {
  int64_t instructions = 1;
  for (const Section& section : tape.walks) {
    for (const Instruction& i : section)
      instructions += i.chain ? static_cast<int64_t>(i.chain->steps.size()) : 1;
  }
  return tape.rows * tape.paddedWidth() * std::max<int64_t>(1, tape.walkBlocks()) * instructions;
}

void runTiles(const Job& job, Range tiles, ThreadPool& pool) {
  const int64_t count = tiles.last - tiles.first;
  const int64_t grain = std::max<int64_t>(1, kTaskWork / workOfTile(job.tape));
  const int64_t tasks = (count + grain - 1) / grain;
  if (tasks <= 1) {
    Worker worker(job);
    for (int64_t tile = tiles.first; tile < tiles.last && !job.cancelled(); tile++) worker.runTile(tile);
    job.tape.registry->streams().fence();
    return;
  }
  Workers workers(job, pool.workers());
  pool.parallelFor(tasks, [&](int64_t task, int worker) {
    const int64_t first = tiles.first + task * grain;
    const int64_t last = std::min(tiles.last, first + grain);
    for (int64_t tile = first; tile < last && !job.cancelled(); tile++) workers[worker].runTile(tile);
    job.tape.registry->streams().fence();
  });
}

// Tiles whose slots are the tasks: all tiles' row-level values and all slots' partial results are kept, and
// the threads meet after each phase.
class SlotRun {
 public:
  static int64_t byteLength(const Job& job, int64_t tiles) {
    return tiles * (rowBytes(job) + job.slots * States::nodesByteLength(job));
  }
  SlotRun(const Job& job, Range tiles, char* memory, ThreadPool& pool)
      : job_(job),
        tape_(job.tape),
        tiles_(tiles),
        count_(tiles.last - tiles.first),
        rowBytes_(rowBytes(job)),
        nodeBytes_(States::nodesByteLength(job)),
        rows_(memory),
        nodes_(memory + count_ * rowBytes_),
        pool_(pool),
        workers_(job, pool.workers()) {}

  // What rows hold ahead of the first phase.
  void begin() {
    eachTile(0, [](Worker& worker, int64_t) { worker.runRows(0); });
  }

  void walk(size_t phase, Range slots) {
    const int64_t blocks = tape_.walkBlocks();
    const int64_t perTile = slots.last - slots.first;
    pool_.parallelFor(count_ * perTile, [&](int64_t task, int w) {
      if (job_.cancelled()) return;
      const int64_t tile = task / perTile;
      const int64_t slot = slots.first + task % perTile;
      Worker& worker = at(w, tile);
      worker.resetSlot(phase);
      worker.walk(phase, slot * tape_.slotBlocks, std::min(blocks, (slot + 1) * tape_.slotBlocks));
      worker.closeSlot(phase);
      worker.saveSlot(phase, nodesOf(tile, slot));
      tape_.registry->streams().fence();
    });
  }

  // Combines a phase's slots, and computes what rows hold after it.
  void finish(size_t phase) {
    eachTile(job_.slots * nodeBytes_, [&](Worker& worker, int64_t tile) {
      worker.resetTile(phase);
      for (int64_t slot = 0; slot < job_.slots; slot++) {
        worker.loadSlot(phase, nodesOf(tile, slot));
        worker.pushSlot(phase);
      }
      worker.finish(phase, true);
      worker.runRows(phase + 1);
    });
  }

 private:
  static int64_t rowBytes(const Job& job) { return align(job.tape.rowByteLength) + 64; }
  char* nodesOf(int64_t tile, int64_t slot) const { return nodes_ + (tile * job_.slots + slot) * nodeBytes_; }
  Worker& at(int w, int64_t tile) {
    Worker& worker = workers_[w];
    worker.bindRows(rows_ + tile * rowBytes_);
    worker.startTile(tiles_.first + tile);
    return worker;
  }
  template <typename F>
  void eachTile(int64_t bytesPerTile, F body) {
    const int64_t threads = 1 + count_ * (bytesPerTile + rowBytes_) / kTaskWork;
    pool_.parallelFor(
        count_,
        [&](int64_t tile, int w) {
          if (job_.cancelled()) return;
          body(at(w, tile), tile);
          tape_.registry->streams().fence();
        },
        static_cast<int>(std::min<int64_t>(threads, pool_.workers())));
  }

  const Job& job_;
  const Tape& tape_;
  const Range tiles_;
  const int64_t count_;
  const int64_t rowBytes_;
  const int64_t nodeBytes_;
  char* const rows_;
  char* const nodes_;
  ThreadPool& pool_;
  Workers workers_;
};

// Bytes of partial results of several tiles at once.
constexpr int64_t kSlotBytes = int64_t{4} << 20;

void runSlots(const Job& job, Range tiles, ThreadPool& pool) {
  const int64_t together = std::max<int64_t>(1, kSlotBytes / SlotRun::byteLength(job, 1));
  for (int64_t first = tiles.first; first < tiles.last; first += together) {
    const Range some{first, std::min(tiles.last, first + together)};
    const Scratch memory(SlotRun::byteLength(job, some.last - some.first));
    SlotRun run(job, some, memory.data(), pool);
    run.begin();
    for (size_t phase = 0; phase < job.tape.walks.size() && !job.cancelled(); phase++) {
      run.walk(phase, {0, job.slots});
      run.finish(phase);
    }
  }
}

bool overlaps(const Tape& tape, const TapeBuffer* buffers) {
  // Addresses as numbers: `data` of a window may lie outside of any memory.
  const auto range = [&](size_t i) {
    const auto data = reinterpret_cast<uintptr_t>(buffers[i].data);
    const auto size = static_cast<uintptr_t>(byteLengthOf(tape.buffers[i].dtype));
    return std::pair(data + static_cast<uintptr_t>(buffers[i].first) * size,
                     data + static_cast<uintptr_t>(buffers[i].last) * size);
  };
  for (size_t i = 0; i < tape.buffers.size(); i++) {
    for (size_t k = 0; k < tape.buffers.size(); k++) {
      if (tape.buffers[i].isOutput || !tape.buffers[k].isOutput) continue;
      const auto [firstIn, lastIn] = range(i);
      const auto [firstOut, lastOut] = range(k);
      if (firstIn < lastOut && firstOut < lastIn) return true;
    }
  }
  return false;
}

Job jobOf(const Tape& tape, const TapeBuffer* buffers, const std::atomic<bool>* cancel) {
  Job job{tape, buffers, cancel, buffers != nullptr && overlaps(tape, buffers), 0, 0, tape.slotCount()};
  job.accumulators = tape.laneKind == LaneKind::reduced ? 1 : tape.chunks();
  // Steps of a slot, at most: one for each row and chunk of each block.
  const int64_t steps =
      std::min(tape.walkBlocks(), tape.slotBlocks) * tape.rows * (job.accumulators == 1 ? tape.chunks() : 1);
  job.levels =
      tape.reductions.empty() ? 0 : std::bit_width(static_cast<uint64_t>(std::max(steps, job.slots))) + 1;
  return job;
}

}  // namespace

void runTape(const Tape& tape, void* const* buffers, ThreadPool& pool, const std::atomic<bool>* cancel) {
  std::vector<TapeBuffer> whole;
  for (size_t i = 0; i < tape.buffers.size(); i++) {
    whole.push_back({buffers[i], 0, tape.buffers[i].elementCount});
  }
  runTape(tape, whole.data(), {0, tape.tileCount()}, pool, cancel);
}

void runTape(const Tape& tape, const TapeBuffer* buffers, Range tiles, ThreadPool& pool,
             const std::atomic<bool>* cancel) {
  if (tiles.first >= tiles.last) return;
  const Job job = jobOf(tape, buffers, cancel);
  const int64_t count = tiles.last - tiles.first;
  const bool split = job.slots > 1 && count < 4 * pool.size() && pool.size() > 1 &&
                     count * workOfTile(tape) >= 2 * kTaskWork;
  if (split)
    runSlots(job, tiles, pool);
  else
    runTiles(job, tiles, pool);
}

size_t phaseByteLength(const Tape& tape) {
  return static_cast<size_t>(SlotRun::byteLength(jobOf(tape, nullptr, nullptr), tape.tileCount()));
}

void runTapePhase(const Tape& tape, const TapeBuffer* buffers, void* scratch, size_t phase, Range slots,
                  ThreadPool& pool, const std::atomic<bool>* cancel) {
  if (slots.first >= slots.last) return;
  const Job job = jobOf(tape, buffers, cancel);
  SlotRun run(job, {0, tape.tileCount()}, static_cast<char*>(scratch), pool);
  if (phase == 0 && slots.first == 0) run.begin();
  run.walk(phase, slots);
}

void finishTapePhase(const Tape& tape, const TapeBuffer* buffers, void* scratch, size_t phase,
                     ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Job job = jobOf(tape, buffers, cancel);
  SlotRun(job, {0, tape.tileCount()}, static_cast<char*>(scratch), pool).finish(phase);
}

}  // namespace weft::cpu
