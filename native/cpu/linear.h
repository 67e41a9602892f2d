// Linear algebra on the CPU: views of matrices, products that are taken off, triangular systems, and what
// routines share.
//
// Algorithms are recursive: a matrix is halved until its parts are narrow, so that nearly all work is
// products of gemm.h. Their order depends on the sizes alone: a matrix has the same bits alone and in a
// stack, on any number of threads. Small matrices are a thread's each, large ones are all threads' by turns.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/gemm.h"
#include "cpu/linear-numbers.h"
#include "cpu/routines.h"
#include "cpu/threads.h"

namespace weft::cpu {

// Element (i, j) is data[i * rowStride + j * columnStride].
template <typename T>
struct MatrixView {
  T* data;
  int64_t rows, columns, rowStride, columnStride;

  T& at(int64_t i, int64_t j) const { return data[i * rowStride + j * columnStride]; }
  MatrixView part(int64_t row, int64_t column, int64_t height, int64_t width) const {
    return {&at(row, column), height, width, rowStride, columnStride};
  }
  MatrixView transposed() const { return {data, columns, rows, columnStride, rowStride}; }
};

// A matrix in column-major order.
template <typename T>
MatrixView<T> columnMajor(T* data, int64_t rows, int64_t columns) {
  return {data, rows, columns, 1, rows};
}

// The threads that work on a matrix, and their memory.
struct LinearWork {
  ThreadPool& pool;
  const std::atomic<bool>* cancel;
  Workspace workspace;
  // Of a library that has the matrix (lapack-rows.h).
  int threads = 1;

  bool cancelled() const { return cancel != nullptr && cancel->load(std::memory_order_relaxed); }
};

// Bytes for products (wide, narrow) · (narrow, wide) or less, of which the smaller factor has so many
// elements.
size_t productBytes(DType dtype, int64_t wide, int64_t narrow, int64_t elements);

// c -= a b, with the conjugates of b where it says so.
template <typename T>
void subtractProduct(const MatrixView<T>& c, const MatrixView<T>& a, const MatrixView<T>& b, bool conjugates,
                     const LinearWork& work);

// c += a b.
template <typename T>
void accumulateProduct(const MatrixView<T>& c, const MatrixView<T>& a, const MatrixView<T>& b,
                       const LinearWork& work);

// Which triangle a system is solved with.
struct TriangleForm {
  bool isUpper;
  bool hasUnitDiagonal;
  bool conjugates;
};
// b = a⁻¹ b.
template <typename T>
void solveTriangle(const MatrixView<T>& a, TriangleForm form, const MatrixView<T>& b, const LinearWork& work);

// Matrices of at most so many rows or columns are a thread's each.
inline constexpr int64_t kOneThreadSize = 192;

// Runs `work(matrix, LinearWork)` for the matrices of units [first, last), each with `bytes` of the
// workspace.
template <typename Work>
void eachMatrix(const RoutineJob& job, Range units, int64_t size, size_t bytes, ThreadPool& pool,
                const std::atomic<bool>* cancel, const Work& work) {
  if (size > kOneThreadSize) {
    for (int64_t k = units.first; k < units.last; k++) {
      const LinearWork own{pool, cancel, job.workspace, pool.size()};
      if (own.cancelled()) return;
      work(k, own);
    }
    return;
  }
  const auto fitting =
      bytes == 0 ? int64_t{pool.workers()} : static_cast<int64_t>(job.workspace.byteLength / bytes);
  pool.parallelFor(
      units.last - units.first,
      [&](int64_t task, int worker) {
        const LinearWork own{pool, cancel, {job.workspace.data + static_cast<size_t>(worker) * bytes, bytes}};
        if (!own.cancelled()) work(units.first + task, own);
      },
      static_cast<int>(std::min<int64_t>(pool.workers(), fitting)));
}

// The workspace of `eachMatrix`.
inline WorkspaceNeed matrixNeed(int64_t size, int64_t count, size_t bytes, const ThreadPool& pool) {
  if (size > kOneThreadSize) return {bytes, bytes};
  return {static_cast<size_t>(std::min<int64_t>(count, pool.workers())) * bytes, bytes};
}

// The numbers of a routine's step, in order: not negative, and not so large that bytes overflow.
class LinearNumbers {
 public:
  LinearNumbers(const std::vector<int64_t>& numbers, size_t count) : numbers_(numbers) {
    if (numbers.size() != count) throw std::invalid_argument(std::to_string(count) + " numbers");
    for (const int64_t number : numbers)
      if (number < 0) throw std::invalid_argument("numbers that are not negative");
    dtype = static_cast<DType>(next());
    this->count = next();
  }
  int64_t next() { return numbers_[at_++]; }
  // Bytes of as many arrays of elements as there are matrices.
  size_t bytes(int64_t rows, int64_t columns, size_t size) const {
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 64;
    if (rows > 0 && columns > kMost / rows) throw std::invalid_argument("matrices of fewer elements");
    if (count > 0 && rows * columns > kMost / count) throw std::invalid_argument("fewer matrices");
    return static_cast<size_t>(count * rows * columns) * size;
  }

  DType dtype;
  int64_t count;

 private:
  const std::vector<int64_t>& numbers_;
  size_t at_ = 0;
};

// Where matrix k of an operand or a result begins.
template <typename T>
T* matrixAt(const std::vector<std::byte*>& arrays, size_t array, int64_t k, int64_t elements) {
  return reinterpret_cast<T*>(arrays[array]) + k * elements;
}

template <typename T>
void copyElements(const T* from, T* to, int64_t count) {
  if (from != to) std::copy_n(from, count, to);
}

}  // namespace weft::cpu
