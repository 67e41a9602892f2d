// Rotations of neighbouring columns, kept until there are many, then applied by blocks of rows: each block
// stays in the cache while all of them go over it, and threads have blocks each.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "cpu/linear.h"

namespace weft::cpu {

// (x, y) to (length, 0), by (c x + s y, c y - s x).
template <typename R>
struct Rotation {
  R c, s, length;
};

// Of numbers of a matrix whose largest element is about 1: squares do not overflow. Subnormal numbers are
// scaled first: their length has so few bits that c² + s² would differ from 1 by hundredths.
template <typename R>
inline Rotation<R> rotationOf(R x, R y) {
  constexpr R kTiny = std::numeric_limits<R>::min(), kSmall = kTiny / std::numeric_limits<R>::epsilon();
  const auto of = [](R a, R b, R length) { return Rotation<R>{a / length, b / length, length}; };
  const R squares = x * x + y * y;
  if (squares > kSmall) return of(x, y, std::sqrt(squares));
  const R most = std::max(std::abs(x), std::abs(y));
  if (most == 0) return {1, 0, 0};
  if (!(most < kSmall)) return of(x, y, std::hypot(x, y));
  const R a = x / kTiny, b = y / kTiny;
  Rotation<R> scaled = of(a, b, std::sqrt(a * a + b * b));
  scaled.length *= kTiny;
  return scaled;
}

template <typename R>
class Rotations {
 public:
  // Of columns of `rows` real numbers, of which complex ones have two.
  Rotations(R* columns, int64_t rows, int64_t stride, const LinearWork& work)
      : columns_(columns), rows_(rows), stride_(stride), work_(work) {}

  bool isWanted() const { return columns_ != nullptr; }

  // Columns k and k + 1 of a sweep: (x, y) becomes (c x + s y, c y - s x). Pairs of a sweep come in order,
  // from `first` up, or with `back` from above down to it.
  void begin(int64_t first, bool back) { sweeps_.push_back({first, c_.size(), 0, back}); }
  void add(R c, R s) {
    c_.push_back(c);
    s_.push_back(s);
    sweeps_.back().count++;
  }
  // A sweep down ended at a pair above its first.
  void raise(int64_t first) { sweeps_.back().first = first; }
  void end() {
    if (c_.size() >= kMost) flush();
  }

  void flush() {
    if (!isWanted() || c_.empty()) return clear();
    for (const Sweep& sweep : sweeps_) {
      if (!sweep.back) continue;
      std::reverse(c_.begin() + sweep.at, c_.begin() + sweep.at + sweep.count);
      std::reverse(s_.begin() + sweep.at, s_.begin() + sweep.at + sweep.count);
    }
    const RealKernels<R>& kernels = realKernels<R>();
    work_.pool.parallelFor((rows_ + kRows - 1) / kRows, [&](int64_t task, int) {
      const int64_t first = task * kRows, count = std::min(kRows, rows_ - first);
      for (const Sweep& sweep : sweeps_) {
        R* const at = columns_ + sweep.first * stride_ + first;
        const auto turn = sweep.back ? kernels.rotateBack : kernels.rotate;
        turn(count, sweep.count, c_.data() + sweep.at, s_.data() + sweep.at, at, stride_);
      }
    });
    clear();
  }

  // Turns two columns at once, after all before.
  void turn(int64_t x, int64_t y, R c, R s) {
    flush();
    if (!isWanted()) return;
    R *const p = columns_ + x * stride_, *const q = columns_ + y * stride_;
    for (int64_t i = 0; i < rows_; i++) {
      const R first = p[i], second = q[i];
      p[i] = c * first + s * second;
      q[i] = c * second - s * first;
    }
  }

  void negate(int64_t column) {
    flush();
    if (!isWanted()) return;
    for (int64_t i = 0; i < rows_; i++) columns_[column * stride_ + i] = -columns_[column * stride_ + i];
  }

 private:
  static constexpr size_t kMost = 1 << 15;
  static constexpr int64_t kRows = 128;
  struct Sweep {
    int64_t first;
    size_t at;
    int64_t count;
    bool back;
  };

  void clear() {
    sweeps_.clear();
    c_.clear();
    s_.clear();
  }

  R* columns_;
  int64_t rows_, stride_;
  const LinearWork& work_;
  std::vector<Sweep> sweeps_;
  std::vector<R> c_, s_;
};

}  // namespace weft::cpu
