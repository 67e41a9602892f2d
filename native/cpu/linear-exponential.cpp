// Exponentials of matrices by scaling and squaring: Padé approximants of degree 3, 5, 7, 9 or 13, as the
// norms of powers allow (Al-Mohy and Higham, "A new scaling and squaring algorithm for the matrix
// exponential", 2009, algorithm 5.1, with bounds of the norms of higher powers instead of estimates).
//
//     exp(a) = r(a / 2ˢ)^(2ˢ), r = (v - u)⁻¹ (v + u), u the odd powers and v the even ones
#include "cpu/linear-exponential.h"

#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "cpu/linear-lu.h"
#include "cpu/linear-turns.h"

namespace weft::cpu {
namespace {

// Of an approximant: the norm up to which its error is below the precision of double, the modulus of the
// first coefficient of that error, and the numerator's coefficients, from the constant on.
struct Approximant {
  int degree;
  double theta, errorCoefficient;
  std::array<double, 14> coefficients;
};
constexpr std::array<Approximant, 5> kApproximants = {{
    {3, 1.495585217958292e-2, 1 / 100800.0, {120, 60, 12, 1}},
    {5, 2.53939833006323e-1, 1 / 10059033600.0, {30240, 15120, 3360, 420, 30, 1}},
    {7,
     9.504178996162932e-1,
     1 / 4487938430976000.0,
     {17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1}},
    {9,
     2.097847961257068,
     1 / 5914384781877411840000.0,
     {17643225600, 8821612800, 2075673600, 302702400, 30270240, 2162160, 110880, 3960, 90, 1}},
    {13,
     4.25,
     1 / 113250775606021113483283660800000000.0,
     {64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000,
      10559470521600, 670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1}},
}};
constexpr const Approximant& kLast = kApproximants.back();
// The matrix, its powers a², a⁴ and a⁶, and one more: a⁸, or a factor that the last approximant has instead.
constexpr int kMatrices = 5;

struct Choices : PreparedRoutine {
  std::shared_ptr<const LapackChoice> factors, triangle;
  // Of the workspace of a matrix.
  size_t byteLength = 0;
  std::string text() const override { return factors->text(); }
};

struct Exponentials {
  explicit Exponentials(const std::vector<int64_t>& given) : numbers(given, 3), n(numbers.next()) {}
  LinearNumbers numbers;
  int64_t n;
  size_t padded(size_t bytes) const { return (bytes + kHostAlignment - 1) / kHostAlignment * kHostAlignment; }
  size_t matrixBytes(size_t size) const { return padded(static_cast<size_t>(n * n) * size); }
  // Pivots, and two lines of norms.
  size_t lineBytes() const { return padded(static_cast<size_t>(n) * sizeof(double)); }
  size_t sharedBytes(const ThreadPool& pool) const {
    const Matrix none{nullptr, 0, n, 1};
    const Matmul job{numbers.dtype, n, n, n, 1, none, none, none};
    return std::max(padded(workspaceOf(job, pool).most), luBytes(numbers.dtype, n, n));
  }
};

RoutineNeed needOf(const std::vector<int64_t>& numbers, const ThreadPool& pool) {
  const Exponentials e(numbers);
  auto choices = std::make_shared<Choices>();
  choices->factors = lapackChoice({LapackRow::lu, e.numbers.dtype, e.n, e.n});
  // Weft's own solution of 100 rows takes 0.04 ms less than two calls of a library, whose number of threads
  // is set for each.
  choices->triangle = e.n <= kOneThreadSize
                          ? std::make_shared<LapackChoice>()
                          : lapackChoice({LapackRow::triangle, e.numbers.dtype, e.n, e.n, e.n});
  return withLinear(e.numbers.dtype, [&](auto zero) -> RoutineNeed {
    const size_t bytes = e.numbers.bytes(e.n, e.n, sizeof(zero));
    choices->byteLength = kMatrices * e.matrixBytes(sizeof(zero)) + 3 * e.lineBytes() + e.sharedBytes(pool);
    return {{bytes},
            {bytes},
            matrixNeed(e.n, e.numbers.count, choices->byteLength, pool),
            e.numbers.count,
            choices};
  });
}

// Halvings that bring a norm, or the root of one, to at most `most`.
double halvingsTo(double norm, double most) { return norm > most ? std::ceil(std::log2(norm / most)) : 0; }

template <typename T>
class Exponential {
 public:
  using Real = RealOf<T>;

