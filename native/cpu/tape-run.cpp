// Runs a tape: tiles of the parallel axes are distributed to the threads; each walks its blocks and
// interprets the sections.
//
// Where there are too few tiles for the threads, the reduced axes' slots are distributed as well, one phase
// at a time. The partial results of slots are always combined in slot order, so the bits do not depend on
// which way was taken.
//
// A thread's work on a tile is in tape-worker.*, the distribution of slots in tape-slots.*, that of squares
// above a diagonal in tape-triangle.*.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "cpu/cpu.h"
#include "cpu/tape-slots.h"
#include "cpu/tape-triangle.h"
#include "cpu/tape-worker.h"
#include "cpu/threads.h"

namespace weft::cpu {
namespace {

// Of a tile: it is multiplied by the number of tiles.
constexpr double kMostWork = 1e12;

// Of each thread: what is lost at the end is a part of one.
constexpr int64_t kLeastTasks = 16;

void runTiles(const TapeJob& job, Range tiles, ThreadPool& pool) {
  const int64_t count = tiles.last - tiles.first;
  const bool isAlone = pool.size() == 1;
  // Lanes of several tiles may be one block.
  const int64_t least = job.tape.isSeamless() ? count / (kLeastTasks * pool.size()) : 1;
  const int64_t grain = isAlone ? count : std::max<int64_t>({1, least, kTaskWork / workOfTile(job.tape)});
  const int64_t most = (count + grain - 1) / grain;
  // Few tasks are of equally many tiles, and each thread has as many: of eight tiles, seven and one would
  // take as long as by one thread.
  const bool isEven = most < kLeastTasks * pool.size();
  const int64_t tasks = isEven && most > pool.size() ? most / pool.size() * pool.size() : most;
  if (tasks <= 1) {
    const WorkerLease worker(job);
    worker->runTiles(tiles.first, tiles.last);
    job.tape.registry->streams().fence();
    return;
  }
  TapeWorkers workers(job, pool.workers());
  const auto firstOf = [&](int64_t task) {
    return tiles.first + (isEven ? count * task / tasks : std::min(count, task * grain));
  };
  const auto run = [&](int64_t task, int worker) {
    workers[worker].runTiles(firstOf(task), firstOf(task + 1));
    job.tape.registry->streams().fence();
  };
  pool.parallelFor(tasks, run, workers.count(), Distribution::shares);
}

// Bytes of partial results of several tiles at once.
constexpr int64_t kSlotBytes = int64_t{4} << 20;

void runSlots(const TapeJob& job, Range tiles, ThreadPool& pool) {
  SlotRun::Memory memory{nullptr, job.tape.slots, false};
  const int64_t together = std::max<int64_t>(1, kSlotBytes / SlotRun::byteLength(job.tape, 1, memory));
  for (int64_t first = tiles.first; first < tiles.last; first += together) {
    const Range some{first, std::min(tiles.last, first + together)};
    const Scratch scratch(SlotRun::byteLength(job.tape, some.last - some.first, memory));
    memory.data = scratch.data();
    SlotRun run(job, some, memory, pool);
    run.begin();
    for (size_t phase = 0; phase < job.tape.walks.size() && !job.cancelled(); phase++) {
      run.walk(phase, {0, job.tape.walkBlocks()});
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
      if (tape.buffers[i].isOutput || !tape.buffers[k].isOutput || buffers[i].source) continue;
      const auto [firstIn, lastIn] = range(i);
      const auto [firstOut, lastOut] = range(k);
      if (firstIn < lastOut && firstOut < lastIn) return true;
    }
  }
  return false;
}

}  // namespace

int64_t workOfTile(const Tape& tape) {
  const auto weightOf = [](const std::vector<Section>& sections) {
    double sum = 0;
    for (const Section& section : sections) {
      for (const Instruction& i : section)
        sum += i.chain ? std::max(i.weight, static_cast<double>(i.chain->steps.size())) : i.weight;
    }
    return sum;
  };
  const double blocks = static_cast<double>(std::max<int64_t>(1, tape.walkBlocks()));
  const double lanes = blocks * static_cast<double>(tape.paddedWidth());
  const double ofRow = lanes * (1 + weightOf(tape.walks)) + weightOf(tape.rowSections);
  return static_cast<int64_t>(std::min(static_cast<double>(tape.rows) * ofRow, kMostWork));
}

void setConstants(const Tape& tape, const uint8_t* numbers, std::vector<char>& chunks) {
  if (chunks.empty()) chunks = tape.constants;
  for (const Value& value : tape.values) {
    if (value.storage != Storage::constant) continue;
    const int32_t at = tape.numbers[value.offset / (kChunk * kConstantBytes)];
    if (at < 0) continue;
    const uint8_t* const number = numbers + static_cast<size_t>(at) * kConstantBytes;
    char* const chunk = chunks.data() + value.offset;
    std::memcpy(chunk, number, value.byteLength);
    for (size_t bytes = value.byteLength; bytes < static_cast<size_t>(kChunk * value.byteLength); bytes *= 2)
      std::memcpy(chunk + bytes, chunk, bytes);
  }
}

TapeJob jobOf(const Tape& tape, const TapeBuffer* buffers, const std::atomic<bool>* cancel) {
  const char* const constants = tape.numbers.empty()
                                    ? tape.constants.data()
                                    : static_cast<const char*>(buffers[tape.buffers.size()].data);
  return {tape, buffers, cancel, overlaps(tape, buffers), constants};
}

void runTape(const Tape& tape, const TapeBuffer* buffers, Range tiles, ThreadPool& pool,
             const std::atomic<bool>* cancel, Range window) {
  if (tiles.first >= tiles.last) return;
  TapeJob job = jobOf(tape, buffers, cancel);
  job.window = window;
  // A part of the tiles has no place for the other half of its results.
  if (tape.triangle && tiles.first == 0 && tiles.last == tape.tileCount() && !job.isAliased) {
    runTriangle(job, pool);
    return;
  }
  const int64_t count = tiles.last - tiles.first;
  const bool split = job.tape.slots > 1 && count < 4 * pool.size() && pool.size() > 1 &&
                     count * workOfTile(tape) >= 2 * kTaskWork;
  if (split)
    runSlots(job, tiles, pool);
  else
    runTiles(job, tiles, pool);
}

size_t phaseByteLength(const Tape& tape) {
  return static_cast<size_t>(SlotRun::byteLength(tape, tape.tileCount(), {nullptr, 1, true}));
}

void runTapePhase(const Tape& tape, const TapeBuffer* buffers, const PhaseMemory& memory, size_t phase,
                  Range blocks, ThreadPool& pool, const std::atomic<bool>* cancel) {
  if (blocks.first >= blocks.last) return;
  const TapeJob job = jobOf(tape, buffers, cancel);
  const int64_t tiles = tape.tileCount();
  SlotRun run(job, {0, tiles}, SlotRun::memoryOf(tape, tiles, memory.data, memory.byteLength), pool);
  if (phase == 0 && blocks.first == 0) run.begin();
  run.walk(phase, blocks);
}

void finishTapePhase(const Tape& tape, const TapeBuffer* buffers, const PhaseMemory& memory, size_t phase,
                     ThreadPool& pool, const std::atomic<bool>* cancel) {
  const TapeJob job = jobOf(tape, buffers, cancel);
  const int64_t tiles = tape.tileCount();
  SlotRun(job, {0, tiles}, SlotRun::memoryOf(tape, tiles, memory.data, memory.byteLength), pool)
      .finish(phase);
}

}  // namespace weft::cpu
