#include "cpu/tape-slots.h"

#include <algorithm>

namespace weft::cpu {

int64_t SlotRun::byteLength(const TapeJob& job, int64_t tiles) {
  return tiles * (rowBytes(job) + job.slots * ReduceStates::nodesByteLength(job));
}

SlotRun::SlotRun(const TapeJob& job, Range tiles, char* memory, ThreadPool& pool)
    : job_(job),
      tape_(job.tape),
      tiles_(tiles),
      count_(tiles.last - tiles.first),
      rowBytes_(rowBytes(job)),
      nodeBytes_(ReduceStates::nodesByteLength(job)),
      rows_(memory),
      nodes_(memory + count_ * rowBytes_),
      pool_(pool),
      workers_(job, pool.workers()) {}

void SlotRun::begin() {
  eachTile(0, [](TapeWorker& worker, int64_t) { worker.runRows(0); });
}

void SlotRun::walk(size_t phase, Range slots) {
  const int64_t blocks = tape_.walkBlocks();
  const int64_t perTile = slots.last - slots.first;
  const auto run = [&](int64_t task, int w) {
    if (job_.cancelled()) return;
    const int64_t tile = task / perTile;
    const int64_t slot = slots.first + task % perTile;
    TapeWorker& worker = at(w, tile);
    worker.resetSlot(phase);
    worker.walk(phase, slot * tape_.slotBlocks, std::min(blocks, (slot + 1) * tape_.slotBlocks));
    worker.closeSlot(phase);
    worker.saveSlot(phase, nodesOf(tile, slot));
    tape_.registry->streams().fence();
  };
  pool_.parallelFor(count_ * perTile, run, workers_.count(), Distribution::shares);
}

void SlotRun::finish(size_t phase) {
  eachTile(job_.slots * nodeBytes_, [&](TapeWorker& worker, int64_t tile) {
    worker.resetTile(phase);
    for (int64_t slot = 0; slot < job_.slots; slot++) {
      worker.loadSlot(phase, nodesOf(tile, slot));
      worker.pushSlot(phase);
    }
    worker.finish(phase, true);
    worker.runRows(phase + 1);
  });
}

int64_t SlotRun::rowBytes(const TapeJob& job) { return alignedBytes(job.tape.rowByteLength) + 64; }

TapeWorker& SlotRun::at(int w, int64_t tile) {
  TapeWorker& worker = workers_[w];
  worker.bindRows(rows_ + tile * rowBytes_);
  worker.startTile(tiles_.first + tile);
  return worker;
}

}  // namespace weft::cpu
