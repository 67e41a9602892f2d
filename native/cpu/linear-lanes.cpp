// The innermost loops of linear algebra for one instruction set.
#include <utility>

#include "cpu/fft-vectors.h"
#include "cpu/isa-scope.h"
#include "cpu/linear-kernels.h"
#include "cpu/linear-panel-lanes.h"
#include "cpu/partial-vectors.h"
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

template <int... K>
using LaneNumbers = std::integer_sequence<int, K...>;
template <int kCount>
using FirstNumbers = std::make_integer_sequence<int, kCount>;

// The sum of the lanes of a vector by halves, in the order of `sumOfLanes`.
template <typename R, typename V, int... K>
inline R sumOfHalves(V v, LaneNumbers<K...>) {
  constexpr int kHalf = sizeof...(K);
  const auto sum = __builtin_shufflevector(v, v, K...) + __builtin_shufflevector(v, v, (K + kHalf)...);
  if constexpr (kHalf == 2)
    return sum[0] + sum[1];
  else
    return sumOfHalves<R>(sum, FirstNumbers<kHalf / 2>{});
}
template <typename R, int kVectors>
inline R sumOfVectors(const Vector<R>* v) {
  if constexpr (kVectors > 1) {
    Vector<R> sums[kVectors / 2];
    for (int k = 0; k < kVectors / 2; k++) sums[k] = v[k] + v[k + kVectors / 2];
    return sumOfVectors<R, kVectors / 2>(sums);
  } else if constexpr (kLanes<R> == 2) {
    return v[0][0] + v[0][1];
  } else {
    return sumOfHalves<R>(v[0], FirstNumbers<kLanes<R> / 2>{});
  }
}

// Columns whose sums fit the registers.
constexpr int kSummedColumns = kVectorBytes == 64 ? 4 : kVectorBytes == 32 ? 2 : 1;

