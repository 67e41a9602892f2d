// An array with one of its rows set. Where the result lies in the array's memory, as a loop's state does,
// only that row is written; else the others are copied.
#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "cpu/routines.h"
#include "cpu/threads.h"

namespace weft::cpu {
namespace {

// Bytes of a task.
constexpr int64_t kTaskBytes = 1 << 16;

struct RowWrite {
  int64_t outer, count, rowBytes;
};

RowWrite readRowWrite(const std::vector<int64_t>& numbers) {
  if (numbers.size() != 3) throw std::invalid_argument("three numbers");
  const RowWrite w{numbers[0], numbers[1], numbers[2]};
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 16;
  if (w.outer < 1 || w.count < 1 || w.rowBytes < 1 || w.outer > kMost / w.count ||
      w.outer * w.count > kMost / w.rowBytes)
    throw std::invalid_argument("rows with elements");
  return w;
}

RoutineNeed rowWriteNeed(const std::vector<int64_t>& numbers, const ThreadPool&) {
  const RowWrite w = readRowWrite(numbers);
  const auto bytes = static_cast<size_t>(w.outer * w.rowBytes), all = bytes * static_cast<size_t>(w.count);
  return {{all, sizeof(int64_t), bytes}, {all}, {}, 1};
}

void runRowWrite(const RoutineJob& job, Range, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const RowWrite w = readRowWrite(job.numbers);
  const std::byte *const from = job.operands[0], *const values = job.operands[2];
  std::byte* const to = job.results[0];
  int64_t row = 0;
  std::memcpy(&row, job.operands[1], sizeof row);
  const bool isInPlace = from == to;
  if (isInPlace && (row < 0 || row >= w.count)) return;
  // Of few long rows a task has a piece of one, of short ones several.
  const int64_t rows = isInPlace ? w.outer : w.outer * w.count;
  const int64_t pieces = (w.rowBytes - 1) / kTaskBytes + 1,
                together = std::max<int64_t>(1, kTaskBytes / w.rowBytes);
  pool.parallelFor(((rows - 1) / together + 1) * pieces, [&](int64_t task, int) {
    if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) return;
    const int64_t begin = task % pieces * kTaskBytes, first = task / pieces * together;
    const auto size = static_cast<size_t>(std::min(w.rowBytes - begin, kTaskBytes));
    for (int64_t k = first; k < std::min(rows, first + together); k++) {
      const int64_t line = isInPlace ? k : k / w.count, at = isInPlace ? k * w.count + row : k;
      const std::byte* const source =
          isInPlace || k % w.count == row ? values + line * w.rowBytes : from + k * w.rowBytes;
      std::memcpy(to + at * w.rowBytes + begin, source + begin, size);
    }
  });
}

}  // namespace

const Routine kWriteRow{rowWriteNeed, runRowWrite};

}  // namespace weft::cpu
