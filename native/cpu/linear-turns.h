// Matrices in C order as ones in column-major order, as LAPACK has them, block by block.
#pragma once
#include <atomic>

#include "cpu/linear.h"

namespace weft::cpu {

// Elements of a matrix: finite ones alone, infinities without NaN, NaN.
enum class Finds : uint8_t { numbers, infinity, nan };

// Rows and columns of a block, whose rows of either matrix are a few cache lines each.
inline constexpr int64_t kTurnedBlock = 16;
// Elements of a task.
inline constexpr int64_t kTurnedTask = int64_t{1} << 15;

// Copies rows and columns of a matrix in C order, and finds what is there.
template <typename T>
Finds turnMatrix(const T* from, const MatrixView<T>& to, const LinearWork& work) {
  const int64_t rows = to.rows, columns = to.columns;
  std::atomic<bool> hasOthers{false}, hasNaN{false};
  // Columns [first, last), of which each task has memory of its own.
  const auto turn = [&](int64_t first, int64_t last) {
    bool isFinite = true;
    for (int64_t top = 0; top < rows; top += kTurnedBlock) {
      const int64_t bottom = std::min(rows, top + kTurnedBlock);
      for (int64_t left = first; left < last; left += kTurnedBlock) {
        const int64_t right = std::min(last, left + kTurnedBlock);
        for (int64_t j = left; j < right; j++)
          for (int64_t i = top; i < bottom; i++) {
            const T value = from[i * columns + j];
            to.data[j * rows + i] = value;
            isFinite = isFinite & (sumOfParts(value) - sumOfParts(value) == 0);
          }
      }
    }
    if (isFinite) return;
    hasOthers.store(true, std::memory_order_relaxed);
    for (int64_t j = first; j < last; j++)
      for (int64_t i = 0; i < rows; i++) {
        const T value = to.data[j * rows + i];
        if (std::isnan(realPart(value)) || std::isnan(imaginaryPart(value)))
          hasNaN.store(true, std::memory_order_relaxed);
      }
  };
  const int64_t width =
      std::max(kTurnedBlock, kTurnedTask / std::max<int64_t>(1, rows) / kTurnedBlock * kTurnedBlock);
  const int64_t tasks = (columns + width - 1) / width;
  work.pool.parallelFor(
      tasks, [&](int64_t task, int) { turn(task * width, std::min(columns, (task + 1) * width)); });
  if (!hasOthers.load()) return Finds::numbers;
  return hasNaN.load() ? Finds::nan : Finds::infinity;
}

}  // namespace weft::cpu
