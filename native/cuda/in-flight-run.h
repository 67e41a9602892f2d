// InFlightRun: a run from when its work is queued until its end is seen, and what it needs until then.
#pragma once
#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <vector>

#include "cuda/event.h"
#include "cuda/slots.h"
#include "cuda/write-fence.h"
#include "runtime/device.h"

namespace weft::cuda {

struct InFlightRun {
  // A part of the `down` slot, and the result that it is.
  struct PendingCopy {
    size_t offset;
    void* to;
    size_t byteLength;
  };

  std::shared_ptr<Run> run;
  // Whether its work is queued on the thread that asked for it, which is to wait for nothing.
  bool isInline = false;
  // Whether somebody waits for its end.
  bool isAwaited = true;
  // Where results are handed out once they are queued: what tells other devices of their end.
  std::shared_ptr<WriteFence> fence;
  // The queued work, in launches.
  size_t launches = 0;
  // After the run's last work. Null where it failed before, or nobody waits for it.
  std::unique_ptr<Event> end;
  // The memory that small inputs are read from and small results written to.
  PinnedSlots::Slot up, down;
  // The memory that conditions of loops are read into, by the loops' depth.
  std::vector<PinnedSlots::Slot> looks;
  std::vector<PendingCopy> pendingCopies;
  // Memory of other devices that the run copies from.
  std::vector<std::shared_ptr<Memory>> held;
  // Whether the completer may see it to its end: microseconds after it was enqueued, so that a future, whose
  // waiters sleep at once, would cost every short run two wake-ups.
  std::atomic<bool> watched{false};
  // Why not all was queued. Nothing of it is under way then.
  std::exception_ptr error;
};

}  // namespace weft::cuda
