// Runs a tape phase by phase, with the slots of its reduced axes as tasks. For tape-run.cpp.
#pragma once
#include <algorithm>

#include "cpu/tape-worker.h"
#include "cpu/threads.h"

namespace weft::cpu {

// Tiles whose slots are the tasks: all tiles' row-level values and all slots' partial results are kept, and
// the threads meet after each phase.
class SlotRun {
 public:
  static int64_t byteLength(const TapeJob& job, int64_t tiles);
  SlotRun(const TapeJob& job, Range tiles, char* memory, ThreadPool& pool);

  // Row-level values before the first phase.
  void begin();

  void walk(size_t phase, Range slots);

  // Combines a phase's slots, and computes what rows hold after it.
  void finish(size_t phase);

 private:
  static int64_t rowBytes(const TapeJob& job);
  char* nodesOf(int64_t tile, int64_t slot) const { return nodes_ + (tile * job_.slots + slot) * nodeBytes_; }
  TapeWorker& at(int w, int64_t tile);
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
  const int64_t nodeBytes_;
  char* const rows_;
  char* const nodes_;
  ThreadPool& pool_;
  TapeWorkers workers_;
};

}  // namespace weft::cpu
