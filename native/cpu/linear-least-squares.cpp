// Least squares by singular values, as LAPACK's gelsd: of all x with the least |A x - b| that of the least
// norm. A long matrix is first the R of its QR factors, a wide one is solved by its adjoint.
//
//     A = Q B Pᴴ,  B = U S Vᴴ bidiagonal     x = P B⁺ Qᴴ b
//
// Singular values alone say the rank. Where it is full, B⁺ is B⁻¹, a substitution: no vectors are computed.
#include <cstring>
#include <numeric>

#include "cpu/lapack-rows.h"
#include "cpu/linear-bidiagonal.h"
#include "cpu/linear-divide.h"
#include "cpu/linear-reflectors.h"

namespace weft::cpu {
namespace {

size_t padded(size_t bytes) { return (bytes + kHostAlignment - 1) / kHostAlignment * kHostAlignment; }

// Columns and rows of A, right sides, and which singular values count as 0: those up to so much of the
// largest.
struct Problem {
  explicit Problem(const std::vector<int64_t>& given)
      : numbers(given, 7), columns(numbers.next()), rows(numbers.next()), sides(numbers.next()) {
    const auto low = static_cast<uint64_t>(numbers.next()), high = static_cast<uint64_t>(numbers.next());
    const uint64_t bits = high << 32 | low;
    std::memcpy(&rcond, &bits, sizeof rcond);
  }
  LinearNumbers numbers;
  int64_t columns, rows, sides;
  double rcond = 0;

  int64_t least() const { return std::min(columns, rows); }
  int64_t most() const { return std::max(columns, rows); }
  int64_t size() const { return std::max(most(), sides); }
  bool isTall() const { return rows >= columns; }
  // Whether QR factors come first: the reflectors of Q take half as long, and what is left is square.
  bool isLong() const { return 5 * most() >= 6 * least(); }
  int64_t formRows() const { return isLong() ? least() : most(); }

  size_t bytes(int64_t elements) const {
    return padded(static_cast<size_t>(elements) *
                  static_cast<size_t>(kElementBytes[static_cast<int>(numbers.dtype)]));
  }
  // Right sides, which are the solutions in the end; the matrix, or its adjoint; R; reflectors of P; factors
  // of reflectors; panels; what applies reflectors; a product with vectors.
  size_t numberBytes() const {
    return bytes(most() * sides) + bytes(most() * least()) + (isLong() ? bytes(least() * least()) : 0) +
           bytes(least() * least()) + bytes(3 * least()) +
           bytes(bidiagonalFormElements(formRows(), least())) +
           bytes(reflectorElements(most(), std::max(least(), sides))) + bytes(least());
  }
  // The bidiagonal matrix twice, and its vectors.
  size_t realBytes() const {
    return padded(static_cast<size_t>(4 * least() + 2 * least() * least() + bidiagonalElements(least())) * 8);
  }
  size_t memoryBytes() const { return numberBytes() + realBytes(); }
  LapackProblem problem() const { return {LapackRow::leastSquares, numbers.dtype, rows, columns, sides}; }
  size_t workBytes(const LapackChoice& choice) const {
    constexpr int64_t kNarrow = 2 * kBidiagonalPanel;
    const int64_t wide = std::max(most(), sides);
    const size_t products = std::max({productBytes(numbers.dtype, wide, kReflectors, kReflectors * wide),
                                      productBytes(numbers.dtype, most(), kNarrow, kNarrow * least()),
                                      productBytes(DType::float64, least(), least(), least() * least())});
    return std::max(choice.bytes(), memoryBytes() + products);
  }
};

RoutineNeed needOf(const std::vector<int64_t>& numbers, const ThreadPool& pool) {
  const Problem p(numbers);
  const auto choice = lapackChoice(p.problem());
  return withLinear(p.numbers.dtype, [&](auto zero) -> RoutineNeed {
    using T = decltype(zero);
    return {{p.numbers.bytes(p.rows, p.columns, sizeof(T)), p.numbers.bytes(p.rows, p.sides, sizeof(T))},
            {p.numbers.bytes(p.least(), 1, sizeof(RealOf<T>)), p.numbers.bytes(1, 1, sizeof(int32_t)),
             p.numbers.bytes(1, 1, sizeof(int64_t)), p.numbers.bytes(p.columns, p.sides, sizeof(T))},
            matrixNeed(p.size(), p.numbers.count, p.workBytes(*choice), pool),
            p.numbers.count,
            choice};
  });
}

// Rows of y by a real bidiagonal matrix or its transpose: y = B⁻¹ y, y = B⁻ᵀ y.
template <typename T>
void substitute(int64_t n, const RealOf<T>* d, const RealOf<T>* e, bool isTransposed,
                const MatrixView<T>& y) {
  for (int64_t j = 0; j < y.columns; j++) {
    T* const x = &y.at(0, j);
    if (isTransposed) {
      for (int64_t i = 0; i < n; i++) x[i] = (i == 0 ? x[i] : x[i] - e[i - 1] * x[i - 1]) / d[i];
    } else {
      for (int64_t i = n - 1; i >= 0; i--) x[i] = (i == n - 1 ? x[i] : x[i] - e[i] * x[i + 1]) / d[i];
    }
  }
}

// y = W S⁻¹ Zᵀ y by the largest `rank` of the values S, column `order[k]` of W and Z each; `product` has as
// many elements as a column of y.
template <typename T>
void multiplyInverse(const std::vector<int64_t>& order, int64_t rank, const RealOf<T>* values,
                     const MatrixView<RealOf<T>>& w, const MatrixView<RealOf<T>>& z, const MatrixView<T>& y,
                     T* product) {
  const int64_t n = y.rows;
  for (int64_t j = 0; j < y.columns; j++) {
    T* const x = &y.at(0, j);
    std::fill_n(product, n, T{});
    for (int64_t k = 0; k < rank; k++) {
      const int64_t at = order[static_cast<size_t>(k)];
      T sum{};
      for (int64_t i = 0; i < n; i++) sum = sum + z.at(i, at) * x[i];
      const T factor = sum / values[k];
      for (int64_t i = 0; i < n; i++) product[i] = product[i] + w.at(i, at) * factor;
    }
    std::copy_n(product, n, x);
  }
}

template <typename R>
std::vector<int64_t> descending(int64_t n, const R* d) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return d[i] > d[j]; });
  return order;
}

