// The innermost loops of linear algebra, over columns whose elements follow each other, compiled once for
// each instruction set (linear-lanes.cpp). Sums have a fixed number of lanes, so that every set gives the
// same bits.
#pragma once
#include <cstdint>

namespace weft::cpu {

template <typename R>
struct Complex {
  R re, im;
};

template <typename T>
struct LinearNumber {
  using Real = T;
  static constexpr bool kIsComplex = false;
};
template <typename R>
struct LinearNumber<Complex<R>> {
  using Real = R;
  static constexpr bool kIsComplex = true;
};
template <typename T>
using RealOf = typename LinearNumber<T>::Real;
template <typename T>
inline constexpr bool kIsComplex = LinearNumber<T>::kIsComplex;

// Columns x_k, count of them (2 or 3), times I - tau v vᴴ.
template <typename T>
using ReflectionKernel = void (*)(int64_t n, int64_t count, const T* v, T tau, T* x, int64_t stride);

template <typename T>
struct LinearKernels {
  // y += Σ factors[k] x_k, columns of x `stride` apart.
  void (*addColumns)(int64_t n, int64_t count, const T* factors, const T* x, int64_t stride, T* y);
  // sums[k] = Σ conj(x_k) y.
  void (*dots)(int64_t n, int64_t count, const T* x, int64_t stride, const T* y, T* sums);
  ReflectionKernel<T> reflect;
  // x_j -= tau v vᴴ x_j, columns of n elements; v is 1 and the n - 1 elements that are given.
  void (*reflectColumns)(int64_t n, int64_t count, const T* v, T tau, T* x, int64_t stride);
  // x = factor x.
  void (*scale)(int64_t n, T factor, T* x);
  // A block of lines that are `fromStride` apart becomes one of columns that are `toStride` apart. `doubts`:
  // one for each column, NaN once an element was infinite or NaN.
  void (*turn)(const T* from, int64_t fromStride, int64_t lines, int64_t columns, T* to, int64_t toStride,
               RealOf<T>* doubts);
};

// Of real numbers alone.
template <typename R>
struct RealKernels {
  // Turns columns k and k + 1 of v, one pair after the other: (x, y) becomes (c x + s y, c y - s x).
  void (*rotate)(int64_t n, int64_t count, const R* c, const R* s, R* v, int64_t stride);
  // The same from the last pair to the first.
  void (*rotateBack)(int64_t n, int64_t count, const R* c, const R* s, R* v, int64_t stride);
  // delta_i = (d_i - origin) - shift; sums: Σ z_i² / delta_i and Σ (z_i / delta_i)².
  void (*poles)(int64_t n, const R* d, R origin, R shift, const R* z, R* delta, R* sums);
  // The same with delta_i = (d_i² - origin²) - shift.
  void (*squaredPoles)(int64_t n, const R* d, R origin, R shift, const R* z, R* delta, R* sums);
  // LU factors with partial pivoting of few columns, column by column; pivots are counted from 0.
  void (*factorColumns)(int64_t rows, int64_t columns, R* a, int64_t stride, int64_t* pivots);
};

// All of them, of one instruction set.
struct LinearTables {
  const LinearKernels<float>* float32;
  const LinearKernels<double>* float64;
  const LinearKernels<Complex<float>>* complex64;
  const LinearKernels<Complex<double>>* complex128;
  const RealKernels<float>* real32;
  const RealKernels<double>* real64;
};

// For the instruction set that runs: of float, double and their complex numbers; of float and double.
template <typename T>
const LinearKernels<T>& linearKernels();
template <typename R>
const RealKernels<R>& realKernels();

}  // namespace weft::cpu
