// Cholesky factors, and systems with a triangle.
#include "cpu/lapack-rows.h"
#include "cpu/linear-turns.h"

namespace weft::cpu {
namespace {

// Columns that are factored one by one, steps of halves, and rows of which a matrix is factored element by
// element.
constexpr int64_t kPanel = 16;

// L of A = L Lᴴ in the lower triangle of a matrix of few rows, element by element; gives 0, or the order of
// the first leading minor that is not positive.
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

// The first columns of L, of a view whose columns have no gaps: products of columns are taken off.
template <typename T>
int32_t factorColumns(const MatrixView<T>& a) {
  const LinearKernels<T>& kernels = linearKernels<T>();
  for (int64_t j = 0; j < a.columns; j++) {
    T factors[kPanel];
    for (int64_t k = 0; k < j; k++) factors[k] = -conjugate(a.at(j, k));
    kernels.addColumns(a.rows - j, j, factors, &a.at(j, 0), a.columnStride, &a.at(j, j));
    const RealOf<T> pivot = realPart(a.at(j, j));
    if (pivot <= 0) return static_cast<int32_t>(j + 1);
    const RealOf<T> root = std::sqrt(pivot);
    a.at(j, j) = ofReal<T>(root);
    kernels.scale(a.rows - j - 1, ofReal<T>(1 / root), &a.at(j, j) + 1);
  }
  return 0;
}

// The same of any view: one whose rows have no gaps is turned into the workspace, and back.
template <typename T>
int32_t factorPanel(const MatrixView<T>& a, const LinearWork& work) {
  if (a.rowStride == 1) return factorColumns(a);
  const MatrixView<T> panel = columnMajor(reinterpret_cast<T*>(work.workspace.data), a.rows, a.columns);
  turnBlocks(a, panel);
  const int32_t status = factorColumns(panel);
  turnBlocks(panel.transposed(), a.transposed());
  return status;
}

// c -= l lᴴ in and below the lower triangle of its first rows, by halves; l has as many rows as c.
template <typename T>
void subtractSquare(const MatrixView<T>& c, const MatrixView<T>& l, const LinearWork& work) {
  constexpr int64_t kWhole = 64;
  const MatrixView<T> top = l.part(0, 0, c.columns, l.columns);
  if (c.columns <= kWhole) return subtractProduct(c, l, top.transposed(), kIsComplex<T>, work);
  const int64_t half = c.columns / 2 / kPanel * kPanel, rest = c.columns - half, below = c.rows - half;
  const MatrixView<T> bottom = l.part(half, 0, below, l.columns);
  subtractSquare(c.part(0, 0, half, half), top.part(0, 0, half, l.columns), work);
  subtractProduct(c.part(half, 0, below, half), bottom, top.part(0, 0, half, l.columns).transposed(),
                  kIsComplex<T>, work);
  subtractSquare(c.part(half, half, below, rest), bottom, work);
}

// The first columns of L, from the diagonal on.
template <typename T>
int32_t factor(const MatrixView<T>& a, const LinearWork& work) {
  if (a.columns <= kPanel) return a.rows <= kPanel ? factorFew(a) : factorPanel(a, work);
  if (work.cancelled()) return 0;
  const int64_t half = std::max(kPanel, a.columns / 2 / kPanel * kPanel), below = a.rows - half;
  const int32_t status = factor(a.part(0, 0, a.rows, half), work);
  if (status != 0) return status;
  const MatrixView<T> last = a.part(half, half, below, a.columns - half);
  subtractSquare(last, a.part(half, 0, below, half), work);
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
  // Of products, or of columns that are turned.
  size_t workBytes() const {
    const auto columnBytes = static_cast<size_t>(n * kElementBytes[static_cast<int>(numbers.dtype)]);
    return n <= kPanel ? 0 : std::max(bytesFor(numbers.dtype, n, n), kPanel * columnBytes);
  }
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
