// Roots by rational interpolation between the poles beside them (Li, LAPACK Working Note 89), within bounds
// that are halved where a step leaves them. They are differences to the nearer pole, so that none cancels.
#include "cpu/linear-secular.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/linear-kernels.h"

namespace weft::cpu {
namespace {

constexpr int kMostSteps = 100;

// The function at a place: its parts of the poles up to k and behind them, and their derivatives.
template <typename R>
struct SecularValue {
  R before, after, slopeBefore, slopeAfter;
  R value(R rho) const { return 1 / rho + before + after; }
  R slope() const { return slopeBefore + slopeAfter; }
  // Of its rounding errors, in units of epsilon.
  R size(R rho, R shift) const { return 16 * (after - before) + 2 / rho + std::abs(shift) * slope(); }
};

template <bool squared, typename R>
SecularValue<R> evaluate(int64_t k, int64_t n, const R* d, R origin, R shift, const R* z, R* delta) {
  const auto poles = squared ? realKernels<R>().squaredPoles : realKernels<R>().poles;
  R before[2], after[2];
  poles(k + 1, d, origin, shift, z, delta, before);
  poles(n - k - 1, d + k + 1, origin, shift, z + k + 1, delta + k + 1, after);
  return {before[0], after[0], before[1], after[1]};
}

// The step to the zero of a function with the value and the slopes of this one, and poles at both sides.
template <typename R>
R stepBetween(R value, const SecularValue<R>& at, R left, R right) {
  const R c = value - left * at.slopeBefore - right * at.slopeAfter;
  const R a = (left + right) * value - left * right * at.slope(), b = left * right * value;
  const R root = std::sqrt(std::max(R{0}, a * a - 4 * b * c));
  if (c == 0) return b / a;
  return a <= 0 ? (a - root) / (2 * c) : 2 * b / (a + root);
}

// The same with the last pole alone.
template <typename R>
R stepBehind(R value, const SecularValue<R>& at, R pole) {
  const R rest = value - pole * at.slope();
  return rest == 0 ? -value / at.slope() : pole + pole * pole * at.slope() / rest;
}

// Within bounds, of which one may be 0, the pole.
template <typename R>
R middle(R low, R high) {
  if (low == 0) return high / 64;
  if (high == 0) return low / 64;
  if (low > 0 && high > 4 * low) return std::sqrt(low) * std::sqrt(high);
  if (high < 0 && low < 4 * high) return -std::sqrt(-low) * std::sqrt(-high);
  return low + (high - low) / 2;
}

// The pole that a root is next to, and how far behind it the root is.
template <typename R>
struct Root {
  R origin, shift;
};

// Of poles d, or their squares.
template <bool squared, typename R>
Root<R> findRoot(int64_t k, int64_t n, const R* d, const R* z, R rho, R* delta) {
  const bool isLast = k == n - 1;
  R origin = d[k], low = 0, high;
  if (isLast) {
    R squares = 0;
    for (int64_t i = 0; i < n; i++) squares += z[i] * z[i];
    high = rho * squares;
  } else {
    high = (d[k + 1] - d[k]) / 2 * (squared ? d[k + 1] + d[k] : R{1});
  }
  R shift = high;
  SecularValue<R> at = evaluate<squared>(k, n, d, origin, shift, z, delta);
  if (!isLast && at.value(rho) < 0) {
    // Behind the middle, and nearer to the next pole.
    origin = d[k + 1];
    low = -high;
    high = 0;
    shift = low;
    at = evaluate<squared>(k, n, d, origin, shift, z, delta);
  }
  for (int step = 0; step < kMostSteps; step++) {
    const R value = at.value(rho);
    if (!(std::abs(value) > std::numeric_limits<R>::epsilon() / 2 * at.size(rho, shift))) break;
    (value < 0 ? low : high) = shift;
    R next =
        shift + (isLast ? stepBehind(value, at, delta[k]) : stepBetween(value, at, delta[k], delta[k + 1]));
    if (!(next > low && next < high)) next = middle(low, high);
    if (!(next > low && next < high)) break;
    shift = next;
    at = evaluate<squared>(k, n, d, origin, shift, z, delta);
  }
  return {origin, shift};
}

}  // namespace

template <typename R>
R secularRoot(int64_t k, int64_t n, const R* d, const R* z, R rho, R* delta) {
  const Root<R> root = findRoot<false>(k, n, d, z, rho, delta);
  return root.origin + root.shift;
}

template <typename R>
R singularRoot(int64_t k, int64_t n, const R* d, const R* z, R* delta) {
  const Root<R> root = findRoot<true>(k, n, d, z, R{1}, delta);
  // ω - d of ω² - d².
  return root.origin + root.shift / (root.origin + std::sqrt(root.origin * root.origin + root.shift));
}

template float secularRoot<float>(int64_t, int64_t, const float*, const float*, float, float*);
template double secularRoot<double>(int64_t, int64_t, const double*, const double*, double, double*);
template float singularRoot<float>(int64_t, int64_t, const float*, const float*, float*);
template double singularRoot<double>(int64_t, int64_t, const double*, const double*, double*);

}  // namespace weft::cpu
