#include "runtime/cpu-steps.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <optional>

#include "cpu/element-map.h"
#include "cpu/routines.h"
#include "cpu/tape.h"
#include "cpu/threads.h"
#include "runtime/failure.h"
#include "runtime/product-batches.h"
#include "runtime/product-steps.h"
#include "runtime/recorder.h"

namespace weft {
namespace {

// A pool of the calling thread alone: to wake another costs more than a short tape, or the calls of a program
// of which nothing takes long.
cpu::ThreadPool& thisThread() {
  static cpu::ThreadPool& pool = *new cpu::ThreadPool(1);
  return pool;
}

cpu::ThreadPool& poolFor(const Program& program) {
  return program.isSmall ? thisThread() : cpu::sharedPool();
}

// Runs of a loop's body after which the buffers come again.
constexpr int64_t kTurns = 3;
// Runs that are given to the threads at a time.
constexpr int64_t kMostRuns = 1 << 14;

[[noreturn]] void misplaced(const char* what) {
  throw Failure(FailureCode::internal, std::string(what) + " reached the CPU's steps");
}

recorder::Kind kindOf(const Step& step) {
  if (std::holds_alternative<MatmulStep>(step) || std::holds_alternative<RoutineStep>(step))
    return recorder::Kind::library;
  return std::holds_alternative<ZeroStep>(step) ? recorder::Kind::zero : recorder::Kind::kernel;
}

// The name of a step in timelines.
std::string nameOf(const Step& step) {
  if (const auto* tape = std::get_if<TapeStep>(&step)) return tape->tape->name;
  if (const auto* phase = std::get_if<TapePhaseStep>(&step)) return phase->tape->name;
  if (const auto* product = std::get_if<MatmulStep>(&step)) return nameOf(*product);
  if (const auto* routine = std::get_if<RoutineStep>(&step)) return routine->name;
  return {};
}

}  // namespace

bool hasRoutines(const Program& program) {
  return std::any_of(program.steps.begin(), program.steps.end(),
                     [](const Step& step) { return std::holds_alternative<RoutineStep>(step); });
}

cpu::ThreadPool& poolOf(const TapeStep& step) { return step.isShort() ? thisThread() : cpu::sharedPool(); }

CpuSteps::CpuSteps(const Program& program, const uint8_t* numbers, const CancelFlag* cancel)
    : views(program.buffers.size()), program_(program), numbers_(numbers), cancel_(cancel) {
  for (size_t i = 0; i < views.size(); i++) {
    const BufferSpec& buffer = program.buffers[i];
    const bool isWhole = buffer.role == Role::temporary ? !buffer.windowed : buffer.role != Role::state;
    if (isWhole) views[i].last = buffer.byteLength;
  }
  // Small programs have no loops.
  if (program.isSmall) return;
  backing.resize(views.size());
  std::iota(backing.begin(), backing.end(), 0);
}

void CpuSteps::placeTemporaries(std::byte* arena) {
  for (size_t i = 0; i < views.size(); i++) {
    const BufferSpec& buffer = program_.buffers[i];
    if (buffer.role == Role::temporary && !buffer.windowed) views[i].data = arena + buffer.offset;
  }
}

void CpuSteps::run(const Step& step, TileCount* done) {
  struct Whole {
    CpuSteps& steps;
    TileCount* done;
    void operator()(const TapeStep& s) { steps.tape(s, {0, s.tape->tileCount()}); }
    void operator()(const TapePhaseStep& s) { steps.phase(s, {0, s.tape->walkBlocks()}); }
    void operator()(const MatmulStep& s) { steps.product(s, {{0, lineCount(s)}, {0, s.n}, {0, s.k}}); }
    void operator()(const ZeroStep& s) { steps.zero(s); }
    void operator()(const RoutineStep& s) { steps.routine(s, {0, s.units}); }
    void operator()(const LaunchStep&) { misplaced("a CUDA launch"); }
    void operator()(const ContractionStep&) { misplaced("a contraction of a GPU"); }
    void operator()(const std::shared_ptr<const Sweep>& s) { steps.sweep(*s); }
    void operator()(const std::shared_ptr<const Loop>& s) { steps.loop(*s, done); }
  };
  // Loops and sweeps tell of what is in them.
  if (std::holds_alternative<std::shared_ptr<const Loop>>(step) ||
      std::holds_alternative<std::shared_ptr<const Sweep>>(step))
    return std::visit(Whole{*this, done}, step);
  recorder::count(kindOf(step), 0);
  if (!recorder::isOn()) return std::visit(Whole{*this, done}, step);
  const recorder::HostSpan span(recorder::HostSpan::OfStep::yes, kindOf(step), nameOf(step));
  std::visit(Whole{*this, done}, step);
}

void CpuSteps::runPart(const SweepBody& part, int64_t tile) {
  const SweepRange* const ranges = part.at(tile);
  const auto* found = std::get_if<std::shared_ptr<const Loop>>(&part.step);
  if (found == nullptr) return range(part.step, *ranges, tile);
  const Loop& loop = **found;
  eachRun(loop, [&](const LoopRun& run) {
    checkCancelled(*cancel_);
    place(loop, run.from, run.to);
    for (size_t i = 0; i < loop.body.size(); i++) range(loop.body[i], ranges[i], tile);
  });
}

void CpuSteps::range(const Step& step, const SweepRange& range, int64_t tile) {
  if (range.x0 == range.x1) return;
  struct RunRange {
    CpuSteps& steps;
    const SweepRange& r;
    void operator()(const TapeStep& s) { steps.tape(s, {r.x0, r.x1}, {r.z0, r.z1}); }
    void operator()(const TapePhaseStep& s) { steps.phase(s, {r.y0, r.y1}); }
    void operator()(const MatmulStep& s) { steps.product(s, {{r.x0, r.x1}, {r.y0, r.y1}, {r.z0, r.z1}}); }
    void operator()(const ZeroStep& s) { steps.zero(s); }
    void operator()(const RoutineStep& s) { steps.routine(s, {r.x0, r.x1}); }
    void operator()(const LaunchStep&) { misplaced("a CUDA launch"); }
    void operator()(const ContractionStep&) { misplaced("a contraction of a GPU"); }
    void operator()(const std::shared_ptr<const Sweep>&) { misplaced("a sweep"); }
    void operator()(const std::shared_ptr<const Loop>&) { misplaced("a loop in a loop"); }
  };
  recorder::count(kindOf(step), 0);
  if (!recorder::isOn()) return std::visit(RunRange{*this, range}, step);
  const recorder::HostSpan span(recorder::HostSpan::OfStep::yes, kindOf(step), nameOf(step), tile);
  std::visit(RunRange{*this, range}, step);
}

void CpuSteps::tape(const TapeStep& step, cpu::Range tiles, cpu::Range window) {
  cpu::ThreadPool& pool = program_.isSmall ? thisThread() : poolOf(step);
  cpu::runTape(*step.tape, tapeBuffers(*step.tape, step.buffers), tiles, pool, cancel_, window);
}

void CpuSteps::phase(const TapePhaseStep& step, cpu::Range blocks) {
  const cpu::TapeBuffer* const buffers = tapeBuffers(*step.tape, step.buffers);
  const HostView& view = views[step.scratch];
  const cpu::PhaseMemory memory{view.data, view.last};
  if (step.finishes) {
    cpu::finishTapePhase(*step.tape, buffers, memory, step.phase, cpu::sharedPool(), cancel_);
  } else {
    cpu::runTapePhase(*step.tape, buffers, memory, step.phase, blocks, cpu::sharedPool(), cancel_);
  }
}

void CpuSteps::product(const MatmulStep& step, const cpu::MatmulPart& part) {
  const cpu::Matmul job{step.dtype,
                        step.m,
                        step.n,
                        step.k,
                        step.batch,
                        matrix(step.a, step.dtype),
                        matrix(step.b, step.dtype),
                        matrix(step.c, step.dtype),
                        step.outer,
                        step.ownKernels};
  cpu::Workspace workspace;
  if (step.workspace >= 0)
    workspace = {views[step.workspace].data, program_.buffers[step.workspace].byteLength};
  cpu::matmul(job, part, poolFor(program_), cancel_, workspace);
}

void CpuSteps::routine(const RoutineStep& step, cpu::Range units) {
  const auto addresses = [&](const std::vector<int>& buffers) {
    std::vector<std::byte*> all;
    for (const int buffer : buffers) all.push_back(views[buffer].data);
    return all;
  };
  const std::vector<std::byte*> operands = addresses(step.operands);
  const std::vector<std::byte*> results = addresses(step.results);
  cpu::Workspace workspace;
  if (step.workspace >= 0)
    workspace = {views[step.workspace].data, program_.buffers[step.workspace].byteLength};
  std::optional<cpu::ElementMap> prologue, weights, epilogue;
  const auto bind = [&](const std::optional<RoutineMap>& map, std::optional<cpu::ElementMap>& bound) {
    if (!map) return;
    bound.emplace(cpu::ElementMap{*map->tape, {}, map->given, map->results, map->folds});
    for (size_t i = 0; i < map->buffers.size(); i++)
      bound->buffers.push_back(map->buffers[i] < 0 ? cpu::TapeBuffer{nullptr, 0, 0}
                                                   : tapeBuffer(*map->tape, i, map->buffers[i]));
    addConstants(*map->tape, bound->buffers);
  };
  bind(step.prologue, prologue);
  bind(step.weights, weights);
  bind(step.epilogue, epilogue);
  for (size_t k = 0; epilogue && k < epilogue->results.size(); k++) {
    const int own = epilogue->results[k];
    if (epilogue->folds[k] < 0) epilogue->buffers[own] = tapeBuffer(epilogue->tape, own, step.results[k]);
  }
  const cpu::RoutineJob job{step.numbers,
                            operands,
                            results,
                            workspace,
                            prologue ? &*prologue : nullptr,
                            epilogue ? &*epilogue : nullptr,
                            step.prepared.get(),
                            weights ? &*weights : nullptr};
  step.routine->run(job, units, poolFor(program_), cancel_);
}

void CpuSteps::zero(const ZeroStep& step) {
  const HostView& view = views[step.buffer];
  if (view.last > view.first) std::memset(view.data + view.first, 0, view.last - view.first);
}

void CpuSteps::loop(const Loop& loop, TileCount* done) {
  LoopPosition place = LoopPosition::initial;
  if (loop.condition < 0) {
    // Runs that follow one another without anything in between: the first one and the two turns after it.
    std::vector<LoopRun> turns;
    int64_t count = 0;
    eachRun(loop, [&](const LoopRun& run) {
      place = run.to;
      if (loop.skew) {
        if (count++ < kTurns) turns.push_back(run);
        if (run.kept < 0 && count < kMostRuns && run.done + run.steps < loop.steps) return;
        runSkewed(loop, turns, count, done);
        turns.clear();
        count = 0;
      } else {
        runBody(loop, run.from, run.to);
        if (done != nullptr && !loop.hasSweeps) *done += run.steps;
      }
      if (run.kept >= 0) leave(loop, run);
    });
  } else {
    const LoopState& condition = loop.states[loop.condition];
    for (int64_t step = 0; step < loop.steps; step++) {
      if (*views[bufferAt(condition, place)].data == std::byte{0}) break;
      const LoopPosition to = placeAfter(step + 1);
      runBody(loop, place, to);
      place = to;
    }
  }
  if (place == LoopPosition::last) return;
  for (const LoopState& state : loop.states) copyState(bufferAt(state, place), state.last, 0);
}

void CpuSteps::copyState(int from, int to, size_t offset) {
  const HostView& state = views[from];
  if (state.last == 0 || from == to) return;
  if (state.data == nullptr || views[to].data == nullptr) return copy(from, to, offset);
  std::memcpy(views[to].data + offset, state.data, state.last);
}

// Keeps the states that a run made.
void CpuSteps::leave(const Loop& loop, const LoopRun& run) {
  for (const LoopState& state : loop.states) {
    if (state.kept < 0) continue;
    const int from = bufferAt(state, run.to);
    copyState(from, state.kept, static_cast<size_t>(run.kept) * views[from].last);
  }
}

void CpuSteps::runSkewed(const Loop& loop, const std::vector<LoopRun>& turns, int64_t count,
                         TileCount* done) {
  checkCancelled(*cancel_);
  const auto& step = std::get<TapeStep>(loop.body[0]);
  std::vector<std::vector<cpu::TapeBuffer>> buffers;
  for (const LoopRun& run : turns) {
    place(loop, run.from, run.to);
    tapeBuffers(*step.tape, step.buffers);
    buffers.push_back(tapeBuffers_);
  }
  const auto turn = [&](size_t k) { return buffers[std::min(k, buffers.size() - 1)].data(); };
  const cpu::TapeRuns runs{
      count, {turn(0), turn(1), turn(2)}, loop.skew->tiles, loop.skew->counters, turns[0].done, done};
  recorder::count(recorder::Kind::kernel, 0);
  std::optional<recorder::HostSpan> span;
  if (recorder::isOn())
    span.emplace(recorder::HostSpan::OfStep::yes, kindOf(loop.body[0]), nameOf(loop.body[0]));
  cpu::runTapeAgain(*step.tape, runs, cpu::sharedPool(), cancel_);
  checkCancelled(*cancel_);
}

void CpuSteps::place(const Loop& loop, LoopPosition from, LoopPosition to) {
  for (const LoopState& state : loop.states) {
    views[state.current] = views[bufferAt(state, from)];
    views[state.next] = views[bufferAt(state, to)];
    backing[state.current] = backing[bufferAt(state, from)];
    backing[state.next] = backing[bufferAt(state, to)];
  }
}

void CpuSteps::runBody(const Loop& loop, LoopPosition from, LoopPosition to) {
  checkCancelled(*cancel_);
  place(loop, from, to);
  for (const Step& step : loop.body) run(step);
}

// Elements that are there as a whole.
const cpu::TapeBuffer* CpuSteps::tapeBuffers(const cpu::Tape& tape, const std::vector<int>& buffers) {
  tapeBuffers_.clear();
  tapeBuffers_.reserve(buffers.size() + 1);
  for (size_t i = 0; i < buffers.size(); i++) tapeBuffers_.push_back(tapeBuffer(tape, i, buffers[i]));
  addConstants(tape, tapeBuffers_);
  return tapeBuffers_.data();
}

std::vector<cpu::TapeBuffer> CpuSteps::buffersOf(const TapeStep& step) {
  tapeBuffers(*step.tape, step.buffers);
  return tapeBuffers_;
}

void CpuSteps::addConstants(const cpu::Tape& tape, std::vector<cpu::TapeBuffer>& buffers) {
  if (tape.numbers.empty()) return;
  std::vector<char>& chunks = constants_[&tape];
  if (chunks.empty()) cpu::setConstants(tape, numbers_, chunks);
  buffers.push_back({chunks.data(), 0, 0});
}

void CpuSteps::renewConstants() {
  for (auto& [tape, chunks] : constants_) cpu::setConstants(*tape, numbers_, chunks);
}

cpu::TapeBuffer CpuSteps::tapeBuffer(const cpu::Tape& tape, size_t at, int buffer) const {
  const HostView& view = views[buffer];
  // Elements have 1, 2, 4, 8 or 16 bytes.
  const auto size = static_cast<size_t>(cpu::byteLengthOf(tape.buffers[at].dtype));
  const int shift = std::countr_zero(size);
  return {view.data, static_cast<int64_t>((view.first + size - 1) >> shift),
          static_cast<int64_t>(view.last >> shift), view.source};
}

cpu::Matrix CpuSteps::matrix(const MatrixOperand& operand, DType dtype) const {
  std::byte* data = views[operand.buffer].data;
  data += operand.offset * int64_t{kElementBytes[static_cast<int>(dtype)]};
  return {data, operand.batchStride, operand.rowStride, operand.columnStride, operand.outerStrides};
}

}  // namespace weft