// Where the results of one matrix go.
template <typename T>
struct Results {
  RealOf<T>* values;
  int64_t* rank;
  T* x;
};

template <typename T>
class LeastSquares {
 public:
  using R = RealOf<T>;
  LeastSquares(const Problem& problem, const LinearWork& work)
      : p_(problem), next_(work.workspace.data), work_(work) {
    const int64_t most = p_.most(), n = p_.least();
    y_ = columnMajor(take(most * p_.sides), most, p_.sides);
    whole_ = columnMajor(take(most * n), most, n);
    form_ = p_.isLong() ? columnMajor(take(n * n), n, n) : whole_;
    ofP_ = columnMajor(take(n * n), n, n);
    taus_ = take(3 * n);
    panels_ = take(bidiagonalFormElements(p_.formRows(), n));
    apply_ = take(reflectorElements(most, std::max(n, p_.sides)));
    product_ = take(n);
    d_ = reinterpret_cast<R*>(next_);
    vectors_ = d_ + 4 * n;
    rest_ = {work.workspace.data + p_.memoryBytes(), work.workspace.byteLength - p_.memoryBytes()};
  }

  int32_t solve(const T* a, const T* b, const Results<T>& to) {
    const int64_t n = p_.least(), elements = p_.rows * p_.columns;
    for (int64_t i = 0; i < elements; i++)
      if (!(sumOfParts(a[i]) - sumOfParts(a[i]) == 0)) return failed(to);
    const LinearWork own{work_.pool, work_.cancel, rest_};
    readMatrix(a);
    for (int64_t j = 0; j < p_.sides; j++) {
      std::copy_n(b + j * p_.rows, p_.rows, &y_.at(0, j));
      std::fill_n(&y_.at(0, j) + p_.rows, p_.most() - p_.rows, T{});
    }
    T *const tausOfQ = taus_, *const tausOfP = taus_ + n, *const tausOfQr = taus_ + 2 * n;
    const MatrixView<T> top = y_.part(0, 0, n, p_.sides), formRows = y_.part(0, 0, p_.formRows(), p_.sides);
    const auto byQr = [&](bool isAdjoint) {
      if (p_.isLong()) applyReflectors<T>({whole_, 0, tausOfQr, n}, isAdjoint, y_, apply_, own);
    };
    const auto byQ = [&](bool isAdjoint) {
      applyReflectors<T>({form_, 0, tausOfQ, n}, isAdjoint, formRows, apply_, own);
    };
    const auto byP = [&](bool isAdjoint) {
      applyReflectors<T>({ofP_, 1, tausOfP, n - 1}, isAdjoint, top, apply_, own);
    };
    if (p_.isLong()) {
      factorQr(whole_, tausOfQr, apply_, own);
      for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++) form_.at(i, j) = i <= j ? whole_.at(i, j) : T{};
    }
    makeBidiagonal<T>(form_, ofP_, {d_, d_ + n, tausOfQ, tausOfP}, panels_, own);
    if (p_.isTall()) {
      byQr(true);
      byQ(true);
    } else {
      byP(true);
    }
    if (!solveBidiagonal(to, top, own)) return failed(to);
    if (p_.isTall()) {
      byP(false);
    } else {
      for (int64_t j = 0; j < p_.sides; j++) std::fill_n(&y_.at(0, j) + n, p_.most() - n, T{});
      byQ(false);
      byQr(false);
    }
    for (int64_t j = 0; j < p_.sides; j++) std::copy_n(&y_.at(0, j), p_.columns, to.x + j * p_.columns);
    return 0;
  }

 private:
  T* take(int64_t elements) {
    T* const at = reinterpret_cast<T*>(next_);
    next_ += p_.bytes(elements);
    return at;
  }

  // The matrix, or its adjoint where it is wide.
  void readMatrix(const T* a) {
    if (p_.isTall()) {
      std::copy_n(a, p_.rows * p_.columns, whole_.data);
      return;
    }
    for (int64_t i = 0; i < p_.rows; i++)
      for (int64_t j = 0; j < p_.columns; j++) whole_.at(j, i) = conjugate(a[j * p_.rows + i]);
  }

  // y = B⁺ y, or by its transpose; the singular values and their number. False where one does not converge.
  bool solveBidiagonal(const Results<T>& to, const MatrixView<T>& y, const LinearWork& own) {
    const int64_t n = p_.least();
    R *const e = d_ + n, *const values = e + n, *const beside = values + n;
    const int exponent = scaleToOne(n, d_, e);
    std::copy_n(d_, 2 * n, values);
    if (!bidiagonalValues(n, values, beside, own)) return false;
    std::sort(values, values + n, std::greater<R>());
    const R limit = static_cast<R>(p_.rcond) * values[0];
    const int64_t rank = std::count_if(values, values + n, [&](R value) { return value > limit; });
    for (int64_t k = 0; k < n; k++) to.values[k] = std::ldexp(values[k], exponent);
    *to.rank = rank;
    if (rank == n && values[n - 1] > 0) {
      substitute(n, d_, e, !p_.isTall(), y);
    } else {
      const MatrixView<R> u = columnMajor(vectors_, n, n), v = columnMajor(vectors_ + n * n, n, n);
      if (!bidiagonalVectors(n, d_, e, u, v, vectors_ + 2 * n * n, own)) return false;
      multiplyInverse(descending(n, d_), rank, values, p_.isTall() ? v : u, p_.isTall() ? u : v, y, product_);
    }
    for (int64_t j = 0; j < y.columns; j++)
      for (int64_t i = 0; i < n; i++) y.at(i, j) = scaled(y.at(i, j), -exponent);
    return true;
  }

  static T scaled(T x, int exponent) {
    if constexpr (kIsComplex<T>)
      return {std::ldexp(x.re, exponent), std::ldexp(x.im, exponent)};
    else
      return std::ldexp(x, exponent);
  }

  int32_t failed(const Results<T>& to) const {
    const R nan = std::numeric_limits<R>::quiet_NaN();
    std::fill_n(to.values, p_.least(), nan);
    std::fill_n(to.x, p_.columns * p_.sides, ofReal<T>(nan));
    *to.rank = 0;
    return 1;
  }

  const Problem& p_;
  std::byte* next_;
  const LinearWork& work_;
  Workspace rest_;
  MatrixView<T> y_, whole_, form_, ofP_;
  T *taus_, *panels_, *apply_, *product_;
  R *d_, *vectors_;
};

