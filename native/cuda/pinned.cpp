#include "cuda/pinned.h"

#include <memory>
#include <utility>

#include "cuda/named-device.h"
#include "runtime/environment.h"
#include "runtime/executor.h"
#include "runtime/failure.h"
#include "runtime/values.h"

namespace weft::cuda {
namespace {

// A block of pinned memory. Freed on the executor's thread, whichever thread lets go.
class PinnedBlock {
 public:
  // On the executor's thread.
  PinnedBlock(CudaDevice& device, size_t byteLength) : device_(device), byteLength_(byteLength) {
    WEFT_CU(cuMemHostAlloc, &data_, byteLength, kHostPortable);
    device_.countPinned(static_cast<int64_t>(byteLength_));
  }
  ~PinnedBlock() {
    device_.countPinned(-static_cast<int64_t>(byteLength_));
    // Fails only on a lost device.
    device_.executor().post([data = data_] { static_cast<void>(driver().cuMemFreeHost(data)); });
  }
  PinnedBlock(const PinnedBlock&) = delete;
  PinnedBlock& operator=(const PinnedBlock&) = delete;

  void* data() const { return data_; }

 private:
  CudaDevice& device_;
  const size_t byteLength_;
  void* data_ = nullptr;
};

class PinTask : public NativeTask {
 public:
  PinTask(CudaDevice& device, size_t byteLength) : device_(device), byteLength_(byteLength) {}

  void run() override {
    device_.open();
    if (byteLength_ > 0) block_ = std::make_unique<PinnedBlock>(device_, byteLength_);
  }

  Napi::Value result(Napi::Env env) override {
    if (byteLength_ == 0) return Napi::ArrayBuffer::New(env, 0);
    napi_value value = nullptr;
    const auto release = [](napi_env, void*, void* block) {
      if (!isForked()) delete static_cast<PinnedBlock*>(block);
    };
    const napi_status status =
        napi_create_external_arraybuffer(env, block_->data(), byteLength_, release, block_.get(), &value);
    if (status != napi_ok) {
      throw Failure(FailureCode::memory,
                    "no ArrayBuffer of " + std::to_string(byteLength_) + " bytes could be made");
    }
    block_.release();
    return {env, value};
  }

 private:
  CudaDevice& device_;
  const size_t byteLength_;
  std::unique_ptr<PinnedBlock> block_;
};

}  // namespace

Napi::Value allocatePinned(const Napi::CallbackInfo& info) {
  CudaDevice& device = namedCudaDevice(info[0]);
  const auto byteLength = static_cast<size_t>(values::integer(info[1], "byteLength"));
  return Environment::of(info.Env())
      .start(info.Env(), std::make_shared<PinTask>(device, byteLength), device.executor());
}

}  // namespace weft::cuda
