// The dense array of a sparse matrix, given by rows: zeros, and the stored elements, moved as bits.
#include "cpu/sparse-dense.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "cpu/sparse-lines.h"

namespace weft::cpu {
namespace {

// Elements of the result that a task writes, about: they stay in the second-level cache.
constexpr int64_t kTask = 1 << 15;

struct Dense {
  DType index;
  int64_t rows, columns, stored;
  size_t width;  // bytes of an element
  int64_t unitRows;
  int64_t units() const { return (rows + unitRows - 1) / unitRows; }
};

Dense readDense(const std::vector<int64_t>& numbers) {
  if (numbers.size() != 6) throw std::invalid_argument("six numbers");
  const Dense d{static_cast<DType>(numbers[0]),  numbers[1], numbers[2], numbers[3],
                static_cast<size_t>(numbers[4]), numbers[5]};
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 64;
  if (std::min({d.rows, d.columns, d.stored, d.unitRows}) < 1 || std::max(d.stored, d.unitRows) > kMost ||
      d.rows > kMost / d.columns || d.width < 1 || d.width > 16)
    throw std::invalid_argument("a sparse matrix");
  return d;
}

template <typename Index, typename Element>
void fillRows(const Dense& d, const RoutineJob& job, Range rows, ThreadPool& pool,
              const std::atomic<bool>* cancel) {
  const auto lines = linesAt<Index>(job, 0, 1, d.stored);
  const auto* values = reinterpret_cast<const Element*>(job.operands[2]);
  auto* out = reinterpret_cast<Element*>(job.results[0]);
  const int64_t inTask = std::max<int64_t>(1, kTask / d.columns);
  pool.parallelFor((rows.last - rows.first + inTask - 1) / inTask, [&](int64_t task, int) {
    if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) return;
    const int64_t first = rows.first + task * inTask, last = std::min(rows.last, first + inTask);
    for (int64_t row = first; row < last; row++) {
      Element* const to = out + row * d.columns;
      std::fill(to, to + d.columns, Element{});
      for (int64_t k = lines.begin(row), end = lines.end(row); k < end; k++)
        to[insideOf(lines.places[k], d.columns)] = values[k];
    }
  });
}

void run(const RoutineJob& job, Range units, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Dense d = readDense(job.numbers);
  const Range rows{units.first * d.unitRows, std::min(d.rows, units.last * d.unitRows)};
  withIndex(d.index, [&](auto index) {
    return withWidth(d.width, [&](auto element) {
      fillRows<decltype(index), decltype(element)>(d, job, rows, pool, cancel);
      return 0;
    });
  });
}

RoutineNeed needOf(const std::vector<int64_t>& numbers, const ThreadPool&) {
  const Dense d = readDense(numbers);
  const auto bytes = [](int64_t count, size_t size) { return static_cast<size_t>(count) * size; };
  const auto index = static_cast<size_t>(byteLengthOf(d.index));
  return {{bytes(d.rows + 1, index), bytes(d.stored, index), bytes(d.stored, d.width)},
          {bytes(d.rows * d.columns, d.width)},
          {},
          d.units()};
}

}  // namespace

const Routine kSparseDense{needOf, run};

}  // namespace weft::cpu
