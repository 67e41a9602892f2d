#include "cuda/pool.h"

#include <algorithm>
#include <limits>

#include "runtime/failure.h"

namespace weft::cuda {

DevicePool::DevicePool(std::string name, CUdevice device, CUstream stream)
    : name_(std::move(name)), stream_(stream) {
  MemoryPoolProperties properties{};
  properties.allocationType = kAllocationPinned;
  properties.locationType = kLocationDevice;
  properties.locationId = device;
  WEFT_CU(cuMemPoolCreate, &pool_, &properties);
  uint64_t keepAll = std::numeric_limits<uint64_t>::max();
  WEFT_CU(cuMemPoolSetAttribute, pool_, kPoolReleaseThreshold, &keepAll);
}

CUresult DevicePool::tryAllocate(CUdeviceptr& address, size_t byteLength) {
  return driver().cuMemAllocFromPoolAsync(&address, byteLength, pool_, stream_);
}

CUdeviceptr DevicePool::allocate(size_t byteLength) {
  if (byteLength == 0) return 0;
  CUdeviceptr address = 0;
  CUresult status = tryAllocate(address, byteLength);
  if (status == kOutOfMemory) {
    trim();
    status = tryAllocate(address, byteLength);
  }
  if (status == kOutOfMemory) {
    size_t free = 0;
    size_t total = 0;
    WEFT_CU(cuMemGetInfo, &free, &total);
    throw Failure(FailureCode::memory,
                  "[" + name_ + "] expected " + std::to_string(byteLength) +
                      " bytes of device memory: " + std::to_string(free) + " of " + std::to_string(total) +
                      " are free, " + std::to_string(inUse_.load()) + " are in use by Weft",
                  statusName(status), "cuMemAllocFromPoolAsync");
  }
  check(status, "cuMemAllocFromPoolAsync");
  inUse_ += byteLength;
  peak_ = std::max(peak_.load(), inUse_.load());
  refreshHeld();
  return address;
}

void DevicePool::free(CUdeviceptr address, size_t byteLength) noexcept {
  if (address == 0) return;
  // The only statuses are those of a lost device, and earlier work's, which its own call reports.
  static_cast<void>(driver().cuMemFreeAsync(address, stream_));
  inUse_ -= byteLength;
}

void DevicePool::trim() {
  // Frees count once the stream has passed them.
  WEFT_CU(cuStreamSynchronize, stream_);
  WEFT_CU(cuMemPoolTrimTo, pool_, 0);
  refreshHeld();
}

void DevicePool::refreshHeld() noexcept {
  uint64_t reserved = 0;
  if (driver().cuMemPoolGetAttribute(pool_, kPoolReservedCurrent, &reserved) == kSuccess) held_ = reserved;
}

}  // namespace weft::cuda
