// Spinning: looking for something for a short while before sleeping, because to wake a thread costs more.
#pragma once
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

// Between looks at the clock a thread keeps its processor, or gives it to a thread that is ready: a thread
// that has nothing to do must not keep JavaScript's from the result it was woken for.
enum class Courtesy { keeps, yields };

// Whether `done` came true before `limit` had passed. The clock is read once in so many looks.
template <typename Done>
bool spinFor(std::chrono::nanoseconds limit, Done done, Courtesy courtesy = Courtesy::keeps) {
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
    if (courtesy == Courtesy::yields) std::this_thread::yield();
  } while (Clock::now() < end);
  return false;
}

}  // namespace weft
