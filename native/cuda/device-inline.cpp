// Small runs that begin on the thread that asks for them, where the device is ready: see
// Device::tryBeginInline.
#include <algorithm>

#include "cuda/context-scope.h"
#include "cuda/device.h"
#include "cuda/issue.h"
#include "cuda/library-routines.h"
#include "cuda/resources.h"
#include "runtime/executor.h"
#include "runtime/failure.h"
#include "runtime/program.h"

namespace weft::cuda {
namespace {

// Launches that may be under way where one more is to be queued without waiting: the driver takes about a
// thousand ahead.
constexpr size_t kMostLaunches = 512;

// Of a Failure; else that of a defect.
FailureCode codeOf(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Failure& failure) {
    return failure.code;
  } catch (...) {
    return FailureCode::internal;
  }
}

}  // namespace

InlinePermit CudaDevice::tryBeginInline(const Run& run) {
  // Runs that were asked for earlier go first.
  if (opened_.load() == nullptr || lost_.load() != nullptr || !waitingRuns().isEmpty()) return {};
  std::unique_lock lock(issuing_, std::try_to_lock);
  if (!lock || !isReadyFor(run)) return {};
  const std::vector<bool>& kept = run.keepOnDevice;
  const bool isStored = std::find(kept.begin(), kept.end(), false) == kept.end();
  const bool isSettled = run.settlesWhenQueued && isStored;
  // Where too many are under way that nobody waits for, the executor waits.
  if (isSettled && !resources_->detachedRuns->hasRoom(resources_->context)) return {};
  return {isSettled ? InlinePermit::Kind::settled : InlinePermit::Kind::open, std::move(lock)};
}

bool CudaDevice::isReadyFor(const Run& run) {
  const Program& program = *run.program;
  // The first run loads its code, a later one makes its graphs.
  if (!program.code || !run.sinks.empty() || Issue::isDue(program, *resources_)) return false;
  if (!(program.code->runsAsGraphs() ? program.isSmallAsGraphs : program.isSmall)) return false;
  if (!areRoutinesPrepared(program)) return false;
  size_t up = 0;
  size_t down = 0;
  std::vector<size_t> blocks;
  for (size_t i = 0; i < run.inputs.size(); i++) {
    if (run.inputs[i].source || !run.inputs[i].pieces.empty()) return false;
    if (!run.inputs[i].memory) up += Issue::packedByteLength(program, program.inputs[i]);
  }
  for (size_t i = 0; i < run.keepOnDevice.size(); i++) {
    if (run.keepOnDevice[i]) {
      blocks.push_back(program.buffers[program.outputs[i]].byteLength);
    } else {
      down += Issue::packedByteLength(program, program.outputs[i]);
    }
  }
  if (std::max(up, down) > PinnedSlots::kByteLength) return false;
  const size_t slots = (up > 0 ? 1 : 0) + (down > 0 ? 1 : 0);
  if (resources_->slots.free() < slots) return false;
  blocks.push_back(program.arenaByteLength + up + down);
  if (!resources_->pool->hasAtOnce(blocks)) return false;
  const std::lock_guard lock(flightsMutex_);
  return flights_ < kMostFlights && launches_ < kMostLaunches;
}

// Libraries drop plans that were not used for long.
bool CudaDevice::areRoutinesPrepared(const Program& program) {
  return std::all_of(program.steps.begin(), program.steps.end(), [&](const Step& step) {
    const auto* routine = std::get_if<RoutineStep>(&step);
    if (routine == nullptr) return true;
    const size_t bytes = routine->workspace < 0 ? 0 : program.buffers[routine->workspace].byteLength;
    return routine->library->isPrepared({*this, routine->numbers, {}, {}, 0, bytes, {0, routine->units}});
  });
}

void CudaDevice::beginInline(std::shared_ptr<Run> run, InlinePermit permit) {
  const ContextScope scope(resources_->context);
  auto flight = std::make_shared<InFlightRun>();
  flight->run = std::move(run);
  flight->isInline = true;
  flight->isAwaited = permit.kind == InlinePermit::Kind::open;
  issue(*flight);
  if (!flight->error && !flight->isAwaited) {
    resources_->detachedRuns->add(flight->run->program, flight->launches, resources_->stream);
    leavesTrail_ = true;
  }
  const bool sheds = resources_->pool->shed();
  if (sheds || resources_->graphs.hasMany()) tidySoon();
  permit.lock.unlock();
  if (flight->error) return failInline(std::move(flight));
  if (!flight->isAwaited) return;
  // Not under the lock, which wakes the completer too soon: 6 became 10 microseconds on an H200. No run of
  // this thread's can be issued in between, and with those of other threads there is no order to keep.
  enqueue(flight);
  watch(*flight);
}

// Runs that wait are left to the executor.
void CudaDevice::failInline(std::shared_ptr<InFlightRun> flight) {
  const std::exception_ptr error = flight->error;
  const bool isAwaited = flight->isAwaited;
  // The executor finds memory where there is some to find.
  const bool isBegunAgain = isAwaited && codeOf(error) == FailureCode::memory;
  // Runs that come after it wait until it is begun again, or undone.
  flight->run->place = waitingRuns().enter();
  executor_.post([this, isBegunAgain, flight = std::move(flight)] {
    if (isBegunAgain) return beginAgain(flight->run);
    {
      const std::lock_guard lock(issuing_);
      takeBack(*flight);
      if (flight->isAwaited) enqueue(flight);
      flight->run->place.leave();
    }
    if (flight->isAwaited) watch(*flight);
  });
  if (!isAwaited) std::rethrow_exception(error);
}

void CudaDevice::beginAgain(const std::shared_ptr<Run>& run) {
  run->outputs.clear();
  try {
    begin(run);
  } catch (...) {
    run->place.leave();
    run->finish(std::current_exception());
  }
}

}  // namespace weft::cuda
