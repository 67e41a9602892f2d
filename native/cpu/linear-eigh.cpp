// Eigenvalues and eigenvectors of Hermitian matrices: Householder reflectors make them tridiagonal, the
// implicit QL method with Wilkinson's shift makes them diagonal (EISPACK's tql2), and the reflectors are
// applied to what it gives.
#include <numeric>

#include "cpu/lapack-rows.h"
#include "cpu/linear-reflectors.h"
#include "cpu/linear-rotations.h"

namespace weft::cpu {
namespace {

// Steps of an eigenvalue before it counts as one that does not converge.
constexpr int kMostSteps = 60;
// Columns of a task.
constexpr int64_t kTaskColumns = 32;

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

// Reduces a whole Hermitian matrix to a real tridiagonal one: d, and e below it; reflectors stay below that.
// `memory` has three columns. A column is updated by the reflector before as it is multiplied by the next.
template <typename T>
void makeTridiagonal(const MatrixView<T>& a, RealOf<T>* d, RealOf<T>* e, T* taus, T* memory,
                     const LinearWork& work) {
  const int64_t n = a.rows;
  const LinearKernels<T>& kernels = linearKernels<T>();
  // Of the step before: a -= v wᴴ + w vᴴ.
  T *const w = memory, *const products = memory + n, *const v = memory + 2 * n;
  bool isBehind = false;
  const auto update = [&](int64_t j, int64_t first) {
    if (!isBehind) return;
    kernels.addTwo(n - first, -conjugate(w[j]), v + first, -conjugate(v[j]), w + first, &a.at(first, j));
  };
  for (int64_t k = 0; k < n; k++) {
    if (work.cancelled()) return;
    update(k, k);
    d[k] = realPart(a.at(k, k));
    if (k == n - 1) return;
    T* const x = &a.at(k + 1, k);
    const int64_t rest = n - k - 1;
    const T tau = makeReflector(rest, x);
    taus[k] = tau;
    e[k] = realPart(*x);
    *x = ofReal<T>(1);
    const int64_t tasks = (rest + kTaskColumns - 1) / kTaskColumns;
    work.pool.parallelFor(tasks, [&](int64_t task, int) {
      const int64_t last = std::min(n, k + 1 + (task + 1) * kTaskColumns);
      for (int64_t j = k + 1 + task * kTaskColumns; j < last; j++) {
        update(j, k + 1);
        kernels.dots(rest, 1, &a.at(k + 1, j), 0, x, products + j);
      }
    });
    // w = tau (A x - tau/2 (xᴴ A x) x), so that Hᴴ A H = A - x wᴴ - w xᴴ.
    T product;
    kernels.dots(rest, 1, products + k + 1, 0, x, &product);
    const T half = ofReal<T>(RealOf<T>{-0.5}) * (tau * conjugate(tau) * conjugate(product));
    for (int64_t i = k + 1; i < n; i++) {
      v[i] = x[i - k - 1];
      w[i] = tau * products[i];
    }
    const T correction = half;
    kernels.addColumns(rest, 1, &correction, v + k + 1, 0, w + k + 1);
    isBehind = true;
    *x = ofReal<T>(e[k]);
  }
}

// Diagonal d and subdiagonal e to eigenvalues d; false where one does not converge.
template <typename R>
bool makeDiagonal(int64_t n, R* d, R* e, Rotations<R>& rotations) {
  if (n == 0) return true;
  e[n - 1] = 0;
  constexpr R kEpsilon = std::numeric_limits<R>::epsilon(), kTiny = std::numeric_limits<R>::min();
  for (int64_t l = 0; l < n; l++) {
    for (int step = 0;; step++) {
      int64_t m = l;
      for (; m < n - 1; m++) {
        const R scale = std::abs(d[m]) + std::abs(d[m + 1]);
        if (std::abs(e[m]) <= kEpsilon * scale || std::abs(e[m]) <= kTiny) break;
      }
      if (m == l) break;
      if (step == kMostSteps) return false;
      R g = (d[l + 1] - d[l]) / (2 * e[l]), r = std::hypot(g, R{1});
      g = d[m] - d[l] + e[l] / (g + (g >= 0 ? std::abs(r) : -std::abs(r)));
      R s = 1, c = 1, p = 0;
      int64_t i = m - 1;
      rotations.begin(l, true);
      int64_t turned = 0;
      for (; i >= l; i--) {
        R f = s * e[i];
        const R b = c * e[i];
        r = std::hypot(f, g);
        e[i + 1] = r;
        if (r == 0) {
          d[i + 1] -= p;
          e[m] = 0;
          break;
        }
        s = f / r;
        c = g / r;
        g = d[i + 1] - p;
        r = (d[i] - g) * s + 2 * c * b;
        p = s * r;
        d[i + 1] = g + p;
        g = c * r - b;
        // Column i becomes c z[i] - s z[i + 1], the next one s z[i] + c z[i + 1].
        rotations.add(c, -s);
        turned++;
      }
      // A sweep that ended early did not come down to l.
      if (i >= l) rotations.raise(i + 1);
      rotations.end();
      if (i >= l && r == 0) continue;
      d[l] -= p;
      e[l] = g;
      e[m] = 0;
    }
  }
  rotations.flush();
  return true;
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
  // The matrix, reflectors' factors and columns; what applies reflectors; real diagonals, vectors, and the
  // order.
  size_t matrixBytes() const { return padded(static_cast<size_t>(n * n) * size()); }
  size_t columnBytes() const { return padded(static_cast<size_t>(4 * n) * size()); }
  size_t applyBytes() const {
    return hasVectors ? padded(static_cast<size_t>(reflectorElements(n, n)) * size()) : 0;
  }
  size_t realBytes() const { return padded(static_cast<size_t>(2 * n + (hasVectors ? n * n : 0)) * 8); }
  size_t memoryBytes() const { return matrixBytes() + columnBytes() + applyBytes() + realBytes(); }
  LapackProblem problem() const { return {LapackRow::eigh, numbers.dtype, n, n, hasVectors ? n : 0}; }
  size_t workBytes(const LapackChoice& choice) const {
    const size_t products = hasVectors ? productBytes(numbers.dtype, n, kReflectors, kReflectors * n) : 0;
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
  makeTridiagonal(a, d, e, taus, taus + n, work);
  if (vectors != nullptr) {
    std::fill_n(z, n * n, R{0});
    for (int64_t i = 0; i < n; i++) z[i * n + i] = 1;
  }
  Rotations<R> rotations(vectors == nullptr ? nullptr : z, n, n, rest);
  const bool converged = makeDiagonal(n, d, e, rotations);
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
