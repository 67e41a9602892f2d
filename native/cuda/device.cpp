#include "cuda/device.h"

#include <map>

#include "runtime/executor.h"
#include "runtime/failure.h"

namespace weft::cuda {
namespace {

// Launches in the stream before the executor waits for the oldest half, so that a cancelled run has little
// left to do.
constexpr size_t kLaunchesAhead = 256;

size_t aligned(size_t byteLength) { return (byteLength + 255) / 256 * 256; }

// A result that stays on the device.
class DeviceMemory : public Memory {
 public:
  DeviceMemory(CudaDevice& device, CUdeviceptr address, size_t byteLength)
      : Memory(device, address, byteLength), cuda_(device) {}
  ~DeviceMemory() override { cuda_.release(address, byteLength); }

 private:
  CudaDevice& cuda_;
};

}  // namespace

struct CudaDevice::Resources {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  std::optional<DevicePool> pool;
  std::optional<Staging> staging;
  Modules modules;
  std::optional<Blas> blas;
};

// One run: places its buffers, brings inputs in, queues the steps, brings results out.
class CudaDevice::Execution {
 public:
  Execution(CudaDevice& device, Run& run)
      : device_(device), resources_(*device.resources_), run_(run), program_(*run.program) {}

  void execute() {
    place();
    resources_.staging->upload(uploads_, *run_.cancel);
    if (!program_.code) program_.code = std::make_shared<ProgramCode>(resources_.modules.link(program_));
    for (const Step& step : program_.steps) {
      checkCancelled(*run_.cancel);
      std::visit(*this, step);
      throttle();
    }
    // Results are made while the device works.
    std::vector<std::shared_ptr<Memory>> outputs = makeOutputs();
    resources_.staging->download(downloads_, *run_.cancel);
    if (downloads_.empty()) finish();
    run_.outputs = std::move(outputs);
  }

  void operator()(const LaunchStep& step) {
    const CUfunction function = static_cast<const ProgramCode&>(*program_.code).functions[launch_++];
    parameters_.clear();
    for (const LaunchStep::Argument& argument : step.args) {
      const void* value = argument.buffer >= 0
                              ? static_cast<const void*>(&addresses_[argument.buffer])
                              : static_cast<const void*>(step.scalars.data() + argument.offset);
      // The driver only reads parameters.
      parameters_.push_back(const_cast<void*>(value));
    }
    WEFT_CU(cuLaunchKernel, function, step.grid[0], step.grid[1], step.grid[2], step.block[0], step.block[1],
            step.block[2], step.sharedByteLength, resources_.stream, parameters_.data(), nullptr);
  }

  void operator()(const MatmulStep& step) { device_.blas().multiply(step, addresses_); }

  void operator()(const ZeroStep& step) {
    const size_t byteLength = program_.buffers[step.buffer].byteLength;
    if (byteLength > 0) WEFT_CU(cuMemsetD8Async, addresses_[step.buffer], 0, byteLength, resources_.stream);
  }

  void operator()(const TapeStep&) { throw Failure(FailureCode::internal, "a CPU tape reached a GPU"); }

 private:
  // One block holds the temporaries, the inputs that come from the host and the outputs that go there.
  void place() {
    DevicePool& pool = *resources_.pool;
    addresses_.assign(program_.buffers.size(), 0);
    std::vector<size_t> offsets(program_.buffers.size());
    size_t end = aligned(program_.arenaByteLength);
    const auto append = [&](int buffer) {
      offsets[buffer] = end;
      end += aligned(program_.buffers[buffer].byteLength);
    };
    for (size_t i = 0; i < program_.inputs.size(); i++) {
      if (!run_.inputs[i].memory) append(program_.inputs[i]);
    }
    for (size_t i = 0; i < program_.outputs.size(); i++) {
      if (!run_.keepOnDevice[i]) append(program_.outputs[i]);
    }
    block_.emplace(pool, end);
    for (size_t i = 0; i < program_.buffers.size(); i++) {
      const bool temporary = program_.buffers[i].role == Role::temporary;
      addresses_[i] = block_->address() + (temporary ? program_.buffers[i].offset : offsets[i]);
    }
    for (size_t i = 0; i < program_.inputs.size(); i++) placeInput(program_.inputs[i], run_.inputs[i]);
    for (size_t i = 0; i < program_.outputs.size(); i++)
      placeOutput(program_.outputs[i], run_.keepOnDevice[i]);
  }

