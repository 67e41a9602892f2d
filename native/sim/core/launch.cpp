#include "core/launch.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/running.h"
#include "core/source-line.h"
#include "core/status.h"
#include "shared/layout.h"

namespace weft::sim {

Running running;

namespace {

constexpr size_t kStackBytes = 64 * 1024;
// From one stack to the next: not a power of two, or the ends of all, which are what is used, had the same
// few places in the processor's caches.
constexpr size_t kStackStride = kStackBytes + 13 * 64;
constexpr size_t kMostMistakes = 8;
// Passes over a block's threads in which all of them only slept.
constexpr unsigned kMostSleeps = 100;

// Stacks of finished threads are used again at once, so that a kernel without barriers touches one only.
class Stacks {
 public:
  Stacks() {
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* memory =
        mmap(nullptr, weft::kMaxBlockThreads * kStackStride, PROT_READ | PROT_WRITE, kFlags, -1, 0);
    begin = static_cast<char*>(memory);
    for (size_t i = weft::kMaxBlockThreads; i > 0; i--) free_.push_back(begin + (i - 1) * kStackStride);
  }
  char* take() {
    char* stack = free_.back();
    free_.pop_back();
    return stack;
  }
  void give(char* stack) { free_.push_back(stack); }

  char* begin;

 private:
  std::vector<char*> free_;
};

Stacks& stacks() {
  static Stacks& it = *new Stacks();
  return it;
}

enum class Pass { finished, stopped, again };

void enterThread() {
  running.entry(running.arguments);
  running.wait(Wait::done);
  __builtin_unreachable();
}

void resume(unsigned t) {
  Thread& thread = running.threads[t];
  if (thread.stack == nullptr) {
    thread.stack = stacks().take();
    thread.place = prepareFiber(thread.stack, kStackBytes, enterThread);
  }
  running.current = t;
  running.threadIndex = running.threadIndices[t];
  switchFiber(running.scheduler, thread.place);
  if (thread.wait == Wait::done) {
    stacks().give(thread.stack);
    thread.stack = nullptr;
  }
}

// The lanes of a mask that are not done; `isMet`: all of them wait with that mask.
struct Lanes {
  unsigned present = 0;
  // Those that give something but 0.
  unsigned nonzero = 0;
  bool isMet = true;
};

Lanes lanesOf(unsigned first, unsigned mask) {
  Lanes lanes;
  for (unsigned lane = 0; lane < kWarp && first + lane < running.threadCount; lane++) {
    const Thread& thread = running.threads[first + lane];
    if ((mask >> lane & 1) == 0 || thread.wait == Wait::done) continue;
    lanes.present |= 1U << lane;
    lanes.nonzero |= static_cast<unsigned>(thread.given != 0) << lane;
    lanes.isMet &= thread.wait == Wait::warp && thread.mask == mask;
  }
  return lanes;
}

// Lets lanes of a warp go on that all wait for one another. No lane reads what was exchanged before all have
// gone on.
bool releaseWarp(unsigned first) {
  const unsigned end = std::min(first + kWarp, running.threadCount);
  bool released = false;
  for (unsigned t = first; t < end; t++) {
    if (running.threads[t].wait != Wait::warp) continue;
    const Lanes lanes = lanesOf(first, running.threads[t].mask);
    if (!lanes.isMet) continue;
    for (unsigned other = first; other < end; other++) {
      if ((lanes.present >> (other - first) & 1) == 0) continue;
      Thread& thread = running.threads[other];
      thread.wait = Wait::none;
      thread.present = lanes.present;
      thread.nonzero = lanes.nonzero;
      thread.exchanged = thread.given;
    }
    released = true;
  }
  return released;
}

// Runs every thread that may go on up to its next wait, then lets go of those that nothing holds any more.
Pass runThreads(unsigned start, unsigned step) {
  const unsigned count = running.threadCount;
  unsigned t = start;
  bool awake = false;
  Thread* threads = running.threads.data();
  for (unsigned k = 0; k < count; k++) {
    if (threads[t].wait == Wait::none) {
      resume(t);
      awake |= threads[t].wait != Wait::asleep;
      if (running.status != kSuccess) return Pass::stopped;
    }
    t += step;
    if (t >= count) t -= count;
  }
  unsigned done = 0, atBarrier = 0, atWarp = 0, asleep = 0;
  for (unsigned i = 0; i < count; i++) {
    done += threads[i].wait == Wait::done;
    atBarrier += threads[i].wait == Wait::block;
    atWarp += threads[i].wait == Wait::warp;
    if (threads[i].wait != Wait::asleep) continue;
    asleep++;
    threads[i].wait = Wait::none;
  }
  if (done == count) return Pass::finished;
  bool released = asleep > 0;
  for (unsigned first = 0; first < count && atWarp > 0; first += kWarp) released |= releaseWarp(first);
  // Blocks run one after the other: what no thread of this one does, none will.
  running.sleeps = awake ? 0 : running.sleeps + 1;
  if (running.sleeps > kMostSleeps) {
    running.status = kLaunchFailed;
    running.problem = "threads wait for a block that has not begun";
    return Pass::stopped;
  }
  if (released) return Pass::again;
  if (atBarrier != count) {
    running.status = kLaunchFailed;
    running.problem = "a barrier or shuffle that not every thread reaches";
    return Pass::stopped;
  }
  for (unsigned i = 0; i < count; i++) running.threads[i].wait = Wait::none;
  running.epochs.now++;
  return Pass::again;
}

void runBlock(uint64_t block, std::mt19937_64& random) {
  const Dim3 grid = running.gridDim;
  running.blockIndex = {static_cast<unsigned>(block % grid.x), static_cast<unsigned>(block / grid.x % grid.y),
                        static_cast<unsigned>(block / grid.x / grid.y)};
  for (unsigned t = 0; t < running.threadCount; t++) running.threads[t].wait = Wait::none;
  running.sleeps = 0;
  running.epochs.block = ++running.epochs.now;
  running.firstThread = static_cast<uint32_t>(block * running.threadCount);
  running.staticShared.poison();
  running.dynamicShared.poison();
  for (;;) {
    const auto start = static_cast<unsigned>(random() % running.threadCount);
    // Forwards or backwards.
    const unsigned step = random() % 2 == 0 ? 1 : running.threadCount - 1;
    if (runThreads(start, step) != Pass::again) return;
  }
}

void prepare(const LaunchSpec& spec, void** arguments, DeviceMemory& memory) {
  running.entry = spec.entry;
  running.arguments = arguments;
  running.gridDim = spec.grid;
  running.blockDim = spec.block;
  running.threadCount = static_cast<unsigned>(spec.block.count());
  running.threads.assign(running.threadCount, Thread{});
  running.threadIndices.clear();
  for (unsigned t = 0; t < running.threadCount; t++)
    running.threadIndices.push_back(
        {t % spec.block.x, t / spec.block.x % spec.block.y, t / spec.block.x / spec.block.y});
  running.warpBarriers.assign(running.threadCount, 0);
  running.memory = &memory;
  running.base = memory.base();
  running.span = memory.span();
  running.shadow = memory.shadow();
  running.readBits = memory.readBits();
  running.writeBits = memory.writeBits();
  running.pageFlags = memory.pageFlags();
  running.stacks = reinterpret_cast<uintptr_t>(stacks().begin);
  running.stackBytes = weft::kMaxBlockThreads * kStackStride;
  running.staticShared.place(spec.staticShared, spec.staticSharedBytes);
  running.dynamicBytes.resize(spec.dynamicSharedBytes + kBlockAlignment);
  const auto start = reinterpret_cast<uintptr_t>(running.dynamicBytes.data());
  running.dynamicShared.place(running.dynamicBytes.data() + (kBlockAlignment - start % kBlockAlignment),
                              spec.dynamicSharedBytes);
  running.uses.begin(memory.span());
  running.epochs.first = ++running.epochs.now;
  running.status = kSuccess;
  running.problem.clear();
  running.mistakes.clear();
}

std::vector<uint64_t> orderOf(uint64_t count, std::mt19937_64& random) {
  std::vector<uint64_t> order(count);
  std::iota(order.begin(), order.end(), uint64_t{0});
  std::shuffle(order.begin(), order.end(), random);
  return order;
}

}  // namespace

void Running::stop(int stopStatus, std::string what) {
  status = stopStatus;
  problem = std::move(what) + where();
  problemPlace = place;
  wait(Wait::done);
}

std::string Running::where() const {
  const auto text = [](Dim3 at) {
    return std::to_string(at.x) + "," + std::to_string(at.y) + "," + std::to_string(at.z);
  };
  return " (block " + text(blockIndex) + ", thread " + text(threadIndex) + ")";
}

void Running::mistake(const std::string& what) {
  if (mistakes.size() < kMostMistakes) mistakes.push_back({what + where(), place});
}

LaunchOutcome runLaunch(const LaunchSpec& spec, void** arguments, DeviceMemory& memory,
                        std::mt19937_64& random) {
  prepare(spec, arguments, memory);
  for (const uint64_t block : orderOf(spec.grid.count(), random)) {
    runBlock(block, random);
    if (running.status != kSuccess) break;
  }
  running.uses.end();
  // Threads that will not go on.
  for (Thread& thread : running.threads) {
    if (thread.stack != nullptr) stacks().give(thread.stack);
  }
  // Here and not on a fiber, whose stack is short.
  LaunchOutcome outcome{running.status, running.problem, {}};
  if (!outcome.problem.empty()) outcome.problem += lineOf(running.problemPlace);
  for (const Running::Mistake& mistake : running.mistakes)
    outcome.mistakes.push_back(mistake.text + lineOf(mistake.at));
  return outcome;
}

}  // namespace weft::sim
