// LU factors of few columns, for files compiled once per instruction set.
#pragma once
#include <utility>

#include "cpu/fft-vectors.h"
#include "cpu/partial-vectors.h"

namespace weft::cpu::WEFT_ISA {
namespace {

// The first of the largest of n elements by their moduli; NaN is none.
template <typename R>
inline int64_t largestOf(int64_t n, const R* x) {
  constexpr int64_t L = kLanes<R>;
  using Places = decltype(Vector<R>{} > Vector<R>{});
  using Place = std::conditional_t<sizeof(R) == 4, int32_t, int64_t>;
  Vector<R> most{};
  Places blocks{};
  const auto look = [&](Vector<R> v, int64_t block) {
    const Vector<R> size = v > -v ? v : -v;
    const Places isLarger = size > most;
    blocks = isLarger ? Places{} + static_cast<Place>(block) : blocks;
    most = isLarger ? size : most;
  };
  int64_t i = 0;
  for (; i + L <= n; i += L) look(loadVector(x + i), i / L);
  // Lanes behind the last element are 0, and never larger.
  if (i < n) look(PartialVector<R>(n - i).load(x + i), i / L);
  R largest = 0;
  int64_t best = 0;
  for (int64_t k = 0; k < L; k++) {
    const int64_t at = static_cast<int64_t>(blocks[k]) * L + k;
    if (most[k] > largest || (most[k] == largest && largest > 0 && at < best)) {
      largest = most[k];
      best = at;
    }
  }
  return best;
}

// Columns y_c -= factors[c] x, `stride` apart, c < kColumns; factors are `stride` apart, too.
template <typename R, int kColumns>
inline void takeOff(int64_t n, const R* x, const R* factors, R* y, int64_t stride,
                    const PartialVector<R>& rest) {
  constexpr int64_t L = kLanes<R>;
  Vector<R> f[kColumns];
  for (int c = 0; c < kColumns; c++) f[c] = broadcast(factors[c * stride]);
  int64_t i = 0;
  for (; i + L <= n; i += L) {
    const Vector<R> other = loadVector(x + i);
    for (int c = 0; c < kColumns; c++) {
      R* const to = y + c * stride + i;
      storeVector(to, loadVector(to) - f[c] * other);
    }
  }
  if (i == n) return;
  const Vector<R> other = rest.load(x + i);
  for (int c = 0; c < kColumns; c++) {
    R* const to = y + c * stride + i;
    rest.store(to, rest.load(to) - f[c] * other);
  }
}

// x /= divisor.
template <typename R>
inline void divideColumn(int64_t n, R divisor, R* x, const PartialVector<R>& rest) {
  const Vector<R> d = broadcast(divisor);
  int64_t i = 0;
  for (; i + kLanes<R> <= n; i += kLanes<R>) storeVector(x + i, loadVector(x + i) / d);
  if (i < n) rest.store(x + i, rest.load(x + i) / d);
}

template <typename R>
void factorColumns(int64_t rows, int64_t columns, R* a, int64_t stride, int64_t* pivots) {
  for (int64_t k = 0; k < rows && k < columns; k++) {
    R* const column = a + k * stride;
    const int64_t pivot = k + largestOf(rows - k, column + k);
    pivots[k] = pivot;
    if (pivot != k)
      for (int64_t j = 0; j < columns; j++) std::swap(a[j * stride + k], a[j * stride + pivot]);
    // A column of zeros: what is left of it stays.
    if (column[k] == 0) continue;
    const int64_t below = rows - k - 1;
    const PartialVector<R> rest(below % kLanes<R>);
    divideColumn(below, column[k], column + k + 1, rest);
    int64_t j = k + 1;
    for (; j + 4 <= columns; j += 4)
      takeOff<R, 4>(below, column + k + 1, a + j * stride + k, a + j * stride + k + 1, stride, rest);
    for (; j < columns; j++)
      takeOff<R, 1>(below, column + k + 1, a + j * stride + k, a + j * stride + k + 1, stride, rest);
  }
}

}  // namespace
}  // namespace weft::cpu::WEFT_ISA
