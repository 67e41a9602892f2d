// Queues loops with a condition. The host reads it back while the next run of the body, which leaves the
// states before it as they are, is under way; that counts only if it is to. Steps that write states in place,
// loops with conditions of their own, and the step of a loop that has at most one come once that is known.
//
// Where the body is launches alone and the driver has conditional nodes, a graph takes over after some steps,
// and kernels of its own decide on the device (src/codegen/cuda/loop-check.ts). A launch of it ends after a
// while.
#include <cstring>

#include "cuda/device.h"
#include "cuda/issue.h"
#include "runtime/loop.h"

namespace weft::cuda {
namespace {

// A loop is to have more steps before a graph of it is made, which takes as long as about so many. Odd: the
// graph begins with what such a number of steps leaves in `last`.
constexpr int64_t kStepsBeforeGraph = 7;
// How long a launch of the graph goes on, and with it a loop that is cancelled.
constexpr uint64_t kLaunchNanoseconds = 5'000'000;

KernelNodeParams oneThread(CUfunction function, void** parameters) {
  return {function, {1, 1, 1}, {1, 1, 1}, 0, parameters, nullptr};
}

}  // namespace

void Issue::runWhile(const Loop& loop, size_t first) {
  const LoopState& condition = loop.states[loop.condition];
  // Loops of one depth come after each other.
  while (flight_.looks.size() < depth_) flight_.looks.push_back(resources_.slots.take());
  std::byte* const slot = flight_.looks[depth_ - 1].get();
  // By parity of the steps before.
  struct Looks {
    EventPool& pool;
    std::byte* flags[2];
    std::unique_ptr<Event> read[2];
    ~Looks() {
      for (std::unique_ptr<Event>& event : read) {
        if (event) pool.give(std::move(event));
      }
    }
  } looks{resources_.events, {slot, slot + kDeviceAlignment}, {}};
  for (std::unique_ptr<Event>& event : looks.read) event = resources_.events.take();
  const auto look = [&](int64_t done) {
    // Nothing is asked behind the last step.
    if (done == loop.steps) return;
    const CUdeviceptr from = addresses_[bufferAt(condition, placeAfter(done))];
    WEFT_CU(cuMemcpyDtoHAsync, looks.flags[done % 2], from, 1, stream_);
    looks.read[done % 2]->record(stream_);
  };
  int64_t done = 0;
  look(done);
  // Once a graph is made, one step is enough before it.
  const std::unique_ptr<GraphExec>* const graph = loop.check ? &code_.loopGraphs[&loop] : nullptr;
  bool mayDecide = graph != nullptr && !device_.refusesLoops();
  const int64_t alone = mayDecide && *graph ? 1 : kStepsBeforeGraph;
  // A step that is swept takes longer than to look. The only one is a branch, which is often not taken, and
  // then takes what it launches.
  const bool looksFirst = loop.hasSweeps || loop.steps == 1;
  while (done < loop.steps) {
    if (mayDecide && done >= alone && done % 2 == 1) {
      std::byte* const place = slot + 2 * kDeviceAlignment;
      const LoopRecord record = runDecided(loop, first, done, place, *looks.read[(done + 1) % 2]);
      done = record.steps;
      if (record.isOver != 0) break;
      mayDecide = false;
      look(done);
    }
    const auto isOver = [&] {
      looks.read[done % 2]->wait();
      return *looks.flags[done % 2] == std::byte{0};
    };
    if (looksFirst && isOver()) break;
    launch_ = first;
    const LoopRun next{1, placeAfter(done), placeAfter(done + 1), -1};
    if (looksFirst || loop.tail == loop.body.size()) {
      runBody(loop, next);
      look(done + 1);
      if (!looksFirst && isOver()) break;
    } else {
      checkCancelled(*run_.cancel);
      queuePart(loop, next, 0, loop.tail);
      if (isOver()) break;
      queuePart(loop, next, loop.tail, loop.body.size());
      resources_.submissions->count(stream_, loop.body.size());
      look(done + 1);
    }
    done++;
  }
  leaveInLast(loop, placeAfter(done));
}

LoopRecord Issue::runDecided(const Loop& loop, size_t first, int64_t done, std::byte* slot, Event& read) {
  const CUdeviceptr on = addresses_[loop.check->record];
  LoopRecord record{done, 0, 0};
  std::memcpy(slot, &record, sizeof record);
  WEFT_CU(cuMemcpyHtoDAsync, on, slot, sizeof record, stream_);
  while (record.isOver == 0) {
    checkCancelled(*run_.cancel);
    if (!launchDecided(loop, first)) break;
    WEFT_CU(cuMemcpyDtoHAsync, slot, on, sizeof record, stream_);
    read.record(stream_);
    read.wait();
    std::memcpy(&record, slot, sizeof record);
  }
  return record;
}

bool Issue::launchDecided(const Loop& loop, size_t first) {
  const ProgramCode::Check& check = code_.loopChecks.at(&loop);
  const LoopState& condition = loop.states[loop.condition];
  CUdeviceptr record = addresses_[loop.check->record];
  CUdeviceptr inOther = addresses_[condition.other], inLast = addresses_[condition.last];
  int64_t most = loop.steps;
  uint64_t time = kLaunchNanoseconds;
  const GraphLaunch queued = tryLaunchGraph(code_.loopGraphs[&loop], [&] {
    CUgraphConditionalHandle handle = exec_->condition();
    void* begin[] = {&handle, &record, &inLast, &most, &time};
    exec_->add(oneThread(check.begin, begin), {record, inLast});
    exec_->repeat();
    for (const LoopRun& run : {LoopRun{1, LoopPosition::last, LoopPosition::other, -1},
                               LoopRun{1, LoopPosition::other, LoopPosition::last, -1}}) {
      launch_ = first;
      queueBody(loop, run);
    }
    void* goOn[] = {&handle, &record, &inOther, &inLast, &most};
    exec_->add(oneThread(check.goOn, goOn), {record, inOther, inLast});
  });
  if (queued == GraphLaunch::unsupported) device_.noteLoopRefused();
  return queued == GraphLaunch::yes;
}

}  // namespace weft::cuda
