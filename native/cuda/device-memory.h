// DeviceMemory: a result that stays on its device.
#pragma once
#include <memory>
#include <utility>

#include "cuda/device.h"
#include "cuda/pool.h"
#include "cuda/write-fence.h"

namespace weft::cuda {

class DeviceMemory : public Memory {
 public:
  // The memory from `lead` bytes into the block on. `fence`: of a run that hands out results before it has
  // ended.
  DeviceMemory(CudaDevice& device, const PoolBlock& block, size_t lead,
               std::shared_ptr<const WriteFence> fence)
      : Memory(device, block.address + lead, block.byteLength - lead),
        device_(device),
        block_(block),
        fence_(std::move(fence)) {}
  ~DeviceMemory() override { device_.release(block_); }

  // Waits until it is there for other devices.
  void await(const CancelFlag& cancel) const {
    if (fence_) fence_->await(cancel);
  }

 private:
  CudaDevice& device_;
  const PoolBlock block_;
  const std::shared_ptr<const WriteFence> fence_;
};

}  // namespace weft::cuda
