#include "cuda/issue.h"

#include <algorithm>
#include <string_view>

#include "cuda/device.h"
#include "cuda/stream-span.h"
#include "runtime/failure.h"
#include "runtime/product-steps.h"

namespace weft::cuda {

using recorder::Kind;

namespace {

// A program that has run so often is worth graphs: to make one takes as long as a few times its launches.
constexpr size_t kRunsBeforeGraphs = 3;
// A driver may know a kind of graph that it cannot run on the device.
constexpr std::string_view kUnsupported = "CUDA_ERROR_NOT_SUPPORTED";

ProgramCode& linked(const Program& program, Modules& modules) {
  if (!program.code) program.code = modules.link(program);
  return *program.code;
}

}  // namespace

Issue::Issue(CudaDevice& device, Resources& resources, InFlightRun& flight)
    : device_(device),
      resources_(resources),
      flight_(flight),
      run_(*flight.run),
      program_(*run_.program),
      code_(linked(program_, resources.modules)),
      addresses_(code_.addresses),
      stream_(resources.stream) {}

void Issue::operator()() {
  // A run that failed in a sweep may have left others.
  code_.firstBlock = {};
  std::copy(run_.numbers.begin(), run_.numbers.end(), code_.numbers.begin());
  place();
  // Runs that are issued here copy nothing through lanes.
  if (!flight_.isInline) resources_.staging->limit(program_.copyByteLength);
  releasesHost_ = bringIn() && !holdsHost();
  if (releasesHost_) run_.leaveInputs();
  resources_.submissions->begin();
  queueSteps(code_.runsAsGraphs() || isDue(program_, resources_));
  code_.runs++;
  bringOut();
  if (!flight_.isAwaited) return;
  flight_.end = resources_.events.take();
  flight_.end->record(resources_.stream);
}

// Where memory is watched, blocks come and go in one stream.
void Issue::queueSteps(bool asGraphs) {
  const bool hasStreams = !program_.orders.empty() && !own_ && !(asGraphs && areBranches());
  if (hasStreams) {
    marks_.resize(program_.steps.size() + 1);
    entered_.assign(program_.streams, false);
    marks_.back() = resources_.events.take();
    marks_.back()->record(stream_);
  }
  try {
    size_t graph = 0;
    for (size_t i = 0; i < program_.steps.size();) {
      checkCancelled(*run_.cancel);
      const bool isGraph = asGraphs && graph < program_.graphs.size() && program_.graphs[graph].first == i;
      const size_t count = isGraph ? program_.graphs[graph].count : 1;
      if (hasStreams) enterStream(i);
      if (isGraph) {
        launchGraph(graph++);
      } else {
        if (own_) own_->begin(i);
        std::visit(*this, program_.steps[i]);
        if (own_) own_->end(i);
        flight_.launches++;
        resources_.submissions->count(stream_);
      }
      i += count;
      if (hasStreams) leaveStream(i - 1);
    }
    if (hasStreams) joinStreams();
  } catch (...) {
    if (hasStreams) abandonStreams();
    throw;
  }
}

// Where memory is watched, temporaries come and go between the steps.
bool Issue::isDue(const Program& program, Resources& resources) {
  const ProgramCode& code = *program.code;
  return code.graphs.empty() && !code.hasNoGraphs && !program.graphs.empty() &&
         code.runs >= kRunsBeforeGraphs && !resources.pool->isWatched();
}

void Issue::launchGraph(size_t graph) {
  const Program::Stretch& stretch = program_.graphs[graph];
  const size_t first = launch_;
  const auto eachStep = [&] {
    launch_ = first;
    const bool hasBranches =
        exec_ != nullptr && !exec_->isComplete() && !program_.orders.empty() && areBranches();
    for (size_t k = 0; k < stretch.count; k++) {
      if (hasBranches) branch(stretch, stretch.first + k);
      std::visit(*this, program_.steps[stretch.first + k]);
    }
  };
  code_.graphs.resize(program_.graphs.size());
  std::unique_ptr<GraphExec>& own = code_.graphs[graph];
  if (own && own->isComplete() && noteMoves(stretch, *own)) {
    eachStep();
    flight_.launches += stretch.count;
  } else {
    launchGraph(own, stretch.count, eachStep);
  }
  resources_.submissions->count(stream_, stretch.count);
}

// To record a product and set its node takes a little longer than to queue it.
bool Issue::noteMoves(const Program::Stretch& stretch, GraphExec& exec) const {
  size_t moved = 0;
  size_t others = 0;
  for (size_t k = 0; k < stretch.count; k++) {
    const Step& step = program_.steps[stretch.first + k];
    const auto note = [&](const auto& product) { (exec.remember(k, placesOf(product)) ? others : moved)++; };
    if (const auto* product = std::get_if<MatmulStep>(&step)) note(*product);
    if (const auto* contraction = std::get_if<ContractionStep>(&step)) note(*contraction);
    if (const auto* routine = std::get_if<RoutineStep>(&step)) note(*routine);
  }
  return moved > others;
}

void Issue::launchGraph(std::unique_ptr<GraphExec>& own, size_t steps,
                        const std::function<void()>& eachStep) {
  if (tryLaunchGraph(own, eachStep) == GraphLaunch::yes) return;
  // A device that has no memory for a graph can launch.
  eachStep();
  flight_.launches += steps;
}

Issue::GraphLaunch Issue::tryLaunchGraph(std::unique_ptr<GraphExec>& own,
                                         const std::function<void()>& eachStep) {
  try {
    if (!own) own = std::make_unique<GraphExec>(resources_.graphs, resources_.context);
    exec_ = own.get();
    exec_->begin();
    eachStep();
    {
      const StreamSpan span(stream_, Kind::graph, [&] { return own->name(); });
      exec_->launch(stream_);
    }
    exec_ = nullptr;
    flight_.launches++;
    return GraphLaunch::yes;
  } catch (const TopologyChanged&) {
    own.reset();
    return tryLaunchGraph(own, eachStep);
  } catch (const Unrecorded&) {
    exec_ = nullptr;
    own.reset();
    code_.hasNoGraphs = true;
    return GraphLaunch::unsupported;
  } catch (const Failure& failure) {
    exec_ = nullptr;
    // Nothing of it is queued. Half made, it is made anew when it is used next.
    if (own && !own->isComplete()) own.reset();
    if (failure.status == kUnsupported) return GraphLaunch::unsupported;
    if (failure.code != FailureCode::memory) throw;
    return GraphLaunch::noMemory;
  }
}

void Issue::operator()(const LaunchStep& step) {
  const ProgramCode::Launch& launch = code_.launches[launch_++];
  code_.encodeTensorMaps(launch, step.tensorMaps.size());
  if (exec_ != nullptr)
    return exec_->add(step, launch.function, code_.parameters.data() + launch.parameters, addresses_);
  const StreamSpan span(stream_, Kind::kernel, [&] { return step.function; });
  WEFT_CU(cuLaunchKernel, launch.function, step.grid[0], step.grid[1], step.grid[2], step.block[0],
          step.block[1], step.block[2], step.sharedByteLength, stream_,
          code_.parameters.data() + launch.parameters, nullptr);
}

namespace {
const std::string& nameOf(const RoutineStep& step) { return step.name; }
}  // namespace

template <typename Product>
void Issue::call(const Product& step, const std::function<void(CUstream)>& queue,
                 std::shared_ptr<const void> uses) {
  if (exec_ != nullptr) return exec_->add(nameOf(step), placesOf(step), queue, std::move(uses));
  const StreamSpan span(
      stream_, Kind::library, [&] { return nameOf(step); }, 0, tile_);
  queue(stream_);
}

void Issue::operator()(const MatmulStep& step) { multiply(step, false); }

void Issue::operator()(const ContractionStep& step) {
  const size_t workspace = step.workspace < 0 ? 0 : byteLengthOf(step.workspace);
  call(step, [&](CUstream stream) { device_.tensors().contract(step, addresses_, workspace, stream); });
}

Captures::Addresses Issue::placesOf(const ContractionStep& step) const {
  Captures::Addresses places = {addresses_[step.left.buffer], addresses_[step.right.buffer],
                                addresses_[step.result.buffer]};
  if (step.addend) places.push_back(addresses_[step.addend->buffer]);
  if (step.workspace >= 0) places.push_back(addresses_[step.workspace]);
  return places;
}

void Issue::multiply(const MatmulStep& step, bool adds) {
  const size_t workspace = step.workspace < 0 ? 0 : byteLengthOf(step.workspace);
  call(step, [&](CUstream stream) {
    if (step.epilogue) return device_.blasLt().multiply(step, addresses_, workspace, stream);
    device_.blas().enter(stream);
    device_.blas().multiply(step, addresses_, workspace, adds);
  });
}

Captures::Addresses Issue::placesOf(const MatmulStep& step) const {
  Captures::Addresses places = {addresses_[step.a.buffer], addresses_[step.b.buffer],
                                addresses_[step.c.buffer]};
  if (step.epilogue && step.epilogue->addend) places.push_back(addresses_[step.epilogue->addend->buffer]);
  if (step.epilogue && step.epilogue->bias >= 0) places.push_back(addresses_[step.epilogue->bias]);
  if (step.workspace >= 0) places.push_back(addresses_[step.workspace]);
  return places;
}

Captures::Addresses Issue::placesOf(const RoutineStep& step) const {
  Captures::Addresses places;
  for (const int buffer : step.operands) places.push_back(addresses_[buffer]);
  for (const int buffer : step.results) places.push_back(addresses_[buffer]);
  if (step.workspace >= 0) places.push_back(addresses_[step.workspace]);
  return places;
}

LibraryJob Issue::jobOf(const RoutineStep& step, cpu::Range units) const {
  const bool hasWorkspace = step.workspace >= 0;
  std::vector<CUdeviceptr> operands, results;
  for (const int buffer : step.operands) operands.push_back(addresses_[buffer]);
  for (const int buffer : step.results) results.push_back(addresses_[buffer]);
  return {device_,
          step.numbers,
          std::move(operands),
          std::move(results),
          hasWorkspace ? addresses_[step.workspace] : 0,
          hasWorkspace ? byteLengthOf(step.workspace) : 0,
          units};
}

void Issue::operator()(const RoutineStep& step) { queue(step, {0, step.units}); }

void Issue::queue(const RoutineStep& step, cpu::Range units) {
  if (exec_ != nullptr && !step.library->isRecorded) throw Unrecorded{};
  const LibraryJob job = jobOf(step, units);
  auto uses = step.library->prepare(job);
  call(
      step, [&](CUstream stream) { step.library->queue(job, stream); }, std::move(uses));
}

void Issue::operator()(const ZeroStep& step) {
  const size_t byteLength = byteLengthOf(step.buffer);
  if (byteLength == 0) return;
  if (exec_ != nullptr) return exec_->addZero(addresses_[step.buffer], byteLength);
  const StreamSpan span(stream_, Kind::zero, byteLength);
  WEFT_CU(cuMemsetD8Async, addresses_[step.buffer], 0, byteLength, stream_);
}

void Issue::operator()(const TapeStep&) { throw Failure(FailureCode::internal, "a CPU tape reached a GPU"); }

void Issue::operator()(const TapePhaseStep&) {
  throw Failure(FailureCode::internal, "a CPU tape reached a GPU");
}

}  // namespace weft::cuda
