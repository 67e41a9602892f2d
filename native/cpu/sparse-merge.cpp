// Rows of two sparse matrices merged by their columns, and the rows of stored elements.
#include <algorithm>
#include <limits>
#include <stdexcept>

#include "cpu/sparse-merged-row.h"

namespace weft::cpu {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 64;

struct Merge {
  DType index, result;
  int64_t rows, storedA, storedB, bound;
  bool isOfBoth;
  size_t width;  // bytes of an element
  RowUnits units;
};

Merge readMerge(const std::vector<int64_t>& numbers) {
  if (numbers.size() != 11) throw std::invalid_argument("eleven numbers");
  const Merge m{static_cast<DType>(numbers[0]),
                static_cast<DType>(numbers[1]),
                numbers[2],
                numbers[3],
                numbers[4],
                numbers[5],
                numbers[6] != 0,
                static_cast<size_t>(numbers[7]),
                rowUnitsOf(numbers)};
  if (m.rows < 1 || m.rows > kMost || std::min({m.storedA, m.storedB, m.bound}) < 0 ||
      std::max({m.storedA, m.storedB, m.bound}) > kMost || m.width < 1 || m.width > 16)
    throw std::invalid_argument("two sparse matrices");
  return m;
}

template <typename Work>
void eachRow(const Merge& m, Range units, ThreadPool& pool, const std::atomic<bool>* cancel,
             const Work& work) {
  forRows(m.units.rowsOf(units, m.rows), pool, cancel, [&](int64_t first, int64_t last, int) {
    for (int64_t row = first; row < last; row++) work(row);
  });
}

void count(const RoutineJob& job, Range units, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Merge m = readMerge(job.numbers);
  auto* counts = reinterpret_cast<int64_t*>(job.results[0]);
  withIndex(m.index, [&](auto index) {
    using Index = decltype(index);
    const auto a = linesAt<Index>(job, 0, 1, m.storedA), b = linesAt<Index>(job, 2, 3, m.storedB);
    eachRow(m, units, pool, cancel, [&](int64_t row) {
      int64_t found = 0;
      mergeRow(m.isOfBoth, a, b, row, [&](Index, int64_t, int64_t) { found++; });
      counts[row] = found;
    });
    return 0;
  });
}

template <typename Index, typename Place, typename Element>
void fillRows(const Merge& m, const RoutineJob& job, Range units, ThreadPool& pool,
              const std::atomic<bool>* cancel) {
  const auto a = linesAt<Index>(job, 0, 1, m.storedA), b = linesAt<Index>(job, 3, 4, m.storedB);
  const auto* valuesA = reinterpret_cast<const Element*>(job.operands[2]);
  const auto* valuesB = reinterpret_cast<const Element*>(job.operands[5]);
  const auto* starts = reinterpret_cast<const int64_t*>(job.operands[6]);
  auto* places = reinterpret_cast<Place*>(job.results[0]);
  auto* ofA = reinterpret_cast<Element*>(job.results[1]);
  auto* ofB = reinterpret_cast<Element*>(job.results[2]);
  eachRow(m, units, pool, cancel, [&](int64_t row) {
    int64_t to = starts[row];
    if (to < 0 || starts[row + 1] > m.bound) return;
    mergeRow(m.isOfBoth, a, b, row, [&](Index column, int64_t i, int64_t j) {
      places[to] = static_cast<Place>(column);
      ofA[to] = i < 0 ? Element{} : valuesA[i];
      ofB[to++] = j < 0 ? Element{} : valuesB[j];
    });
  });
  clearLines(m.units.tailOf(units, m.rows, starts, m.bound), pool, places, ofA, ofB);
}

void fill(const RoutineJob& job, Range units, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Merge m = readMerge(job.numbers);
  withIndex(m.index, [&](auto index) {
    return withIndex(m.result, [&](auto place) {
      return withWidth(m.width, [&](auto element) {
        fillRows<decltype(index), decltype(place), decltype(element)>(m, job, units, pool, cancel);
        return 0;
      });
    });
  });
}

RoutineNeed needOf(const Merge& m, bool isCount) {
  const auto bytes = [](int64_t size, DType dtype) {
    return static_cast<size_t>(size) * static_cast<size_t>(byteLengthOf(dtype));
  };
  const size_t index = bytes(m.rows + 1, m.index), starts = bytes(m.rows + 1, DType::int64);
  const size_t placesA = bytes(m.storedA, m.index), placesB = bytes(m.storedB, m.index);
  if (isCount) return {{index, placesA, index, placesB}, {bytes(m.rows, DType::int64)}, {}, m.units.units};
  const size_t valuesA = static_cast<size_t>(m.storedA) * m.width;
  const size_t valuesB = static_cast<size_t>(m.storedB) * m.width;
  const size_t elements = static_cast<size_t>(m.bound) * m.width;
  return {{index, placesA, valuesA, index, placesB, valuesB, starts},
          {bytes(m.bound, m.result), elements, elements},
          {},
          m.units.units};
}

RoutineNeed countNeed(const std::vector<int64_t>& numbers, const ThreadPool&) {
  return needOf(readMerge(numbers), true);
}
RoutineNeed fillNeed(const std::vector<int64_t>& numbers, const ThreadPool&) {
  return needOf(readMerge(numbers), false);
}

// The rows of stored elements: index and result dtypes, rows, elements, elements of a unit.
struct Rows {
  DType index, result;
  int64_t rows, bound, unit;
};

Rows readRows(const std::vector<int64_t>& numbers) {
  if (numbers.size() != 5) throw std::invalid_argument("five numbers");
  const Rows r{static_cast<DType>(numbers[0]), static_cast<DType>(numbers[1]), numbers[2], numbers[3],
               numbers[4]};
  if (r.rows < 0 || r.bound < 1 || r.unit < 1 || std::max({r.rows, r.bound, r.unit}) > kMost)
    throw std::invalid_argument("rows of elements");
  return r;
}

RoutineNeed rowsNeed(const std::vector<int64_t>& numbers, const ThreadPool&) {
  const Rows r = readRows(numbers);
  return {{static_cast<size_t>(r.rows + 1) * byteLengthOf(r.index)},
          {static_cast<size_t>(r.bound) * byteLengthOf(r.result)},
          {},
          (r.bound + r.unit - 1) / r.unit};
}

void rowsRun(const RoutineJob& job, Range units, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Rows r = readRows(job.numbers);
  withIndex(r.index, [&](auto index) {
    const auto* starts = reinterpret_cast<const decltype(index)*>(job.operands[0]);
    return withIndex(r.result, [&](auto result) {
      auto* out = reinterpret_cast<decltype(result)*>(job.results[0]);
      pool.parallelFor(units.last - units.first, [&](int64_t task, int) {
        if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) return;
        const int64_t first = (units.first + task) * r.unit, last = std::min(r.bound, first + r.unit);
        // The last row that begins at the element or before it.
        int64_t row = std::upper_bound(starts, starts + r.rows + 1, first) - starts - 1;
        for (int64_t k = first; k < last;) {
          const int64_t next = row < r.rows ? std::clamp<int64_t>(starts[row + 1], k, last) : last;
          std::fill(out + k, out + next, static_cast<decltype(result)>(std::max<int64_t>(row, 0)));
          k = next;
          row++;
        }
      });
      return 0;
    });
  });
}

}  // namespace

const Routine kSparseMergeCounts{countNeed, count};
const Routine kSparseMerge{fillNeed, fill};
const Routine kSparseRows{rowsNeed, rowsRun};

}  // namespace weft::cpu
