// CudaDevice: one GPU. Retains its primary context, and owns the resources that its executor's thread issues
// work with. Another thread, the completer, waits for the end of what was issued, in order, so that the next
// run is queued while one is computed.
//
// Opened on the first run; lives as long as the process. A fault in the context loses the device for good:
// every later run is refused at once.
#pragma once
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cuda/driver.h"
#include "cuda/flight.h"
#include "runtime/device.h"

namespace weft::cuda {

class Blas;
struct PoolBlock;
struct Resources;

// What a device keeps of the driver's and cuBLAS's objects between runs.
struct KeptObjects {
  size_t streams = 0, events = 0, modules = 0, pools = 0, cublasHandles = 0;
};

class CudaDevice : public Device {
 public:
  explicit CudaDevice(int ordinal);
  ~CudaDevice() override;

  const std::string& name() const override { return name_; }
  Executor& executor() override { return executor_; }
  size_t alignment() const override { return 256; }
  bool isHost() const override { return false; }
  void begin(std::shared_ptr<Run> run) override;
  void trim() override;
  MemoryUse memory() const override;

  // Makes the context and what belongs to it, on the executor's thread. Throws where the device cannot be
  // used.
  void open();
  // Bytes of device memory that are free. Executor's thread, after open().
  size_t freeBytes() const;
  // None where it was never opened. Executor's thread, while no run is under way.
  KeptObjects keptObjects() const;
  // Executor's thread, after open().
  Blas& blas();
  // Counts pinned memory that JavaScript got, or gave back. Any thread.
  void countPinned(int64_t byteLength) { pinnedArrays_ += byteLength; }
  // Gives a block back. Any thread.
  void release(const PoolBlock& block);

 private:
  void checkNotLost() const;
  // The device is of no use any more.
  void lose(const std::string& status);
  // After a failure: waits for what is queued, and finds out whether the device is lost. Needs the context.
  void drain();
  // Waits until few enough runs are under way.
  void awaitRoom();
  // Sees a run to its end. The completer's thread.
  void complete(Flight& flight) noexcept;
  void land(Flight& flight);
  void takeContext();
  // What is left to do when all of a run is queued, or was taken back.
  void tidy();

  const int ordinal_;
  const std::string name_;
  Executor& executor_;
  Executor& completer_;
  std::unique_ptr<Resources> resources_;
  // Set once resources_ is complete, for other threads.
  std::atomic<Resources*> opened_{nullptr};
  std::atomic<int64_t> pinnedArrays_{0};
  // The status that lost the device; null while it is well.
  std::atomic<const std::string*> lost_{nullptr};

  // Runs that were issued and have not finished.
  std::mutex flightsMutex_;
  std::condition_variable room_;
  size_t flights_ = 0;
  // Whether the completer's thread has the context; for that thread.
  bool hasContext_ = false;
};

// The device of an ordinal. Throws a device Failure where it does not exist. Any thread.
CudaDevice& deviceAt(int ordinal);
std::vector<Device*> openedCudaDevices();

}  // namespace weft::cuda