  Exponential(const Exponentials& e, const Choices& choices, const LinearWork& work)
      : n_(e.n), size_(e.n * e.n), choices_(choices), work_(work) {
    std::byte* next = work.workspace.data;
    const auto take = [&](size_t bytes) { return std::exchange(next, next + bytes); };
    for (T*& matrix : matrices_) matrix = reinterpret_cast<T*>(take(e.matrixBytes(sizeof(T))));
    pivots_ = reinterpret_cast<int64_t*>(take(e.lineBytes()));
    for (Real*& line : lines_) line = reinterpret_cast<Real*>(take(e.lineBytes()));
    shared_ = {next, work.workspace.byteLength - static_cast<size_t>(next - work.workspace.data)};
  }

  void compute(const T* given, T* x) {
    double norm = normOf(given);
    // A column of finite numbers whose sum is none: the exponential of a part of the matrix is squared more
    // often.
    double more = 0;
    if (!std::isfinite(norm)) {
      more = std::ceil(std::log2(static_cast<double>(n_))) + 1;
      scaled(given, -more, a());
      norm = normOf(a());
    }
    if (!std::isfinite(norm)) {
      constexpr Real kNaN = std::numeric_limits<Real>::quiet_NaN();
      if constexpr (kIsComplex<T>)
        std::fill_n(x, size_, T{kNaN, kNaN});
      else
        std::fill_n(x, size_, kNaN);
      return;
    }
    // Powers of a large matrix overflow: they are taken of one whose norm is at most 2.
    shift_ = norm >= 2 ? std::floor(std::log2(norm)) : 0;
    scaled(more > 0 ? a() : given, -shift_, a());
    const double squarings = choose(norm);
    approximate(squarings, x);
    for (double k = 0; k < squarings + more && !work_.cancelled(); k++) {
      multiply(x, x, a());
      // As zeros, infinities and NaN are: what has the same bits has the same square.
      if (std::memcmp(a(), x, static_cast<size_t>(size_) * sizeof(T)) == 0) break;
      std::copy_n(a(), size_, x);
    }
  }

 private:
  T* a() const { return matrices_[0]; }
  // a², a⁴, a⁶, and the spare one.
  T* power(int half) const { return matrices_[half]; }

  // to = from · 2^exponent, by factors that are numbers themselves.
  void scaled(const T* from, double exponent, T* to) const {
    constexpr double kMost = std::is_same_v<Real, float> ? 120 : 1000;
    if (from != to) std::copy_n(from, size_, to);
    for (double left = exponent; left != 0;) {
      const double part = std::clamp(left, -kMost, kMost);
      const Real factor = static_cast<Real>(std::exp2(part));
      for (int64_t k = 0; k < size_; k++) to[k] = factor * to[k];
      left -= part;
    }
  }

  void multiply(T* left, T* right, T* to) const {
    const auto operand = [&](T* data) { return Matrix{data, 0, n_, 1}; };
    Matmul job{kLinearDType<T>, n_, n_, n_, 1, operand(left), operand(right), operand(to)};
    job.ownKernels = n_ <= kOneThreadSize;
    matmul(job, {{0, n_}, {0, n_}, {0, n_}}, work_.pool, work_.cancel, shared_);
  }

  // The largest sum of moduli of a column.
  double normOf(const T* x) const {
    std::fill_n(lines_[0], n_, Real{});
    for (int64_t i = 0; i < n_; i++)
      for (int64_t j = 0; j < n_; j++) lines_[0][j] += modulus(x[i * n_ + j]);
    Real most = 0;
    for (int64_t j = 0; j < n_; j++) {
      if (std::isnan(lines_[0][j])) return std::numeric_limits<double>::quiet_NaN();
      most = std::max(most, lines_[0][j]);
    }
    return static_cast<double>(most);
  }

  // A bound of the norm of a product, which it is where no element is negative: that of the product of the
  // moduli.
  double normOfProduct(const T* left, const T* right) const {
    normOf(left);
    std::fill_n(lines_[1], n_, Real{});
    for (int64_t i = 0; i < n_; i++)
      for (int64_t j = 0; j < n_; j++) lines_[1][j] += lines_[0][i] * modulus(right[i * n_ + j]);
    return static_cast<double>(*std::max_element(lines_[1], lines_[1] + n_));
  }

