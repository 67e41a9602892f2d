// CopyWorker: a thread's share of the copying between ordinary host memory and a device.
//
// It has a ring of pinned slots: while some are on the bus, the thread fills or empties another. Small chunks
// are packed into slots; each is one copy on the bus, which stands still for a moment after every one.
#pragma once
#include <array>
#include <atomic>
#include <optional>
#include <vector>

#include "cuda/driver.h"
#include "cuda/event.h"
#include "cuda/transfer.h"

namespace weft::cuda {

// Uploads may be read from `host` until `flush`, and are in the stream after each call; downloads are in
// `host` after `drain`.
class CopyWorker {
 public:
  static constexpr size_t kSlots = 2;
  // Bytes of a slot, unless pinned memory is limited: then a power of two between the two.
  static constexpr size_t kMostSlotByteLength = size_t{4} << 20;
  static constexpr size_t kLeastSlotByteLength = size_t{1} << 20;

  // `pinned` counts the bytes of its slots.
  CopyWorker(CUstream stream, std::atomic<size_t>& pinned) : stream_(stream), pinned_(pinned) {}
  ~CopyWorker();
  CopyWorker(const CopyWorker&) = delete;
  CopyWorker& operator=(const CopyWorker&) = delete;

  // Chunks are no larger than a slot.
  void upload(const Transfer& chunk);
  void download(const Transfer& chunk);
  void flush();
  void drain();
  // Gives slots of another size back; those of this size are made when they are needed. 0: it is not used.
  void resize(size_t slotByteLength);
  // Gives its slots back when the device is done with them.
  void release();
  // Forgets what is under way, after a failure.
  void reset();
  size_t eventCount() const;

 private:
  struct PendingCopy {
    Transfer to;
    const std::byte* from;
  };
  struct Slot {
    std::byte* memory = nullptr;
    std::optional<Event> event;
    size_t used = 0;
    // On the bus: `event` says until when.
    bool flying = false;
    std::vector<PendingCopy> pendingCopies;
  };

  // The slot that is filled now, once the device is done with it.
  Slot& open();
  // Takes bytes of a slot with room for the chunk; closes it when it is full after `use`.
  template <typename Use>
  void fill(const Transfer& chunk, const Use& use);
  void close();
  void land(Slot& slot);

  const CUstream stream_;
  std::atomic<size_t>& pinned_;
  size_t slotByteLength_ = kMostSlotByteLength;
  std::array<Slot, kSlots> slots_;
  size_t current_ = 0;
};

}  // namespace weft::cuda
