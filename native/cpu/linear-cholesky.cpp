// Cholesky factors, and systems with a triangle.
#include "cpu/lapack-rows.h"

namespace weft::cpu {
namespace {

// Rows that are factored one by one; steps of halves, and rows for which calls of loops take too long.
constexpr int64_t kRows = 64, kPanel = 16;

// L of A = L Lᴴ in the lower triangle of a view of few rows, element by element; gives 0, or the order of the
// first leading minor that is not positive.
template <typename T>
int32_t factorFew(const MatrixView<T>& a) {
  for (int64_t j = 0; j < a.rows; j++) {
    RealOf<T> pivot = realPart(a.at(j, j));
    for (int64_t k = 0; k < j; k++) pivot -= realPart(a.at(j, k) * conjugate(a.at(j, k)));
    if (pivot <= 0) return static_cast<int32_t>(j + 1);
    const RealOf<T> root = std::sqrt(pivot);
    a.at(j, j) = ofReal<T>(root);
    for (int64_t i = j + 1; i < a.rows; i++) {
      T value = a.at(i, j);
      for (int64_t k = 0; k < j; k++) value = value - a.at(i, k) * conjugate(a.at(j, k));
      a.at(i, j) = value / root;
    }
  }
  return 0;
}

// The same of a view whose rows, or columns, have no gaps: products of rows are taken off, or columns.
template <typename T>
int32_t factorPanel(const MatrixView<T>& a) {
  const LinearKernels<T>& kernels = linearKernels<T>();
  for (int64_t j = 0; j < a.rows; j++) {
    T taken[kRows];
    if (a.columnStride == 1) {
      kernels.dots(j, a.rows - j, &a.at(j, 0), a.rowStride, &a.at(j, 0), taken);
      for (int64_t i = j; i < a.rows; i++) a.at(i, j) = a.at(i, j) - conjugate(taken[i - j]);
    } else {
      for (int64_t k = 0; k < j; k++) taken[k] = -conjugate(a.at(j, k));
      kernels.addColumns(a.rows - j, j, taken, &a.at(j, 0), a.columnStride, &a.at(j, j));
    }
    const RealOf<T> pivot = realPart(a.at(j, j));
    if (pivot <= 0) return static_cast<int32_t>(j + 1);
    const RealOf<T> root = std::sqrt(pivot);
    a.at(j, j) = ofReal<T>(root);
    for (int64_t i = j + 1; i < a.rows; i++) a.at(i, j) = a.at(i, j) / root;
  }
  return 0;
}

// c -= l lᴴ, its lower triangle alone, by halves.
template <typename T>
void subtractSquare(const MatrixView<T>& c, const MatrixView<T>& l, const LinearWork& work) {
  constexpr int64_t kWhole = 64;
  if (c.rows <= kWhole) return subtractProduct(c, l, l.transposed(), kIsComplex<T>, work);
  const int64_t half = c.rows / 2 / kPanel * kPanel, rest = c.rows - half;
  const MatrixView<T> top = l.part(0, 0, half, l.columns), bottom = l.part(half, 0, rest, l.columns);
  subtractSquare(c.part(0, 0, half, half), top, work);
  subtractProduct(c.part(half, 0, rest, half), bottom, top.transposed(), kIsComplex<T>, work);
  subtractSquare(c.part(half, half, rest, rest), bottom, work);
}

template <typename T>
int32_t factor(const MatrixView<T>& a, const LinearWork& work) {
  if (a.rows <= kPanel) return factorFew(a);
  if (a.rows <= kRows) return factorPanel(a);
  if (work.cancelled()) return 0;
  const int64_t half = std::max(kPanel, a.rows / 2 / kPanel * kPanel), rest = a.rows - half;
  const MatrixView<T> first = a.part(0, 0, half, half), below = a.part(half, 0, rest, half),
                      last = a.part(half, half, rest, rest);
  const int32_t status = factor(first, work);
  if (status != 0) return status;
  solveTriangle(first, {false, false, kIsComplex<T>}, below.transposed(), work);
  subtractSquare(last, below, work);
  const int32_t later = factor(last, work);
  return later == 0 ? 0 : later + static_cast<int32_t>(half);
}

size_t bytesFor(DType dtype, int64_t wide, int64_t n) {
  if (n <= kPanel) return 0;
  const int64_t half = (n + 1) / 2 + kPanel;
  return productBytes(dtype, wide, half, half * half);
}

struct Squares {
  explicit Squares(const std::vector<int64_t>& given)
      : numbers(given, std::clamp<size_t>(given.size(), 4, 5)),
        n(numbers.next()),
        isUpper(numbers.next() != 0),
        clears(given.size() == 5 && numbers.next() != 0) {}
  LinearNumbers numbers;
  int64_t n;
  // Which triangle is factored, and whether the other one is cleared.
  bool isUpper, clears;
  LapackProblem problem() const { return {LapackRow::cholesky, numbers.dtype, n, n}; }
  size_t workBytes() const { return bytesFor(numbers.dtype, n, n); }
};

RoutineNeed choleskyNeed(const std::vector<int64_t>& numbers, const ThreadPool& pool) {
  const Squares s(numbers);
  return withLinear(s.numbers.dtype, [&](auto zero) -> RoutineNeed {
    const size_t bytes = s.numbers.bytes(s.n, s.n, sizeof(zero));
    return {{bytes},
            {bytes, s.numbers.bytes(1, 1, sizeof(int32_t))},
            matrixNeed(s.n, s.numbers.count, s.workBytes(), pool),
            s.numbers.count,
            lapackChoice(s.problem())};
  });
}

// Arrays are in C order. The upper triangle is the lower one of the transpose, with conjugates.
void runCholesky(const RoutineJob& job, Range units, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Squares s(job.numbers);
  const int64_t elements = s.n * s.n;
  withLinear(s.numbers.dtype, [&](auto zero) {
    using T = decltype(zero);
    eachMatrix(job, units, s.n, s.workBytes(), pool, cancel, [&](int64_t k, const LinearWork& work) {
      T* const data = matrixAt<T>(job.results, 0, k, elements);
      copyElements(matrixAt<T>(job.operands, 0, k, elements), data, elements);
      int32_t& status = *matrixAt<int32_t>(job.results, 1, k, 1);
      const MatrixView<T> columns = columnMajor(data, s.n, s.n);
      if (!lapackCholesky(choiceOf(job), !s.isUpper, data, status, work))
        status = factor(s.isUpper ? columns : columns.transposed(), work);
      if (!s.clears) return;
      for (int64_t j = 0; j < s.n; j++) {
        const int64_t first = s.isUpper ? 0 : j + 1, count = s.isUpper ? j : s.n - j - 1;
        std::fill_n(data + j * s.n + first, count, T{});
      }
    });
  });
}

// Sides, n, and the triangle: whether it is the upper one, which of it and its transposes, whether of ones.
struct Triangles {
  explicit Triangles(const std::vector<int64_t>& given)
      : numbers(given, 7),
        sides(numbers.next()),
        n(numbers.next()),
        isUpper(numbers.next() != 0),
        form(numbers.next()),
        hasUnitDiagonal(numbers.next() != 0) {
    if (form > 2) throw std::invalid_argument("a form of a matrix");
  }
  LinearNumbers numbers;
  int64_t sides, n;
  bool isUpper;
  int64_t form;
  bool hasUnitDiagonal;
  int64_t size() const { return std::max(n, sides); }
  LapackProblem problem() const { return {LapackRow::triangle, numbers.dtype, n, n, sides}; }
  size_t workBytes() const { return bytesFor(numbers.dtype, size(), n); }
};

RoutineNeed triangleNeed(const std::vector<int64_t>& numbers, const ThreadPool& pool) {
  const Triangles t(numbers);
  return withLinear(t.numbers.dtype, [&](auto zero) -> RoutineNeed {
    const size_t sides = t.numbers.bytes(t.sides, t.n, sizeof(zero));
    return {{sides, t.numbers.bytes(t.n, t.n, sizeof(zero))},
            {sides},
            matrixNeed(t.size(), t.numbers.count, t.workBytes(), pool),
            t.numbers.count,
            lapackChoice(t.problem())};
  });
}

void runTriangle(const RoutineJob& job, Range units, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Triangles t(job.numbers);
  withLinear(t.numbers.dtype, [&](auto zero) {
    using T = decltype(zero);
    eachMatrix(job, units, t.size(), t.workBytes(), pool, cancel, [&](int64_t k, const LinearWork& work) {
      T* const x = matrixAt<T>(job.results, 0, k, t.sides * t.n);
      copyElements(matrixAt<T>(job.operands, 0, k, t.sides * t.n), x, t.sides * t.n);
      const MatrixView<T> a = columnMajor(matrixAt<T>(job.operands, 1, k, t.n * t.n), t.n, t.n);
      if (lapackTriangle(choiceOf(job), t.isUpper, t.form, t.hasUnitDiagonal, a.data, x, t.sides, work))
        return;
      const bool isTurned = t.form != 0;
      const TriangleForm form{t.isUpper != isTurned, t.hasUnitDiagonal, t.form == 2 && kIsComplex<T>};
      solveTriangle(isTurned ? a.transposed() : a, form, columnMajor(x, t.n, t.sides), work);
    });
  });
}

}  // namespace

const Routine kCholesky{choleskyNeed, runCholesky};
const Routine kTriangularSolve{triangleNeed, runTriangle};

}  // namespace weft::cpu
