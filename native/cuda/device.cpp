#include "cuda/device.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "cuda/issue.h"
#include "cuda/resources.h"
#include "runtime/executor.h"
#include "runtime/failure.h"
#include "runtime/program.h"

namespace weft::cuda {
namespace {

// Runs that may be under way at once; where there are as many, the executor waits until half of them ended.
constexpr size_t kMostFlights = 128;

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
    WEFT_CU(cuStreamCreate, &resources->stream, kStreamNonBlocking);
    resources->throttle.emplace();
    resources->pool.emplace(name_, device, resources->stream);
    resources->staging.emplace(resources->context, resources->stream);
  } catch (...) {
    // With the context goes what was made in it and is not destroyed.
    resources.reset();
    static_cast<void>(driver().cuCtxSetCurrent(nullptr));
    static_cast<void>(driver().cuDevicePrimaryCtxRelease(device));
    throw;
  }
  quietAtExit();
  resources_ = std::move(resources);
  opened_ = resources_.get();
}

void CudaDevice::begin(std::shared_ptr<Run> run) {
  open();
  awaitRoom();
  auto flight = std::make_shared<Flight>();
  flight->run = std::move(run);
  try {
    Issue(*this, *resources_, *flight)();
  } catch (const Failure& failure) {
    flight->error = std::current_exception();
    if (failure.code == FailureCode::lost) lose(failure.status);
  } catch (...) {
    flight->error = std::current_exception();
  }
  if (flight->error) {
    drain();
    resources_->staging->reset();
    flight->run->outputs.clear();
  }
  // What the run read is free for the runs after it.
  flight->run->inputs.clear();
  tidy();
  flight->run->timeline.issued = Timeline::now();
  {
    const std::lock_guard lock(flightsMutex_);
    flights_++;
  }
  // Failures, too, so that runs finish in order.
  completer_.post([this, flight = std::move(flight)] { complete(*flight); });
}

void CudaDevice::tidy() {
  if (lost_.load() != nullptr) return;
  try {
    resources_->pool->tidy();
  } catch (const Failure& failure) {
    // The next run finds out, too.
    if (failure.code == FailureCode::lost) lose(failure.status);
  }
}

void CudaDevice::release(const PoolBlock& block) {
  if (opened_.load()->pool->free(block)) executor_.post([this] { tidy(); });
}

void CudaDevice::awaitRoom() {
  std::unique_lock lock(flightsMutex_);
  if (flights_ < kMostFlights) return;
  room_.wait(lock, [this] { return flights_ <= kMostFlights / 2; });
}

void CudaDevice::complete(Flight& flight) noexcept {
  std::exception_ptr error = flight.error;
  try {
    if (!error) land(flight);
  } catch (const Failure& failure) {
    error = std::current_exception();
    if (failure.code == FailureCode::lost) lose(failure.status);
    // The end was not seen, and nothing of the run may be under way when it has finished.
    if (hasContext_ && failure.code != FailureCode::aborted) drain();
  } catch (...) {
    error = std::current_exception();
    drain();
  }
  if (flight.end) opened_.load()->events.give(std::move(flight.end));
  flight.run->finish(std::move(error));
  const std::lock_guard lock(flightsMutex_);
  if (--flights_ == kMostFlights / 2) room_.notify_one();
}

void CudaDevice::land(Flight& flight) {
  if (!hasContext_) {
    takeContext();
    hasContext_ = true;
  }
  flight.end->wait();
  for (const Flight::Landing& landing : flight.landings) {
    std::memcpy(landing.to, flight.down.get() + landing.offset, landing.byteLength);
  }
  // Whoever cancelled does not want the results any more.
  checkCancelled(*flight.run->cancel);
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
}

Blas& CudaDevice::blas() {
  if (!resources_->blas) resources_->blas.emplace(resources_->stream);
  return *resources_->blas;
}

void CudaDevice::trim() {
  if (resources_ && lost_.load() == nullptr) resources_->pool->trim();
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

KeptObjects CudaDevice::keptObjects() const {
  if (!resources_) return {};
  Resources& r = *resources_;
  KeptObjects kept{1, Throttle::kEvents + r.events.count() + r.staging->eventCount(), r.modules.count(), 1,
                   r.blas ? size_t{1} : 0};
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

namespace {

struct Devices {
  std::mutex mutex;
  std::map<int, CudaDevice*> byOrdinal;
};

Devices& devices() {
  static Devices& it = *new Devices();
  return it;
}

}  // namespace

CudaDevice& deviceAt(int ordinal) {
  static_cast<void>(driver());
  const int count = driverState().deviceCount;
  if (ordinal >= count) {
    throw Failure(FailureCode::device, "[cuda] expected a device from cuda:0 to cuda:" +
                                           std::to_string(count - 1) + ": cuda:" + std::to_string(ordinal));
  }
  const std::lock_guard lock(devices().mutex);
  CudaDevice*& device = devices().byOrdinal[ordinal];
  if (device == nullptr) device = new CudaDevice(ordinal);
  return *device;
}

std::vector<Device*> openedCudaDevices() {
  const std::lock_guard lock(devices().mutex);
  std::vector<Device*> result;
  for (const auto& [ordinal, device] : devices().byOrdinal) result.push_back(device);
  return result;
}

}  // namespace weft::cuda
