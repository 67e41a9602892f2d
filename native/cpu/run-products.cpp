// The products of runs of rows, a column at a time: row i of a run is multiplied to lane i % 32 of it, then
// lanes 16, 8, 4, 2 and 1 apart, as a warp of a GPU does. The identity changes no bit of what it is combined
// with, so that lanes without rows are left out. In windows of runs (src/exec/calls/result-windows.ts), a
// tile has the runs of its window that begin in its part of the rows.
#include <algorithm>
#include <limits>
#include <stdexcept>

#include "cpu/routines.h"
#include "cpu/scan-numbers.h"
#include "cpu/threads.h"

namespace weft::cpu {
namespace {

constexpr int64_t kLanes = 32;
// Runs of a task.
constexpr int64_t kStretch = 64;

struct Runs {
  DType dtype;
  int64_t rows, width, runs;
  // Of a job in windows: those of the runs, and the parts of the rows that pass for each; else 1.
  int64_t windows = 1, parts = 1;
};

Runs readRuns(const std::vector<int64_t>& numbers) {
  if (numbers.size() != 5 && numbers.size() != 7) throw std::invalid_argument("five numbers, or seven");
  Runs r{static_cast<DType>(numbers[0]), numbers[1], numbers[2], numbers[3]};
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 16;
  if (r.rows < 1 || r.width < 1 || r.runs < 1 || std::max(r.rows, r.runs) > kMost / r.width)
    throw std::invalid_argument("runs of rows with elements");
  if (numbers[4] < 1 || numbers[4] > r.rows) throw std::invalid_argument("the most rows of a run");
  if (numbers.size() == 5) return r;
  r.windows = numbers[5];
  r.parts = numbers[6];
  if (r.windows < 1 || r.windows > r.runs || r.parts < 1 || r.parts > r.rows || r.windows > kMost / r.parts ||
      r.windows > kMost / r.runs || r.parts > kMost / r.rows)
    throw std::invalid_argument("windows of runs");
  return r;
}

template <typename Use>
auto withNumbers(const Runs& r, const Use& use) {
  return withScanNumbers(r.dtype, ScanOp::prod, use);
}

template <typename N>
typename N::Wide productOf(const typename N::Element* values, int64_t rows, int64_t width) {
  typename N::Wide lanes[kLanes];
  const int64_t used = std::min(rows, kLanes);
  if (used == 0) return N::identity();
  for (int64_t lane = 0; lane < used; lane++) lanes[lane] = N::widen(values[lane * width]);
  for (int64_t row = kLanes; row < rows; row++)
    lanes[row % kLanes] = N::combine(lanes[row % kLanes], N::widen(values[row * width]));
  for (int64_t apart = kLanes / 2; apart > 0; apart /= 2)
    for (int64_t lane = 0; lane + apart < used && lane < apart; lane++)
      lanes[lane] = N::combine(lanes[lane], lanes[lane + apart]);
  return lanes[0];
}

RoutineNeed needOf(const std::vector<int64_t>& numbers, const ThreadPool&) {
  const Runs r = readRuns(numbers);
  return withNumbers(r, [&](auto type) -> RoutineNeed {
    using N = decltype(type);
    const auto bytes = [](int64_t count, size_t size) { return static_cast<size_t>(count) * size; };
    return {{bytes(r.rows * r.width, sizeof(typename N::Element)), bytes(r.runs, sizeof(int64_t))},
            {bytes(r.runs * r.width, sizeof(typename N::Wide))},
            {},
            r.windows * r.parts};
  });
}

// The runs of a tile. The parts of the rows follow each other for each window.
Range runsOf(const Runs& r, int64_t tile, const int64_t* ends) {
  const int64_t window = tile / r.parts, part = tile % r.parts;
  const int64_t low = r.runs * window / r.windows, high = r.runs * (window + 1) / r.windows;
  // The first run of the window that begins at a row or behind it.
  const auto firstFrom = [&](int64_t row) {
    const int64_t first = low == 0 ? 0 : ends[low - 1];
    if (first >= row) return low;
    return std::min(high, std::lower_bound(ends + low, ends + high, row) - ends + 1);
  };
  // Runs without rows at the end of all belong to the last part.
  return {firstFrom(r.rows * part / r.parts),
          part + 1 == r.parts ? high : firstFrom(r.rows * (part + 1) / r.parts)};
}

void run(const RoutineJob& job, Range units, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Runs r = readRuns(job.numbers);
  withNumbers(r, [&](auto type) {
    using N = decltype(type);
    const auto* values = reinterpret_cast<const typename N::Element*>(job.operands[0]);
    const auto* ends = reinterpret_cast<const int64_t*>(job.operands[1]);
    auto* products = reinterpret_cast<typename N::Wide*>(job.results[0]);
    for (int64_t tile = units.first; tile < units.last; tile++) {
      const Range runs = runsOf(r, tile, ends);
      pool.parallelFor((runs.last - runs.first + kStretch - 1) / kStretch, [&](int64_t task, int) {
        if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) return;
        const int64_t from = runs.first + task * kStretch;
        for (int64_t k = from; k < std::min(runs.last, from + kStretch); k++) {
          const int64_t first = k == 0 ? 0 : ends[k - 1];
          for (int64_t c = 0; c < r.width; c++)
            products[k * r.width + c] = productOf<N>(values + first * r.width + c, ends[k] - first, r.width);
        }
      });
    }
    return 0;
  });
}

}  // namespace

const Routine kRunProducts{needOf, run};

}  // namespace weft::cpu