void run(const RoutineJob& job, Range units, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Problem p(job.numbers);
  const LapackChoice& choice = choiceOf(job);
  withLinear(p.numbers.dtype, [&](auto zero) {
    using T = decltype(zero);
    eachMatrix(job, units, p.size(), p.workBytes(choice), pool, cancel,
               [&](int64_t k, const LinearWork& work) {
                 const T* const a = matrixAt<T>(job.operands, 0, k, p.rows * p.columns);
                 const T* const b = matrixAt<T>(job.operands, 1, k, p.rows * p.sides);
                 const Results<T> to{matrixAt<RealOf<T>>(job.results, 0, k, p.least()),
                                     matrixAt<int64_t>(job.results, 2, k, 1),
                                     matrixAt<T>(job.results, 3, k, p.columns * p.sides)};
                 int32_t& status = *matrixAt<int32_t>(job.results, 1, k, 1);
                 const bool isDone = lapackLeastSquares(choice, a, b, static_cast<RealOf<T>>(p.rcond),
                                                        to.values, *to.rank, to.x, work);
                 status = isDone ? 0 : LeastSquares<T>(p, work).solve(a, b, to);
                 status = std::max(status, statusOfValues(to.values, p.least()));
               });
  });
}

}  // namespace

const Routine kLeastSquares{needOf, run};

}  // namespace weft::cpu
