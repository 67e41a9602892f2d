// Singular values and vectors: Householder reflectors make a matrix bidiagonal, the implicit QR method of
// Golub and Kahan makes that diagonal (LINPACK's dsvdc), and the reflectors are applied to what it gives.
#include <numeric>

#include "cpu/lapack-rows.h"
#include "cpu/linear-reflectors.h"
#include "cpu/linear-rotations.h"

namespace weft::cpu {
namespace {

constexpr int kMostSteps = 75;
// Columns, and rows, of a task.
constexpr int64_t kTaskColumns = 32;
constexpr int64_t kTaskRows = 512;

size_t padded(size_t bytes) { return (bytes + kHostAlignment - 1) / kHostAlignment * kHostAlignment; }

// A = Q B Pᴴ, B upper bidiagonal and real: d and e. Reflectors of Q stay below the diagonal of a, those of P
// come below that of p. `memory` has a column and a row of a.
template <typename T>
void makeBidiagonal(const MatrixView<T>& a, const MatrixView<T>& p, RealOf<T>* d, RealOf<T>* e, T* tausOfQ,
                    T* tausOfP, T* memory, const LinearWork& work) {
  const int64_t m = a.rows, n = a.columns;
  const LinearKernels<T>& kernels = linearKernels<T>();
  T *const products = memory, *const negatives = memory + m;
  const auto eachColumn = [&](int64_t first, const auto& update) {
    work.pool.parallelFor((n - first + kTaskColumns - 1) / kTaskColumns, [&](int64_t task, int) {
      const int64_t last = std::min(n, first + (task + 1) * kTaskColumns);
      for (int64_t j = first + task * kTaskColumns; j < last; j++) update(j);
    });
  };
  for (int64_t k = 0; k < n; k++) {
    if (work.cancelled()) return;
    T* const x = &a.at(k, k);
    tausOfQ[k] = makeReflector(m - k, x);
    d[k] = realPart(*x);
    *x = ofReal<T>(1);
    const T turn = -conjugate(tausOfQ[k]);
    eachColumn(k + 1, [&](int64_t j) {
      T sum;
      kernels.dots(m - k, 1, x, 0, &a.at(k, j), &sum);
      const T factor = turn * sum;
      kernels.addColumns(m - k, 1, &factor, x, 0, &a.at(k, j));
    });
    *x = ofReal<T>(d[k]);
    e[k] = 0;
    if (k == n - 1) break;
    T* const v = &p.at(k + 1, k);
    const int64_t rest = n - k - 1, rows = m - k - 1;
    for (int64_t j = 0; j < rest; j++) v[j] = conjugate(a.at(k, k + 1 + j));
    const T tau = makeReflector(rest, v);
    tausOfP[k] = tau;
    e[k] = realPart(*v);
    *v = ofReal<T>(1);
    for (int64_t j = 0; j < rest; j++) negatives[j] = -(tau * conjugate(v[j]));
    work.pool.parallelFor((rows + kTaskRows - 1) / kTaskRows, [&](int64_t task, int) {
      const int64_t first = task * kTaskRows, count = std::min(kTaskRows, rows - first);
      std::fill_n(products + first, count, T{});
      kernels.addColumns(count, rest, v, &a.at(k + 1 + first, k + 1), a.columnStride, products + first);
    });
    eachColumn(k + 1, [&](int64_t j) {
      kernels.addColumns(rows, 1, negatives + (j - k - 1), products, 0, &a.at(k + 1, j));
    });
    *v = ofReal<T>(e[k]);
  }
}

// The bidiagonal matrix (d, e) to its singular values, not in order; false where one does not converge.
template <typename R>
class Bidiagonal {
 public:
  Bidiagonal(int64_t n, R* d, R* e, Rotations<R>& left, Rotations<R>& right)
      : d_(d), e_(e), left_(left), right_(right), last_(n) {}

  bool solve() {
    int steps = 0;
    while (last_ > 0) {
      if (steps > kMostSteps) return false;
      const int64_t before = last_;
      step();
      steps = last_ == before ? steps + 1 : 0;
    }
    left_.flush();
    right_.flush();
    return true;
  }

