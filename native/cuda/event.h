// Event: a point in a stream's work, and waiting for it without burning a core for long.
#pragma once
#include <chrono>
#include <thread>

#include "cuda/driver.h"

namespace weft::cuda {

class Event {
 public:
  Event() { WEFT_CU(cuEventCreate, &event_, kEventDisableTiming | kEventBlockingSync); }
  // Fails only on a lost device.
  ~Event() { static_cast<void>(driver().cuEventDestroy(event_)); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(CUstream stream) { WEFT_CU(cuEventRecord, event_, stream); }

  // Polls for as long as short work takes, then sleeps.
  void wait() {
    const auto patience = std::chrono::steady_clock::now() + std::chrono::microseconds(100);
    do {
      const CUresult status = driver().cuEventQuery(event_);
      if (status == kSuccess) return;
      if (status != kNotReady) check(status, "cuEventQuery");
      std::this_thread::yield();
    } while (std::chrono::steady_clock::now() < patience);
    WEFT_CU(cuEventSynchronize, event_);
  }

 private:
  CUevent event_ = nullptr;
};

}  // namespace weft::cuda
