// Eigenvalues and right eigenvectors of general matrices, as LAPACK's geev: balanced, Hessenberg form, Schur
// form, back substitution. Vectors have length 1, and their largest element is real.
#include <numeric>

#include "cpu/lapack-rows.h"
#include "cpu/linear-schur.h"
#include "cpu/linear-turns.h"

namespace weft::cpu {
namespace {

// Elements of vectors stay below it on their way, so that sums do not overflow.
template <typename R>
constexpr int kMostExponent = std::numeric_limits<R>::max_exponent / 4;
// And those of matrices below it, so that vectors do not vanish where both they and pivots are at their
// bounds: a factor of 2^-(970 + 48) is a normal number.
template <typename R>
constexpr int kMostOfMatrix = std::min(std::numeric_limits<R>::max_exponent / 8, 48);

template <typename V, typename T>
V lift(T x) {
  if constexpr (std::is_same_v<V, T>)
    return x;
  else
    return ofReal<V>(x);
}

// A vector x of (T - lambda) x = 0 above the rows [top, bottom), where it is given. V: complex where the
// eigenvalue of a real matrix is.
template <typename T, typename V>
class BackSubstitution {
 public:
  using R = RealOf<T>;
  BackSubstitution(const MatrixView<T>& t, V lambda, V* x, int64_t top, int64_t bottom)
      : t_(t), lambda_(lambda), x_(x), bottom_(bottom) {
    constexpr R kUlp = std::numeric_limits<R>::epsilon(), kTiny = std::numeric_limits<R>::min();
    least_ = std::max(kUlp * modulus(lambda), kTiny / kUlp * static_cast<R>(t.rows));
    std::fill_n(x, top, V{});
    for (int64_t j = top; j < bottom; j++) takeOff(j, top);
    for (int64_t i = top - 1; i >= 0; i--) {
      if (!kIsComplex<T> && i > 0 && t.at(i, i - 1) != T{}) {
        solveTwo(i - 1);
        i--;
      } else {
        x_[i] = quotient(x_[i], pivot(i));
        takeOff(i, i);
      }
    }
  }

 private:
  V shifted(int64_t i) const { return lift<V>(t_.at(i, i)) - lambda_; }
  V atLeast(V value) const { return modulus(value) < least_ ? ofReal<V>(least_) : value; }
  V pivot(int64_t i) const { return atLeast(shifted(i)); }

  // x[0 … rows) -= x[j] times column j.
  void takeOff(int64_t j, int64_t rows) {
    const V factor = x_[j];
    const T* const column = &t_.at(0, j);
    for (int64_t i = 0; i < rows; i++) x_[i] = x_[i] - column[i] * factor;
  }

  // All of x is made smaller where this would be too large. `a` stands for something in x.
  V quotient(V a, V b) {
    const R limit = std::ldexp(R{1}, kMostExponent<R>), size = modulus(a), most = modulus(b) * limit;
    if (size <= most) return a / b;
    const R factor = most / size;
    for (int64_t i = 0; i < bottom_; i++) x_[i] = factor * x_[i];
    return (factor * a) / b;
  }

  void solveTwo(int64_t k) {
    V a = shifted(k), b = lift<V>(t_.at(k, k + 1)), c = lift<V>(t_.at(k + 1, k)), d = shifted(k + 1);
    bool isExchanged = false;
    if (modulus(a) < modulus(c)) {
      std::swap(a, c);
      std::swap(b, d);
      isExchanged = true;
    }
    a = atLeast(a);
    const V ratio = c / a;
    const V second = atLeast(d - ratio * b);
    // Both are read again where x has been made smaller.
    const auto upper = [&] { return x_[isExchanged ? k + 1 : k]; };
    const auto lower = [&] { return x_[isExchanged ? k : k + 1]; };
    const V y = quotient(lower() - ratio * upper(), second);
    const V held = upper();
    x_[k + 1] = y;
    const V rest = held - b * y;
    x_[k] = quotient(rest, a);
    takeOff(k + 1, k);
    takeOff(k, k);
  }

