// Stockham passes of Fourier transforms: butterflies of each radix, from a place that elements are read from
// to one that they are written to. Included by files that are compiled once per instruction set.
#pragma once
#include "cpu/fft-vectors.h"
#include "cpu/fft.h"

namespace weft::cpu::WEFT_ISA {
namespace {

// Elements that follow each other as vectors.
template <typename T>
struct Local {
  Vector<T>* data;
  WEFT_FFT_INLINE Complexes<T> get(int64_t i) const { return {data[2 * i], data[2 * i + 1]}; }
  WEFT_FFT_INLINE void set(int64_t i, Complexes<T> x) const {
    data[2 * i] = x.re;
    data[2 * i + 1] = x.im;
  }
};

// Pairs of `count` sequences side by side; elements are `stride` reals apart.
template <typename T>
struct Pairs {
  T* data;
  int64_t stride, count;
  bool swaps;
  WEFT_FFT_INLINE Complexes<T> get(int64_t i) const {
    return swapped(loadPairs<T>(data + i * stride, count), swaps);
  }
  WEFT_FFT_INLINE void set(int64_t i, Complexes<T> x) const {
    storePairs<T>(data + i * stride, swapped(x, swaps), count);
  }
};

// Lines of real and of imaginary parts, `stride` reals apart, of which `count` lanes are written.
template <typename T>
struct Lines {
  T *re, *im;
  int64_t stride, count;
  WEFT_FFT_INLINE Complexes<T> get(int64_t i) const {
    return {loadVector(re + i * stride), loadVector(im + i * stride)};
  }
  WEFT_FFT_INLINE void set(int64_t i, Complexes<T> x) const {
    storeLanes(re + i * stride, x.re, count);
    storeLanes(im + i * stride, x.im, count);
  }
};

template <typename T>
WEFT_FFT_INLINE void butterfly2(Complexes<T>* a) {
  const Complexes<T> x = a[0], y = a[1];
  a[0] = x + y;
  a[1] = x - y;
}

template <typename T>
WEFT_FFT_INLINE void butterfly4(Complexes<T>* a) {
  const Complexes<T> s = a[0] + a[2], d = a[0] - a[2], t = a[1] + a[3], e = turned(a[1] - a[3]);
  a[0] = s + t;
  a[1] = d + e;
  a[2] = s - t;
  a[3] = d - e;
}

template <typename T>
WEFT_FFT_INLINE void butterfly8(Complexes<T>* a) {
  Complexes<T> even[4] = {a[0] + a[4], a[1] + a[5], a[2] + a[6], a[3] + a[7]};
  Complexes<T> odd[4] = {a[0] - a[4], a[1] - a[5], turned(a[2] - a[6]), a[3] - a[7]};
  const Vector<T> half = broadcast<T>(static_cast<T>(0.70710678118654752440));
  // Turned by an eighth, and by three.
  odd[1] = {(odd[1].re + odd[1].im) * half, (odd[1].im - odd[1].re) * half};
  odd[3] = {(odd[3].im - odd[3].re) * half, -(odd[3].re + odd[3].im) * half};
  butterfly4(even);
  const Complexes<T> s = odd[0] + odd[2], d = odd[0] - odd[2], t = odd[1] + odd[3],
                     e = turned(odd[1] - odd[3]);
  a[0] = even[0];
  a[1] = s + t;
  a[2] = even[1];
  a[3] = d + e;
  a[4] = even[2];
  a[5] = s - t;
  a[6] = even[3];
  a[7] = d - e;
}

// The sum and the difference of elements j and radix - j have the cosines and the sines as factors.
template <typename T>
inline void butterflyOdd(Complexes<T>* a, int radix, const T* roots) {
  Complexes<T> sum[kMostRadix / 2 + 1], difference[kMostRadix / 2 + 1];
  const int half = radix / 2;
  Complexes<T> total = a[0];
  for (int j = 1; j <= half; j++) {
    sum[j] = a[j] + a[radix - j];
    difference[j] = a[j] - a[radix - j];
    total = total + sum[j];
  }
  const Complexes<T> first = a[0];
  a[0] = total;
  for (int k = 1; k <= half; k++) {
    Complexes<T> c = first, s{};
    int at = 0;
    for (int j = 1; j <= half; j++) {
      at += k;
      if (at >= radix) at -= radix;
      const Vector<T> cosine = broadcast<T>(roots[2 * at]), sine = broadcast<T>(roots[2 * at + 1]);
      c = {c.re + sum[j].re * cosine, c.im + sum[j].im * cosine};
      s = {s.re + difference[j].re * sine, s.im + difference[j].im * sine};
    }
    s = turned(s);
    a[k] = c + s;
    a[radix - k] = c - s;
  }
}

template <typename T, int Radix>
WEFT_FFT_INLINE void butterfly(Complexes<T>* a, const T* roots) {
  if constexpr (Radix == 2) {
    butterfly2(a);
  } else if constexpr (Radix == 4) {
    butterfly4(a);
  } else if constexpr (Radix == 8) {
    butterfly8(a);
  } else {
    butterflyOdd(a, Radix, roots);
  }
}

// Radix 0: that of the pass.
template <typename T, int Radix, typename In, typename Out>
__attribute__((noinline)) void passOf(const FftPass& pass, In in, Out out) {
  const auto radix = Radix > 0 ? int64_t{Radix} : pass.radix;
  const int64_t m = pass.m, s = pass.s;
  const T* const roots = static_cast<const T*>(pass.roots);
  const auto run = [&](int64_t p, int64_t q, const T* w) __attribute__((always_inline)) {
    Complexes<T> a[Radix > 0 ? Radix : kMostRadix];
#pragma GCC unroll 16
    for (int64_t j = 0; j < radix; j++) a[j] = in.get(q + s * (p + m * j));
    if constexpr (Radix > 0) {
      butterfly<T, Radix>(a, roots);
    } else {
      butterflyOdd(a, static_cast<int>(radix), roots);
    }
    out.set(q + s * radix * p, a[0]);
#pragma GCC unroll 16
    for (int64_t j = 1; j < radix; j++) {
      if (w != nullptr) a[j] = times(a[j], broadcast<T>(w[2 * j - 2]), broadcast<T>(w[2 * j - 1]));
      out.set(q + s * (radix * p + j), a[j]);
    }
  };
  for (int64_t q = 0; q < s; q++) run(0, q, nullptr);
  for (int64_t p = 1; p < m; p++) {
    const T* const w = static_cast<const T*>(pass.twiddles) + 2 * p * (radix - 1);
    for (int64_t q = 0; q < s; q++) run(p, q, w);
  }
}

template <typename T, typename In, typename Out>
inline void runPass(const FftPass& pass, In in, Out out) {
  switch (pass.radix) {
    case 2:
      return passOf<T, 2>(pass, in, out);
    case 3:
      return passOf<T, 3>(pass, in, out);
    case 4:
      return passOf<T, 4>(pass, in, out);
    case 5:
      return passOf<T, 5>(pass, in, out);
    case 7:
      return passOf<T, 7>(pass, in, out);
    case 8:
      return passOf<T, 8>(pass, in, out);
    default:
      return passOf<T, 0>(pass, in, out);
  }
}

// Runs a direct plan from `in` to `out`, with two lines of elements between.
template <typename T, typename In, typename Out>
inline void transform(const FftPlan& plan, In in, Out out, Local<T> a, Local<T> b) {
  const int last = plan.passCount - 1;
  if (last <= 0) {
    for (int64_t i = 0; i < plan.length; i++) a.set(i, in.get(i));
    if (last < 0) return out.set(0, a.get(0));
    return runPass<T>(plan.passes[0], a, out);
  }
  runPass<T>(plan.passes[0], in, a);
  for (int k = 1; k < last; k++) {
    runPass<T>(plan.passes[k], a, b);
    const Local<T> done = b;
    b = a;
    a = done;
  }
  runPass<T>(plan.passes[last], a, out);
}

}  // namespace
}  // namespace weft::cpu::WEFT_ISA
