// PinnedSlots: small pieces of pinned host memory, through which the small inputs and results of a run go.
//
// A slot belongs to a run from when its work is queued until its end is seen. The slots never shrink: there
// are as many as runs were ever under way at once, which the device bounds.
#pragma once
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/driver.h"
#include "shared/layout.h"

namespace weft::cuda {

class PinnedSlots {
 public:
  static constexpr size_t kByteLength = kPackedBytes;
  // Data packed into a slot begins at multiples of the alignment.
  static constexpr size_t aligned(size_t byteLength) {
    return (byteLength + kDeviceAlignment - 1) / kDeviceAlignment * kDeviceAlignment;
  }
  // Slots that are made at once.
  static constexpr size_t kSlotsPerBlock = 16;

  struct GiveBack {
    PinnedSlots* slots;
    void operator()(std::byte* slot) const { slots->give(slot); }
  };
  using Slot = std::unique_ptr<std::byte, GiveBack>;

  // Needs the device's context to be current. The slot may be let go on any thread.
  Slot take();
  // Any thread. How many there are to take without asking the driver for memory.
  size_t free();
  // Any thread.
  size_t pinnedBytes() const { return pinned_; }

 private:
  void give(std::byte* slot);

  std::mutex mutex_;
  std::vector<std::byte*> free_;
  std::atomic<size_t> pinned_{0};
};

}  // namespace weft::cuda
