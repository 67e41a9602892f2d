#include "cpu/tape-slots.h"

#include <algorithm>

namespace weft::cpu {

int64_t SlotRun::byteLength(const Tape& tape, int64_t tiles, const Memory& memory) {
  const int64_t open = memory.hasOpenSlots ? openBytes(tape, tiles) : 0;
  const int64_t nodes = memory.together * TapePartials::nodesByteLength(tape);
  return kDoneBytes + tiles * (rowBytes(tape) + levelBytes(tape) + open + nodes);
}

SlotRun::Memory SlotRun::memoryOf(const Tape& tape, int64_t tiles, void* data, size_t bytes) {
  Memory memory{static_cast<char*>(data), 0, true};
  const int64_t nodes = static_cast<int64_t>(bytes) - byteLength(tape, tiles, memory);
  const int64_t slot = std::max<int64_t>(1, tiles * TapePartials::nodesByteLength(tape));
  memory.together = std::clamp<int64_t>(nodes / slot, 1, tape.slots);
  return memory;
}

SlotRun::SlotRun(const TapeJob& job, Range tiles, const Memory& memory, ThreadPool& pool)
    : job_(job),
      tape_(job.tape),
      tiles_(tiles),
      count_(tiles.last - tiles.first),
      rowBytes_(rowBytes(tape_)),
      levelBytes_(levelBytes(tape_)),
      openBytes_(memory.hasOpenSlots ? openBytes(tape_, count_) : 0),
      nodeBytes_(TapePartials::nodesByteLength(tape_)),
      together_(memory.together),
      done_(*reinterpret_cast<int64_t*>(memory.data)),
      rows_(memory.data + kDoneBytes),
      levels_(rows_ + count_ * rowBytes_),
      open_(levels_ + count_ * levelBytes_),
      nodes_(open_ + count_ * openBytes_),
      pool_(pool),
      workers_(job, pool.workers()) {}

void SlotRun::begin() {
  eachTile(0, [](TapeWorker& worker, int64_t) { worker.runRows(0); });
}

void SlotRun::walk(size_t phase, Range blocks) {
  if (blocks.first == 0) done_ = 0;
  again(phase, {blocks.first, std::min(blocks.last, done_)});
  if (blocks.last <= done_) return;
  const int64_t length = tape_.slotBlocks;
  const int64_t slots = blocks.last == tape_.walkBlocks() ? tape_.slots : blocks.last / length;
  if (done_ % length != 0) goOn(phase, {done_, std::min(blocks.last, (done_ / length + 1) * length)});
  const int64_t next = (done_ + length - 1) / length;
  for (int64_t slot = next; slot < slots && !job_.cancelled(); slot += together_) {
    const Range some{slot, std::min(slots, slot + together_)};
    compute(phase, some);
    combine(phase, some);
    done_ = std::min(blocks.last, some.last * length);
  }
  if (done_ < blocks.last) goOn(phase, {done_, blocks.last});
}

void SlotRun::again(size_t phase, Range blocks) {
  const int64_t length = tape_.slotBlocks;
  if (blocks.first >= blocks.last) return;
  const Range slots{blocks.first / length, (blocks.last + length - 1) / length};
  eachSlot(slots, [&](TapeWorker& worker, int64_t, int64_t slot) {
    worker.partials().resetSlot(phase);
    worker.walk(phase, std::max(blocks.first, slot * length), std::min(blocks.last, (slot + 1) * length));
  });
}

void SlotRun::goOn(size_t phase, Range blocks) {
  const int64_t slot = blocks.first / tape_.slotBlocks;
  const int64_t end = std::min(tape_.walkBlocks(), (slot + 1) * tape_.slotBlocks);
  eachSlot({slot, slot + 1}, [&](TapeWorker& worker, int64_t tile, int64_t) {
    worker.partials().resetSlot(phase);
    if (blocks.first % tape_.slotBlocks != 0) worker.partials().loadOpenSlot(phase, openOf(tile));
    worker.walk(phase, blocks.first, blocks.last);
    if (blocks.last < end) {
      worker.partials().saveOpenSlot(phase, openOf(tile));
      return;
    }
    worker.partials().closeSlot(phase);
    worker.partials().resetTile(phase);
    worker.partials().loadLevels(phase, levelsOf(tile), slot);
    worker.partials().pushSlot(phase);
    worker.partials().saveLevels(phase, levelsOf(tile), slot + 1);
  });
  done_ = blocks.last;
}

void SlotRun::compute(size_t phase, Range slots) {
  const int64_t blocks = tape_.walkBlocks();
  eachSlot(slots, [&](TapeWorker& worker, int64_t tile, int64_t slot) {
    worker.partials().resetSlot(phase);
    worker.walk(phase, slot * tape_.slotBlocks, std::min(blocks, (slot + 1) * tape_.slotBlocks));
    worker.partials().closeSlot(phase);
    worker.partials().saveSlot(phase, nodesOf(tile, slot - slots.first));
  });
}

void SlotRun::combine(size_t phase, Range slots) {
  eachTile((slots.last - slots.first) * nodeBytes_, [&](TapeWorker& worker, int64_t tile) {
    worker.partials().resetTile(phase);
    worker.partials().loadLevels(phase, levelsOf(tile), slots.first);
    for (int64_t k = 0; k < slots.last - slots.first; k++) {
      worker.partials().loadSlot(phase, nodesOf(tile, k));
      worker.partials().pushSlot(phase);
    }
    worker.partials().saveLevels(phase, levelsOf(tile), slots.last);
  });
}

void SlotRun::finish(size_t phase) {
  eachTile(levelBytes_, [&](TapeWorker& worker, int64_t tile) {
    worker.partials().resetTile(phase);
    worker.partials().loadLevels(phase, levelsOf(tile), tape_.slots);
    worker.finish(phase, true);
    worker.runRows(phase + 1);
  });
}

int64_t SlotRun::rowBytes(const Tape& tape) { return alignedBytes(tape.rowByteLength) + 64; }

int64_t SlotRun::levelBytes(const Tape& tape) { return TapePartials::levelsByteLength(tape, tape.slots); }

TapeWorker& SlotRun::at(int w, int64_t tile) {
  TapeWorker& worker = workers_[w];
  worker.bindRows(rows_ + tile * rowBytes_);
  worker.startTile(tiles_.first + tile);
  return worker;
}

int64_t SlotRun::openBytes(const Tape& tape, int64_t tiles) {
  const int64_t bytes = TapePartials::openByteLength(tape);
  const int64_t elements = std::min(tape.walkBlocks(), tape.slotBlocks) * tape.rows * tape.width();
  return tiles * bytes <= elements ? bytes : 0;
}

}  // namespace weft::cpu
