// Spinning: looking for something for a short while before sleeping, because to wake a thread costs more.
#pragma once
#include <chrono>

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

}  // namespace weft
