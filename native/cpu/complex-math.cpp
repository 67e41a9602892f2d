// Complex arithmetic and functions, one lane at a time.
//
// Sums and products are computed as NumPy writes them; quotients by Smith's method ("Algorithm 116: Complex
// division", 1962). Functions are the C library's, with the special values of C99's Annex G; those of
// complex64 are computed in complex128 and rounded once.
#include <cmath>
#include <complex>

#include "cpu/ops.h"

namespace weft::cpu {
namespace {

template <typename T>
struct Pair {
  T re, im;
};

using Wide = std::complex<double>;

// The C library's type. Its functions are called as such, since those of a C++ library may be its own:
// libc++'s asinh and acosh lose the digits of small and of negative arguments.
using LibraryNumber = double _Complex;
LibraryNumber libraryNumber(Wide z) {
  LibraryNumber result;
  __real__ result = z.real();
  __imag__ result = z.imag();
  return result;
}
Wide number(LibraryNumber z) { return {__real__ z, __imag__ z}; }

template <typename T>
struct Number {
  using C = Pair<T>;
  static C add(C a, C b) { return {a.re + b.re, a.im + b.im}; }
  static C subtract(C a, C b) { return {a.re - b.re, a.im - b.im}; }
  static C multiply(C a, C b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
  static C negative(C a) { return {-a.re, -a.im}; }
  static C positive(C a) { return a; }
  static C conj(C a) { return {a.re, -a.im}; }
  static C round(C a) { return {std::rint(a.re), std::rint(a.im)}; }
  static C square(C a) { return multiply(a, a); }
  static T real(C a) { return a.re; }
  static T imag(C a) { return a.im; }
  static T abs(C a) {
    return static_cast<T>(std::hypot(static_cast<double>(a.re), static_cast<double>(a.im)));
  }
  static uint8_t equal(C a, C b) { return a.re == b.re && a.im == b.im; }
  static uint8_t notEqual(C a, C b) { return a.re != b.re || a.im != b.im; }
  static uint8_t isnan(C a) { return a.re != a.re || a.im != a.im; }
  static uint8_t isinf(C a) { return std::isinf(a.re) || std::isinf(a.im); }
  static uint8_t isfinite(C a) { return std::isfinite(a.re) && std::isfinite(a.im); }
};

Wide quotient(Wide a, Wide b) {
  const double re = std::fabs(b.real());
  const double im = std::fabs(b.imag());
  if (re == 0 && im == 0) return {a.real() / re, a.imag() / re};
  if (re >= im) {
    const double ratio = b.imag() / b.real();
    const double scale = 1.0 / (b.real() + b.imag() * ratio);
    return {(a.real() + a.imag() * ratio) * scale, (a.imag() - a.real() * ratio) * scale};
  }
  const double ratio = b.real() / b.imag();
  const double scale = 1.0 / (b.imag() + b.real() * ratio);
  return {(a.real() * ratio + a.imag()) * scale, (a.imag() * ratio - a.real()) * scale};
}

Wide sign(Wide z) {
  if (z.real() == 0 && z.imag() == 0) return {0, 0};
  const double size = std::hypot(z.real(), z.imag());
  return {z.real() / size, z.imag() / size};
}

// exp(z) - 1; where something is not finite, by exp, whose special values Annex G defines.
Wide expm1(Wide z) {
  if (z.imag() == 0) return {std::expm1(z.real()), z.imag()};
  if (!std::isfinite(std::exp(z.real())) || !std::isfinite(z.real()) || !std::isfinite(z.imag())) {
    const Wide e = number(__builtin_cexp(libraryNumber(z)));
    return {e.real() - 1, e.imag()};
  }
  const double half = std::sin(z.imag() / 2);
  return {std::expm1(z.real()) * std::cos(z.imag()) - 2 * half * half,
          std::exp(z.real()) * std::sin(z.imag())};
}

Wide log1p(Wide z) {
  const double x = z.real();
  const double y = z.imag();
  if (y == 0 && x > -1) return {std::log1p(x), y};
  // |1 + z|^2 - 1 without the cancellation of forming |1 + z| first, where it would matter.
  const double excess = x * (2 + x) + y * y;
  const bool isSmall = std::fabs(excess) < 0.5;
  const double re = isSmall ? 0.5 * std::log1p(excess) : std::log(std::hypot(x + 1, y));
  return {re, std::atan2(y, x + 1)};
}

Wide log2Of(Wide z) {
  const Wide l = number(__builtin_clog(libraryNumber(z)));
  constexpr double factor = 1.442695040888963407359924681001892137;
  return {l.real() * factor, l.imag() * factor};
}
Wide log10Of(Wide z) {
  const Wide l = number(__builtin_clog(libraryNumber(z)));
  constexpr double factor = 0.434294481903251827651128918916605082;
  return {l.real() * factor, l.imag() * factor};
}

Wide multiplyWide(Wide a, Wide b) {
  const Pair<double> product = Number<double>::multiply({a.real(), a.imag()}, {b.real(), b.imag()});
  return {product.re, product.im};
}

// As NumPy's: small whole powers by squaring, which keeps them exact where they can be.
Wide power(Wide a, Wide b) {
  if (b.real() == 0 && b.imag() == 0) return {1, 0};
  if (a.real() == 0 && a.imag() == 0) {
    if (b.real() > 0) return {0, 0};
    const double nan = std::numeric_limits<double>::quiet_NaN();
    return {nan, nan};
  }
  const double exponent = b.real();
  if (b.imag() == 0 && std::trunc(exponent) == exponent && std::fabs(exponent) < 100) {
    Wide result{1, 0};
    Wide factor = a;
    for (int n = static_cast<int>(std::fabs(exponent)); n > 0; n >>= 1) {
      if (n & 1) result = multiplyWide(result, factor);
      factor = multiplyWide(factor, factor);
    }
    return exponent < 0 ? quotient({1, 0}, result) : result;
  }
  return number(__builtin_cpow(libraryNumber(a), libraryNumber(b)));
}

template <typename R, typename A, R (*Function)(A)>
void callUnary(Extent n, const Operand& out, const Operand* const* args) {
  for (int64_t row = 0; row < n.rows; row++) {
    R* d = reinterpret_cast<R*>(out.data) + row * out.rowStep;
    const A* a = reinterpret_cast<const A*>(args[0]->data) + row * args[0]->rowStep;
    for (int64_t c = 0; c < n.chunks; c++, d += out.chunkStep, a += args[0]->chunkStep) {
      for (int64_t l = 0; l < kChunk; l++) d[l] = Function(a[l]);
    }
  }
}
template <typename R, typename A, R (*Function)(A, A)>
void callBinary(Extent n, const Operand& out, const Operand* const* args) {
  for (int64_t row = 0; row < n.rows; row++) {
    R* d = reinterpret_cast<R*>(out.data) + row * out.rowStep;
    const A* a = reinterpret_cast<const A*>(args[0]->data) + row * args[0]->rowStep;
    const A* b = reinterpret_cast<const A*>(args[1]->data) + row * args[1]->rowStep;
    for (int64_t c = 0; c < n.chunks;
         c++, d += out.chunkStep, a += args[0]->chunkStep, b += args[1]->chunkStep) {
      for (int64_t l = 0; l < kChunk; l++) d[l] = Function(a[l], b[l]);
    }
  }
}

template <typename T, Wide (*Function)(Wide)>
Pair<T> viaWide(Pair<T> a) {
  const Wide result = Function(Wide(a.re, a.im));
  return {static_cast<T>(result.real()), static_cast<T>(result.imag())};
}
template <typename T, Wide (*Function)(Wide, Wide)>
Pair<T> viaWide2(Pair<T> a, Pair<T> b) {
  const Wide result = Function(Wide(a.re, a.im), Wide(b.re, b.im));
  return {static_cast<T>(result.real()), static_cast<T>(result.imag())};
}

Wide reciprocal(Wide z) { return quotient({1, 0}, z); }

// X(name): the functions that are the library's.
#define WEFT_LIBRARY_FUNCTIONS(X) \
  X(sqrt)                         \
  X(exp)                          \
  X(log)                          \
  X(sin)                          \
  X(cos)                          \
  X(tan)                          \
  X(asin)                         \
  X(acos)                         \
  X(atan)                         \
  X(sinh)                         \
  X(cosh)                         \
  X(tanh)                         \
  X(asinh)                        \
  X(acosh)                        \
  X(atanh)

#define WEFT_LIBRARY(name) \
  Wide name##Wide(Wide z) { return number(__builtin_c##name(libraryNumber(z))); }
WEFT_LIBRARY_FUNCTIONS(WEFT_LIBRARY)
#undef WEFT_LIBRARY

template <typename T>
void addNumbers(Registry& registry, DType dtype) {
  using C = Pair<T>;
  using N = Number<T>;
  registry.addOp("add", dtype, callBinary<C, C, N::add>);
  registry.addOp("subtract", dtype, callBinary<C, C, N::subtract>);
  registry.addOp("multiply", dtype, callBinary<C, C, N::multiply>);
  registry.addOp("divide", dtype, callBinary<C, C, viaWide2<T, quotient>>);
  registry.addOp("pow", dtype, callBinary<C, C, viaWide2<T, power>>);
  registry.addOp("equal", dtype, callBinary<uint8_t, C, N::equal>);
  registry.addOp("notEqual", dtype, callBinary<uint8_t, C, N::notEqual>);
  registry.addOp("negative", dtype, callUnary<C, C, N::negative>);
  registry.addOp("positive", dtype, callUnary<C, C, N::positive>);
  registry.addOp("conj", dtype, callUnary<C, C, N::conj>);
  registry.addOp("round", dtype, callUnary<C, C, N::round>);
  registry.addOp("square", dtype, callUnary<C, C, N::square>);
  registry.addOp("real", dtype, callUnary<T, C, N::real>);
  registry.addOp("imag", dtype, callUnary<T, C, N::imag>);
  registry.addOp("abs", dtype, callUnary<T, C, N::abs>);
  registry.addOp("isnan", dtype, callUnary<uint8_t, C, N::isnan>);
  registry.addOp("isinf", dtype, callUnary<uint8_t, C, N::isinf>);
  registry.addOp("isfinite", dtype, callUnary<uint8_t, C, N::isfinite>);
  registry.addOp("sign", dtype, callUnary<C, C, viaWide<T, sign>>);
  registry.addOp("reciprocal", dtype, callUnary<C, C, viaWide<T, reciprocal>>);
  registry.addOp("expm1", dtype, callUnary<C, C, viaWide<T, expm1>>);
  registry.addOp("log1p", dtype, callUnary<C, C, viaWide<T, log1p>>);
  registry.addOp("log2", dtype, callUnary<C, C, viaWide<T, log2Of>>);
  registry.addOp("log10", dtype, callUnary<C, C, viaWide<T, log10Of>>);
#define WEFT_LIBRARY(name) registry.addOp(#name, dtype, callUnary<C, C, viaWide<T, name##Wide>>);
  WEFT_LIBRARY_FUNCTIONS(WEFT_LIBRARY)
#undef WEFT_LIBRARY
}

}  // namespace

void addComplex(Registry& registry) {
  addNumbers<float>(registry, DType::complex64);
  addNumbers<double>(registry, DType::complex128);
}

}  // namespace weft::cpu
