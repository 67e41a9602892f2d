// DevicePool: a device's memory, from a stream-ordered pool of our own, with an exact account.
//
// Blocks that are freed are kept for the next that needs one of their size, within the most that was in use
// at once; what is beyond goes back to the driver's pool. All work is in one stream, so a block may be handed
// out again as soon as its last use is queued. The driver is called under the device's issuing lock alone.
//
// Where memory is to be poisoned (WEFT_POISON), nothing is kept and nothing is rounded: every block is the
// driver's own, so that tools and tests see what is used before it is written, or beyond its end.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cuda/driver.h"
#include "runtime/device.h"

namespace weft::cuda {

// Memory that is out: what was asked for, and what it takes of the device.
struct PoolBlock {
  CUdeviceptr address = 0;
  size_t byteLength = 0;
  size_t capacity = 0;
};

class DevicePool {
 public:
  // `name` is the device's, for messages. Needs the device's context to be current.
  DevicePool(std::string name, CUdevice device, CUstream stream);
  DevicePool(const DevicePool&) = delete;
  DevicePool& operator=(const DevicePool&) = delete;

  // At least 256-byte aligned; address 0 for no bytes. Where the device has no more, or the limit of the
  // process is reached (runtime/memory-limit.h), gives what is unused back and asks once more, unless it is
  // to wait for nothing, then throws a memory Failure that says what is in use.
  PoolBlock allocate(size_t byteLength, bool mayWait = true);
  // Whether all of these can be had at once: those that are not small are kept.
  bool hasAtOnce(const std::vector<size_t>& byteLengths);
  // Once the last work that uses the block is in the stream. Any thread. Whether more is kept now than should
  // be: then `tidy` is due.
  bool free(const PoolBlock& block) noexcept;
  // Gives what is kept beyond the bound to the driver's pool, when `more` bytes are to be taken from it.
  // Whether that now holds so much that `tidy` is due.
  bool shed(size_t more = 0);
  // That, and gives what the driver's pool holds beyond the bound back to the system, which may take a while.
  void tidy(size_t more = 0);
  // Gives everything unused back to the system.
  void trim();
  // Lets a device of this ordinal, which reaches this one's memory, use the pool's. Any thread.
  void letIn(CUdevice peer) const;
  // Whether memory is to be poisoned, so that all that uses it is watched.
  bool isWatched() const { return keepsNothing_; }
  // Any thread.
  MemoryUse use() const { return {inUse_, held_, peak_, peak_}; }

 private:
  struct Kept {
    CUdeviceptr address;
    uint64_t since;
  };

  // The most bytes to keep when `out` are out. With the lock held.
  size_t keepLimit(size_t out) const { return keepsNothing_ ? 0 : std::max(mostOut_, out) - out; }

  // A kept block of this capacity, or 0.
  CUdeviceptr takeKept(size_t capacity);
  // Takes out the blocks kept longest until at most `byteLength` bytes are kept.
  std::vector<CUdeviceptr> evict(size_t byteLength);
  CUdeviceptr takeFromDriver(size_t capacity);
  void giveToDriver(const std::vector<CUdeviceptr>& addresses) noexcept;
  void refreshHeld() noexcept;
  // Whether what is out and kept stays within the limit of the process with so many bytes more.
  bool isWithinLimit(size_t more);
  [[noreturn]] void throwOutOfMemory(size_t byteLength) const;
  [[noreturn]] void throwOverLimit(size_t byteLength) const;

  const std::string name_;
  const CUstream stream_;
  const bool keepsNothing_;
  // All of the device's memory.
  size_t total_ = 0;
  CUmemoryPool pool_ = nullptr;
  // The bytes to trim the driver's pool to when there is time.
  std::optional<size_t> trimTo_;
  std::atomic<size_t> inUse_{0}, held_{0}, peak_{0};

  std::mutex mutex_;
  // By capacity; of each, the one kept longest first.
  std::map<size_t, std::vector<Kept>> kept_;
  size_t keptBytes_ = 0;
  // Capacities of what is out, now and at most since the last trim.
  size_t outBytes_ = 0, mostOut_ = 0;
  uint64_t clock_ = 0;
};

// A block of the pool for as long as a scope.
class ScopedBlock {
 public:
  ScopedBlock(DevicePool& pool, size_t byteLength, bool mayWait = true)
      : pool_(pool), block_(pool.allocate(byteLength, mayWait)) {}
  ~ScopedBlock() { pool_.free(block_); }
  ScopedBlock(const ScopedBlock&) = delete;
  ScopedBlock& operator=(const ScopedBlock&) = delete;
  CUdeviceptr address() const { return block_.address; }

 private:
  DevicePool& pool_;
  const PoolBlock block_;
};

}  // namespace weft::cuda
