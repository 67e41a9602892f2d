#include "cuda/event.h"

#include <algorithm>
#include <thread>

#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "runtime/spin.h"

namespace weft::cuda {
namespace {

using std::chrono::nanoseconds;
using Clock = std::chrono::steady_clock;

// How long to look without a pause.
constexpr nanoseconds kEventSpin = std::chrono::milliseconds(2);
// Naps are a share of the time waited so far, but no shorter than is worth it, and no longer than a user
// would not notice.
constexpr int kNapShare = 1024;
constexpr nanoseconds kShortestNap = std::chrono::microseconds(20);
constexpr nanoseconds kLongestNap = std::chrono::milliseconds(1);
// How much sooner or later than usual work may end, at least, and as a share of what it takes.
constexpr nanoseconds kLeastSlack = std::chrono::microseconds(500);
constexpr int kSlackShare = 16;
// Between two looks: each takes locks that the thread which queues work needs.
constexpr int kPausesBetweenLooks = 32;

}  // namespace

// By default the system may let a nap last 50 microseconds longer.
void nap(nanoseconds length) {
#ifdef __linux__
  thread_local const bool exact = prctl(PR_SET_TIMERSLACK, 1000UL) == 0;
  static_cast<void>(exact);
#endif
  std::this_thread::sleep_for(length);
}

bool Event::isReached() const {
  const CUresult status = driver().cuEventQuery(event_);
  if (status == kSuccess) return true;
  if (status != kNotReady) check(status, "cuEventQuery");
  return false;
}

void Event::wait(nanoseconds usual) {
  const Clock::time_point begin = Clock::now();
  const nanoseconds spin = spinLimit(kEventSpin);
  const nanoseconds slack = std::max(usual / kSlackShare, kLeastSlack);
  const nanoseconds again = usual - slack;
  while (!isReached()) {
    const nanoseconds waited = Clock::now() - begin;
    const bool isDue = spin.count() > 0 && waited >= again && waited < usual + slack;
    if (waited < spin || isDue) {
      for (int i = 0; i < kPausesBetweenLooks; i++) pause();
    } else {
      const nanoseconds length = std::clamp(waited / kNapShare, kShortestNap, kLongestNap);
      nap(waited < again ? std::min(length, again - waited) : length);
    }
  }
}

std::unique_ptr<Event> EventPool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      std::unique_ptr<Event> event = std::move(free_.back());
      free_.pop_back();
      return event;
    }
  }
  return std::make_unique<Event>();
}

void EventPool::order(CUstream first, CUstream second) {
  std::unique_ptr<Event> event = take();
  event->record(first);
  event->holdBack(second);
  give(std::move(event));
}

size_t EventPool::count() {
  const std::lock_guard lock(mutex_);
  return free_.size();
}

void EventPool::give(std::unique_ptr<Event> event) {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(event));
}

}  // namespace weft::cuda
