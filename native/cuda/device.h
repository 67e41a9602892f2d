// CudaDevice: one GPU. Retains its primary context, and owns the stream, the pool, the staging ring, the
// modules and the cuBLAS handle that its executor's thread issues work with.
//
// Opened on the first run; lives as long as the process. A fault in the context loses the device for good:
// every later run is refused at once.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cuda/blas.h"
#include "cuda/driver.h"
#include "cuda/modules.h"
#include "cuda/pool.h"
#include "cuda/staging.h"
#include "runtime/device.h"

namespace weft::cuda {

class CudaDevice : public Device {
 public:
  explicit CudaDevice(int ordinal);

  const std::string& name() const override { return name_; }
  Executor& executor() override { return executor_; }
  size_t alignment() const override { return 256; }
  bool isHost() const override { return false; }
  void run(Run& run) override;
  void trim() override;
  MemoryUse memory() const override;

  // Makes the context and what belongs to it, on the executor's thread. Throws where the device cannot be
  // used.
  void open();
  // Bytes of device memory that are free. Executor's thread, after open().
  size_t freeBytes() const;
  // Gives a block back from any thread.
  void release(CUdeviceptr address, size_t byteLength);

 private:
  struct Resources;
  class Execution;

  void checkNotLost() const;
  // After a failure: waits for what is queued, and finds out whether the device is lost.
  void recover(const std::string& status);
  Blas& blas();

  const int ordinal_;
  const std::string name_;
  Executor& executor_;
  std::unique_ptr<Resources> resources_;
  // Set once resources_ is complete, for other threads.
  std::atomic<Resources*> opened_{nullptr};
  // The status that lost the device; null while it is well.
  std::atomic<const std::string*> lost_{nullptr};
};

// The device of an ordinal. Throws a device Failure where it does not exist. Any thread.
CudaDevice& deviceAt(int ordinal);
std::vector<Device*> openedCudaDevices();

}  // namespace weft::cuda
