// CudaDevice: one GPU. Retains its primary context, and owns the resources that work is issued with, on one
// thread at a time: its executor's, or where that has nothing to do and nothing is to be waited for, the one
// that asks for a run. Another thread, the completer, waits for the end of what was issued, in order, so that
// the next run is queued while one is computed.
//
// Opened on the first run; lives as long as the process. A fault in the context loses the device for good:
// every later run is refused at once.
#pragma once
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "cuda/driver.h"
#include "cuda/in-flight-run.h"
#include "runtime/device.h"

namespace weft::cuda {

class Blas;
class BlasLt;
class Tensors;
class Fft;
class Solver;
class SparseSolver;
struct PoolBlock;
struct Resources;

// Objects of the driver and of libraries that a device keeps between runs.
struct KeptObjects {
  size_t streams = 0, events = 0, modules = 0, pools = 0, cublasHandles = 0, cublasLtHandles = 0,
         cutensorHandles = 0, cutensorPlans = 0, cufftPlans = 0, cusolverHandles = 0, cudssHandles = 0,
         cudssFactors = 0, graphs = 0, graphExecs = 0;
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
  InlinePermit tryBeginInline(const Run& run) override;
  void beginInline(std::shared_ptr<Run> run, InlinePermit permit) override;
  void trim() override;
  void makeStreamWait(uintptr_t stream) override;
  void waitForStream(uintptr_t stream) override;
  MemoryUse memory() const override;
  std::string lostStatus() const override;
  void expectResultsIn(const std::shared_ptr<Memory>& memory, size_t most) override;

  // Makes the context and what belongs to it, on the executor's thread. Throws where the device cannot be
  // used.
  void open();
  // Bytes of device memory that are free. Executor's thread, after open().
  size_t freeBytes() const;
  // None where it was never opened. Executor's thread, while no run is under way.
  KeptObjects keptObjects() const;
  // Does work of its own with the resources of the opened device, under the lock. Executor's thread.
  void use(const std::function<void(Resources&)>& work);
  // Under the lock, after open().
  Blas& blas();
  BlasLt& blasLt();
  Tensors& tensors();
  Fft& fft();
  Solver& solver();
  SparseSolver& sparseSolver();
  // Counts pinned memory that JavaScript got, or gave back. Any thread.
  void countPinned(int64_t byteLength) { pinnedArrays_ += byteLength; }
  // Lets copies of another device's use this one's memory directly, where it can. Any thread, after open().
  void letIn(const CudaDevice& peer);
  // Any thread, after open().
  CUcontext context() const;
  // Throws a lost Failure for a device that is of no use any more. Any thread.
  void checkNotLost() const;
  // The device is of no use any more. Any thread.
  void lose(const std::string& status);
  // Whether the driver refused a graph with a loop here, although it has them. Any thread.
  bool refusesLoops() const { return refusesLoops_; }
  void noteLoopRefused() { refusesLoops_ = true; }
  // Gives a block back. Any thread.
  void release(const PoolBlock& block);
  // Queues a copy of the first bytes of this device's memory to memory of their own. Executor's thread.
  std::shared_ptr<Memory> cut(const Memory& memory, size_t byteLength);
  // The same on any thread; null where that has to wait for something.
  std::shared_ptr<Memory> tryCut(const Memory& memory, size_t byteLength);

 private:
  // Whether a run's results are handed out once they are queued.
  static bool goesAhead(const Run& run);
  // Queues a run; what goes wrong is the flight's error.
  void issue(InFlightRun& flight);
  // After a failure to issue a run: undoes what there is of it. Executor's thread, under the lock.
  void takeBack(InFlightRun& flight);
  // A run that failed on the thread that asked for it. Throws where nobody waits for it.
  void failInline(std::shared_ptr<InFlightRun> flight);
  void beginAgain(const std::shared_ptr<Run>& run);
  // Puts a run that was issued, or failed, into the completer's queue. Under the lock, unless this thread is
  // the one that asks for the next run.
  void enqueue(const std::shared_ptr<InFlightRun>& flight);
  // Lets the completer see such a run to its end, and hands out the results of one that settles ahead. Once
  // the lock is released: JavaScript may ask for the next run at once.
  void watch(InFlightRun& flight);
  // Whether nothing that the run needs has to be waited for. Under the lock.
  bool isReadyFor(const Run& run);
  // Under the lock, in the context.
  std::shared_ptr<Memory> queueCut(Resources& own, const Memory& memory, size_t byteLength, bool mayWait);
  // Whether libraries have all that the routines of a small program need. Under the lock.
  bool areRoutinesPrepared(const Program& program);
  // After a failure: waits for what is queued, and finds out whether the device is lost. Needs the context.
  void drain();
  // Waits until few enough runs are under way.
  void awaitRoom();
  // Sees a run to its end. The completer's thread.
  void complete(InFlightRun& flight) noexcept;
  void land(InFlightRun& flight);
  void takeContext();
  // The remaining work when all of a run is queued, or was taken back.
  void tidy();
  void tidySoon();

  const int ordinal_;
  const std::string name_;
  Executor& executor_;
  Executor& completer_;
  // Its holder issues work.
  mutable std::mutex issuing_;
  std::unique_ptr<Resources> resources_;
  // Set once resources_ is complete, for other threads.
  std::atomic<Resources*> opened_{nullptr};
  std::atomic<int64_t> pinnedArrays_{0};
  // Whether runs were queued that nobody waits for.
  std::atomic<bool> leavesTrail_{false};
  std::atomic<bool> refusesLoops_{false};
  // The ordinals of devices that were let in, or cannot be.
  std::mutex peersMutex_;
  std::set<int> peers_;
  // The status that lost the device; null while it is well.
  std::atomic<const std::string*> lost_{nullptr};

  // Runs that may be under way at once; where there are as many, the executor waits until half of them ended.
  static constexpr size_t kMostFlights = 128;
  // Runs that were issued and have not finished.
  std::mutex flightsMutex_;
  std::condition_variable room_;
  size_t flights_ = 0;
  // Their launches.
  size_t launches_ = 0;
  // Whether the completer's thread has the context; for that thread.
  bool hasContext_ = false;
};

// The device of an ordinal. Throws a device Failure where it does not exist. Any thread.
CudaDevice& deviceAt(int ordinal);
std::vector<Device*> openedCudaDevices();

}  // namespace weft::cuda
