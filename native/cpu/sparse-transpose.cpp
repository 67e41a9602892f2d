// A sparse matrix by rows as one by columns: a stable counting sort of the columns (Gustavson, "Two fast
// algorithms for sparse matrices", 1978). Threads have stretches of rows; the counts of a stretch become the
// places that its elements go to.
#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

#include "cpu/counting-order.h"
#include "cpu/sparse-lines.h"
#include "cpu/sparse-moves.h"

namespace weft::cpu {
namespace {

struct Transpose {
  DType index;
  int64_t rows, columns, stored;
  size_t width;  // bytes of an element
  bool isOpen;   // what is behind the last element may stay undefined

  size_t countBytes() const {
    return static_cast<size_t>(columns) * static_cast<size_t>(byteLengthOf(index));
  }
  int64_t stretches(int64_t workers) const { return CountedLine{stored, columns}.stretches(workers); }
};

Transpose readTranspose(const std::vector<int64_t>& n) {
  if (n.size() != 6) throw std::invalid_argument("six numbers");
  const Transpose t{static_cast<DType>(n[0]), n[1], n[2], n[3], static_cast<size_t>(n[4]), n[5] != 0};
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 64;
  if (std::min({t.rows, t.columns, t.stored}) < 1 || std::max({t.rows, t.columns, t.stored}) > kMost ||
      t.width < 1 || t.width > 16)
    throw std::invalid_argument("a sparse matrix");
  return t;
}

template <typename Index, typename Element>
void transposeRows(const Transpose& t, const RoutineJob& job, ThreadPool& pool,
                   const std::atomic<bool>* cancel) {
  const auto lines = linesAt<Index>(job, 0, 1, t.stored);
  const auto* const values = reinterpret_cast<const Element*>(job.operands[2]);
  auto* const starts = reinterpret_cast<Index*>(job.results[0]);
  auto* const places = reinterpret_cast<Index*>(job.results[1]);
  auto* const out = reinterpret_cast<Element*>(job.results[2]);
  // The first stretch counts in the result.
  const auto room = 1 + static_cast<int64_t>(job.workspace.byteLength / t.countBytes());
  const int64_t stretches = std::min(t.stretches(pool.workers()), room);
  const auto countsOf = [&](int64_t stretch) {
    return stretch == 0 ? starts : reinterpret_cast<Index*>(job.workspace.data) + (stretch - 1) * t.columns;
  };
  const int64_t end = lines.begin(t.rows);
  const auto rowOf = [&](int64_t stretch) {
    if (stretch == 0 || stretch == stretches) return stretch == 0 ? 0 : t.rows;
    const int64_t element = end * stretch / stretches;
    return static_cast<int64_t>(std::lower_bound(lines.starts, lines.starts + t.rows, element) -
                                lines.starts);
  };
  const auto columnAt = [&](int64_t k) { return insideOf(lines.places[k], t.columns); };
  const auto isStopped = [&] { return cancel != nullptr && cancel->load(std::memory_order_relaxed); };
  pool.parallelFor(stretches, [&](int64_t stretch, int) {
    if (isStopped()) return;
    Index* const counts = countsOf(stretch);
    std::fill_n(counts, t.columns, 0);
    const int64_t last = lines.begin(rowOf(stretch + 1));
    for (int64_t k = lines.begin(rowOf(stretch)); k < last; k++) counts[columnAt(k)]++;
  });
  if (isStopped()) return;
  Index before = 0;
  for (int64_t column = 0; column < t.columns; column++) {
    for (int64_t stretch = 0; stretch < stretches; stretch++) {
      Index& count = countsOf(stretch)[column];
      const Index own = count;
      count = before;
      before += own;
    }
  }
  pool.parallelFor(stretches, [&](int64_t stretch, int) {
    if (isStopped()) return;
    Index* const to = countsOf(stretch);
    const int64_t first = rowOf(stretch), last = rowOf(stretch + 1);
    int64_t k = lines.begin(first);
    for (int64_t row = first; row < last; row++) {
      for (const int64_t stop = lines.begin(row + 1); k < stop; k++) {
        const Index at = to[columnAt(k)]++;
        places[at] = static_cast<Index>(row);
        out[at] = values[k];
      }
    }
  });
  // Where the last stretch has ended, the next column begins.
  const Index* const ends = countsOf(stretches - 1);
  std::copy_backward(ends, ends + t.columns, starts + t.columns + 1);
  starts[0] = 0;
  if (!t.isOpen) clearLines({end, t.stored}, pool, places, out);
}

void run(const RoutineJob& job, Range, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Transpose t = readTranspose(job.numbers);
  withIndex(t.index, [&](auto index) {
    return withWidth(t.width, [&](auto element) {
      transposeRows<decltype(index), decltype(element)>(t, job, pool, cancel);
      return 0;
    });
  });
}

RoutineNeed needOf(const std::vector<int64_t>& numbers, const ThreadPool& pool) {
  const Transpose t = readTranspose(numbers);
  const auto index = static_cast<size_t>(byteLengthOf(t.index));
  const auto bytes = [](int64_t count, size_t size) { return static_cast<size_t>(count) * size; };
  const size_t places = bytes(t.stored, index), values = bytes(t.stored, t.width);
  const size_t more = static_cast<size_t>(t.stretches(pool.workers()) - 1) * t.countBytes();
  return {{bytes(t.rows + 1, index), places, values},
          {bytes(t.columns + 1, index), places, values},
          {more, 0},
          1};
}

}  // namespace

const Routine kSparseTranspose{needOf, run};

}  // namespace weft::cpu
