// DevicePool: a device's memory, from a stream-ordered pool of our own, with an exact account.
//
// Memory that is freed stays with the pool until `trim`. The pool and its stream belong to the device's
// executor thread; the account may be read on any.
#pragma once
#include <atomic>
#include <string>

#include "cuda/driver.h"
#include "runtime/device.h"

namespace weft::cuda {

class DevicePool {
 public:
  // `name` is the device's, for messages. Needs the device's context to be current.
  DevicePool(std::string name, CUdevice device, CUstream stream);
  DevicePool(const DevicePool&) = delete;
  DevicePool& operator=(const DevicePool&) = delete;

  // At least 256-byte aligned; 0 for no bytes. Where the device has no more, gives what is unused back and
  // asks once more, then throws a memory Failure that says what is in use.
  CUdeviceptr allocate(size_t byteLength);
  // In the order of the stream. Does not throw: on a lost device the memory went with it.
  void free(CUdeviceptr address, size_t byteLength) noexcept;
  void trim();
  MemoryUse use() const { return {inUse_, held_, peak_}; }

 private:
  CUresult tryAllocate(CUdeviceptr& address, size_t byteLength);
  void refreshHeld() noexcept;

  const std::string name_;
  const CUstream stream_;
  CUmemoryPool pool_ = nullptr;
  std::atomic<size_t> inUse_{0}, held_{0}, peak_{0};
};

// A block of the pool for as long as a scope on the executor's thread.
class PoolBlock {
 public:
  PoolBlock(DevicePool& pool, size_t byteLength)
      : pool_(pool), byteLength_(byteLength), address_(pool.allocate(byteLength)) {}
  ~PoolBlock() { pool_.free(address_, byteLength_); }
  PoolBlock(const PoolBlock&) = delete;
  PoolBlock& operator=(const PoolBlock&) = delete;
  CUdeviceptr address() const { return address_; }

 private:
  DevicePool& pool_;
  const size_t byteLength_;
  const CUdeviceptr address_;
};

}  // namespace weft::cuda
