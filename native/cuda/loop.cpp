// Queues loops: each run of the body is queued with the addresses of its states. Of a long loop of launches
// and products alone, an even number of runs is a graph, which is launched again and again. In other bodies
// launches in a row are one, for each way in which states lie in turns. loop-while.cpp has those with a
// condition.
#include "runtime/loop.h"

#include <algorithm>
#include <cstring>

#include "cuda/issue.h"
#include "cuda/stream-span.h"
#include "cuda/sweep.h"
#include "runtime/failure.h"
#include "runtime/host-sink.h"
#include "runtime/host-source.h"
#include "runtime/program-steps.h"

namespace weft::cuda {

using recorder::Kind;

namespace {

// Nodes of a loop's graph, about, and the least times that it is launched.
constexpr size_t kNodes = 32;
constexpr int64_t kLaunches = 4;
// Launches in a row that are worth a graph of their own, and runs before it is made.
constexpr size_t kLeastInPart = 4;
constexpr size_t kRunsBeforePart = 3;

// Runs of the body that a graph has; 0: there is none. Even, so that each launch finds states where the last
// one left them.
size_t runsOfGraph(const Loop& loop, const Program& program) {
  for (const Step& step : loop.body) {
    if (!canRepeat(step, program)) return 0;
  }
  if (loop.body.empty()) return 0;
  const size_t runs = std::max<size_t>(1, kNodes / 2 / loop.body.size()) * 2;
  return runsOf(loop) < static_cast<int64_t>(runs) * kLaunches ? 0 : runs;
}

// Whether a step may be one of a part of a body that is a graph.
bool isInPart(const Step& step, const Program& program) {
  const bool isLaunched = std::holds_alternative<LaunchStep>(step) || std::holds_alternative<ZeroStep>(step);
  return isLaunched && canRepeat(step, program);
}

}  // namespace

void Issue::operator()(const std::shared_ptr<const Loop>& given) {
  const Loop& loop = *given;
  const size_t first = launch_;
  depth_++;
  if (loop.condition < 0) {
    runCounted(loop, first);
  } else {
    runWhile(loop, first);
  }
  depth_--;
  code_.loopSteps = 1;
  launch_ = first + loop.launches;
}

void Issue::runCounted(const Loop& loop, size_t first) {
  const size_t most = runsOfGraph(loop, program_);
  std::vector<LoopRun> waiting;
  const auto runWaiting = [&] {
    for (const LoopRun& run : waiting) {
      launch_ = first;
      runBody(loop, run);
    }
    waiting.clear();
  };
  eachRun(loop, [&](const LoopRun& run) {
    const bool isLikeOthers =
        run.from != LoopPosition::initial && run.kept < 0 && run.steps == loop.stepsAtOnce;
    waiting.push_back(run);
    if (most == 0 || !isLikeOthers || code_.hasNoGraphs) return runWaiting();
    if (waiting.size() < most) return;
    checkCancelled(*run_.cancel);
    launchRuns(loop, first, waiting);
    waiting.clear();
  });
  runWaiting();
}

void Issue::launchRuns(const Loop& loop, size_t first, const std::vector<LoopRun>& runs) {
  const size_t steps = runs.size() * loop.body.size();
  launchGraph(code_.loopGraphs[&loop], steps, [&] {
    for (const LoopRun& run : runs) {
      launch_ = first;
      queueBody(loop, run);
    }
  });
  resources_.submissions->count(stream_, steps);
  if (depth_ == 1) tellSteps(static_cast<int64_t>(runs.size()) * loop.stepsAtOnce);
}

void Issue::runPart(const Loop& loop, size_t first, const SweepRange* ranges) {
  eachRun(loop, [&](const LoopRun& run) {
    checkCancelled(*run_.cancel);
    placeStates(loop, run);
    code_.loopSteps = static_cast<unsigned>(run.steps);
    for (size_t i = 0; i < loop.body.size(); i++) {
      if (ranges[i].x0 == ranges[i].x1) continue;
      // Of a loop in a sweep, every step is a launch.
      runPart(std::get<LaunchStep>(loop.body[i]), code_.launches[first + i], ranges[i]);
      resources_.submissions->count(stream_);
    }
  });
  code_.loopSteps = 1;
}

void Issue::placeStates(const Loop& loop, const LoopRun& run) {
  for (const LoopState& state : loop.states) {
    addresses_[state.current] = addresses_[bufferAt(state, run.from)];
    addresses_[state.next] = addresses_[bufferAt(state, run.to)];
    backing_[state.current] = backing_[bufferAt(state, run.from)];
    backing_[state.next] = backing_[bufferAt(state, run.to)];
  }
}

void Issue::queueBody(const Loop& loop, const LoopRun& run) { queuePart(loop, run, 0, loop.body.size()); }

void Issue::queuePart(const Loop& loop, const LoopRun& run, size_t from, size_t to) {
  placeStates(loop, run);
  const auto queue = [&](size_t first, size_t end) {
    for (size_t i = first; i < end; i++) {
      // A loop in the body ends with another.
      code_.loopSteps = static_cast<unsigned>(run.steps);
      code_.loopDone = run.done;
      std::visit(*this, loop.body[i]);
    }
  };
  for (size_t i = from; i < to;) {
    size_t end = i;
    while (end < to && isInPart(loop.body[end], program_)) end++;
    std::unique_ptr<GraphExec>* const graph = end < i + kLeastInPart ? nullptr : graphOfPart(loop, run, i);
    if (graph == nullptr) {
      end = std::max(end, i + 1);
      queue(i, end);
    } else {
      const size_t launch = launch_;
      launchGraph(*graph, end - i, [&] {
        launch_ = launch;
        queue(i, end);
      });
    }
    i = end;
  }
}

// None in a graph, in the first run, whose states lie elsewhere, and where the whole body is one, which a
// body with a condition is only where the device decides.
std::unique_ptr<GraphExec>* Issue::graphOfPart(const Loop& loop, const LoopRun& run, size_t first) {
  const bool isWhole = loop.check || (loop.condition < 0 && runsOfGraph(loop, program_) > 0);
  if (exec_ != nullptr || code_.hasNoGraphs || loop.hasSweeps || isWhole) return nullptr;
  if (run.from == LoopPosition::initial) return nullptr;
  ProgramCode::LoopPart& part = code_.loopParts[{&loop, first, run.from == LoopPosition::last}];
  return part.runs++ < kRunsBeforePart ? nullptr : &part.graph;
}

void Issue::runBody(const Loop& loop, const LoopRun& run) {
  checkCancelled(*run_.cancel);
  queueBody(loop, run);
  resources_.submissions->count(stream_, loop.body.size());
  if (run.kept >= 0) {
    for (const LoopState& state : loop.states) {
      const size_t byteLength = byteLengthOf(state.current);
      if (state.kept < 0 || byteLength == 0) continue;
      copyState(bufferAt(state, run.to), state.kept, static_cast<size_t>(run.kept) * byteLength, byteLength);
    }
  }
  if (depth_ == 1 && loop.condition < 0 && !loop.hasSweeps) tellSteps(run.steps);
}

void Issue::copyState(int from, int to, size_t offset, size_t byteLength) {
  const BackingStore source = backingOf(from);
  const BackingStore target = backingOf(to);
  if (source.device != 0 && target.device != 0) {
    const StreamSpan span(stream_, Kind::copyWithin, byteLength);
    WEFT_CU(cuMemcpyDtoDAsync, target.device + offset, source.device, byteLength, stream_);
  } else if (source.device != 0) {
    std::byte* const host = target.host == nullptr ? nullptr : target.host + offset;
    resources_.staging->download({{source.device, host, byteLength, nullptr, offset, target.sinks}},
                                 *run_.cancel);
  } else if (target.device != 0) {
    resources_.staging->upload({{target.device + offset, source.host, byteLength, source.source}},
                               *run_.cancel);
  } else if (source.host == nullptr) {
    if (source.source == nullptr || target.host == nullptr)
      throw Failure(FailureCode::internal, "a state of a loop that cannot be copied");
    source.source->read(0, byteLength, target.host + offset);
  } else if (target.host != nullptr) {
    std::memcpy(target.host + offset, source.host, byteLength);
  } else {
    for (const auto& sink : *target.sinks) sink->write(offset, byteLength, source.host);
  }
}

// Of the steps that were queued so long ago that the limit has seen their end.
void Issue::tellSteps(int64_t steps) {
  queuedSteps_.push_back({resources_.submissions->queued(), steps});
  while (!queuedSteps_.empty() && queuedSteps_.front().queued <= resources_.submissions->reached()) {
    *run_.tilesDone += queuedSteps_.front().steps;
    queuedSteps_.pop_front();
  }
}

void Issue::leaveInLast(const Loop& loop, LoopPosition place) {
  if (place == LoopPosition::last) return;
  for (const LoopState& state : loop.states) {
    const size_t byteLength = byteLengthOf(state.current);
    const int from = bufferAt(state, place);
    if (byteLength > 0 && from != state.last) copyState(from, state.last, 0, byteLength);
  }
}

}  // namespace weft::cuda
