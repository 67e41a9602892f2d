// The numbers of linear algebra: float, double, and complex numbers of them with plain products. Not for
// files that are compiled once per instruction set, but for the types themselves.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "cpu/linear-kernels.h"
#include "shared/layout.h"

// Applies a macro to each number of linear algebra.
#define WEFT_LINEAR_TYPES(X) X(float) X(double) X(Complex<float>) X(Complex<double>)

namespace weft::cpu {

template <typename R>
inline Complex<R> operator+(Complex<R> a, Complex<R> b) {
  return {a.re + b.re, a.im + b.im};
}
template <typename R>
inline Complex<R> operator-(Complex<R> a, Complex<R> b) {
  return {a.re - b.re, a.im - b.im};
}
template <typename R>
inline Complex<R> operator-(Complex<R> a) {
  return {-a.re, -a.im};
}
template <typename R>
inline Complex<R> operator*(Complex<R> a, Complex<R> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <typename R>
inline Complex<R> operator*(R a, Complex<R> b) {
  return {a * b.re, a * b.im};
}
template <typename R>
inline Complex<R> operator/(Complex<R> a, R b) {
  return {a.re / b, a.im / b};
}
// By Smith's method, which does not overflow on its way.
template <typename R>
inline Complex<R> operator/(Complex<R> a, Complex<R> b) {
  if (std::abs(b.re) >= std::abs(b.im)) {
    const R ratio = b.im / b.re, scale = b.re + b.im * ratio;
    return {(a.re + a.im * ratio) / scale, (a.im - a.re * ratio) / scale};
  }
  const R ratio = b.re / b.im, scale = b.re * ratio + b.im;
  return {(a.re * ratio + a.im) / scale, (a.im * ratio - a.re) / scale};
}
template <typename R>
inline bool operator==(Complex<R> a, Complex<R> b) {
  return a.re == b.re && a.im == b.im;
}

template <typename T>
inline T conjugate(T a) {
  if constexpr (kIsComplex<T>)
    return {a.re, -a.im};
  else
    return a;
}
template <typename T>
inline RealOf<T> realPart(T a) {
  if constexpr (kIsComplex<T>)
    return a.re;
  else
    return a;
}
template <typename T>
inline RealOf<T> imaginaryPart(T a) {
  if constexpr (kIsComplex<T>)
    return a.im;
  else
    return 0;
}
template <typename T>
inline T ofReal(RealOf<T> a) {
  if constexpr (kIsComplex<T>)
    return {a, 0};
  else
    return a;
}
template <typename T>
inline RealOf<T> modulus(T a) {
  if constexpr (kIsComplex<T>)
    return std::hypot(a.re, a.im);
  else
    return std::abs(a);
}
// |re| + |im|, by which LAPACK chooses pivots.
template <typename T>
inline RealOf<T> sumOfParts(T a) {
  if constexpr (kIsComplex<T>)
    return std::abs(a.re) + std::abs(a.im);
  else
    return std::abs(a);
}

// The status of values that a decomposition found: of NaN it is 1, though a library said that all converged.
template <typename T>
inline int32_t statusOfValues(const T* values, int64_t n) {
  for (int64_t k = 0; k < n; k++)
    if (std::isnan(realPart(values[k])) || std::isnan(imaginaryPart(values[k]))) return 1;
  return 0;
}

template <typename T>
inline constexpr DType kLinearDType = std::is_same_v<T, float>            ? DType::float32
                                      : std::is_same_v<T, double>         ? DType::float64
                                      : std::is_same_v<T, Complex<float>> ? DType::complex64
                                                                          : DType::complex128;

// Calls `use` with a number of the dtype; throws std::invalid_argument for others.
template <typename Use>
auto withLinear(DType dtype, const Use& use) {
  switch (dtype) {
    case DType::float32:
      return use(float{});
    case DType::float64:
      return use(double{});
    case DType::complex64:
      return use(Complex<float>{});
    case DType::complex128:
      return use(Complex<double>{});
    default:
      throw std::invalid_argument("a dtype of linear algebra");
  }
}

}  // namespace weft::cpu
