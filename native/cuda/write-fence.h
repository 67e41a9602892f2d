// WriteFence: work under way that writes memory which JavaScript has already, and waiting for its end.
// Uses of the memory in a stream of its own device come after the work anyway; a copy to another device
// waits here, on the host, so that a device which stands still does not block another one's stream.
#pragma once
#include <mutex>

#include "cuda/event.h"
#include "runtime/cancel.h"

namespace weft::cuda {

// Any thread.
class WriteFence {
 public:
  // The event after the work, which is queued; it stays until `clear`.
  void begin(const Event& end);
  void clear();
  // Waits until the work has ended, with the context of any device. Throws a failure of the work's device, or
  // that of an aborted run.
  void await(const CancelFlag& cancel) const;

 private:
  bool hasEnded() const;

  mutable std::mutex mutex_;
  const Event* end_ = nullptr;
};

}  // namespace weft::cuda
