// Event: a point in a stream's work, and waiting for it without burning a core.
#pragma once
#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/driver.h"

namespace weft::cuda {

class Event {
 public:
  Event() : Event(true) {}
  // Fails only on a lost device.
  ~Event() { static_cast<void>(driver().cuEventDestroy(event_)); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(CUstream stream) { WEFT_CU(cuEventRecord, event_, stream); }
  // What is queued in the stream from now on comes after the event as it was last recorded.
  void holdBack(CUstream stream) const { WEFT_CU(cuStreamWaitEvent, stream, event_, 0); }

  // Looks without a pause for a moment, then less and less often, and sleeps at last: to be woken takes tens
  // of microseconds, which short work must not wait for and long work does not feel. What took `usual` the
  // last time is looked at without a pause about then, too.
  void wait(std::chrono::nanoseconds usual = std::chrono::nanoseconds(0));
  // Whether all that came before it is done, without waiting.
  bool isReached() const;

 protected:
  explicit Event(bool wakes);

 private:
  CUevent event_ = nullptr;
  // Whether the device interrupts a processor when it gets there, for a thread that sleeps.
  const bool wakes_;
};

// An event that wakes nobody, and takes the device less time: where there are many in a row, and waits are
// short. Who waits long looks less and less often.
class LightEvent : public Event {
 public:
  LightEvent() : Event(false) {}
};

// Sleeps about as long as it says.
void nap(std::chrono::nanoseconds length);

// Events to be used again: to make one costs more than to record it. Events are made on threads that have the
// device's context; given back on any.
class EventPool {
 public:
  std::unique_ptr<Event> take();
  void give(std::unique_ptr<Event> event);
  // Of those that are not taken.
  size_t count();

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Event>> free_;
};

}  // namespace weft::cuda