 private:
  static constexpr R kEpsilon = std::numeric_limits<R>::epsilon();
  static constexpr R kTiny = std::numeric_limits<R>::min();

  void step() {
    const int64_t p = last_;
    int64_t k = p - 2;
    for (; k >= 0; k--) {
      if (std::abs(e_[k]) > kTiny + kEpsilon * (std::abs(d_[k]) + std::abs(d_[k + 1]))) continue;
      e_[k] = 0;
      break;
    }
    if (k == p - 2) return settle(p - 1);
    int64_t zero = p - 1;
    for (; zero > k; zero--) {
      const R beside =
          (zero != p - 1 ? std::abs(e_[zero]) : 0) + (zero != k + 1 ? std::abs(e_[zero - 1]) : 0);
      if (std::abs(d_[zero]) > kTiny + kEpsilon * beside) continue;
      d_[zero] = 0;
      break;
    }
    if (zero == k) return chase(k + 1, p);
    if (zero == p - 1) return deflate(k + 1, p);
    split(zero + 1, p);
  }

  // The last value is 0: takes its superdiagonal element away from the right.
  void deflate(int64_t k, int64_t p) {
    R f = e_[p - 2];
    e_[p - 2] = 0;
    for (int64_t j = p - 2; j >= k; j--) {
      const R t = std::hypot(d_[j], f), c = d_[j] / t, s = f / t;
      d_[j] = t;
      if (j != k) {
        f = -s * e_[j - 1];
        e_[j - 1] = c * e_[j - 1];
      }
      right_.turn(j, p - 1, c, s);
    }
  }

  // Value k - 1 is 0: takes its superdiagonal element away from the left.
  void split(int64_t k, int64_t p) {
    R f = e_[k - 1];
    e_[k - 1] = 0;
    for (int64_t j = k; j < p; j++) {
      const R t = std::hypot(d_[j], f), c = d_[j] / t, s = f / t;
      d_[j] = t;
      f = -s * e_[j];
      e_[j] = c * e_[j];
      left_.turn(j, k - 1, c, s);
    }
  }

  // An implicit QR step with the shift of the last two values.
  void chase(int64_t k, int64_t p) {
    const R scale = std::max(
        {std::abs(d_[p - 1]), std::abs(d_[p - 2]), std::abs(e_[p - 2]), std::abs(d_[k]), std::abs(e_[k])});
    const R last = d_[p - 1] / scale, before = d_[p - 2] / scale, beside = e_[p - 2] / scale,
            first = d_[k] / scale, next = e_[k] / scale;
    const R b = ((before + last) * (before - last) + beside * beside) / 2,
            c = (last * beside) * (last * beside);
    R shift = 0;
    if (b != 0 || c != 0) {
      shift = std::sqrt(b * b + c);
      if (b < 0) shift = -shift;
      shift = c / (b + shift);
    }
    R f = (first + last) * (first - last) + shift, g = first * next;
    right_.begin(k, false);
    left_.begin(k, false);
    for (int64_t j = k; j < p - 1; j++) {
      R t = std::hypot(f, g), cosine = t == 0 ? 1 : f / t, sine = t == 0 ? 0 : g / t;
      if (j != k) e_[j - 1] = t;
      f = cosine * d_[j] + sine * e_[j];
      e_[j] = cosine * e_[j] - sine * d_[j];
      g = sine * d_[j + 1];
      d_[j + 1] = cosine * d_[j + 1];
      right_.add(cosine, sine);
      t = std::hypot(f, g);
      cosine = t == 0 ? 1 : f / t;
      sine = t == 0 ? 0 : g / t;
      d_[j] = t;
      f = cosine * e_[j] + sine * d_[j + 1];
      d_[j + 1] = cosine * d_[j + 1] - sine * e_[j];
      g = sine * e_[j + 1];
      e_[j + 1] = cosine * e_[j + 1];
      left_.add(cosine, sine);
    }
    e_[p - 2] = f;
    right_.end();
    left_.end();
  }

