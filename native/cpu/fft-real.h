// The passes that Fourier transforms of real sequences add to complex ones of half their length. Included by
// files that are compiled once per instruction set.
#pragma once
#include "cpu/fft-vectors.h"
#include "cpu/fft.h"
#include "cpu/rounded-products.h"

namespace weft::cpu::WEFT_ISA {
namespace {

// Elements k and half - k of what goes in and out, both by the same arithmetic.
template <typename T, typename V, bool kJoins>
inline void splitPair(V& ar, V& ai, V& br, V& bi, V ur, V ui) {
  // a and the conjugate of b.
  const V sr = ar + br, si = ai - bi, dr = ar - br, di = ai + bi;
  if constexpr (kJoins) {
    const V wr = ur + ur, wi = ui + ui;
    const V or_ = rounded(dr * wr) + rounded(di * wi), oi = rounded(di * wr) - rounded(dr * wi);
    ar = sr + or_;
    ai = si + oi;
    br = sr - or_;
    bi = oi - si;
  } else {
    const V or_ = rounded(dr * ur) - rounded(di * ui), oi = rounded(dr * ui) + rounded(di * ur);
    const T half = static_cast<T>(0.5);
    ar = sr * half + or_;
    ai = si * half + oi;
    br = sr * half - or_;
    bi = oi - si * half;
  }
}

template <typename T, bool kJoins>
inline void pairUp(const RealTable& table, const T* from, T* to) {
  constexpr int64_t L = kLanes<T>;
  const int64_t half = table.half;
  const T *const re = static_cast<const T*>(table.re), *const im = static_cast<const T*>(table.im);
  int64_t k = 1;
  for (; k + L - 1 < half - k - L + 1; k += L) {
    const int64_t other = half - k - L + 1;
    Complexes<T> a = loadPairs<T>(from + 2 * k), b = loadPairs<T>(from + 2 * other);
    b = {backwards<T>(b.re), backwards<T>(b.im)};
    splitPair<T, Vector<T>, kJoins>(a.re, a.im, b.re, b.im, loadVector(re + k), loadVector(im + k));
    storePairs<T>(to + 2 * k, a);
    storePairs<T>(to + 2 * other, {backwards<T>(b.re), backwards<T>(b.im)});
  }
  for (; k <= half - k; k++) {
    const int64_t other = half - k;
    T ar = from[2 * k], ai = from[2 * k + 1], br = from[2 * other], bi = from[2 * other + 1];
    splitPair<T, T, kJoins>(ar, ai, br, bi, re[k], im[k]);
    to[2 * other] = br;
    to[2 * other + 1] = bi;
    to[2 * k] = ar;
    to[2 * k + 1] = ai;
  }
}

template <typename T>
void splitReal(const RealTable& table, void* row) {
  T* const x = static_cast<T*>(row);
  const T re = x[0], im = x[1];
  pairUp<T, false>(table, x, x);
  x[0] = re + im;
  x[1] = 0;
  x[2 * table.half] = re - im;
  x[2 * table.half + 1] = 0;
}

template <typename T>
void joinReal(const RealTable& table, const void* from, void* to) {
  const T* const x = static_cast<const T*>(from);
  T* const z = static_cast<T*>(to);
  const T first = x[0], last = x[2 * table.half];
  pairUp<T, true>(table, x, z);
  z[0] = first + last;
  z[1] = first - last;
}

}  // namespace
}  // namespace weft::cpu::WEFT_ISA
