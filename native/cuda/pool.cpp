#include "cuda/pool.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "runtime/failure.h"
#include "runtime/host-pool.h"
#include "runtime/memory-limit.h"
#include "runtime/recorder.h"
#include "shared/layout.h"

namespace weft::cuda {
namespace {

// The largest block that the driver's pool finds in its free memory, most of the time.
constexpr size_t kSmall = size_t{1} << 20;
// Bytes that the driver's pool may hold beyond the bound before it is trimmed.
constexpr size_t kDriverSlack = size_t{256} << 20;

// Bytes that a block takes of the device. Capacities are multiples of a share of themselves, so that sizes
// that differ little share blocks and less than a hundredth is lost; src/exec/plan/block-bytes.ts has the
// same for plans.
size_t capacityFor(size_t byteLength) {
  if (host::poison()) return byteLength;
  const size_t step =
      std::clamp(std::bit_floor(byteLength) / kDeviceSteps, kDeviceLeastStep, kDeviceMostStep);
  return (byteLength + step - 1) / step * step;
}

}  // namespace

DevicePool::DevicePool(std::string name, CUdevice device, CUstream stream)
    : name_(std::move(name)), stream_(stream), keepsNothing_(host::poison()) {
  WEFT_CU(cuDeviceTotalMem, &total_, device);
  MemoryPoolProperties properties{};
  properties.allocationType = kAllocationPinned;
  properties.locationType = kLocationDevice;
  properties.locationId = device;
  WEFT_CU(cuMemPoolCreate, &pool_, &properties);
  uint64_t keepAll = std::numeric_limits<uint64_t>::max();
  WEFT_CU(cuMemPoolSetAttribute, pool_, kPoolReleaseThreshold, &keepAll);
}

void DevicePool::letIn(CUdevice peer) const {
  const MemoryAccess access{kLocationDevice, peer, kAccessReadWrite};
  WEFT_CU(cuMemPoolSetAccess, pool_, &access, 1);
}

PoolBlock DevicePool::allocate(size_t byteLength, bool mayWait) {
  if (byteLength == 0) return {};
  const size_t capacity = capacityFor(byteLength);
  CUdeviceptr address = takeKept(capacity);
  if (address == 0 && isWithinLimit(capacity)) address = takeFromDriver(capacity);
  if (address == 0 && mayWait) {
    trim();
    if (isWithinLimit(capacity)) address = takeFromDriver(capacity);
  }
  if (address == 0 && !isWithinLimit(capacity)) throwOverLimit(byteLength);
  if (address == 0) throwOutOfMemory(byteLength);
  {
    const std::lock_guard lock(mutex_);
    outBytes_ += capacity;
    mostOut_ = std::max(mostOut_, outBytes_);
  }
  const size_t inUse = inUse_ += byteLength;
  // Only this thread takes memory out.
  if (peak_ < inUse) peak_ = inUse;
  if (recorder::isOn()) recorder::sample(name_, inUse);
  return {address, byteLength, capacity};
}

bool DevicePool::hasAtOnce(const std::vector<size_t>& byteLengths) {
  // By capacity, how many of the kept blocks are spoken for.
  std::map<size_t, size_t> taken;
  if (memoryLimit(name_, total_) != kNoMemoryLimit) {
    size_t more = 0;
    for (const size_t byteLength : byteLengths) more += capacityFor(byteLength);
    if (!isWithinLimit(more)) return false;
  }
  const std::lock_guard lock(mutex_);
  return std::all_of(byteLengths.begin(), byteLengths.end(), [&](size_t byteLength) {
    if (byteLength <= kSmall) return true;
    const size_t capacity = capacityFor(byteLength);
    const auto found = kept_.find(capacity);
    return found != kept_.end() && ++taken[capacity] <= found->second.size();
  });
}

CUdeviceptr DevicePool::takeKept(size_t capacity) {
  if (keepsNothing_) return 0;
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find(capacity);
  if (found == kept_.end() || found->second.empty()) return 0;
  const CUdeviceptr address = found->second.back().address;
  found->second.pop_back();
  keptBytes_ -= capacity;
  return address;
}

CUdeviceptr DevicePool::takeFromDriver(size_t capacity) {
  tidy(capacity);
  CUdeviceptr address = 0;
  const CUresult status = driver().cuMemAllocFromPoolAsync(&address, capacity, pool_, stream_);
  if (status == kOutOfMemory) return 0;
  check(status, "cuMemAllocFromPoolAsync");
  refreshHeld();
  return address;
}

bool DevicePool::isWithinLimit(size_t more) {
  const size_t limit = memoryLimit(name_, total_);
  if (limit == kNoMemoryLimit) return true;
  const std::lock_guard lock(mutex_);
  const size_t has = outBytes_ + keptBytes_;
  return has <= limit && more <= limit - has;
}

void DevicePool::throwOverLimit(size_t byteLength) const {
  throw Failure(FailureCode::memory,
                "[" + name_ + "] expected " + std::to_string(byteLength) + " bytes within the limit of " +
                    std::to_string(memoryLimit(name_, total_)) +
                    " bytes for this process: " + std::to_string(inUse_.load()) + " are in use by Weft");
}

void DevicePool::throwOutOfMemory(size_t byteLength) const {
  size_t free = 0;
  size_t total = 0;
  WEFT_CU(cuMemGetInfo, &free, &total);
  throw Failure(FailureCode::memory,
                "[" + name_ + "] expected " + std::to_string(byteLength) +
                    " bytes of device memory: " + std::to_string(free) + " of " + std::to_string(total) +
                    " are free, " + std::to_string(inUse_.load()) + " are in use by Weft",
                statusName(kOutOfMemory), "cuMemAllocFromPoolAsync");
}

bool DevicePool::free(const PoolBlock& block) noexcept {
  if (block.address == 0) return false;
  const size_t inUse = inUse_ -= block.byteLength;
  if (recorder::isOn()) recorder::sample(name_, inUse);
  const std::lock_guard lock(mutex_);
  outBytes_ -= block.capacity;
  keptBytes_ += block.capacity;
  kept_[block.capacity].push_back({block.address, ++clock_});
  return keptBytes_ > keepLimit(outBytes_);
}

std::vector<CUdeviceptr> DevicePool::evict(size_t byteLength) {
  std::vector<CUdeviceptr> evicted;
  const std::lock_guard lock(mutex_);
  while (keptBytes_ > byteLength) {
    auto oldest = kept_.end();
    for (auto it = kept_.begin(); it != kept_.end();) {
      if (it->second.empty()) {
        it = kept_.erase(it);
        continue;
      }
      if (oldest == kept_.end() || it->second.front().since < oldest->second.front().since) oldest = it;
      ++it;
    }
    evicted.push_back(oldest->second.front().address);
    oldest->second.erase(oldest->second.begin());
    keptBytes_ -= oldest->first;
  }
  return evicted;
}

void DevicePool::giveToDriver(const std::vector<CUdeviceptr>& addresses) noexcept {
  // The only statuses are those of a lost device, with which the memory went, and earlier work's, which its
  // own call reports.
  for (const CUdeviceptr address : addresses) static_cast<void>(driver().cuMemFreeAsync(address, stream_));
}

bool DevicePool::shed(size_t more) {
  size_t bound = 0;
  size_t keep = 0;
  {
    const std::lock_guard lock(mutex_);
    keep = keepLimit(outBytes_ + more);
    bound = outBytes_ + more + keep;
    if (keptBytes_ <= keep) return false;
  }
  giveToDriver(evict(keep));
  if (held_ > bound + kDriverSlack) trimTo_ = bound;
  return trimTo_.has_value();
}

void DevicePool::tidy(size_t more) {
  shed(more);
  if (!trimTo_) return;
  const size_t bound = *std::exchange(trimTo_, std::nullopt);
  WEFT_CU(cuMemPoolTrimTo, pool_, bound);
  refreshHeld();
}

void DevicePool::trim() {
  giveToDriver(evict(0));
  // Frees count once the stream has passed them.
  WEFT_CU(cuStreamSynchronize, stream_);
  WEFT_CU(cuMemPoolTrimTo, pool_, 0);
  refreshHeld();
  const std::lock_guard lock(mutex_);
  mostOut_ = outBytes_;
  peak_ = inUse_.load();
}

void DevicePool::refreshHeld() noexcept {
  uint64_t reserved = 0;
  if (driver().cuMemPoolGetAttribute(pool_, kPoolReservedCurrent, &reserved) == kSuccess) held_ = reserved;
}

}  // namespace weft::cuda