  void settle(int64_t k) {
    if (std::signbit(d_[k])) {
      d_[k] = -d_[k];
      right_.negate(k);
    }
    last_--;
  }

  R *d_, *e_;
  Rotations<R>&left_, &right_;
  int64_t last_;
};

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
  // The matrix, reflectors of P, their factors, a column and a row, vectors of V, what applies reflectors.
  size_t numberBytes() const {
    return bytes(m * n) + bytes(n * n) + bytes(2 * n) + bytes(m + n) +
           (hasVectors() ? bytes(reflectorElements(m, m)) : 0);
  }
  size_t realBytes() const {
    return padded(static_cast<size_t>(2 * n + (hasVectors() ? 2 * n * n : 0) + 1) * 8);
  }
  size_t memoryBytes() const { return numberBytes() + realBytes(); }
  LapackProblem problem() const { return {LapackRow::svd, numbers.dtype, m, n, wanted}; }
  size_t workBytes(const LapackChoice& choice) const {
    const size_t products = hasVectors() ? productBytes(numbers.dtype, m, kReflectors, kReflectors * m) : 0;
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

// Where the results of one matrix go; no vectors: null.
template <typename T>
struct Vectors {
  RealOf<T>* values;
  T* u;
  T* v;
};

template <typename T>
int32_t failed(const Svd& s, const Vectors<T>& to) {
  const RealOf<T> nan = std::numeric_limits<RealOf<T>>::quiet_NaN();
  std::fill_n(to.values, s.n, nan);
  if (s.hasVectors()) {
    std::fill_n(to.u, s.m * s.n, ofReal<T>(nan));
    std::fill_n(to.v, s.n * s.n, ofReal<T>(nan));
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
  T *const taus = take(2 * n), *const columns = take(m + n);
  T* const apply = s.hasVectors() ? take(reflectorElements(m, m)) : nullptr;
  R *const d = reinterpret_cast<R*>(next), *const e = d + n, *const ub = e + n, *const vb = ub + n * n;
  const LinearWork rest{work.pool,
                        work.cancel,
                        {work.workspace.data + s.memoryBytes(), work.workspace.byteLength - s.memoryBytes()}};
  std::copy_n(given, m * n, a.data);
  for (int64_t i = 0; i < m * n; i++)
    if (!(sumOfParts(a.data[i]) - sumOfParts(a.data[i]) == 0)) return failed(s, to);
  makeBidiagonal(a, p, d, e, taus, taus + n, columns, work);
  if (s.hasVectors()) {
    std::fill_n(ub, 2 * n * n, R{0});
    for (int64_t i = 0; i < n; i++) ub[i * n + i] = vb[i * n + i] = 1;
  }
  Rotations<R> left(s.hasVectors() ? ub : nullptr, n, n, rest),
      right(s.hasVectors() ? vb : nullptr, n, n, rest);
  if (!Bidiagonal<R>(n, d, e, left, right).solve()) return failed(s, to);
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return d[i] > d[j]; });
  for (int64_t k = 0; k < n; k++) to.values[k] = d[order[static_cast<size_t>(k)]];
  if (!s.hasVectors()) return 0;
  std::fill_n(to.u, m * n, T{});
  for (int64_t k = 0; k < n; k++) {
    const int64_t from = order[static_cast<size_t>(k)];
    for (int64_t i = 0; i < n; i++) to.u[k * m + i] = ofReal<T>(ub[from * n + i]);
    for (int64_t i = 0; i < n; i++) to.v[k * n + i] = ofReal<T>(vb[from * n + i]);
  }
  applyReflectors<T>({a, 0, taus, n}, false, columnMajor(to.u, m, n), apply, rest);
  applyReflectors<T>({p, 1, taus + n, std::max<int64_t>(0, n - 1)}, false, columnMajor(to.v, n, n), apply,
                     rest);
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
      const bool isDone = lapackSvd(choice, a, to.values, to.u, to.v, work);
      *matrixAt<int32_t>(job.results, 1, k, 1) = isDone ? 0 : solveOne<T>(s, a, to, work);
    });
  });
}

}  // namespace

const Routine kSvd{needOf, run};

}  // namespace weft::cpu
