// The places at which a line of running counts grows, in order, and behind them the line's last place: every
// element of the line writes one element of the result, wherever the count says, so that threads take
// stretches.
#include <algorithm>
#include <limits>
#include <stdexcept>

#include "cpu/routines.h"
#include "cpu/threads.h"

namespace weft::cpu {
namespace {

constexpr int64_t kStretch = 1 << 16;

int64_t readSize(const std::vector<int64_t>& numbers) {
  if (numbers.size() != 1) throw std::invalid_argument("one number");
  if (numbers[0] < 1 || numbers[0] > std::numeric_limits<int64_t>::max() / 16)
    throw std::invalid_argument("a line with elements");
  return numbers[0];
}

RoutineNeed needOf(const std::vector<int64_t>& numbers, const ThreadPool&) {
  const size_t bytes = static_cast<size_t>(readSize(numbers)) * sizeof(int64_t);
  return {{bytes}, {bytes}, {}, 1};
}

void run(const RoutineJob& job, Range, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const int64_t size = readSize(job.numbers);
  const auto* counts = reinterpret_cast<const int64_t*>(job.operands[0]);
  auto* places = reinterpret_cast<int64_t*>(job.results[0]);
  const int64_t total = counts[size - 1];
  pool.parallelFor((size + kStretch - 1) / kStretch, [&](int64_t task, int) {
    if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) return;
    const int64_t first = task * kStretch, last = std::min(size, first + kStretch);
    int64_t before = first == 0 ? 0 : counts[first - 1];
    for (int64_t at = first; at < last; at++) {
      if (counts[at] != before) places[before] = at;
      before = counts[at];
      if (at >= total) places[at] = size - 1;
    }
  });
}

}  // namespace

const Routine kCompact{needOf, run};

}  // namespace weft::cpu
