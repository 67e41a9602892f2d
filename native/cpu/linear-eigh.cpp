// Eigenvalues and eigenvectors of Hermitian matrices: Householder reflectors make them tridiagonal, and are
// applied to the eigenvectors of that.
#include <numeric>

#include "cpu/lapack-rows.h"
#include "cpu/linear-divide.h"
#include "cpu/linear-tridiagonal.h"

namespace weft::cpu {
namespace {

template <typename T>
bool isFinite(const T* x, int64_t n) {
  bool finite = true;
  for (int64_t i = 0; i < n; i++) finite = finite && sumOfParts(x[i]) - sumOfParts(x[i]) == 0;
  return finite;
}

// The whole of a matrix of which one triangle is given, in column-major order.
template <typename T>
void completeFrom(const MatrixView<T>& a, bool isUpper) {
  for (int64_t j = 0; j < a.columns; j++) {
    a.at(j, j) = ofReal<T>(realPart(a.at(j, j)));
    for (int64_t i = 0; i < j; i++) {
      if (isUpper)
        a.at(j, i) = conjugate(a.at(i, j));
      else
        a.at(i, j) = conjugate(a.at(j, i));
    }
  }
}

struct Hermitian {
  explicit Hermitian(const std::vector<int64_t>& given)
      : numbers(given, 5), n(numbers.next()), isUpper(numbers.next() != 0), hasVectors(numbers.next() != 0) {}
  LinearNumbers numbers;
  int64_t n;
  bool isUpper, hasVectors;

  size_t size() const { return static_cast<size_t>(kElementBytes[static_cast<int>(numbers.dtype)]); }
  static size_t padded(size_t bytes) {
    return (bytes + kHostAlignment - 1) / kHostAlignment * kHostAlignment;
  }
  // The matrix, reflectors' factors and panels; what applies reflectors; real diagonals, vectors, and what
  // finds those.
  size_t matrixBytes() const { return padded(static_cast<size_t>(n * n) * size()); }
  size_t columnBytes() const { return padded(static_cast<size_t>(n + tridiagonalElements(n)) * size()); }
  size_t applyBytes() const {
    return hasVectors ? padded(static_cast<size_t>(reflectorElements(n, n)) * size()) : 0;
  }
  size_t realBytes() const {
    return padded(static_cast<size_t>(2 * n + (hasVectors ? n * n + divideElements(n) : 0)) * 8);
  }
  size_t memoryBytes() const { return matrixBytes() + columnBytes() + applyBytes() + realBytes(); }
  LapackProblem problem() const { return {LapackRow::eigh, numbers.dtype, n, n, hasVectors ? n : 0}; }
  size_t workBytes(const LapackChoice& choice) const {
    const size_t squares = hasVectors ? productBytes(DType::float64, n, n, n * n) : 0;
    const size_t products = std::max(squares, productBytes(numbers.dtype, n, 64, 64 * n));
    return std::max(choice.bytes(), memoryBytes() + products);
  }
};

RoutineNeed needOf(const std::vector<int64_t>& numbers, const ThreadPool& pool) {
  const Hermitian h(numbers);
  const auto choice = lapackChoice(h.problem());
  return withLinear(h.numbers.dtype, [&](auto zero) -> RoutineNeed {
    using T = decltype(zero);
    const size_t bytes = h.numbers.bytes(h.n, h.n, sizeof(T));
    std::vector<size_t> results{h.numbers.bytes(h.n, 1, sizeof(RealOf<T>)),
                                h.numbers.bytes(1, 1, sizeof(int32_t))};
    if (h.hasVectors) results.push_back(bytes);
    return {{bytes},
            results,
            matrixNeed(h.n, h.numbers.count, h.workBytes(*choice), pool),
            h.numbers.count,
            choice};
  });
}

// One matrix. Vectors are columns in column-major order; null: none are wanted.
template <typename T>
int32_t solveOne(const Hermitian& h, const T* given, RealOf<T>* values, T* vectors, const LinearWork& work) {
  using R = RealOf<T>;
  const int64_t n = h.n;
  std::byte* const memory = work.workspace.data;
  T* const matrix = reinterpret_cast<T*>(memory);
  T* const taus = reinterpret_cast<T*>(memory + h.matrixBytes());
  T* const apply = reinterpret_cast<T*>(memory + h.matrixBytes() + h.columnBytes());
  R* const d = reinterpret_cast<R*>(memory + h.matrixBytes() + h.columnBytes() + h.applyBytes());
  R *const e = d + n, *const z = e + n;
  const LinearWork rest{
      work.pool, work.cancel, {memory + h.memoryBytes(), work.workspace.byteLength - h.memoryBytes()}};
  std::copy_n(given, n * n, matrix);
  const MatrixView<T> a = columnMajor(matrix, n, n);
  completeFrom(a, h.isUpper);
  if (!isFinite(matrix, n * n)) {
    std::fill_n(values, n, std::numeric_limits<R>::quiet_NaN());
    if (vectors != nullptr) std::fill_n(vectors, n * n, ofReal<T>(std::numeric_limits<R>::quiet_NaN()));
    return 0;
  }
  makeTridiagonal(a, d, e, taus, taus + n, rest);
  const int exponent = scaleToOne(n, d, e);
  const bool converged = vectors == nullptr
                             ? tridiagonalValues(n, d, e)
                             : tridiagonalVectors(n, d, e, columnMajor(z, n, n), z + n * n, rest);
  for (int64_t k = 0; k < n; k++) d[k] = std::ldexp(d[k], exponent);
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return d[i] < d[j]; });
  for (int64_t k = 0; k < n; k++) values[k] = d[order[static_cast<size_t>(k)]];
  if (vectors != nullptr) {
    for (int64_t k = 0; k < n; k++)
      for (int64_t i = 0; i < n; i++)
        vectors[k * n + i] = ofReal<T>(z[order[static_cast<size_t>(k)] * n + i]);
    applyReflectors<T>({a, 1, taus, n - 1}, false, columnMajor(vectors, n, n), apply, rest);
  }
  return converged ? 0 : 1;
}

void run(const RoutineJob& job, Range units, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Hermitian h(job.numbers);
  const LapackChoice& choice = choiceOf(job);
  withLinear(h.numbers.dtype, [&](auto zero) {
    using T = decltype(zero);
    eachMatrix(job, units, h.n, h.workBytes(choice), pool, cancel, [&](int64_t k, const LinearWork& work) {
      const T* const a = matrixAt<T>(job.operands, 0, k, h.n * h.n);
      auto* const values = matrixAt<RealOf<T>>(job.results, 0, k, h.n);
      T* const vectors = h.hasVectors ? matrixAt<T>(job.results, 2, k, h.n * h.n) : nullptr;
      const bool isDone = lapackEigh(choice, h.isUpper, a, values, vectors, work);
      *matrixAt<int32_t>(job.results, 1, k, 1) = isDone ? 0 : solveOne<T>(h, a, values, vectors, work);
    });
  });
}

}  // namespace

const Routine kEigh{needOf, run};

}  // namespace weft::cpu
