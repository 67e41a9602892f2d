// Spinning: looking for something for a short while before sleeping, because to wake a thread costs more.
#pragma once
#include <atomic>
#include <chrono>
#include <thread>

namespace weft {

// Tells the processor that the thread is waiting.
inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Whether `done` came true before `limit` had passed. The clock is read once in so many looks.
template <typename Done>
bool spinFor(std::chrono::nanoseconds limit, Done done) {
  using Clock = std::chrono::steady_clock;
  constexpr int kLooksBetweenClockReads = 16;
  if (done()) return true;
  if (limit.count() <= 0) return false;
  const Clock::time_point end = Clock::now() + limit;
  do {
    for (int i = 0; i < kLooksBetweenClockReads; i++) {
      pause();
      if (done()) return true;
    }
  } while (Clock::now() < end);
  return false;
}

// How long a thread looks for its next work: `least`, or, while processors are free, until a call that
// follows the last one at once has come.
struct Patience {
  std::chrono::nanoseconds least, most;
};

// Until when processors are known not to be free, by the steady clock.
inline std::atomic<std::chrono::nanoseconds> crowdedUntil{};

// As `spinFor`, and gives way to other threads on its processor while it looks: that of JavaScript, whose
// next call it waits for, has none of its own where all others look, too. A thread that comes back late has
// found its processor wanted by others: it sleeps, and threads look as short as they can for a while.
template <typename Done>
bool awaitFor(Patience patience, Done done) {
  using Clock = std::chrono::steady_clock;
  constexpr int kLooksBetweenYields = 16;
  constexpr auto kLate = std::chrono::microseconds(500);
  constexpr auto kCrowdedFor = std::chrono::milliseconds(50);
  if (done()) return true;
  if (patience.most.count() <= 0) return false;
  Clock::time_point last = Clock::now();
  const auto isCrowded = [&] {
    return last.time_since_epoch() < crowdedUntil.load(std::memory_order_relaxed);
  };
  if (isCrowded()) return spinFor(patience.least, done);
  const Clock::time_point end = last + patience.most;
  do {
    for (int i = 0; i < kLooksBetweenYields; i++) {
      pause();
      if (done()) return true;
    }
    std::this_thread::yield();
    const Clock::time_point now = Clock::now();
    if (now - last > kLate) {
      crowdedUntil.store((now + kCrowdedFor).time_since_epoch(), std::memory_order_relaxed);
      return done();
    }
    last = now;
  } while (last < end);
  return false;
}

}  // namespace weft
