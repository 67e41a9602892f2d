// Matrices in C order as ones in column-major order, as LAPACK has them, and back, block by block.
#pragma once
#include <atomic>

#include "cpu/linear.h"

namespace weft::cpu {

// Elements of a matrix: finite ones alone, infinities without NaN, NaN.
enum class Finds : uint8_t { numbers, infinity, nan };

// The part of a matrix that is copied, zeros elsewhere: all of it, the triangle from the diagonal on, the one
// below the diagonal, on which are ones.
enum class TurnedPart : uint8_t { all, upper, unitLower };

// Rows and columns of a block, whose rows of either matrix are a few cache lines each.
inline constexpr int64_t kTurnedBlock = 16;
// Elements of a task.
inline constexpr int64_t kTurnedTask = int64_t{1} << 15;

// Runs `turn(first, last)` for ranges of lines of so many elements, whole blocks of lines.
template <typename Turn>
void eachTurnedRange(int64_t lines, int64_t elements, const LinearWork& work, const Turn& turn) {
  const int64_t size =
      std::max(kTurnedBlock, kTurnedTask / std::max<int64_t>(1, elements) / kTurnedBlock * kTurnedBlock);
  work.pool.parallelFor((lines + size - 1) / size,
                        [&](int64_t task, int) { turn(task * size, std::min(lines, (task + 1) * size)); });
}

// Copies a matrix whose rows have no gaps to one whose columns have none.
template <typename T>
void turnBlocks(const MatrixView<T>& from, const MatrixView<T>& to) {
  RealOf<T> doubts[kTurnedBlock] = {};
  for (int64_t left = 0; left < from.columns; left += kTurnedBlock)
    linearKernels<T>().turn(&from.at(0, left), from.rowStride, from.rows,
                            std::min(kTurnedBlock, from.columns - left), &to.at(0, left), to.columnStride,
                            doubts);
}

// Copies rows and columns of a matrix in C order, and finds what is there.
template <typename T>
Finds turnMatrix(const T* from, const MatrixView<T>& to, const LinearWork& work) {
  const int64_t rows = to.rows, columns = to.columns;
  std::atomic<bool> hasOthers{false}, hasNaN{false};
  // Columns [first, last), of which each task has memory of its own.
  eachTurnedRange(columns, rows, work, [&](int64_t first, int64_t last) {
    RealOf<T> doubts[kTurnedBlock] = {};
    for (int64_t top = 0; top < rows; top += kTurnedBlock)
      for (int64_t left = first; left < last; left += kTurnedBlock)
        linearKernels<T>().turn(from + top * columns + left, columns, std::min(kTurnedBlock, rows - top),
                                std::min(kTurnedBlock, last - left), &to.at(top, left), to.columnStride,
                                doubts);
    RealOf<T> doubt = 0;
    for (const RealOf<T> each : doubts) doubt += each;
    if (doubt == 0) return;
    hasOthers.store(true, std::memory_order_relaxed);
    for (int64_t j = first; j < last; j++)
      for (int64_t i = 0; i < rows; i++)
        if (const T value = to.at(i, j); std::isnan(realPart(value)) || std::isnan(imaginaryPart(value)))
          hasNaN.store(true, std::memory_order_relaxed);
  });
  if (!hasOthers.load()) return Finds::numbers;
  return hasNaN.load() ? Finds::nan : Finds::infinity;
}

// Copies a part of a matrix in column-major order to one in C order.
template <typename T>
void turnBack(const MatrixView<T>& from, TurnedPart part, T* to, const LinearWork& work) {
  const auto partAt = [&](int64_t i, int64_t j) {
    if (part == TurnedPart::unitLower && i == j) return ofReal<T>(1);
    return (i > j) == (part == TurnedPart::unitLower) ? from.at(i, j) : T{};
  };
  eachTurnedRange(from.rows, from.columns, work, [&](int64_t first, int64_t last) {
    for (int64_t top = first; top < last; top += kTurnedBlock)
      for (int64_t left = 0; left < from.columns; left += kTurnedBlock) {
        const int64_t bottom = std::min(last, top + kTurnedBlock);
        const int64_t right = std::min(from.columns, left + kTurnedBlock);
        T* const block = to + top * from.columns + left;
        const bool isBelow = top >= right, isAbove = left >= bottom;
        const bool isWhole = part == TurnedPart::all || (part == TurnedPart::upper ? isAbove : isBelow);
        if (isWhole) {
          RealOf<T> doubts[kTurnedBlock] = {};
          linearKernels<T>().turn(&from.at(top, left), from.columnStride, right - left, bottom - top, block,
                                  from.columns, doubts);
          continue;
        }
        const bool isZero = isBelow || isAbove;
        for (int64_t i = top; i < bottom; i++)
          for (int64_t j = left; j < right; j++) to[i * from.columns + j] = isZero ? T{} : partAt(i, j);
      }
  });
}

}  // namespace weft::cpu
