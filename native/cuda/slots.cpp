#include "cuda/slots.h"

namespace weft::cuda {
PinnedSlots::Slot PinnedSlots::take() {
  std::unique_lock lock(mutex_);
  if (free_.empty()) {
    lock.unlock();
    void* memory = nullptr;
    WEFT_CU(cuMemHostAlloc, &memory, kSlotsPerBlock * kByteLength, kHostPortable);
    pinned_ += kSlotsPerBlock * kByteLength;
    lock.lock();
    for (size_t i = 0; i < kSlotsPerBlock; i++) {
      free_.push_back(static_cast<std::byte*>(memory) + i * kByteLength);
    }
  }
  std::byte* slot = free_.back();
  free_.pop_back();
  return {slot, GiveBack{this}};
}

size_t PinnedSlots::free() {
  const std::lock_guard lock(mutex_);
  return free_.size();
}

void PinnedSlots::give(std::byte* slot) {
  const std::lock_guard lock(mutex_);
  free_.push_back(slot);
}

}  // namespace weft::cuda