  const MatrixView<T>& t_;
  V lambda_;
  V* x_;
  int64_t bottom_;
  R least_;
};

// Eigenvectors of the triangle as columns; those of a pair are the real and the imaginary parts of one.
template <typename T>
void vectorsOfTriangle(const MatrixView<T>& t, const Complex<RealOf<T>>* values, const MatrixView<T>& x,
                       Complex<RealOf<T>>* memory) {
  const int64_t n = t.rows;
  std::fill_n(x.data, n * n, T{});
  for (int64_t k = 0; k < n; k++) {
    if constexpr (kIsComplex<T>) {
      x.at(k, k) = ofReal<T>(1);
      BackSubstitution<T, T>(t, values[k], &x.at(0, k), k, k + 1);
    } else if (values[k].im == 0) {
      x.at(k, k) = 1;
      BackSubstitution<T, T>(t, values[k].re, &x.at(0, k), k, k + 1);
    } else {
      const T above = t.at(k, k + 1), below = t.at(k + 1, k), im = values[k].im;
      const bool isAbove = std::abs(above) >= std::abs(below);
      memory[k] = {isAbove ? T{1} : -im / below, 0};
      memory[k + 1] = {0, isAbove ? im / above : T{1}};
      BackSubstitution<T, Complex<T>>(t, values[k], memory, k, k + 2);
      for (int64_t i = 0; i < k + 2; i++) {
        x.at(i, k) = memory[i].re;
        x.at(i, k + 1) = memory[i].im;
      }
      k++;
    }
  }
}

// Divides complex vectors, `re` and `im` of a real matrix, by their length, and makes the largest element
// real.
template <typename R>
void normalize(int64_t n, int64_t stride, R* re, R* im) {
  R most = 0;
  int64_t at = 0;
  for (int64_t i = 0; i < n; i++) {
    const R size = std::hypot(re[i * stride], im[i * stride]);
    if (size > most) {
      most = size;
      at = i;
    }
  }
  if (most == 0) return;
  R squares = 0;
  for (int64_t i = 0; i < n; i++) {
    const R x = re[i * stride] / most, y = im[i * stride] / most;
    squares += x * x + y * y;
  }
  const R length = std::sqrt(squares), cosine = re[at * stride] / most, sine = im[at * stride] / most;
  for (int64_t i = 0; i < n; i++) {
    const R x = re[i * stride] / most / length, y = im[i * stride] / most / length;
    re[i * stride] = cosine * x + sine * y;
    im[i * stride] = cosine * y - sine * x;
  }
  im[at * stride] = 0;
}
template <typename R>
void normalize(int64_t n, R* x) {
  R most = 0, squares = 0;
  for (int64_t i = 0; i < n; i++) most = std::max(most, std::abs(x[i]));
  if (most == 0) return;
  for (int64_t i = 0; i < n; i++) squares += (x[i] / most) * (x[i] / most);
  const R length = std::sqrt(squares);
  for (int64_t i = 0; i < n; i++) x[i] = x[i] / most / length;
}

// Both vectors of a pair whose imaginary parts vanish as the matrix is scaled back are its real part.
template <typename R>
void makeReal(int64_t n, R* re, R* im) {
  normalize(n, re);
  std::copy_n(re, n, im);
}

template <typename T>
void normalizeAll(const MatrixView<T>& v, const Complex<RealOf<T>>* values) {
  const int64_t n = v.rows;
  for (int64_t k = 0; k < n; k++) {
    if constexpr (kIsComplex<T>) {
      normalize(n, 2, &v.at(0, k).re, &v.at(0, k).im);
    } else if (values[k].im == 0) {
      normalize(n, &v.at(0, k));
    } else {
      normalize(n, 1, &v.at(0, k), &v.at(0, k + 1));
      k++;
    }
  }
}

struct General {
  explicit General(const std::vector<int64_t>& given)
      : numbers(given, 4), n(numbers.next()), hasVectors(numbers.next() != 0) {}
  LinearNumbers numbers;
  int64_t n;
  bool hasVectors;

