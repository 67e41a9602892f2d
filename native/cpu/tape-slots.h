// Runs a tape phase by phase, with the slots of its reduced axes as tasks. For tape-run.cpp.
#pragma once
#include <algorithm>

#include "cpu/tape-worker.h"
#include "cpu/threads.h"

namespace weft::cpu {

// Tiles whose slots are the tasks, so many of them at a time, between which the threads meet. Memory holds
// the number of blocks that were reduced, and for each tile its row-level values, the pairwise cascade of
// complete slots, the state of a slot that a range of blocks ended in, where ranges may, and the partial
// results of the slots at hand.
class SlotRun {
 public:
  struct Memory {
    char* data;
    // Slots at a time.
    int64_t together;
    bool hasOpenSlots;
  };
  static int64_t byteLength(const Tape& tape, int64_t tiles, const Memory& memory);
  // The memory of a run whose ranges may end in slots: as many are at hand as so many bytes have room for.
  static Memory memoryOf(const Tape& tape, int64_t tiles, void* data, size_t bytes);
  SlotRun(const TapeJob& job, Range tiles, const Memory& memory, ThreadPool& pool);

  // Row-level values before the first phase.
  void begin();

  // Blocks of the reduced axes: a range begins where the one before it ended, or before that. Blocks that
  // were reduced already are computed again for the values that they store alone.
  void walk(size_t phase, Range blocks);

  // Completes a phase whose slots are done, and computes what rows hold after it.
  void finish(size_t phase);

 private:
  static constexpr int64_t kDoneBytes = 64;
  static int64_t rowBytes(const Tape& tape);
  static int64_t levelBytes(const Tape& tape);
  // 0 where ranges end with slots: their state is not small beside the elements of a slot.
  static int64_t openBytes(const Tape& tape, int64_t tiles);
  // Of the k-th slot at hand.
  char* nodesOf(int64_t tile, int64_t k) const { return nodes_ + (tile * together_ + k) * nodeBytes_; }
  char* levelsOf(int64_t tile) const { return levels_ + tile * levelBytes_; }
  char* openOf(int64_t tile) const { return open_ + tile * openBytes_; }
  // Computes blocks without reducing them.
  void again(size_t phase, Range blocks);
  // A slot's first blocks, or further ones.
  void goOn(size_t phase, Range blocks);
  void compute(size_t phase, Range slots);
  void combine(size_t phase, Range slots);
  TapeWorker& at(int w, int64_t tile);
  template <typename F>
  void eachSlot(Range slots, F body) {
    const int64_t perTile = slots.last - slots.first;
    const auto run = [&](int64_t task, int w) {
      if (job_.cancelled()) return;
      const int64_t tile = task / perTile;
      body(at(w, tile), tile, slots.first + task % perTile);
      tape_.registry->streams().fence();
    };
    pool_.parallelFor(count_ * perTile, run, workers_.count(), Distribution::shares);
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

  const TapeJob& job_;
  const Tape& tape_;
  const Range tiles_;
  const int64_t count_;
  const int64_t rowBytes_;
  const int64_t levelBytes_;
  const int64_t openBytes_;
  const int64_t nodeBytes_;
  const int64_t together_;
  int64_t& done_;
  char* const rows_;
  char* const levels_;
  char* const open_;
  char* const nodes_;
  ThreadPool& pool_;
  TapeWorkers workers_;
};

}  // namespace weft::cpu
