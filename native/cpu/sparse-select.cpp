// The stored elements of a sparse matrix that a mask selects: how many each row has, and the elements, in
// the order of the row.
#include "cpu/sparse-select.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "cpu/sparse-lines.h"

namespace weft::cpu {
namespace {

struct Select {
  DType index;
  int64_t rows, stored, bound;
  size_t width;  // bytes of an element
  RowUnits units;
};

Select readSelect(const std::vector<int64_t>& numbers) {
  if (numbers.size() != 8) throw std::invalid_argument("eight numbers");
  const Select s{static_cast<DType>(numbers[0]),  numbers[1],         numbers[2], numbers[3],
                 static_cast<size_t>(numbers[4]), rowUnitsOf(numbers)};
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 64;
  if (std::min({s.rows, s.stored}) < 1 || s.bound < 0 || std::max({s.rows, s.stored, s.bound}) > kMost ||
      s.width < 1 || s.width > 16)
    throw std::invalid_argument("a sparse matrix and a mask");
  return s;
}

// Of the operands, the mask is read as an array of bytes that are 0 or 1.
template <typename Index>
SparseLines<Index> startsAt(const RoutineJob& job, const Select& s) {
  return {reinterpret_cast<const Index*>(job.operands[0]), nullptr, s.stored};
}

void count(const RoutineJob& job, Range units, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Select s = readSelect(job.numbers);
  const auto* mask = reinterpret_cast<const uint8_t*>(job.operands[1]);
  auto* counts = reinterpret_cast<int64_t*>(job.results[0]);
  withIndex(s.index, [&](auto index) {
    const auto lines = startsAt<decltype(index)>(job, s);
    forRows(s.units.rowsOf(units, s.rows), pool, cancel, [&](int64_t first, int64_t last, int) {
      for (int64_t row = first; row < last; row++) {
        int64_t found = 0;
        for (int64_t k = lines.begin(row), end = lines.end(row); k < end; k++) found += mask[k] != 0;
        counts[row] = found;
      }
    });
    return 0;
  });
}

template <typename Index, typename Element>
void fillRows(const Select& s, const RoutineJob& job, Range units, ThreadPool& pool,
              const std::atomic<bool>* cancel) {
  const auto lines = startsAt<Index>(job, s);
  const auto* places = reinterpret_cast<const Index*>(job.operands[1]);
  const auto* values = reinterpret_cast<const Element*>(job.operands[2]);
  const auto* mask = reinterpret_cast<const uint8_t*>(job.operands[3]);
  const auto* starts = reinterpret_cast<const int64_t*>(job.operands[4]);
  auto* outPlaces = reinterpret_cast<Index*>(job.results[0]);
  auto* outValues = reinterpret_cast<Element*>(job.results[1]);
  forRows(s.units.rowsOf(units, s.rows), pool, cancel, [&](int64_t first, int64_t last, int) {
    for (int64_t row = first; row < last; row++) {
      int64_t to = starts[row];
      const int64_t stop = starts[row + 1];
      if (to < 0 || stop > s.bound) return;
      // Every element is written, and stays where it is selected: no branch depends on the mask.
      for (int64_t k = lines.begin(row), end = lines.end(row); k < end && to < stop; k++) {
        outPlaces[to] = places[k];
        outValues[to] = values[k];
        to += mask[k] != 0;
      }
    }
  });
  clearLines(s.units.tailOf(units, s.rows, starts, s.bound), pool, outPlaces, outValues);
}

void fill(const RoutineJob& job, Range units, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Select s = readSelect(job.numbers);
  withIndex(s.index, [&](auto index) {
    return withWidth(s.width, [&](auto element) {
      fillRows<decltype(index), decltype(element)>(s, job, units, pool, cancel);
      return 0;
    });
  });
}

RoutineNeed needOf(const Select& s, bool isCount) {
  const auto bytes = [](int64_t size, DType dtype) {
    return static_cast<size_t>(size) * static_cast<size_t>(byteLengthOf(dtype));
  };
  const size_t starts = bytes(s.rows + 1, s.index), mask = static_cast<size_t>(s.stored);
  if (isCount) return {{starts, mask}, {bytes(s.rows, DType::int64)}, {}, s.units.units};
  return {{starts, bytes(s.stored, s.index), static_cast<size_t>(s.stored) * s.width, mask,
           bytes(s.rows + 1, DType::int64)},
          {bytes(s.bound, s.index), static_cast<size_t>(s.bound) * s.width},
          {},
          s.units.units};
}

RoutineNeed countNeed(const std::vector<int64_t>& numbers, const ThreadPool&) {
  return needOf(readSelect(numbers), true);
}
RoutineNeed fillNeed(const std::vector<int64_t>& numbers, const ThreadPool&) {
  return needOf(readSelect(numbers), false);
}

}  // namespace

const Routine kSparseSelectCounts{countNeed, count};
const Routine kSparseSelect{fillNeed, fill};

}  // namespace weft::cpu
