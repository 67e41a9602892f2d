#include "cuda/cut-memory.h"

#include <memory>
#include <mutex>
#include <utility>

#include "cuda/context-scope.h"
#include "cuda/device-memory.h"
#include "cuda/device.h"
#include "cuda/resources.h"
#include "cuda/stream-span.h"
#include "runtime/buffer-handle.h"
#include "runtime/environment.h"
#include "runtime/executor.h"
#include "runtime/failure.h"
#include "runtime/values.h"

namespace weft::cuda {
namespace {

Napi::Value handleOfCut(Napi::Env env, std::shared_ptr<Memory> memory) {
  const size_t byteLength = memory->byteLength;
  return values::makeHandle(env, std::make_unique<BufferHandle>(env, std::move(memory), byteLength));
}

class CutTask : public NativeTask {
 public:
  CutTask(CudaDevice& device, std::shared_ptr<Memory> memory, size_t byteLength)
      : device_(device), memory_(std::move(memory)), byteLength_(byteLength) {}

  void run() override { memory_ = device_.cut(*memory_, byteLength_); }
  Napi::Value result(Napi::Env env) override { return handleOfCut(env, std::move(memory_)); }

 private:
  CudaDevice& device_;
  std::shared_ptr<Memory> memory_;
  const size_t byteLength_;
};

}  // namespace

std::shared_ptr<Memory> CudaDevice::queueCut(Resources& own, const Memory& memory, size_t byteLength,
                                             bool mayWait) {
  auto made = std::make_shared<DeviceMemory>(*this, own.pool->allocate(byteLength, mayWait), 0, nullptr);
  const StreamSpan span(own.stream, recorder::Kind::copyWithin, byteLength);
  WEFT_CU(cuMemcpyDtoDAsync, made->address, memory.address, byteLength, own.stream);
  leavesTrail_ = true;
  return made;
}

std::shared_ptr<Memory> CudaDevice::cut(const Memory& memory, size_t byteLength) {
  std::shared_ptr<Memory> made;
  use([&](Resources& own) { made = queueCut(own, memory, byteLength, true); });
  return made;
}

std::shared_ptr<Memory> CudaDevice::tryCut(const Memory& memory, size_t byteLength) {
  // Runs that were asked for earlier go first.
  if (lost_.load() != nullptr || !waitingRuns().isEmpty()) return nullptr;
  const std::unique_lock lock(issuing_, std::try_to_lock);
  if (!lock || !resources_->pool->hasAtOnce({byteLength})) return nullptr;
  const ContextScope scope(resources_->context);
  try {
    return queueCut(*resources_, memory, byteLength, false);
  } catch (const Failure&) {
    // The executor finds memory where there is some to find, and says what failed.
    return nullptr;
  }
}

Napi::Value cutMemory(const Napi::CallbackInfo& info) {
  const auto& handle = values::handle<BufferHandle>(info[0], "handle");
  auto* device = handle.memory ? dynamic_cast<CudaDevice*>(&handle.memory->device) : nullptr;
  if (device == nullptr) values::reject("handle", "of memory on a GPU that was not disposed");
  const auto byteLength = static_cast<size_t>(values::integer(info[1], "byteLength", 1));
  if (byteLength > handle.memory->byteLength) values::reject("byteLength", "inside the memory");
  if (std::shared_ptr<Memory> made = device->tryCut(*handle.memory, byteLength))
    return handleOfCut(info.Env(), std::move(made));
  return Environment::of(info.Env())
      .start(info.Env(), std::make_shared<CutTask>(*device, handle.memory, byteLength), device->executor());
}

}  // namespace weft::cuda