  // Norms of powers of the given matrix, which those of a are without 2^shift: roots of them.
  double rootOf(double norm, int power) const { return std::exp2(shift_) * std::pow(norm, 1.0 / power); }

  // The approximant, and by how many squarings; makes the powers that it takes.
  double choose(double norm) {
    const auto fits = [&](int which, double root) {
      approximant_ = &kApproximants[static_cast<size_t>(which)];
      return root <= approximant_->theta && moreFor(norm, 0) == 0;
    };
    multiply(a(), a(), power(1));
    if (fits(0, norm)) return 0;
    multiply(power(1), power(1), power(2));
    const double d4 = rootOf(normOf(power(2)), 4);
    if (fits(1, std::max(d4, rootOf(normOfProduct(power(1), power(2)), 6)))) return 0;
    multiply(power(1), power(2), power(3));
    const double d6 = rootOf(normOf(power(3)), 6), d8 = rootOf(normOfProduct(power(2), power(2)), 8);
    const double third = std::max(d6, d8);
    if (fits(2, third) || fits(3, third)) return 0;
    approximant_ = &kLast;
    const double eta = std::min(third, std::max(d8, rootOf(normOfProduct(power(2), power(3)), 10)));
    const double first = halvingsTo(eta, kLast.theta);
    // Never more than by the norm alone.
    return std::min(first + moreFor(norm, first), halvingsTo(norm, kLast.theta));
  }

  // Squarings beside the first ones, where the error's first term, c |a|^(2 m + 1), is large beside a scaled
  // matrix a: of matrices that are far from normal.
  double moreFor(double norm, double first) {
    const int degree = approximant_->degree;
    const double unit = std::is_same_v<Real, float> ? 0x1p-24 : 0x1p-53;
    const double scaledNorm = norm * std::exp2(-first);
    const double most = approximant_->errorCoefficient / unit * std::pow(scaledNorm, 2 * degree);
    if (most <= 1 || norm == 0) return 0;
    // The norm of |a|^(2 m + 1) is that of products of a row of ones with it, which are kept about 1.
    const double step = std::exp2(shift_ - first);
    // In memory that nothing has yet.
    Real* const moduli = reinterpret_cast<Real*>(power(4));
    if (!std::exchange(hasModuli_, true))
      for (int64_t k = 0; k < size_; k++) moduli[k] = modulus(a()[k]);
    Real *row = lines_[0], *next = lines_[1];
    std::fill_n(row, n_, Real{1});
    double exponent = 0;
    for (int k = 0; k <= 2 * degree; k++) {
      std::fill_n(next, n_, Real{});
      // 27 products: a fifth of the whole for 100 rows by a plain loop.
      linearKernels<Real>().addColumns(n_, n_, row, moduli, n_, next);
      const double largest = static_cast<double>(*std::max_element(next, next + n_));
      if (largest == 0) return 0;
      const double scale = std::floor(std::log2(largest));
      const Real factor = static_cast<Real>(std::exp2(-scale));
      for (int64_t j = 0; j < n_; j++) next[j] *= factor;
      exponent += scale;
      std::swap(row, next);
    }
    const double last = static_cast<double>(*std::max_element(row, row + n_));
    const double logarithm = std::log2(last) + exponent + (2 * degree + 1) * std::log2(step) -
                             std::log2(scaledNorm) + std::log2(approximant_->errorCoefficient / unit);
    return std::max(0.0, std::ceil(logarithm / (2 * degree)));
  }

  template <size_t kCount>
  void sumPowers(int place, T* to, bool adds) const {
    std::array<Real, kCount> factors;
    std::array<const T*, kCount> powers;
    for (size_t p = 0; p < kCount; p++) {
      factors[p] = coefficient(place + 2 * static_cast<int>(p));
      powers[p] = matrices_[p + 1];
    }
    for (int64_t k = 0; k < size_; k++) {
      T value = adds ? to[k] : T{};
      for (size_t p = 0; p < kCount; p++) value = value + factors[p] * powers[p][k];
      to[k] = value;
    }
  }

