// SubmissionLimit: bounds the work of a run that is in a stream and not done, so that there is little left to
// do when it is cancelled.
#pragma once
#include "cuda/event.h"

namespace weft::cuda {

// Executor's thread only.
class SubmissionLimit {
 public:
  static constexpr size_t kEvents = 2;

  // A run begins.
  void begin() { queued_ = 0; }
  size_t queued() const { return queued_; }
  // So many of the run's steps have ended; perhaps more.
  size_t reached() const {
    const size_t marked = queued_ / kHalf * kHalf;
    return marked < 2 * kHalf ? 0 : marked - 2 * kHalf;
  }
  // Counts steps that were queued. Now and then waits for those queued long before them.
  void count(CUstream stream, size_t steps = 1) {
    const size_t before = queued_ / kHalf;
    queued_ += steps;
    if (queued_ / kHalf == before) return;
    Event& mark = marks_[queued_ / kHalf % 2];
    // Not recorded yet, it is reached.
    mark.wait();
    mark.record(stream);
  }

 private:
  // Half of the steps that may be ahead.
  static constexpr size_t kHalf = 128;

  Event marks_[kEvents];
  size_t queued_ = 0;
};

}  // namespace weft::cuda
