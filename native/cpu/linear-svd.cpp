// Singular values and vectors: Householder reflectors make a matrix bidiagonal, and are applied to the
// vectors of that.
#include <numeric>

#include "cpu/lapack-rows.h"
#include "cpu/linear-bidiagonal.h"
#include "cpu/linear-divide.h"
#include "cpu/linear-reflectors.h"

namespace weft::cpu {
namespace {

size_t padded(size_t bytes) { return (bytes + kHostAlignment - 1) / kHostAlignment * kHostAlignment; }

// Columns n, rows m >= n, and whether vectors are wanted, n of each.
struct Svd {
  explicit Svd(const std::vector<int64_t>& given)
      : numbers(given, 5), n(numbers.next()), m(numbers.next()), wanted(numbers.next()) {
    if (m < n) throw std::invalid_argument("matrices of at least as many rows as columns");
  }
  LinearNumbers numbers;
  int64_t n, m, wanted;

  size_t bytes(int64_t elements) const {
    return padded(static_cast<size_t>(elements) *
                  static_cast<size_t>(kElementBytes[static_cast<int>(numbers.dtype)]));
  }
  bool hasVectors() const { return wanted > 0; }
  // The matrix, reflectors of P, their factors, panels, what applies reflectors.
  size_t numberBytes() const {
    return bytes(m * n) + bytes(n * n) + bytes(2 * n) + bytes(bidiagonalFormElements(m, n)) +
           (hasVectors() ? bytes(reflectorElements(m, m)) : 0);
  }
  size_t realBytes() const {
    return padded(static_cast<size_t>(2 * n + (hasVectors() ? 2 * n * n + bidiagonalElements(n) : 0)) * 8);
  }
  size_t memoryBytes() const { return numberBytes() + realBytes(); }
  LapackProblem problem() const { return {LapackRow::svd, numbers.dtype, m, n, wanted}; }
  size_t workBytes(const LapackChoice& choice) const {
    constexpr int64_t kNarrow = 2 * kBidiagonalPanel;
    size_t products = productBytes(numbers.dtype, m, kNarrow, kNarrow * n);
    if (hasVectors())
      products = std::max({products, productBytes(numbers.dtype, m, kReflectors, kReflectors * m),
                           productBytes(DType::float64, n, n, n * n)});
    return std::max(choice.bytes(), memoryBytes() + products);
  }
};

RoutineNeed needOf(const std::vector<int64_t>& numbers, const ThreadPool& pool) {
  const Svd s(numbers);
  const auto choice = lapackChoice(s.problem());
  return withLinear(s.numbers.dtype, [&](auto zero) -> RoutineNeed {
    using T = decltype(zero);
    std::vector<size_t> results{s.numbers.bytes(s.n, 1, sizeof(RealOf<T>)),
                                s.numbers.bytes(1, 1, sizeof(int32_t))};
    if (s.hasVectors()) {
      results.push_back(s.numbers.bytes(s.m, s.n, sizeof(T)));
      results.push_back(s.numbers.bytes(s.n, s.n, sizeof(T)));
    }
    return {{s.numbers.bytes(s.m, s.n, sizeof(T))},
            results,
            matrixNeed(s.m, s.numbers.count, s.workBytes(*choice), pool),
            s.numbers.count,
            choice};
  });
}

// Where the results of one matrix go, U and Vᴴ in column-major order; no vectors: null.
template <typename T>
struct Vectors {
  RealOf<T>* values;
  T* u;
  T* vh;
};

// A square matrix becomes its adjoint, by blocks that fit the cache.
template <typename T>
void adjoinInPlace(T* a, int64_t n) {
  constexpr int64_t kBlock = 32;
  for (int64_t left = 0; left < n; left += kBlock)
    for (int64_t top = 0; top <= left; top += kBlock)
      for (int64_t j = left; j < std::min(n, left + kBlock); j++)
        for (int64_t i = top; i < std::min(j + 1, top + kBlock); i++) {
          const T above = a[j * n + i];
          a[j * n + i] = conjugate(a[i * n + j]);
          a[i * n + j] = conjugate(above);
        }
}

template <typename T>
int32_t failed(const Svd& s, const Vectors<T>& to) {
  const RealOf<T> nan = std::numeric_limits<RealOf<T>>::quiet_NaN();
  std::fill_n(to.values, s.n, nan);
  if (s.hasVectors()) {
    std::fill_n(to.u, s.m * s.n, ofReal<T>(nan));
    std::fill_n(to.vh, s.n * s.n, ofReal<T>(nan));
  }
  return 1;
}

template <typename T>
int32_t solveOne(const Svd& s, const T* given, const Vectors<T>& to, const LinearWork& work) {
  using R = RealOf<T>;
  const int64_t m = s.m, n = s.n;
  std::byte* next = work.workspace.data;
  const auto take = [&](int64_t elements) {
    T* const at = reinterpret_cast<T*>(next);
    next += s.bytes(elements);
    return at;
  };
  const MatrixView<T> a = columnMajor(take(m * n), m, n), p = columnMajor(take(n * n), n, n);
  T *const taus = take(2 * n), *const panels = take(bidiagonalFormElements(m, n));
  T* const apply = s.hasVectors() ? take(reflectorElements(m, m)) : nullptr;
  R *const d = reinterpret_cast<R*>(next), *const e = d + n, *const ub = e + n, *const vb = ub + n * n;
  const LinearWork rest{work.pool,
                        work.cancel,
                        {work.workspace.data + s.memoryBytes(), work.workspace.byteLength - s.memoryBytes()}};
  std::copy_n(given, m * n, a.data);
  for (int64_t i = 0; i < m * n; i++)
    if (!(sumOfParts(a.data[i]) - sumOfParts(a.data[i]) == 0)) return failed(s, to);
  makeBidiagonal<T>(a, p, {d, e, taus, taus + n}, panels, rest);
  const int exponent = scaleToOne(n, d, e);
  const bool converged = s.hasVectors() ? bidiagonalVectors(n, d, e, columnMajor(ub, n, n),
                                                            columnMajor(vb, n, n), vb + n * n, rest)
                                        : bidiagonalValues(n, d, e, rest);
  if (!converged) return failed(s, to);
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return d[i] > d[j]; });
  for (int64_t k = 0; k < n; k++) to.values[k] = std::ldexp(d[order[static_cast<size_t>(k)]], exponent);
  if (!s.hasVectors()) return 0;
  std::fill_n(to.u, m * n, T{});
  for (int64_t k = 0; k < n; k++) {
    const int64_t from = order[static_cast<size_t>(k)];
    for (int64_t i = 0; i < n; i++) to.u[k * m + i] = ofReal<T>(ub[from * n + i]);
    for (int64_t i = 0; i < n; i++) to.vh[k * n + i] = ofReal<T>(vb[from * n + i]);
  }
  applyReflectors<T>({a, 0, taus, n}, false, columnMajor(to.u, m, n), apply, rest);
  applyReflectors<T>({p, 1, taus + n, std::max<int64_t>(0, n - 1)}, false, columnMajor(to.vh, n, n), apply,
                     rest);
  adjoinInPlace(to.vh, n);
  return 0;
}

void run(const RoutineJob& job, Range units, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Svd s(job.numbers);
  const LapackChoice& choice = choiceOf(job);
  withLinear(s.numbers.dtype, [&](auto zero) {
    using T = decltype(zero);
    eachMatrix(job, units, s.m, s.workBytes(choice), pool, cancel, [&](int64_t k, const LinearWork& work) {
      const Vectors<T> to{matrixAt<RealOf<T>>(job.results, 0, k, s.n),
                          s.hasVectors() ? matrixAt<T>(job.results, 2, k, s.m * s.n) : nullptr,
                          s.hasVectors() ? matrixAt<T>(job.results, 3, k, s.n * s.n) : nullptr};
      const T* const a = matrixAt<T>(job.operands, 0, k, s.m * s.n);
      const bool isDone = lapackSvd(choice, a, to.values, to.u, to.vh, work);
      const int32_t status = isDone ? 0 : solveOne<T>(s, a, to, work);
      *matrixAt<int32_t>(job.results, 1, k, 1) = std::max(status, statusOfValues(to.values, s.n));
    });
  });
}

}  // namespace

const Routine kSvd{needOf, run};

}  // namespace weft::cpu
