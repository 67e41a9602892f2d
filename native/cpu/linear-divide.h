// The merging of two halves of a matrix that was divided, as eigenvectors of tridiagonal matrices and
// singular vectors of bidiagonal ones have it: columns that stay as they are, and those that are combined by
// what the secular equation gives.
#pragma once
#include <numeric>

#include "cpu/linear.h"

namespace weft::cpu {

// Rows that are not divided.
inline constexpr int64_t kDividedLeaf = 32;

template <typename R>
class DividedColumns {
 public:
  // Columns before `half` have elements in the rows of the first half alone, others in those of the second.
  DividedColumns(int64_t count, int64_t half) : rows_(static_cast<size_t>(count), kFirst) {
    std::fill(rows_.begin() + half, rows_.end(), kSecond);
  }

  // Columns that are combined, by ascending poles, and those that stay.
  std::vector<int64_t> kept, stays;

  int64_t keptCount() const { return static_cast<int64_t>(kept.size()); }
  void spread(int64_t column) { rowsOf(column) = kBoth; }
  void join(int64_t i, int64_t k) {
    if (rowsOf(i) != rowsOf(k)) rowsOf(i) = rowsOf(k) = kBoth;
  }

  // Once columns are known: where the rows of U are that belong to them.
  void placeRows() {
    places_.resize(kept.size());
    int64_t next = 0;
    for (const Rows rows : {kFirst, kBoth, kSecond})
      for (size_t j = 0; j < kept.size(); j++)
        if (rowsOf(kept[j]) == rows) places_[j] = next++;
  }
  int64_t place(int64_t j) const { return places_[static_cast<size_t>(j)]; }

  // The kept columns of q become those times -U, and go before those that stay. `half` rows of q are of the
  // first half. `packed` has as many elements as q.
  void combine(const MatrixView<R>& q, int64_t half, const MatrixView<R>& u, R* packed,
               const LinearWork& work) {
    const int64_t n = q.rows, k = keptCount();
    int64_t counts[3] = {};
    for (const int64_t column : kept) counts[rowsOf(column)]++;
    const int64_t upper = counts[kFirst] + counts[kBoth], lower = counts[kBoth] + counts[kSecond];
    const MatrixView<R> top = columnMajor(packed, half, upper),
                        bottom = columnMajor(packed + half * upper, n - half, lower),
                        rest = columnMajor(packed + half * upper + (n - half) * lower, n, q.columns - k);
    for (int64_t j = 0; j < k; j++) {
      const int64_t column = kept[static_cast<size_t>(j)];
      if (place(j) < upper) std::copy_n(&q.at(0, column), half, &top.at(0, place(j)));
      if (place(j) >= counts[kFirst])
        std::copy_n(&q.at(half, column), n - half, &bottom.at(0, place(j) - counts[kFirst]));
    }
    for (int64_t j = 0; j < rest.columns; j++)
      std::copy_n(&q.at(0, stays[static_cast<size_t>(j)]), n, &rest.at(0, j));
    for (int64_t j = 0; j < k; j++) std::fill_n(&q.at(0, j), n, R{0});
    for (int64_t j = k; j < q.columns; j++) std::copy_n(&rest.at(0, j - k), n, &q.at(0, j));
    subtractProduct(q.part(0, 0, half, k), top, u.part(0, 0, upper, k), false, work);
    subtractProduct(q.part(half, 0, n - half, k), bottom, u.part(counts[kFirst], 0, lower, k), false, work);
  }

 private:
  enum Rows : int8_t { kFirst, kBoth, kSecond };
  Rows& rowsOf(int64_t k) { return rows_[static_cast<size_t>(k)]; }

  std::vector<Rows> rows_;
  std::vector<int64_t> places_;
};

// Calls run(first, last) for stretches of the numbers below `count`.
template <typename Run>
void eachStretch(int64_t count, const LinearWork& work, const Run& run) {
  constexpr int64_t kTask = 16;
  work.pool.parallelFor((count + kTask - 1) / kTask,
                        [&](int64_t task, int) { run(task * kTask, std::min(count, (task + 1) * kTask)); });
}

// The column z of a secular equation for which given roots are exact (Löwner's formula), element i with the
// sign of `given`. Element (i, j) of `delta` is pole i less root j; apart(i, j): pole i less pole j.
template <typename R, typename Apart>
void exactColumn(const MatrixView<R>& delta, const std::vector<R>& given, std::vector<R>& exact,
                 const LinearWork& work, const Apart& apart) {
  eachStretch(delta.rows, work, [&](int64_t first, int64_t last) {
    R* const w = exact.data();
    for (int64_t i = first; i < last; i++) w[i] = delta.at(i, i);
    for (int64_t j = 0; j < delta.columns; j++)
      for (int64_t i = first; i < last; i++)
        if (i != j) w[i] *= delta.at(i, j) / apart(i, j);
    for (int64_t i = first; i < last; i++)
      w[i] = std::copysign(std::sqrt(std::max(R{0}, -w[i])), given[static_cast<size_t>(i)]);
  });
}

// Divides a tridiagonal or bidiagonal matrix, n elements d and e beside them, by the power of two of its
// largest element, so that squares neither overflow nor vanish; gives the exponent.
template <typename R>
int scaleToOne(int64_t n, R* d, R* e) {
  R most = 0;
  for (int64_t k = 0; k < n; k++) most = std::max({most, std::abs(d[k]), k < n - 1 ? std::abs(e[k]) : R{0}});
  if (most == 0) return 0;
  const int exponent = std::ilogb(most);
  for (int64_t k = 0; k < n; k++) {
    d[k] = std::ldexp(d[k], -exponent);
    if (k < n - 1) e[k] = std::ldexp(e[k], -exponent);
  }
  return exponent;
}

// Turns columns i and k: (x, y) becomes (c x + s y, c y - s x).
template <typename R>
void turnColumns(const MatrixView<R>& q, int64_t i, int64_t k, R c, R s) {
  for (int64_t row = 0; row < q.rows; row++) {
    const R x = q.at(row, i), y = q.at(row, k);
    q.at(row, i) = c * x + s * y;
    q.at(row, k) = c * y - s * x;
  }
}

}  // namespace weft::cpu
