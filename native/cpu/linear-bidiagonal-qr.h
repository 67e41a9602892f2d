// The implicit QR method for bidiagonal matrices.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/linear-rotations.h"

namespace weft::cpu {

// The bidiagonal matrix (d, e) to its singular values, not in order; false where one does not converge.
template <typename R>
class Bidiagonal {
 public:
  Bidiagonal(int64_t n, R* d, R* e, Rotations<R>& left, Rotations<R>& right)
      : d_(d), e_(e), left_(left), right_(right), last_(n), mostSteps_(std::max<int64_t>(75, 6 * n)) {}

  bool solve() {
    int64_t steps = 0;
    while (last_ > 0) {
      if (steps > mostSteps_) return false;
      const int64_t before = last_;
      step();
      steps = last_ == before ? steps + 1 : 0;
    }
    left_.flush();
    right_.flush();
    return true;
  }

 private:
  static constexpr R kEpsilon = std::numeric_limits<R>::epsilon();
  static constexpr R kTiny = std::numeric_limits<R>::min();

  void step() {
    const int64_t p = last_;
    int64_t k = p - 2;
    for (; k >= 0; k--) {
      if (std::abs(e_[k]) > kTiny + kEpsilon * (std::abs(d_[k]) + std::abs(d_[k + 1]))) continue;
      e_[k] = 0;
      break;
    }
    if (k == p - 2) return settle(p - 1);
    int64_t zero = p - 1;
    for (; zero > k; zero--) {
      const R beside =
          (zero != p - 1 ? std::abs(e_[zero]) : 0) + (zero != k + 1 ? std::abs(e_[zero - 1]) : 0);
      if (std::abs(d_[zero]) > kTiny + kEpsilon * beside) continue;
      d_[zero] = 0;
      break;
    }
    if (zero == k) return chase(k + 1, p);
    if (zero == p - 1) return deflate(k + 1, p);
    split(zero + 1, p);
  }

  // The last value is 0: takes its superdiagonal element away from the right.
  void deflate(int64_t k, int64_t p) {
    R f = e_[p - 2];
    e_[p - 2] = 0;
    for (int64_t j = p - 2; j >= k; j--) {
      const auto [c, s, length] = rotationOf(d_[j], f);
      d_[j] = length;
      if (j != k) {
        f = -s * e_[j - 1];
        e_[j - 1] = c * e_[j - 1];
      }
      right_.turn(j, p - 1, c, s);
    }
  }

  // Value k - 1 is 0: takes its superdiagonal element away from the left.
  void split(int64_t k, int64_t p) {
    R f = e_[k - 1];
    e_[k - 1] = 0;
    for (int64_t j = k; j < p; j++) {
      const auto [c, s, length] = rotationOf(d_[j], f);
      d_[j] = length;
      f = -s * e_[j];
      e_[j] = c * e_[j];
      left_.turn(j, k - 1, c, s);
    }
  }

  // An implicit QR step with the shift of the last two values.
  void chase(int64_t k, int64_t p) {
    const R scale = std::max(
        {std::abs(d_[p - 1]), std::abs(d_[p - 2]), std::abs(e_[p - 2]), std::abs(d_[k]), std::abs(e_[k])});
    const R last = d_[p - 1] / scale, before = d_[p - 2] / scale, beside = e_[p - 2] / scale,
            first = d_[k] / scale, next = e_[k] / scale;
    const R b = ((before + last) * (before - last) + beside * beside) / 2,
            c = (last * beside) * (last * beside);
    R shift = 0;
    if (b != 0 || c != 0) {
      shift = std::sqrt(b * b + c);
      if (b < 0) shift = -shift;
      shift = c / (b + shift);
    }
    R f = (first + last) * (first - last) + shift, g = first * next;
    right_.begin(k, false);
    left_.begin(k, false);
    for (int64_t j = k; j < p - 1; j++) {
      const Rotation<R> right = rotationOf(f, g);
      if (j != k) e_[j - 1] = right.length;
      f = right.c * d_[j] + right.s * e_[j];
      e_[j] = right.c * e_[j] - right.s * d_[j];
      g = right.s * d_[j + 1];
      d_[j + 1] = right.c * d_[j + 1];
      right_.add(right.c, right.s);
      const Rotation<R> left = rotationOf(f, g);
      d_[j] = left.length;
      f = left.c * e_[j] + left.s * d_[j + 1];
      d_[j + 1] = left.c * d_[j + 1] - left.s * e_[j];
      g = left.s * e_[j + 1];
      e_[j + 1] = left.c * e_[j + 1];
      left_.add(left.c, left.s);
    }
    e_[p - 2] = f;
    right_.end();
    left_.end();
  }

  void settle(int64_t k) {
    if (std::signbit(d_[k])) {
      d_[k] = -d_[k];
      right_.negate(k);
    }
    last_--;
  }

  R *d_, *e_;
  Rotations<R>&left_, &right_;
  int64_t last_;
  // For a value, as LAPACK has them: those of graded matrices are found slowly.
  const int64_t mostSteps_;
};

}  // namespace weft::cpu
