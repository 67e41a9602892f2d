// Event: a point in a stream's work, and waiting for it without burning a core.
//
// No event interrupts a processor when the device gets there, as those do that a thread sleeps for: the one
// that is interrupted is often one that waits, and loses 30 microseconds.
#pragma once
#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/driver.h"

namespace weft::cuda {

class Event {
 public:
  Event() { WEFT_CU(cuEventCreate, &event_, kEventDisableTiming); }
  // Fails only on a lost device.
  ~Event() { static_cast<void>(driver().cuEventDestroy(event_)); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(CUstream stream) { WEFT_CU(cuEventRecord, event_, stream); }
  // Work queued in the stream from now on comes after the event as it was last recorded.
  void holdBack(CUstream stream) const { WEFT_CU(cuStreamWaitEvent, stream, event_, 0); }

  // Polls without a pause for a moment, as long as short work takes, then less and less often. Work that took
  // `usual` the last time is looked at without a pause about then, too.
  void wait(std::chrono::nanoseconds usual = std::chrono::nanoseconds(0));
  // Whether all that came before it is done, without waiting.
  bool isReached() const;

 private:
  CUevent event_ = nullptr;
};

// Sleeps about as long as it says.
void nap(std::chrono::nanoseconds length);

// Events to be used again: to make one costs more than to record it. Events are made on threads that have the
// device's context; given back on any.
class EventPool {
 public:
  std::unique_ptr<Event> take();
  void give(std::unique_ptr<Event> event);
  // The later work of a stream comes after that of another one.
  void order(CUstream first, CUstream second);
  // Of those that are not taken.
  size_t count();

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Event>> free_;
};

}  // namespace weft::cuda
