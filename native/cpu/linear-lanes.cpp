// The innermost loops of linear algebra for one instruction set.
#include "cpu/isa-scope.h"
#include "cpu/linear-kernels.h"
#include "cpu/rounded-products.h"

namespace weft::cpu::WEFT_ISA {
namespace {

// Lanes of sums: those of the widest vectors.
template <typename R>
constexpr int64_t kSumLanes = 128 / static_cast<int64_t>(sizeof(R));

template <typename R>
R sumOfLanes(R* lanes) {
  for (int64_t apart = kSumLanes<R> / 2; apart > 0; apart /= 2)
    for (int64_t k = 0; k < apart; k++) lanes[k] += lanes[k + apart];
  return lanes[0];
}

template <typename R>
R dot(int64_t n, const R* x, const R* y) {
  constexpr int64_t L = kSumLanes<R>;
  R lanes[L] = {};
  int64_t i = 0;
  for (; i + L <= n; i += L)
    for (int64_t k = 0; k < L; k++) lanes[k] += x[i + k] * y[i + k];
  for (int64_t k = 0; i + k < n; k++) lanes[k] += x[i + k] * y[i + k];
  return sumOfLanes(lanes);
}

// Lanes are parts: products of like parts, and of the first's with the second's exchanged. Written by pairs
// of parts, which compilers make whole vectors and one exchange of: by complex numbers they take parts out
// one by one, three times as long.
template <typename R>
Complex<R> dot(int64_t n, const Complex<R>* first, const Complex<R>* second) {
  constexpr int64_t L = kSumLanes<R>;
  R like[L] = {}, crossed[L] = {};
  const R *const x = &first->re, *const y = &second->re;
  const auto add = [&](int64_t at, int64_t k) {
    const R re = x[at], im = x[at + 1], otherRe = y[at], otherIm = y[at + 1];
    like[k] += re * otherRe;
    like[k + 1] += im * otherIm;
    crossed[k] += re * otherIm;
    crossed[k + 1] += im * otherRe;
  };
  const int64_t parts = 2 * n;
  int64_t i = 0;
  for (; i + L <= parts; i += L)
    for (int64_t k = 0; k < L; k += 2) add(i + k, k);
  for (int64_t k = 0; i + k < parts; k += 2) add(i + k, k);
  for (int64_t k = 1; k < L; k += 2) crossed[k] = -crossed[k];
  return {sumOfLanes(like), sumOfLanes(crossed)};
}

template <typename T>
void dots(int64_t n, int64_t count, const T* x, int64_t stride, const T* y, T* sums) {
  for (int64_t k = 0; k < count; k++) sums[k] = dot(n, x + k * stride, y);
}

template <typename R>
inline R product(R a, R b) {
  return a * b;
}
template <typename R>
inline Complex<R> product(Complex<R> a, Complex<R> b) {
  return complexProduct(a, b);
}
template <typename R>
inline R sum(R a, R b) {
  return a + b;
}
template <typename R>
inline Complex<R> sum(Complex<R> a, Complex<R> b) {
  return {a.re + b.re, a.im + b.im};
}

template <typename T>
void addColumns(int64_t n, int64_t count, const T* factors, const T* x, int64_t stride, T* __restrict y) {
  int64_t k = 0;
  for (; k + 4 <= count; k += 4) {
    const T a = factors[k], b = factors[k + 1], c = factors[k + 2], d = factors[k + 3];
    const T *p = x + k * stride, *q = p + stride, *r = q + stride, *s = r + stride;
    for (int64_t i = 0; i < n; i++)
      y[i] = sum(y[i], sum(sum(product(a, p[i]), product(b, q[i])), sum(product(c, r[i]), product(d, s[i]))));
  }
  for (; k < count; k++) {
    const T a = factors[k];
    const T* const p = x + k * stride;
    for (int64_t i = 0; i < n; i++) y[i] = sum(y[i], product(a, p[i]));
  }
}

template <typename T>
void addTwo(int64_t n, T a, const T* x, T b, const T* z, T* __restrict y) {
  for (int64_t i = 0; i < n; i++) y[i] = sum(y[i], sum(product(a, x[i]), product(b, z[i])));
}

template <typename R>
inline R conjugated(R a) {
  return a;
}
template <typename R>
inline Complex<R> conjugated(Complex<R> a) {
  return {a.re, -a.im};
}
template <typename R>
inline R opposite(R a) {
  return -a;
}
template <typename R>
inline Complex<R> opposite(Complex<R> a) {
  return {-a.re, -a.im};
}

template <typename T>
void reflect(int64_t n, int64_t count, const T* v, T tau, T* x, int64_t stride) {
  const T a = opposite(product(tau, conjugated(v[0]))), b = opposite(product(tau, conjugated(v[1])));
  T* __restrict const p = x;
  T* __restrict const q = x + stride;
  if (count == 2) {
    for (int64_t i = 0; i < n; i++) {
      const T w = sum(product(p[i], v[0]), product(q[i], v[1]));
      p[i] = sum(p[i], product(a, w));
      q[i] = sum(q[i], product(b, w));
    }
    return;
  }
  const T c = opposite(product(tau, conjugated(v[2])));
  T* __restrict const r = q + stride;
  for (int64_t i = 0; i < n; i++) {
    const T w = sum(sum(product(p[i], v[0]), product(q[i], v[1])), product(r[i], v[2]));
    p[i] = sum(p[i], product(a, w));
    q[i] = sum(q[i], product(b, w));
    r[i] = sum(r[i], product(c, w));
  }
}

// Rows that are turned at a time, so that their columns stay in the first-level cache.
template <typename R>
constexpr int64_t kTurnedRows = 256 / static_cast<int64_t>(sizeof(R));

template <typename R, bool back>
void rotateRows(int64_t count, const R* c, const R* s, R* v, int64_t stride) {
  constexpr int64_t L = kTurnedRows<R>;
  R kept[L];
  R* const start = back ? v + count * stride : v;
  for (int64_t i = 0; i < L; i++) kept[i] = start[i];
  for (int64_t at = 0; at < count; at++) {
    const int64_t k = back ? count - 1 - at : at;
    const R cosine = c[k], sine = s[k];
    R *const x = v + k * stride, *const y = x + stride;
    if constexpr (back) {
      for (int64_t i = 0; i < L; i++) {
        const R first = x[i], second = kept[i];
        y[i] = cosine * second - sine * first;
        kept[i] = cosine * first + sine * second;
      }
    } else {
      for (int64_t i = 0; i < L; i++) {
        const R first = kept[i], second = y[i];
        x[i] = cosine * first + sine * second;
        kept[i] = cosine * second - sine * first;
      }
    }
  }
  R* const end = back ? v : v + count * stride;
  for (int64_t i = 0; i < L; i++) end[i] = kept[i];
}

template <typename R, bool back>
void rotateAll(int64_t n, int64_t count, const R* c, const R* s, R* v, int64_t stride) {
  constexpr int64_t L = kTurnedRows<R>;
  int64_t first = 0;
  for (; first + L <= n; first += L) rotateRows<R, back>(count, c, s, v + first, stride);
  for (; first < n; first++) {
    for (int64_t at = 0; at < count; at++) {
      const int64_t k = back ? count - 1 - at : at;
      R *const p = v + first + k * stride, *const q = p + stride;
      const R x = *p, y = *q;
      *p = c[k] * x + s[k] * y;
      *q = c[k] * y - s[k] * x;
    }
  }
}

template <typename R, bool squared>
void poles(int64_t n, const R* d, R origin, R shift, const R* z, R* __restrict delta, R* sums) {
  constexpr int64_t L = kSumLanes<R>;
  R values[L] = {}, slopes[L] = {};
  const auto add = [&](int64_t i, int64_t k) {
    const R difference = d[i] - origin;
    const R apart = (squared ? difference * (d[i] + origin) : difference) - shift, ratio = z[i] / apart;
    delta[i] = apart;
    values[k] += z[i] * ratio;
    slopes[k] += ratio * ratio;
  };
  int64_t i = 0;
  for (; i + L <= n; i += L)
    for (int64_t k = 0; k < L; k++) add(i + k, k);
  for (int64_t k = 0; i + k < n; k++) add(i + k, k);
  sums[0] = sumOfLanes(values);
  sums[1] = sumOfLanes(slopes);
}

template <typename T>
constexpr LinearKernels<T> kKernels{addColumns<T>, dots<T>, addTwo<T>, reflect<T>};
template <typename R>
constexpr RotationKernels<R> kRotations{rotateAll<R, false>, rotateAll<R, true>, poles<R, false>,
                                        poles<R, true>};

}  // namespace

const LinearTables& linearTables() {
  static constexpr LinearTables kTables{&kKernels<float>,          &kKernels<double>,
                                        &kKernels<Complex<float>>, &kKernels<Complex<double>>,
                                        &kRotations<float>,        &kRotations<double>};
  return kTables;
}

}  // namespace weft::cpu::WEFT_ISA
