// The starts and columns of a sparse matrix, given by rows, as routines read them: numbers that cannot be are
// found before anything runs, and here read within their lines.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <stdexcept>

#include "cpu/routines.h"
#include "cpu/tape.h"
#include "cpu/threads.h"

namespace weft::cpu {

template <typename Index>
struct SparseLines {
  const Index* starts;
  const Index* places;
  int64_t stored;

  int64_t begin(int64_t row) const { return std::clamp<int64_t>(starts[row], 0, stored); }
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

// Rows that a thread has at a time.
inline constexpr int64_t kRowsAtOnce = 256;
inline int64_t rowTasks(int64_t rows) { return (rows + kRowsAtOnce - 1) / kRowsAtOnce; }

// Calls `work` with stretches of rows, [first, last), and a thread's number.
template <typename Work>
void forRows(int64_t rows, ThreadPool& pool, const std::atomic<bool>* cancel, const Work& work,
             int threads = std::numeric_limits<int>::max()) {
  pool.parallelFor(
      rowTasks(rows),
      [&](int64_t task, int worker) {
        if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) return;
        work(task * kRowsAtOnce, std::min(rows, (task + 1) * kRowsAtOnce), worker);
      },
      threads);
}

}  // namespace weft::cpu
