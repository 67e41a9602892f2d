// DeviceMemory: a result that stays on its device.
#pragma once
#include <memory>
#include <utility>

#include "cuda/device.h"
#include "cuda/making.h"
#include "cuda/pool.h"

namespace weft::cuda {

class DeviceMemory : public Memory {
 public:
  // The memory from `lead` bytes into the block on. `making`: of a run that hands out results before it has
  // ended.
  DeviceMemory(CudaDevice& device, const PoolBlock& block, size_t lead, std::shared_ptr<const Making> making)
      : Memory(device, block.address + lead, block.byteLength - lead),
        device_(device),
        block_(block),
        making_(std::move(making)) {}
  ~DeviceMemory() override { device_.release(block_); }

  // Waits until it is there for other devices.
  void await(const CancelFlag& cancel) const {
    if (making_) making_->await(cancel);
  }

 private:
  CudaDevice& device_;
  const PoolBlock block_;
  const std::shared_ptr<const Making> making_;
};

}  // namespace weft::cuda