  // Coefficients [first, first + 2, …] times the identity (unless it is left out) and `count` powers from a²
  // on, the fourth of which is `spare`. In place of one of them, too.
  void sum(int first, bool hasIdentity, int count, T* to, bool adds = false) const {
    const int place = first + (hasIdentity ? 2 : 0);
    if (count == 1) sumPowers<1>(place, to, adds);
    if (count == 2) sumPowers<2>(place, to, adds);
    if (count == 3) sumPowers<3>(place, to, adds);
    if (count == 4) sumPowers<4>(place, to, adds);
    if (!hasIdentity) return;
    for (int64_t i = 0; i < n_; i++) to[i * (n_ + 1)] = to[i * (n_ + 1)] + ofReal<T>(coefficient(first));
  }
  // Those of the last approximant are beyond the largest float once they meet: all are divided by the
  // constant.
  Real coefficient(int place) const {
    const auto& all = approximant_->coefficients;
    return static_cast<Real>(all[static_cast<size_t>(place)] / all[0]);
  }

  // x = r(a / 2^squarings). The powers are scaled first.
  void approximate(double squarings, T* x) {
    const int degree = approximant_->degree;
    const int powers = degree == 3 ? 1 : degree == 5 ? 2 : 3;
    if (shift_ != squarings) {
      scaled(a(), shift_ - squarings, a());
      for (int k = 1; k <= powers; k++) scaled(power(k), 2 * k * (shift_ - squarings), power(k));
    }
    // The sums of the powers from 1 on, odd and even: a times the odd ones is u, and v what the even ones
    // are.
    T *const spare = power(4), *odd = x;
    if (degree == 13) {
      sum(9, false, 3, x);
      multiply(power(3), x, spare);
      sum(1, true, 3, spare, true);
      multiply(a(), spare, x);
      // Nothing reads a any more.
      sum(8, false, 3, a());
      multiply(power(3), a(), spare);
      sum(0, true, 3, spare, true);
    } else {
      if (degree == 9) multiply(power(2), power(2), spare);
      const int count = (degree - 1) / 2;
      sum(1, true, count, x);
      sum(0, true, count, spare);
      odd = power(1);
      multiply(a(), x, odd);
    }
    for (int64_t k = 0; k < size_; k++) {
      const T even = spare[k], by = odd[k];
      x[k] = even + by;
      spare[k] = even - by;
    }
    // In column-major order. The same of the transposes would exchange rows of triangular matrices, whose
    // exponentials would lose digits.
    LinearWork own{work_.pool, work_.cancel, shared_, work_.threads};
    const MatrixView<T> denominator = columnMajor(power(2), n_, n_);
    const Finds found = turnMatrix(spare, denominator, own);
    // Right sides are turned for a library alone: rows side by side are exchanged and solved as they are.
    const bool isTurned = choices_.triangle->lapack != nullptr;
    const MatrixView<T> solution = isTurned ? columnMajor(power(3), n_, n_) : MatrixView<T>{x, n_, n_, n_, 1};
    if (isTurned) turnMatrix(x, solution, own);
    factorLu(*choices_.factors, found == Finds::numbers, denominator, pivots_, own);
    solveLu(*choices_.triangle, denominator, pivots_, 0, solution, own);
    if (isTurned) turnBack(solution, TurnedPart::all, x, own);
  }

  const int64_t n_, size_;
  const Choices& choices_;
  const LinearWork& work_;
  std::array<T*, kMatrices> matrices_;
  int64_t* pivots_;
  std::array<Real*, 2> lines_;
  Workspace shared_;
  const Approximant* approximant_ = &kLast;
  // The matrix a is the given one over 2^shift.
  double shift_ = 0;
  bool hasModuli_ = false;
};

void run(const RoutineJob& job, Range units, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Exponentials e(job.numbers);
  const auto& choices = static_cast<const Choices&>(*job.prepared);
  withLinear(e.numbers.dtype, [&](auto zero) {
    using T = decltype(zero);
    eachMatrix(job, units, e.n, choices.byteLength, pool, cancel, [&](int64_t k, const LinearWork& work) {
      Exponential<T>(e, choices, work)
          .compute(matrixAt<T>(job.operands, 0, k, e.n * e.n), matrixAt<T>(job.results, 0, k, e.n * e.n));
    });
  });
}

}  // namespace

const Routine kExpm{needOf, run};

}  // namespace weft::cpu
