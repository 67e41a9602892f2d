#include "cuda/device.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "cuda/context-scope.h"
#include "cuda/issue.h"
#include "cuda/page-locks.h"
#include "cuda/peer.h"
#include "cuda/resources.h"
#include "cuda/stream-span.h"
#include "runtime/executor.h"
#include "runtime/failure.h"
#include "runtime/program.h"

namespace weft::cuda {
namespace {

bool losesDevice(const Failure& failure) {
  return failure.code == FailureCode::lost && dynamic_cast<const PeerLost*>(&failure) == nullptr;
}

}  // namespace

CudaDevice::CudaDevice(int ordinal)
    : ordinal_(ordinal),
      name_("cuda:" + std::to_string(ordinal)),
      executor_(makeExecutor("weft-cuda-" + std::to_string(ordinal))),
      completer_(makeExecutor("weft-done-" + std::to_string(ordinal))) {}

CudaDevice::~CudaDevice() = default;

void CudaDevice::checkNotLost() const {
  const std::string* status = lost_.load();
  if (status == nullptr) return;
  throw Failure(FailureCode::lost, "[" + name_ + "] the device was lost; it is usable again in a new process",
                *status);
}

std::string CudaDevice::lostStatus() const {
  const std::string* status = lost_.load();
  return status == nullptr ? std::string() : *status;
}

void CudaDevice::open() {
  checkNotLost();
  if (resources_) return;
  CUdevice device = 0;
  WEFT_CU(cuDeviceGet, &device, ordinal_);
  int pools = 0;
  WEFT_CU(cuDeviceGetAttribute, &pools, static_cast<int>(Attribute::memoryPoolsSupported), device);
  if (pools == 0) {
    throw Failure(FailureCode::device, "[" + name_ + "] expected a device with stream-ordered memory pools");
  }
  auto resources = std::make_unique<Resources>();
  WEFT_CU(cuDevicePrimaryCtxRetain, &resources->context, device);
  try {
    WEFT_CU(cuCtxSetCurrent, resources->context);
    resources->stream = makeStream(resources->context, name_, "stream 0");
    resources->submissions.emplace();
    resources->detachedRuns.emplace();
    resources->pool.emplace(name_, device, resources->stream);
    resources->staging.emplace(resources->context, resources->stream);
  } catch (...) {
    // With the context goes what was made in it and is not destroyed.
    resources.reset();
    static_cast<void>(driver().cuCtxSetCurrent(nullptr));
    static_cast<void>(driver().cuDevicePrimaryCtxRelease(device));
    throw;
  }
  // Runs that nobody waits for have to end before the driver is torn down.
  quietAtExit([this] {
    if (leavesTrail_) executor_.post([this] { drain(); });
  });
  resources_ = std::move(resources);
  opened_ = resources_.get();
}

void CudaDevice::begin(std::shared_ptr<Run> run) {
  open();
  awaitRoom();
  auto flight = std::make_shared<InFlightRun>();
  flight->run = std::move(run);
  if (goesAhead(*flight->run)) flight->fence = std::make_shared<WriteFence>();
  {
    const std::lock_guard lock(issuing_);
    flight->run->place.leave();
    issue(*flight);
    if (flight->error) takeBack(*flight);
    tidy();
    enqueue(flight);
  }
  watch(*flight);
}

bool CudaDevice::goesAhead(const Run& run) {
  if (!run.settlesAhead || !run.sinks.empty()) return false;
  // Memory of JavaScript is read until the end.
  const auto isOnDevice = [](const Run::Input& input) { return input.memory || !input.pieces.empty(); };
  return std::all_of(run.inputs.begin(), run.inputs.end(), isOnDevice) &&
         std::all_of(run.keepOnDevice.begin(), run.keepOnDevice.end(), [](bool kept) { return kept; });
}

void CudaDevice::issue(InFlightRun& flight) {
  const recorder::HostSpan span(recorder::Kind::queue, name_);
  try {
    Issue(*this, *resources_, flight)();
  } catch (const Failure& failure) {
    flight.error = std::current_exception();
    if (losesDevice(failure)) lose(failure.status);
  } catch (...) {
    flight.error = std::current_exception();
  }
  // Buffers that the run read are free for the runs after it.
  if (!flight.error) flight.run->inputs.clear();
}

void CudaDevice::takeBack(InFlightRun& flight) {
  drain();
  resources_->staging->reset();
  flight.run->outputs.clear();
  flight.run->inputs.clear();
}

// Failures, too, and in the order in which they were issued: once a run's end is reported, those before it
// hold no memory of other devices any more.
void CudaDevice::enqueue(const std::shared_ptr<InFlightRun>& flight) {
  flight->run->timeline.issued = Timeline::now();
  {
    const std::lock_guard lock(flightsMutex_);
    flights_++;
    launches_ += flight->launches;
  }
  if (flight->fence && !flight->error) {
    flight->fence->begin(*flight->end);
    leavesTrail_ = true;
  }
  completer_.post([this, flight] {
    flight->watched.wait(false);
    complete(*flight);
  });
}

void CudaDevice::watch(InFlightRun& flight) {
  if (flight.fence && !flight.error) flight.run->queued();
  flight.watched.store(true);
  flight.watched.notify_one();
}

void CudaDevice::tidy() {
  if (lost_.load() != nullptr) return;
  try {
    resources_->graphs.clear();
    resources_->pool->tidy();
  } catch (const Failure& failure) {
    // The next run finds out, too.
    if (losesDevice(failure)) lose(failure.status);
  }
}

void CudaDevice::tidySoon() {
  executor_.post([this] {
    const std::lock_guard lock(issuing_);
    tidy();
  });
}

void CudaDevice::release(const PoolBlock& block) {
  if (opened_.load()->pool->free(block)) tidySoon();
}

void CudaDevice::letIn(const CudaDevice& peer) {
  const std::lock_guard lock(peersMutex_);
  if (!peers_.insert(peer.ordinal_).second) return;
  CUdevice here = 0;
  CUdevice there = 0;
  WEFT_CU(cuDeviceGet, &here, ordinal_);
  WEFT_CU(cuDeviceGet, &there, peer.ordinal_);
  int reaches = 0;
  WEFT_CU(cuDeviceCanAccessPeer, &reaches, there, here);
  if (reaches != 0) opened_.load()->pool->letIn(there);
}

CUcontext CudaDevice::context() const { return opened_.load()->context; }

void CudaDevice::awaitRoom() {
  std::unique_lock lock(flightsMutex_);
  if (flights_ < kMostFlights) return;
  room_.wait(lock, [this] { return flights_ <= kMostFlights / 2; });
}

void CudaDevice::complete(InFlightRun& flight) noexcept {
  std::exception_ptr error = flight.error;
  try {
    if (!error) land(flight);
  } catch (const Failure& failure) {
    error = std::current_exception();
    if (losesDevice(failure)) lose(failure.status);
    // The end was not seen, and nothing of the run may be under way when it has finished.
    if (hasContext_ && failure.code != FailureCode::aborted) drain();
  } catch (...) {
    error = std::current_exception();
    drain();
  }
  if (flight.fence) flight.fence->clear();
  if (flight.end) opened_.load()->events.give(std::move(flight.end));
  flight.held.clear();
  flight.run->finish(std::move(error));
  const std::lock_guard lock(flightsMutex_);
  launches_ -= flight.launches;
  if (--flights_ == kMostFlights / 2) room_.notify_one();
}

void CudaDevice::land(InFlightRun& flight) {
  if (!hasContext_) {
    takeContext();
    hasContext_ = true;
  }
  const auto begin = std::chrono::steady_clock::now();
  flight.end->wait(flight.run->program->waited);
  flight.run->program->waited = std::chrono::steady_clock::now() - begin;
  for (const InFlightRun::PendingCopy& pending : flight.pendingCopies) {
    std::memcpy(pending.to, flight.down.get() + pending.offset, pending.byteLength);
  }
  // A cancelled run's results are not wanted any more.
  checkCancelled(*flight.run->cancel);
  // Those on the device may be JavaScript's by now.
  const size_t most = flight.run->program->lockByteLength;
  for (size_t i = 0; i < flight.run->outputs.size(); i++) {
    if (!flight.run->keepOnDevice[i]) lockPagesSoon(flight.run->outputs[i], *this, most);
  }
}

void CudaDevice::takeContext() {
  const CUresult status = driver().cuCtxSetCurrent(opened_.load()->context);
  if (status == kSuccess) return;
  // Without it the end of no run can be seen.
  lose(statusName(status));
  throw Failure(FailureCode::lost, "[" + name_ + "] the device's context could not be used",
                statusName(status), "cuCtxSetCurrent");
}

void CudaDevice::lose(const std::string& status) {
  // Never freed: later failures name it.
  const std::string* none = nullptr;
  const auto* name = new std::string(status);
  if (!lost_.compare_exchange_strong(none, name)) delete name;
}

void CudaDevice::drain() {
  const CUresult drained = driver().cuStreamSynchronize(opened_.load()->stream);
  if (isFatal(drained)) lose(statusName(drained));
  for (const std::atomic<CUstream>& stream : opened_.load()->others) {
    if (stream == nullptr) continue;
    const CUresult other = driver().cuStreamSynchronize(stream);
    if (isFatal(other)) lose(statusName(other));
  }
}

void CudaDevice::use(const std::function<void(Resources&)>& work) {
  open();
  const std::lock_guard lock(issuing_);
  try {
    work(*resources_);
  } catch (const Failure& failure) {
    if (losesDevice(failure)) lose(failure.status);
    throw;
  }
}

namespace {

// The legacy default stream has a handle of its own, 1, and is the driver's null stream.
CUstream streamOf(uintptr_t handle) { return handle == 1 ? nullptr : reinterpret_cast<CUstream>(handle); }

}  // namespace

void CudaDevice::makeStreamWait(uintptr_t stream) {
  use([&](Resources& own) { own.events.order(own.stream, streamOf(stream)); });
}

void CudaDevice::waitForStream(uintptr_t stream) {
  use([&](Resources& own) { own.events.order(streamOf(stream), own.stream); });
}

BlasLt& CudaDevice::blasLt() {
  if (!resources_->blasLt) resources_->blasLt.emplace();
  return *resources_->blasLt;
}

Tensors& CudaDevice::tensors() {
  if (!resources_->tensors) resources_->tensors.emplace();
  return *resources_->tensors;
}

Fft& CudaDevice::fft() {
  if (!resources_->fft) resources_->fft.emplace();
  return *resources_->fft;
}

Solver& CudaDevice::solver() {
  if (!resources_->solver) resources_->solver.emplace();
  return *resources_->solver;
}

SparseSolver& CudaDevice::sparseSolver() {
  if (!resources_->sparseSolver) resources_->sparseSolver.emplace(*resources_);
  return *resources_->sparseSolver;
}

Blas& CudaDevice::blas() {
  if (!resources_->blas) resources_->blas.emplace(resources_->stream);
  return *resources_->blas;
}

void CudaDevice::trim() {
  if (!resources_ || lost_.load() != nullptr) return;
  const std::lock_guard lock(issuing_);
  resources_->pool->trim();
  resources_->staging->release();
  if (CopyStreams* copies = resources_->copies.load()) {
    copies->in.release();
    copies->out.release();
  }
  // It waited for all there was.
  resources_->detachedRuns->clear();
  leavesTrail_ = false;
}

MemoryUse CudaDevice::memory() const {
  const Resources* resources = opened_.load();
  if (resources == nullptr) return {};
  MemoryUse use = resources->pool->use();
  use.workPeak = use.peak;
  use.staging = resources->staging->pinnedBytes() + resources->slots.pinnedBytes();
  use.staging += static_cast<size_t>(pinnedArrays_.load());
  if (const CopyStreams* copies = resources->copies.load()) use.staging += copies->pinnedBytes();
  return use;
}

void CudaDevice::expectResultsIn(const std::shared_ptr<Memory>& memory, size_t most) {
  if (opened_.load() != nullptr) lockPagesSoon(memory, *this, most);
}

KeptObjects CudaDevice::keptObjects() const {
  if (!resources_) return {};
  Resources& r = *resources_;
  const std::lock_guard lock(issuing_);
  KeptObjects kept{
      1,
      SubmissionLimit::kEvents + DetachedRuns::kEvents + r.events.count() + r.staging->eventCount(),
      r.modules.count(),
      1,
      r.blas ? size_t{1} : 0,
      r.blasLt ? size_t{1} : 0,
      r.tensors ? size_t{1} : 0,
      r.tensors ? r.tensors->planCount() : 0,
      r.fft ? r.fft->planCount() : 0,
      r.solver ? size_t{1} : 0,
      r.sparseSolver ? size_t{1} : 0,
      r.sparseSolver ? r.sparseSolver->count() : 0};
  kept.streams += static_cast<size_t>(
      std::count_if(r.others.begin(), r.others.end(), [](const auto& stream) { return stream != nullptr; }));
  kept.streams += r.graphs.streamCount();
  if (r.fft) {
    kept.streams += r.fft->streamCount();
    kept.events += r.fft->eventCount();
  }
  kept.graphs = r.graphs.count();
  kept.graphExecs = r.graphs.execCount();
  if (const CopyStreams* copies = r.copies.load()) {
    kept.streams += CopyStreams::kStreams;
    kept.events += copies->eventCount();
  }
  return kept;
}

size_t CudaDevice::freeBytes() const {
  size_t free = 0;
  size_t total = 0;
  WEFT_CU(cuMemGetInfo, &free, &total);
  return free;
}

}  // namespace weft::cuda
