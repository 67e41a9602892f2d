// The stable order of whole numbers below a bound, by counting each (Knuth, "The Art of Computer
// Programming", volume 3, 5.2, algorithm D). Threads count stretches, which lie in the order one behind
// another.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "cpu/threads.h"

namespace weft::cpu {

struct CountedLine {
  int64_t length, below;
  // Elements of a stretch are at least as many as its counts.
  int64_t stretches(int64_t workers) const {
    return std::clamp<int64_t>(length / std::max<int64_t>(below, 1 << 14), 1, workers);
  }
  size_t workspace(int64_t stretches) const {
    return static_cast<size_t>(stretches) * static_cast<size_t>(below) * sizeof(int64_t);
  }
};

// `counts`: of each stretch, `below` of them. Numbers out of range are taken for the nearest in it.
template <typename Key>
void countingOrder(const CountedLine& line, const Key* keys, int64_t* order, int64_t* counts,
                   int64_t stretches, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const auto keyAt = [&](int64_t i) { return std::clamp<int64_t>(keys[i], 0, line.below - 1); };
  const auto firstOf = [&](int64_t stretch) { return line.length * stretch / stretches; };
  const auto each = [&](const auto& work) {
    pool.parallelFor(stretches, [&](int64_t stretch, int) {
      if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) return;
      work(counts + stretch * line.below, firstOf(stretch), firstOf(stretch + 1));
    });
  };
  each([&](int64_t* own, int64_t first, int64_t last) {
    std::fill(own, own + line.below, 0);
    for (int64_t i = first; i < last; i++) own[keyAt(i)]++;
  });
  if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) return;
  int64_t before = 0;
  for (int64_t key = 0; key < line.below; key++) {
    for (int64_t stretch = 0; stretch < stretches; stretch++) {
      int64_t& count = counts[stretch * line.below + key];
      const int64_t own = count;
      count = before;
      before += own;
    }
  }
  each([&](int64_t* own, int64_t first, int64_t last) {
    for (int64_t i = first; i < last; i++) order[own[keyAt(i)]++] = i;
  });
}

}  // namespace weft::cpu