  size_t bytes(int64_t elements) const {
    const auto size = static_cast<size_t>(kElementBytes[static_cast<int>(numbers.dtype)]);
    return (static_cast<size_t>(elements) * size + kHostAlignment - 1) / kHostAlignment * kHostAlignment;
  }
  // Columns of matrices that are read by rows too lie in different sets of the cache.
  int64_t stride() const { return n + 8 + n % 2; }
  // The matrix, factors of reflectors and two columns, scales, windows; with vectors Z, X and what applies
  // reflectors.
  size_t memoryBytes() const {
    const size_t own = bytes(stride() * n) + bytes(2 * n) + 2 * bytes(2 * n) + bytes(schurElements(n));
    return hasVectors ? own + bytes(stride() * n) + bytes(n * n) + bytes(reflectorElements(n, n)) : own;
  }
  LapackProblem problem() const { return {LapackRow::eig, numbers.dtype, n, n, hasVectors ? n : 0}; }
  // The matrix in column-major order, which vectors replace.
  size_t columnBytes() const { return hasVectors ? bytes(n * n) : 0; }
  size_t workBytes(const LapackChoice& choice) const {
    size_t products = schurProductBytes(numbers.dtype, n);
    if (hasVectors)
      products = std::max({products, productBytes(numbers.dtype, n, kReflectors, kReflectors * n),
                           productBytes(numbers.dtype, n, n, n * n)});
    return columnBytes() + std::max(choice.bytes(), memoryBytes() + products);
  }
};

RoutineNeed needOf(const std::vector<int64_t>& numbers, const ThreadPool& pool) {
  const General g(numbers);
  const auto choice = lapackChoice(g.problem());
  return withLinear(g.numbers.dtype, [&](auto zero) -> RoutineNeed {
    using T = decltype(zero);
    using C = Complex<RealOf<T>>;
    std::vector<size_t> results{g.numbers.bytes(g.n, 1, sizeof(C)), g.numbers.bytes(1, 1, sizeof(int32_t))};
    if (g.hasVectors) results.push_back(g.numbers.bytes(g.n, g.n, sizeof(C)));
    return {{g.numbers.bytes(g.n, g.n, sizeof(T))},
            results,
            matrixNeed(g.n, g.numbers.count, g.workBytes(*choice), pool),
            g.numbers.count,
            choice};
  });
}

// Where what one matrix needs lies.
template <typename T>
struct Memory {
  MatrixView<T> h, z, x;
  T *taus, *column, *windows, *apply;
  RealOf<T>* scales;
  Complex<RealOf<T>>* pairs;
  LinearWork rest;
};

template <typename T>
Memory<T> memoryOf(const General& g, const LinearWork& work) {
  std::byte* next = work.workspace.data;
  const auto take = [&](int64_t elements) {
    T* const at = reinterpret_cast<T*>(next);
    next += g.bytes(elements);
    return at;
  };
  const int64_t n = g.n, stride = g.stride();
  T* const matrix = take(stride * n);
  T* const taus = take(2 * n);
  auto* const scales = reinterpret_cast<RealOf<T>*>(take(2 * n));
  auto* const pairs = reinterpret_cast<Complex<RealOf<T>>*>(take(2 * n));
  T* const windows = take(schurElements(n));
  T *const z = g.hasVectors ? take(stride * n) : nullptr, *const x = g.hasVectors ? take(n * n) : nullptr;
  T* const apply = g.hasVectors ? take(reflectorElements(n, n)) : nullptr;
  const Workspace rest{next, work.workspace.byteLength - g.memoryBytes()};
  return {{matrix, n, n, 1, stride},
          {z, g.hasVectors ? n : 0, n, 1, stride},
          columnMajor(x, n, n),
          taus,
          taus + n,
          windows,
          apply,
          scales,
          pairs,
          {work.pool, work.cancel, rest}};
}

// The exponent of two that elements are divided by.
template <typename T>
int exponentOf(const T* x, int64_t count) {
  using R = RealOf<T>;
  R most = 0;
  for (int64_t i = 0; i < count; i++)
    most = std::max({most, std::abs(realPart(x[i])), std::abs(imaginaryPart(x[i]))});
  if (most == 0) return 0;
  const int exponent = std::ilogb(most);
  return std::abs(exponent) > kMostOfMatrix<R> ? exponent : 0;
}

template <typename T>
T scaled(T x, int exponent) {
  if constexpr (kIsComplex<T>)
    return {std::ldexp(x.re, exponent), std::ldexp(x.im, exponent)};
  else
    return std::ldexp(x, exponent);
}

template <typename T>
int32_t failed(int64_t n, Complex<RealOf<T>>* values, T* vectors) {
  const RealOf<T> nan = std::numeric_limits<RealOf<T>>::quiet_NaN();
  std::fill_n(values, n, Complex<RealOf<T>>{nan, nan});
  if (vectors != nullptr) std::fill_n(vectors, n * n, ofReal<T>(nan));
  return 1;
}

// One matrix. Vectors are columns in column-major order, and may be in its place; null: none are wanted.
template <typename T>
int32_t solveOne(const General& g, const T* given, Complex<RealOf<T>>* values, T* vectors,
                 const LinearWork& work) {
  const int64_t n = g.n;
  const Memory<T> m = memoryOf<T>(g, work);
  for (int64_t i = 0; i < n * n; i++)
    if (!(sumOfParts(given[i]) - sumOfParts(given[i]) == 0)) return failed(n, values, vectors);
  const int exponent = exponentOf(given, n * n);
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = 0; i < n; i++)
      m.h.at(i, j) = exponent == 0 ? given[j * n + i] : scaled(given[j * n + i], -exponent);
  balance(m.h, m.scales);
  makeHessenberg(m.h, m.taus, m.column, m.rest);
  if (vectors != nullptr) {
    for (int64_t j = 0; j < n; j++)
      for (int64_t i = 0; i < n; i++) m.z.at(i, j) = ofReal<T>(i == j ? 1 : 0);
    applyReflectors<T>({m.h, 1, m.taus, std::max<int64_t>(0, n - 2)}, false, m.z, m.apply, m.rest);
  }
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = j + 2; i < n; i++) m.h.at(i, j) = T{};
  if (!makeSchur(m.h, m.z, values, m.windows, m.rest)) return failed(n, values, vectors);
  if (vectors != nullptr && !work.cancelled()) {
    vectorsOfTriangle(m.h, values, m.x, m.pairs);
    const MatrixView<T> v = columnMajor(vectors, n, n);
    std::fill_n(vectors, n * n, T{});
    subtractProduct(v, m.z, m.x, false, m.rest);
    for (int64_t j = 0; j < n; j++)
      for (int64_t i = 0; i < n; i++) v.at(i, j) = -(m.scales[i] * v.at(i, j));
    normalizeAll(v, values);
  }
  if (exponent == 0) return 0;
  for (int64_t k = 0; k < n; k++) {
    const bool isPair = values[k].im > 0;
    values[k] = scaled(values[k], exponent);
    if constexpr (!kIsComplex<T>)
      if (vectors != nullptr && isPair && values[k].im == 0)
        makeReal(n, vectors + k * n, vectors + (k + 1) * n);
  }
  return 0;
}

