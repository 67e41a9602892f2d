#include "cuda/write-fence.h"

#include "runtime/spin.h"

namespace weft::cuda {
namespace {

using Clock = std::chrono::steady_clock;

// How long to look without a pause; then in naps that short work hardly feels.
constexpr std::chrono::nanoseconds kFenceSpin = std::chrono::milliseconds(2);
constexpr std::chrono::nanoseconds kFenceNap = std::chrono::microseconds(20);
constexpr int kPausesBetweenLooks = 32;

}  // namespace

void WriteFence::begin(const Event& end) {
  const std::lock_guard lock(mutex_);
  end_ = &end;
}

void WriteFence::clear() {
  const std::lock_guard lock(mutex_);
  end_ = nullptr;
}

bool WriteFence::hasEnded() const {
  const std::lock_guard lock(mutex_);
  return end_ == nullptr || end_->isReached();
}

void WriteFence::await(const CancelFlag& cancel) const {
  const Clock::time_point spun = Clock::now() + spinLimit(kFenceSpin);
  while (!hasEnded()) {
    checkCancelled(cancel);
    if (Clock::now() < spun) {
      for (int i = 0; i < kPausesBetweenLooks; i++) pause();
    } else {
      nap(kFenceNap);
    }
  }
}

}  // namespace weft::cuda