  void placeInput(int buffer, const Run::Input& input) {
    if (input.memory) {
      addresses_[buffer] = input.memory->address;
    } else {
      // Uploads only read.
      uploads_.push_back(
          {addresses_[buffer], const_cast<void*>(input.host), program_.buffers[buffer].byteLength});
    }
  }

  void placeOutput(int buffer, bool keep) {
    const size_t byteLength = program_.buffers[buffer].byteLength;
    if (!keep) return;
    const CUdeviceptr address = resources_.pool->allocate(byteLength);
    kept_.push_back(std::make_shared<DeviceMemory>(device_, address, byteLength));
    addresses_[buffer] = address;
  }

  std::vector<std::shared_ptr<Memory>> makeOutputs() {
    std::vector<std::shared_ptr<Memory>> outputs;
    size_t kept = 0;
    for (size_t i = 0; i < program_.outputs.size(); i++) {
      if (run_.keepOnDevice[i]) {
        outputs.push_back(kept_[kept++]);
        continue;
      }
      const int buffer = program_.outputs[i];
      const size_t byteLength = program_.buffers[buffer].byteLength;
      outputs.push_back(allocateHost(byteLength));
      void* host = reinterpret_cast<void*>(outputs.back()->address);
      if (byteLength > 0) downloads_.push_back({addresses_[buffer], host, byteLength});
    }
    return outputs;
  }

  void throttle() {
    if (++issued_ % (kLaunchesAhead / 2) != 0) return;
    std::optional<Event>& mark = marks_[issued_ / (kLaunchesAhead / 2) % 2];
    if (mark) {
      mark->wait();
    } else {
      mark.emplace();
    }
    mark->record(resources_.stream);
  }

  void finish() {
    Event end;
    end.record(resources_.stream);
    end.wait();
  }

  CudaDevice& device_;
  Resources& resources_;
  Run& run_;
  const Program& program_;
  std::optional<PoolBlock> block_;
  std::vector<CUdeviceptr> addresses_;
  std::vector<Transfer> uploads_, downloads_;
  std::vector<std::shared_ptr<Memory>> kept_;
  std::vector<void*> parameters_;
  std::optional<Event> marks_[2];
  size_t launch_ = 0;
  size_t issued_ = 0;
};

CudaDevice::CudaDevice(int ordinal)
    : ordinal_(ordinal),
      name_("cuda:" + std::to_string(ordinal)),
      executor_(makeExecutor("weft-cuda-" + std::to_string(ordinal))) {}

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
    resources->pool.emplace(name_, device, resources->stream);
    resources->staging.emplace(resources->context, resources->stream);
  } catch (...) {
    // With the context goes what was made in it.
    static_cast<void>(driver().cuCtxSetCurrent(nullptr));
    static_cast<void>(driver().cuDevicePrimaryCtxRelease(device));
    throw;
  }
  quietAtExit();
  resources_ = std::move(resources);
  opened_ = resources_.get();
}

void CudaDevice::run(Run& run) {
  open();
  try {
    Execution(*this, run).execute();
  } catch (const Failure& failure) {
    recover(failure.code == FailureCode::lost ? failure.status : std::string());
    throw;
  } catch (...) {
    recover({});
    throw;
  }
}

void CudaDevice::recover(const std::string& status) {
  const CUresult drained = driver().cuStreamSynchronize(resources_->stream);
  resources_->staging->reset();
  const bool fatal = isFatal(drained);
  if (status.empty() && !fatal) return;
  // Never freed: later failures name it.
  if (lost_.load() == nullptr) lost_ = new std::string(status.empty() ? statusName(drained) : status);
}

Blas& CudaDevice::blas() {
  if (!resources_->blas) resources_->blas.emplace(*resources_->pool, resources_->stream);
  return *resources_->blas;
}

void CudaDevice::trim() {
  if (resources_ && lost_.load() == nullptr) resources_->pool->trim();
}

MemoryUse CudaDevice::memory() const {
  const Resources* resources = opened_.load();
  if (resources == nullptr) return {};
  MemoryUse use = resources->pool->use();
  use.staging = resources->staging->pinnedBytes();
  return use;
}

size_t CudaDevice::freeBytes() const {
  size_t free = 0;
  size_t total = 0;
  WEFT_CU(cuMemGetInfo, &free, &total);
  return free;
}

void CudaDevice::release(CUdeviceptr address, size_t byteLength) {
  executor_.post([this, address, byteLength] { resources_->pool->free(address, byteLength); });
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