// Vectors in C order of columns: those of a complex pair of a real matrix are p + i q and p - i q of its
// columns p and q.
template <typename R>
void writeVectors(R* columns, const Complex<R>* values, int64_t n, Complex<R>* to, const LinearWork& work) {
  const auto elementOf = [&](int64_t i, int64_t j) -> Complex<R> {
    const R own = columns[j * n + i], side = values[j].im;
    if (side > 0 && j + 1 < n) return {own, columns[(j + 1) * n + i]};
    if (side < 0 && j > 0) return {columns[(j - 1) * n + i], -own};
    return {own, std::isnan(side) ? own : R{}};
  };
  eachTurnedRange(n, n, work, [&](int64_t first, int64_t last) {
    for (int64_t left = 0; left < n; left += kTurnedBlock)
      for (int64_t i = first; i < last; i++)
        for (int64_t j = left; j < std::min(n, left + kTurnedBlock); j++) to[i * n + j] = elementOf(i, j);
  });
}
template <typename R>
void writeVectors(Complex<R>* columns, const Complex<R>*, int64_t n, Complex<R>* to, const LinearWork& work) {
  turnBack(columnMajor(columns, n, n), TurnedPart::all, to, work);
}

// Values of a matrix in either order, which are those of its transpose.
template <typename T>
int32_t valuesOf(const General& g, const LapackChoice& choice, const T* a, Complex<RealOf<T>>* values,
                 const LinearWork& work) {
  T* const none = nullptr;
  return lapackEig(choice, a, values, none, work) ? 0 : solveOne(g, a, values, none, work);
}

// Values and vectors of a matrix in C order.
template <typename T>
int32_t vectorsOf(const General& g, const LapackChoice& choice, const T* a, Complex<RealOf<T>>* values,
                  Complex<RealOf<T>>* vectors, const LinearWork& work) {
  T* const columns = reinterpret_cast<T*>(work.workspace.data);
  const size_t own = g.columnBytes();
  const LinearWork rest{
      work.pool, work.cancel, {work.workspace.data + own, work.workspace.byteLength - own}, work.threads};
  const auto turn = [&] { turnMatrix(a, columnMajor(columns, g.n, g.n), rest); };
  turn();
  int32_t status = 0;
  if (!lapackEig(choice, columns, values, columns, rest)) {
    if (choice.lapack != nullptr) turn();
    status = solveOne(g, columns, values, columns, rest);
  }
  writeVectors(columns, values, g.n, vectors, rest);
  return status;
}

void run(const RoutineJob& job, Range units, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const General g(job.numbers);
  const LapackChoice& choice = choiceOf(job);
  withLinear(g.numbers.dtype, [&](auto zero) {
    using T = decltype(zero);
    using C = Complex<RealOf<T>>;
    eachMatrix(job, units, g.n, g.workBytes(choice), pool, cancel, [&](int64_t k, const LinearWork& work) {
      const T* const a = matrixAt<T>(job.operands, 0, k, g.n * g.n);
      C* const values = matrixAt<C>(job.results, 0, k, g.n);
      const int32_t status =
          g.hasVectors ? vectorsOf(g, choice, a, values, matrixAt<C>(job.results, 2, k, g.n * g.n), work)
                       : valuesOf(g, choice, a, values, work);
      *matrixAt<int32_t>(job.results, 1, k, 1) = std::max(status, statusOfValues(values, g.n));
    });
  });
}

}  // namespace

const Routine kEig{needOf, run};

}  // namespace weft::cpu