// sums[c] = Σ x_c y of columns `stride` apart. Lanes behind the last element add 0.
template <typename R, int kColumns>
inline __attribute__((always_inline)) void dotsOf(int64_t n, const R* x, int64_t stride, const R* y,
                                                  R* sums) {
  constexpr int kVectors = kSumLanes<R> / kLanes<R>;
  Vector<R> lanes[kColumns][kVectors];
  for (int c = 0; c < kColumns; c++)
    for (int k = 0; k < kVectors; k++) lanes[c][k] = Vector<R>{};
  int64_t i = 0;
  for (; i + kSumLanes<R> <= n; i += kSumLanes<R>)
    for (int k = 0; k < kVectors; k++) {
      const Vector<R> other = loadVector(y + i + k * kLanes<R>);
      for (int c = 0; c < kColumns; c++)
        lanes[c][k] += loadVector(x + c * stride + i + k * kLanes<R>) * other;
    }
  if (i < n)
    for (int k = 0; k < kVectors; k++) {
      const int64_t at = i + k * kLanes<R>;
      const PartialVector<R> rest(n - at);
      const Vector<R> other = rest.load(y + at);
      for (int c = 0; c < kColumns; c++) lanes[c][k] += rest.load(x + c * stride + at) * other;
    }
  for (int c = 0; c < kColumns; c++) sums[c] = sumOfVectors<R, kVectors>(lanes[c]);
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

template <typename R>
void dots(int64_t n, int64_t count, const R* x, int64_t stride, const R* y, R* sums) {
  int64_t k = 0;
  for (; k + kSummedColumns <= count; k += kSummedColumns)
    dotsOf<R, kSummedColumns>(n, x + k * stride, stride, y, sums + k);
  for (; k < count; k++) dotsOf<R, 1>(n, x + k * stride, stride, y, sums + k);
}
template <typename R>
void dots(int64_t n, int64_t count, const Complex<R>* x, int64_t stride, const Complex<R>* y,
          Complex<R>* sums) {
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

// y += four columns' sum, then the next four's, so that y is read and written once for all of them.
template <typename R, int kFours>
inline void addFours(int64_t n, const R* factors, const R* x, int64_t stride, R* y) {
  Vector<R> f[4 * kFours];
  for (int k = 0; k < 4 * kFours; k++) f[k] = broadcast(factors[k]);
  const auto add = [&](auto load, int64_t i, Vector<R> sum) {
    const R* p = x + i;
    for (int k = 0; k < 4 * kFours; k += 4, p += 4 * stride)
      sum += (f[k] * load(p) + f[k + 1] * load(p + stride)) +
             (f[k + 2] * load(p + 2 * stride) + f[k + 3] * load(p + 3 * stride));
    return sum;
  };
  int64_t i = 0;
  for (; i + kLanes<R> <= n; i += kLanes<R>)
    storeVector(y + i, add([](const R* p) { return loadVector(p); }, i, loadVector(y + i)));
  if (i == n) return;
  const PartialVector<R> rest(n - i);
  rest.store(y + i, add([&](const R* p) { return rest.load(p); }, i, rest.load(y + i)));
}

// y += factor x.
template <typename R>
inline void addOne(int64_t n, R factor, const R* x, R* y) {
  const Vector<R> f = broadcast(factor);
  int64_t i = 0;
  for (; i + kLanes<R> <= n; i += kLanes<R>) storeVector(y + i, loadVector(y + i) + f * loadVector(x + i));
  // Element by element: by a part of a vector, the columns of LU factors of 16 rows take a tenth longer.
  for (; i < n; i++) y[i] += factor * x[i];
}

template <typename R>
void addColumns(int64_t n, int64_t count, const R* factors, const R* x, int64_t stride, R* y) {
  int64_t k = 0;
  for (; k + 8 <= count; k += 8) addFours<R, 2>(n, factors + k, x + k * stride, stride, y);
  if (k + 4 <= count) {
    addFours<R, 1>(n, factors + k, x + k * stride, stride, y);
    k += 4;
  }
  for (; k < count; k++) addOne(n, factors[k], x + k * stride, y);
}

template <typename R>
void addColumns(int64_t n, int64_t count, const Complex<R>* factors, const Complex<R>* x, int64_t stride,
                Complex<R>* __restrict y) {
  using T = Complex<R>;
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

// x_j -= tau v vᴴ x_j, v with a 1 before its other n - 1 elements.
template <typename R, int kColumns>
inline void reflectSome(int64_t n, const R* v, R tau, R* x, int64_t stride) {
  R factors[kColumns];
  dotsOf<R, kColumns>(n - 1, x + 1, stride, v, factors);
  Vector<R> f[kColumns];
  for (int c = 0; c < kColumns; c++) {
    const R factor = -(tau * (x[c * stride] + factors[c]));
    x[c * stride] += factor;
    f[c] = broadcast(factor);
  }
  int64_t i = 0;
  for (; i + kLanes<R> < n; i += kLanes<R>) {
    const Vector<R> other = loadVector(v + i);
    for (int c = 0; c < kColumns; c++) {
      R* const to = x + c * stride + 1 + i;
      storeVector(to, loadVector(to) + f[c] * other);
    }
  }
  if (i == n - 1) return;
  const PartialVector<R> rest(n - 1 - i);
  const Vector<R> other = rest.load(v + i);
  for (int c = 0; c < kColumns; c++) {
    R* const to = x + c * stride + 1 + i;
    rest.store(to, rest.load(to) + f[c] * other);
  }
}
template <typename R>
void reflectColumns(int64_t n, int64_t count, const R* v, R tau, R* x, int64_t stride) {
  int64_t j = 0;
  for (; j + kSummedColumns <= count; j += kSummedColumns)
    reflectSome<R, kSummedColumns>(n, v, tau, x + j * stride, stride);
  for (; j < count; j++) reflectSome<R, 1>(n, v, tau, x + j * stride, stride);
}
template <typename R>
void reflectColumns(int64_t n, int64_t count, const Complex<R>* v, Complex<R> tau, Complex<R>* x,
                    int64_t stride) {
  for (int64_t j = 0; j < count; j++) {
    Complex<R>* const column = x + j * stride;
    const Complex<R> factor = opposite(product(tau, sum(*column, dot(n - 1, v, column + 1))));
    *column = sum(*column, factor);
    addColumns(n - 1, 1, &factor, v, 0, column + 1);
  }
}

template <typename T>
void scaleColumn(int64_t n, T factor, T* x) {
  for (int64_t i = 0; i < n; i++) x[i] = product(factor, x[i]);
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

// The same of the last rows, fewer than two vectors of them.
template <typename R, bool back>
void rotateRest(int64_t rows, int64_t count, const R* c, const R* s, R* v, int64_t stride) {
  const PartialVector<R> parts[2] = {PartialVector<R>(rows), PartialVector<R>(rows - kLanes<R>)};
  Vector<R> kept[2];
  R* const start = back ? v + count * stride : v;
  for (int i = 0; i < 2; i++) kept[i] = parts[i].load(start + i * kLanes<R>);
  for (int64_t at = 0; at < count; at++) {
    const int64_t k = back ? count - 1 - at : at;
    const Vector<R> cosine = broadcast(c[k]), sine = broadcast(s[k]);
    R *const x = v + k * stride, *const y = x + stride;
    for (int i = 0; i < 2; i++) {
      const Vector<R> other = parts[i].load((back ? x : y) + i * kLanes<R>);
      if constexpr (back) {
        parts[i].store(y + i * kLanes<R>, cosine * kept[i] - sine * other);
        kept[i] = cosine * other + sine * kept[i];
      } else {
        parts[i].store(x + i * kLanes<R>, cosine * kept[i] + sine * other);
        kept[i] = cosine * other - sine * kept[i];
      }
    }
  }
  R* const end = back ? v : v + count * stride;
  for (int i = 0; i < 2; i++) parts[i].store(end + i * kLanes<R>, kept[i]);
}

template <typename R, bool back>
void rotateAll(int64_t n, int64_t count, const R* c, const R* s, R* v, int64_t stride) {
  constexpr int64_t L = kTurnedRows<R>;
  int64_t first = 0;
  for (; first + L <= n; first += L) rotateRows<R, back>(count, c, s, v + first, stride);
  for (; first < n; first += 2 * kLanes<R>) rotateRest<R, back>(n - first, count, c, s, v + first, stride);
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
inline auto doubtOf(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return x - x;
  else
    return (x.re - x.re) + (x.im - x.im);
}

// Squares of as many elements as a vector has are turned in registers.
template <typename T, typename R>
void turn(const T* from, int64_t fromStride, int64_t lines, int64_t columns, T* to, int64_t toStride,
          R* doubts) {
  const auto turnPart = [&](int64_t top, int64_t bottom, int64_t left, int64_t right) {
    for (int64_t j = left; j < right; j++)
      for (int64_t i = top; i < bottom; i++) {
        const T value = from[i * fromStride + j];
        to[j * toStride + i] = value;
        doubts[j] += doubtOf(value);
      }
  };
  if constexpr (std::is_same_v<T, R>) {
    constexpr int64_t L = kLanes<R>;
    const int64_t wholeLines = lines / L * L, wholeColumns = columns / L * L;
    for (int64_t j = 0; j < wholeColumns; j += L) {
      Vector<R> doubt = loadVector(doubts + j);
      for (int64_t i = 0; i < wholeLines; i += L) {
        Vector<R> v[L];
        for (int64_t k = 0; k < L; k++) {
          v[k] = loadVector(from + (i + k) * fromStride + j);
          doubt += v[k] - v[k];
        }
        transposeVectors<R>(v);
        for (int64_t k = 0; k < L; k++) storeVector(to + (j + k) * toStride + i, v[k]);
      }
      storeVector(doubts + j, doubt);
    }
    turnPart(wholeLines, lines, 0, wholeColumns);
    turnPart(0, lines, wholeColumns, columns);
  } else {
    turnPart(0, lines, 0, columns);
  }
}

template <typename T>
constexpr LinearKernels<T> kKernels{addColumns,     dots,           reflect<T>,
                                    reflectColumns, scaleColumn<T>, turn<T, RealOf<T>>};
template <typename R>
constexpr RealKernels<R> kRealKernels{rotateAll<R, false>, rotateAll<R, true>, poles<R, false>,
                                      poles<R, true>, factorColumns<R>};

}  // namespace

const LinearTables& linearTables() {
  static constexpr LinearTables kTables{&kKernels<float>,          &kKernels<double>,
                                        &kKernels<Complex<float>>, &kKernels<Complex<double>>,
                                        &kRealKernels<float>,      &kRealKernels<double>};
  return kTables;
}

}  // namespace weft::cpu::WEFT_ISA
