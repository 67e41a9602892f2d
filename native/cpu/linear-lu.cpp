// LU factors with partial pivoting, and what they solve.
#include "cpu/linear-lu.h"

#include <cstring>

#include "cpu/lapack-rows.h"
#include "cpu/linear-turns.h"

namespace weft::cpu {
namespace {

// Columns that are factored one by one.
constexpr int64_t kPanel = 16;

// Exchanges rows of all columns, those of pivots [0, count) counted from `first`.
template <typename T>
void exchangeRows(const MatrixView<T>& a, const int64_t* pivots, int64_t count, int64_t first) {
  for (int64_t j = 0; j < a.columns; j++) {
    T* const column = &a.at(0, j);
    for (int64_t k = 0; k < count; k++) std::swap(column[k], column[pivots[k] - first]);
  }
}

// As LAPACK: the first of the largest; NaN is none.
template <typename T>
int64_t pivotIn(const T* column, int64_t n) {
  int64_t best = 0;
  RealOf<T> most = sumOfParts(column[0]);
  for (int64_t i = 1; i < n; i++) {
    const RealOf<T> size = sumOfParts(column[i]);
    if (size > most) {
      best = i;
      most = size;
    }
  }
  return best;
}

template <typename T>
void factorPanel(const MatrixView<T>& a, int64_t* pivots) {
  if constexpr (kIsComplex<T>) {
    const LinearKernels<T>& kernels = linearKernels<T>();
    for (int64_t k = 0; k < std::min(a.rows, a.columns); k++) {
      const int64_t pivot = k + pivotIn(&a.at(k, k), a.rows - k);
      pivots[k] = pivot;
      if (pivot != k)
        for (int64_t j = 0; j < a.columns; j++) std::swap(a.at(k, j), a.at(pivot, j));
      T* const column = &a.at(0, k);
      // A column of zeros: what is left of it stays.
      if (column[k] == T{}) continue;
      for (int64_t i = k + 1; i < a.rows; i++) column[i] = column[i] / column[k];
      for (int64_t j = k + 1; j < a.columns; j++) {
        const T factor = -a.at(k, j);
        kernels.addColumns(a.rows - k - 1, 1, &factor, column + k + 1, 0, &a.at(k + 1, j));
      }
    }
  } else {
    realKernels<T>().factorColumns(a.rows, a.columns, a.data, a.columnStride, pivots);
  }
}

// Pivots are places in the matrix, counted from 0.
template <typename T>
void factor(const MatrixView<T>& a, int64_t* pivots, const LinearWork& work) {
  const int64_t least = std::min(a.rows, a.columns);
  if (least <= kPanel && a.columns <= 2 * kPanel) return factorPanel(a, pivots);
  if (work.cancelled()) return;
  const int64_t half = std::max(kPanel, least / 2 / kPanel * kPanel);
  const int64_t left = std::min(half, least), right = a.columns - left;
  const MatrixView<T> first = a.part(0, 0, a.rows, left), second = a.part(0, left, a.rows, right);
  factor(first, pivots, work);
  // Pivots that a cancelled part left are no rows.
  if (work.cancelled()) return;
  exchangeRows(second, pivots, left, 0);
  const MatrixView<T> top = second.part(0, 0, left, right);
  solveTriangle(first.part(0, 0, left, left), {false, true, false}, top, work);
  if (left == a.rows) return;
  const MatrixView<T> rest = second.part(left, 0, a.rows - left, right);
  subtractProduct(rest, first.part(left, 0, a.rows - left, left), top, false, work);
  const int64_t below = std::min(rest.rows, rest.columns);
  factor(rest, pivots + left, work);
  if (work.cancelled()) return;
  exchangeRows(first.part(left, 0, a.rows - left, left), pivots + left, below, 0);
  for (int64_t k = left; k < left + below; k++) pivots[k] += left;
}

}  // namespace

size_t luBytes(DType dtype, int64_t wide, int64_t narrow) {
  if (narrow <= kPanel) return 0;
  const int64_t half = (narrow + 1) / 2 + kPanel;
  return productBytes(dtype, wide, half, half * half);
}

template <typename T>
void factorLu(const LapackChoice& choice, bool isFinite, const MatrixView<T>& a, int64_t* pivots,
              const LinearWork& work) {
  if (isFinite && lapackLu(choice, a.data, pivots, work)) return;
  factor(a, pivots, work);
  for (int64_t k = 0; k < std::min(a.rows, a.columns); k++) pivots[k]++;
}

template <typename T>
void solveLu(const LapackChoice& choice, const MatrixView<T>& lu, const int64_t* pivots, int64_t form,
             const MatrixView<T>& b, const LinearWork& work) {
  const int64_t n = lu.rows;
  const auto solve = [&](bool isUpper) {
    if (lapackTriangle(choice, isUpper, form, !isUpper, lu.data, b.data, b.columns, work)) return;
    const bool isTurned = form != 0;
    solveTriangle(isTurned ? lu.transposed() : lu,
                  {isUpper != isTurned, !isUpper, form == 2 && kIsComplex<T>}, b, work);
  };
  const auto exchange = [&](int64_t j, int64_t k) {
    if (pivots[k] < 1 || pivots[k] > n) return;
    std::swap(b.at(k, j), b.at(pivots[k] - 1, j));
  };
  if (form == 0) {
    // Rows without gaps, or columns.
    if (b.columnStride == 1)
      for (int64_t k = 0; k < n; k++)
        for (int64_t j = 0; j < b.columns; j++) exchange(j, k);
    else
      for (int64_t j = 0; j < b.columns; j++)
        for (int64_t k = 0; k < n; k++) exchange(j, k);
    solve(false);
    return solve(true);
  }
  solve(true);
  solve(false);
  for (int64_t j = 0; j < b.columns; j++)
    for (int64_t k = n - 1; k >= 0; k--) exchange(j, k);
}

#define WEFT_INSTANTIATE(T)                                                                                \
  template void factorLu<T>(const LapackChoice&, bool, const MatrixView<T>&, int64_t*, const LinearWork&); \
  template void solveLu<T>(const LapackChoice&, const MatrixView<T>&, const int64_t*, int64_t,             \
                           const MatrixView<T>&, const LinearWork&);
WEFT_LINEAR_TYPES(WEFT_INSTANTIATE)
#undef WEFT_INSTANTIATE

namespace {

struct Factors {
  explicit Factors(const std::vector<int64_t>& given)
      : numbers(given, 4), rows(numbers.next()), columns(numbers.next()) {}
  LinearNumbers numbers;
  int64_t rows, columns;
  int64_t size() const { return std::max(rows, columns); }
  LapackProblem problem() const { return {LapackRow::lu, numbers.dtype, rows, columns}; }
  size_t workBytes(const LapackChoice& choice) const {
    return std::max(choice.bytes(), luBytes(numbers.dtype, size(), std::min(rows, columns)));
  }
};

RoutineNeed luNeed(const std::vector<int64_t>& numbers, const ThreadPool& pool) {
  const Factors f(numbers);
  const auto choice = lapackChoice(f.problem());
  return withLinear(f.numbers.dtype, [&](auto zero) -> RoutineNeed {
    const size_t bytes = f.numbers.bytes(f.rows, f.columns, sizeof(zero));
    const int64_t least = std::min(f.rows, f.columns);
    return {{bytes},
            {bytes, f.numbers.bytes(least, 1, sizeof(int64_t)), f.numbers.bytes(1, 1, sizeof(int32_t))},
            matrixNeed(f.size(), f.numbers.count, f.workBytes(*choice), pool),
            f.numbers.count,
            choice};
  });
}

// Of a matrix with NaN all is NaN, and rows stay where they are.
template <typename T>
void spoil(T* lu, int64_t elements, int64_t* pivots, int64_t least) {
  std::fill_n(lu, elements, ofReal<T>(std::numeric_limits<RealOf<T>>::quiet_NaN()));
  for (int64_t k = 0; k < least; k++) pivots[k] = k + 1;
}

// The first pivot that is 0, counted from 1; 0: none is.
template <typename T>
int32_t zeroPivot(const MatrixView<T>& lu) {
  for (int64_t k = 0; k < std::min(lu.rows, lu.columns); k++)
    if (lu.at(k, k) == T{}) return static_cast<int32_t>(k + 1);
  return 0;
}

void runLu(const RoutineJob& job, Range units, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Factors f(job.numbers);
  const LapackChoice& choice = choiceOf(job);
  const int64_t elements = f.rows * f.columns, least = std::min(f.rows, f.columns);
  withLinear(f.numbers.dtype, [&](auto zero) {
    using T = decltype(zero);
    eachMatrix(job, units, f.size(), f.workBytes(choice), pool, cancel,
               [&](int64_t k, const LinearWork& work) {
                 T* const data = matrixAt<T>(job.results, 0, k, elements);
                 int64_t* const pivots = matrixAt<int64_t>(job.results, 1, k, least);
                 int32_t& status = *matrixAt<int32_t>(job.results, 2, k, 1);
                 const MatrixView<T> lu = columnMajor(data, f.rows, f.columns);
                 const Finds found = turnMatrix(matrixAt<T>(job.operands, 0, k, elements), lu, work);
                 status = 0;
                 if (found == Finds::nan) return spoil(data, elements, pivots, least);
                 factorLu(choice, found == Finds::numbers, lu, pivots, work);
                 status = zeroPivot(lu);
               });
  });
}

// Sides, n, and which of the matrix, its transpose and the conjugate of that.
struct Solving {
  explicit Solving(const std::vector<int64_t>& given)
      : numbers(given, 5), sides(numbers.next()), n(numbers.next()), form(numbers.next()) {
    if (form > 2) throw std::invalid_argument("a form of a matrix");
  }
  LinearNumbers numbers;
  int64_t sides, n, form;
  int64_t size() const { return std::max(n, sides); }
  LapackProblem problem() const { return {LapackRow::triangle, numbers.dtype, n, n, sides}; }
  size_t workBytes() const { return luBytes(numbers.dtype, size(), n); }
};

RoutineNeed solveNeed(const std::vector<int64_t>& numbers, const ThreadPool& pool) {
  const Solving s(numbers);
  return withLinear(s.numbers.dtype, [&](auto zero) -> RoutineNeed {
    const size_t sides = s.numbers.bytes(s.sides, s.n, sizeof(zero));
    return {{sides, s.numbers.bytes(s.n, s.n, sizeof(zero)), s.numbers.bytes(s.n, 1, sizeof(int64_t))},
            {sides},
            matrixNeed(s.size(), s.numbers.count, s.workBytes(), pool),
            s.numbers.count,
            lapackChoice(s.problem())};
  });
}

void runSolve(const RoutineJob& job, Range units, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Solving s(job.numbers);
  withLinear(s.numbers.dtype, [&](auto zero) {
    using T = decltype(zero);
    eachMatrix(job, units, s.size(), s.workBytes(), pool, cancel, [&](int64_t k, const LinearWork& work) {
      T* const x = matrixAt<T>(job.results, 0, k, s.sides * s.n);
      copyElements(matrixAt<T>(job.operands, 0, k, s.sides * s.n), x, s.sides * s.n);
      solveLu(choiceOf(job), columnMajor(matrixAt<T>(job.operands, 1, k, s.n * s.n), s.n, s.n),
              matrixAt<int64_t>(job.operands, 2, k, s.n), s.form, columnMajor(x, s.n, s.sides), work);
    });
  });
}

}  // namespace

const Routine kLuFactors{luNeed, runLu};
const Routine kLuSolve{solveNeed, runSolve};

}  // namespace weft::cpu
