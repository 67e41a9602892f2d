#include "cuda/page-locks.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "cuda/device.h"
#include "runtime/available-memory.h"
#include "runtime/executor.h"

namespace weft::cuda {
namespace {

struct Lock {
  size_t byteLength;
  CudaDevice* device;
  // Not while it is being locked; the block is in use then.
  bool isHeld = false;
};

class PageLocks {
 public:
  // Whether the block is now to be locked.
  bool reserve(void* data, size_t byteLength, CudaDevice& device, size_t most) {
    const std::lock_guard guard(mutex_);
    if (isRefused_ || byteLength_ + byteLength > std::min(most, most_)) return false;
    if (!locks_.try_emplace(data, Lock{byteLength, &device}).second) return false;
    byteLength_ += byteLength;
    return true;
  }

  void lock(void* data, size_t byteLength, CudaDevice& device) {
    const bool isLocked = driver().cuCtxSetCurrent(device.context()) == kSuccess &&
                          driver().cuMemHostRegister(data, byteLength, kHostPortable) == kSuccess;
    const std::lock_guard guard(mutex_);
    if (isLocked) {
      locks_.at(data).isHeld = true;
      device.countPinned(static_cast<int64_t>(byteLength));
      return;
    }
    // It says no to the next, too.
    isRefused_ = true;
    forget(data);
  }

  bool holds(void* data) {
    const std::lock_guard guard(mutex_);
    const auto found = locks_.find(data);
    return found != locks_.end() && found->second.isHeld;
  }

  // False on a lost device: then the memory stays as it is for good, for what comes to its addresses would be
  // taken for locked.
  bool unlock(void* data) {
    CudaDevice* device = nullptr;
    size_t byteLength = 0;
    {
      const std::lock_guard guard(mutex_);
      const Lock& lock = locks_.at(data);
      device = lock.device;
      byteLength = lock.byteLength;
    }
    CUcontext current = nullptr;
    if (driver().cuCtxPushCurrent(device->context()) != kSuccess) return false;
    const CUresult status = driver().cuMemHostUnregister(data);
    static_cast<void>(driver().cuCtxPopCurrent(&current));
    if (status != kSuccess) return false;
    device->countPinned(-static_cast<int64_t>(byteLength));
    const std::lock_guard guard(mutex_);
    forget(data);
    return true;
  }

  Executor& executor() { return executor_; }

 private:
  void forget(void* data) {
    const auto found = locks_.find(data);
    byteLength_ -= found->second.byteLength;
    locks_.erase(found);
  }

  const size_t most_ = host::usableMemory() / 4;
  std::mutex mutex_;
  std::map<void*, Lock> locks_;
  size_t byteLength_ = 0;
  bool isRefused_ = false;
  Executor& executor_ = makeExecutor("weft-locks");
};

void farewell(void* data, size_t capacity, bool isUrgent, host::GiveBack give);

// Never destroyed: its thread runs as long as the process.
PageLocks& pageLocks() {
  static PageLocks& it = []() -> PageLocks& {
    auto& made = *new PageLocks();
    host::setFarewell(farewell);
    return made;
  }();
  return it;
}

// A finalizer does not wait for the driver.
void farewell(void* data, size_t capacity, bool isUrgent, host::GiveBack give) {
  if (!pageLocks().holds(data)) return give(data, capacity);
  const auto leave = [data, capacity, give] {
    if (pageLocks().unlock(data)) give(data, capacity);
  };
  if (isUrgent) {
    leave();
  } else {
    pageLocks().executor().post(leave);
  }
}

}  // namespace

void lockPagesSoon(const std::shared_ptr<Memory>& result, CudaDevice& device, size_t most) {
  const auto* memory = dynamic_cast<const HostMemory*>(result.get());
  if (memory == nullptr || memory->byteLength < kLeastLockedByteLength) return;
  if (memory->block().uses() < kUsesBeforeLock) return;
  PageLocks& locks = pageLocks();
  void* const data = memory->block().data();
  const size_t byteLength = memory->block().capacity();
  if (!locks.reserve(data, byteLength, device, most)) return;
  // The block stays in use until then.
  locks.executor().post(
      [&locks, &device, data, byteLength, result] { locks.lock(data, byteLength, device); });
}

}  // namespace weft::cuda
