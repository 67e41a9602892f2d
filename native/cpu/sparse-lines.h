// The starts and columns of a sparse matrix, given by rows, as routines read them: numbers that cannot be are
// found before anything runs, and here read within their lines.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "cpu/routines.h"
#include "cpu/tape.h"
#include "cpu/threads.h"

namespace weft::cpu {

// A number below `count`; others are taken for the nearest one by a branch, which is foreseen and takes less
// than a minimum and a maximum do.
template <typename Index>
inline int64_t insideOf(Index number, int64_t count) {
  const auto at = static_cast<int64_t>(number);
  if (static_cast<uint64_t>(at) >= static_cast<uint64_t>(count)) [[unlikely]]
    return at < 0 ? 0 : count - 1;
  return at;
}

template <typename Index>
struct SparseLines {
  const Index* starts;
  const Index* places;
  int64_t stored;

  int64_t begin(int64_t row) const { return insideOf(starts[row], stored + 1); }
  // Of a row whose end is before its beginning, that one.
  int64_t end(int64_t row) const { return std::max(begin(row), begin(row + 1)); }
};

// Of the operands that hold them.
template <typename Index>
SparseLines<Index> linesAt(const RoutineJob& job, size_t starts, size_t places, int64_t stored) {
  return {reinterpret_cast<const Index*>(job.operands[starts]),
          reinterpret_cast<const Index*>(job.operands[places]), stored};
}

template <typename Use>
auto withIndex(DType index, const Use& use) {
  if (index == DType::int32) return use(int32_t{});
  if (index == DType::int64) return use(int64_t{});
  throw std::invalid_argument("starts and columns of int32 or int64");
}

// An element of two words, as complex128.
struct Pair {
  uint64_t low, high;
};

// Elements of so many bytes, moved as bits.
template <typename Use>
auto withWidth(size_t width, const Use& use) {
  switch (width) {
    case 1:
      return use(uint8_t{});
    case 2:
      return use(uint16_t{});
    case 4:
      return use(uint32_t{});
    case 8:
      return use(uint64_t{});
    case 16:
      return use(Pair{});
    default:
      throw std::invalid_argument("elements of 1 to 16 bytes");
  }
}

// Rows that a thread has at a time.
inline constexpr int64_t kRowsAtOnce = 256;
inline int64_t rowTasks(int64_t rows) { return (rows + kRowsAtOnce - 1) / kRowsAtOnce; }

// Calls `work` with stretches of rows, [first, last), and a thread's number.
template <typename Work>
void forRows(Range rows, ThreadPool& pool, const std::atomic<bool>* cancel, const Work& work,
             int threads = std::numeric_limits<int>::max()) {
  pool.parallelFor(
      rowTasks(rows.last - rows.first),
      [&](int64_t task, int worker) {
        if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) return;
        const int64_t first = rows.first + task * kRowsAtOnce;
        work(first, std::min(rows.last, first + kRowsAtOnce), worker);
      },
      threads);
}

// Units of a routine that counts or fills the rows of a sparse result: all rows with the zeros behind the
// last element, or blocks of rows, then stretches of those zeros.
struct RowUnits {
  int64_t units, unitRows, unitTail;

  bool isWhole() const { return units == 1; }
  Range rowsOf(Range own, int64_t rows) const {
    if (isWhole()) return {0, rows};
    return {std::min(rows, own.first * unitRows), std::min(rows, own.last * unitRows)};
  }
  // The zeros of a result of so many elements and bound: `starts` are read where there are some.
  Range tailOf(Range own, int64_t rows, const int64_t* starts, int64_t bound) const {
    const int64_t rowUnits = isWhole() ? 0 : (rows + unitRows - 1) / unitRows;
    if (own.last <= rowUnits) return {0, 0};
    const int64_t stored = std::clamp<int64_t>(starts[rows], 0, bound);
    if (isWhole()) return {stored, bound};
    const auto at = [&](int64_t unit) { return std::min(bound, stored + unit * unitTail); };
    return {at(std::max<int64_t>(0, own.first - rowUnits)), at(own.last - rowUnits)};
  }
};

// The last three of a routine's numbers.
inline RowUnits rowUnitsOf(const std::vector<int64_t>& numbers) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 64;
  const RowUnits u{numbers[numbers.size() - 3], numbers[numbers.size() - 2], numbers[numbers.size() - 1]};
  if (std::min({u.units, u.unitRows, u.unitTail}) < 1 || u.units > 4096 ||
      std::max(u.unitRows, u.unitTail) > kMost / 4096)
    throw std::invalid_argument("units of rows");
  return u;
}

// Zeros in stretches of some lines.
template <typename... Element>
void clearLines(Range stretch, ThreadPool& pool, Element*... lines) {
  constexpr int64_t kStretch = 1 << 18;
  pool.parallelFor((stretch.last - stretch.first + kStretch - 1) / kStretch, [&](int64_t task, int) {
    const int64_t first = stretch.first + task * kStretch, last = std::min(stretch.last, first + kStretch);
    (std::fill(lines + first, lines + last, Element{}), ...);
  });
}

}  // namespace weft::cpu
