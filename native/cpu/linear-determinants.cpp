// Determinants by LU factors: products of their diagonals, kept as a fraction and a power of two, so that
// none overflows or underflows on its way.
#include "cpu/linear.h"

namespace weft::cpu {
namespace {

struct Diagonals {
  explicit Diagonals(const std::vector<int64_t>& given) : numbers(given, 3), n(numbers.next()) {}
  LinearNumbers numbers;
  int64_t n;
};

RoutineNeed determinantsNeed(const std::vector<int64_t>& numbers, const ThreadPool& pool) {
  const Diagonals d(numbers);
  return withLinear(d.numbers.dtype, [&](auto zero) -> RoutineNeed {
    using T = decltype(zero);
    const size_t each = d.numbers.bytes(1, 1, sizeof(T));
    return {{d.numbers.bytes(d.n, d.n, sizeof(T)), d.numbers.bytes(d.n, 1, sizeof(int64_t))},
            {each, each, d.numbers.bytes(1, 1, sizeof(RealOf<T>))},
            matrixNeed(1, d.numbers.count, 0, pool),
            d.numbers.count};
  });
}

// x times a power of two.
template <typename T>
T timesPower(T x, int64_t exponent) {
  if constexpr (kIsComplex<T>)
    return {std::scalbln(x.re, exponent), std::scalbln(x.im, exponent)};
  else
    return std::scalbln(x, exponent);
}

// fraction · 2^exponent.
template <typename T>
struct ScaledProduct {
  T fraction = ofReal<T>(1);
  int64_t exponent = 0;

  void multiply(T factor) {
    using R = RealOf<T>;
    constexpr R kMost = std::is_same_v<R, float> ? R(0x1p60) : R(0x1p500);
    const T next = fraction * factor;
    const R size = sumOfParts(next);
    // NaN, too, as of infinite parts of a product of complex numbers.
    const bool isWithin = size >= 1 / kMost && size <= kMost;
    fraction = isWithin ? next : normalized(fraction) * normalized(factor);
  }

  T value() const { return exponent == 0 ? fraction : timesPower(fraction, exponent); }

  RealOf<T> logarithm() const {
    constexpr double kLog2 = 0.693147180559945309417232121458176568;
    const double size = modulus(fraction);
    return static_cast<RealOf<T>>(std::log(size) + static_cast<double>(exponent) * kLog2);
  }

 private:
  // x with its power of two in the exponent; 0, infinities and NaN as they are.
  T normalized(T x) {
    const RealOf<T> size = std::max(std::abs(realPart(x)), std::abs(imaginaryPart(x)));
    if (size == 0 || !std::isfinite(size)) return x;
    const int64_t power = std::ilogb(size);
    exponent += power;
    return timesPower(x, -power);
  }
};

// 1, -1 or 0 of a real number, of a complex one the number of modulus 1 in its direction, or 0.
template <typename T>
T signOf(T x) {
  if constexpr (kIsComplex<T>)
    return x == T{} ? x : x / modulus(x);
  else
    return x > 0 ? T(1) : x < 0 ? T(-1) : x;
}

template <typename T>
void determinantOf(const T* lu, const int64_t* pivots, int64_t n, T& determinant, T& sign,
                   RealOf<T>& logarithm) {
  ScaledProduct<T> product;
  T signs = ofReal<T>(1);
  for (int64_t k = 0; k < n; k++) {
    const T pivot = pivots[k] == k + 1 ? lu[k * n + k] : -lu[k * n + k];
    product.multiply(pivot);
    if constexpr (!kIsComplex<T>) signs = signs * signOf(pivot);
  }
  if constexpr (kIsComplex<T>) signs = signOf(product.fraction);
  // No negative zeros.
  determinant = product.value() + T{};
  sign = signs + T{};
  logarithm = product.logarithm();
}

void runDeterminants(const RoutineJob& job, Range units, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Diagonals d(job.numbers);
  withLinear(d.numbers.dtype, [&](auto zero) {
    using T = decltype(zero);
    eachMatrix(job, units, 1, 0, pool, cancel, [&](int64_t k, const LinearWork&) {
      determinantOf(matrixAt<T>(job.operands, 0, k, d.n * d.n), matrixAt<int64_t>(job.operands, 1, k, d.n),
                    d.n, *matrixAt<T>(job.results, 0, k, 1), *matrixAt<T>(job.results, 1, k, 1),
                    *matrixAt<RealOf<T>>(job.results, 2, k, 1));
    });
  });
}

}  // namespace

const Routine kDeterminants{determinantsNeed, runDeterminants};

}  // namespace weft::cpu
