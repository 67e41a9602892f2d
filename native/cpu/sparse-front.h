// The dense part of a sparse factorization: as many columns of a front are eliminated as have a pivot that is
// large enough among the rows that are complete; others wait for the front's parent.
#pragma once
#include "cpu/linear.h"
#include "cpu/sparse-factors.h"

namespace weft::cpu {

// Rows and columns are steps of the order; the first `complete` of each have all their elements.
template <typename T>
struct Front {
  Line<int64_t> rows, columns;
  Line<T> elements;  // in column-major order
  int64_t complete = 0, pivots = 0;

  int64_t size() const { return static_cast<int64_t>(rows.size()); }
  MatrixView<T> view() { return columnMajor(elements.data(), size(), size()); }
};

template <typename T>
class FrontElimination {
 public:
  // A pivot is the element of the diagonal where it is at least `threshold` of its column's largest one.
  FrontElimination(Front<T>& front, double threshold, const LinearWork& work)
      : front_(front), f_(front.view()), threshold_(threshold), work_(work) {}

  static size_t workspace(DType dtype, int64_t size) {
    return productBytes(dtype, size, std::min(size, kPanel), size * std::min(size, kPanel));
  }

  void run() {
    int64_t limit = front_.complete, before = 0;
    for (;;) {
      while (front_.pivots < limit && !work_.cancelled()) limit = eliminatePanel(limit);
      // Columns without a pivot may have one when others are eliminated.
      if (limit == front_.complete || front_.pivots == before || work_.cancelled()) return;
      before = front_.pivots;
      limit = front_.complete;
    }
  }

 private:
  // Columns that are eliminated one by one, and the most multiply-adds that are not worth a product.
  static constexpr int64_t kPanel = 32;
  static constexpr int64_t kSmall = int64_t{1} << 14;

  // Those of the next columns that have pivots; others go to the end of the stretch. Gives its new end.
  int64_t eliminatePanel(int64_t limit) {
    const int64_t first = front_.pivots, end = std::min(first + kPanel, limit);
    int64_t open = end;
    while (front_.pivots < open)
      if (!eliminate(front_.pivots, end)) exchangeColumns(front_.pivots, --open);
    const int64_t done = front_.pivots - first;
    if (done > 0) updateBehind(first, done, end);
    for (int64_t k = end - 1; k >= open; k--) exchangeColumns(k, --limit);
    return limit;
  }

  // Eliminates a column in those of the panel, up to `end`.
  bool eliminate(int64_t k, int64_t end) {
    const int64_t pivot = pivotOf(k), n = front_.size();
    if (pivot < 0) return false;
    if (pivot != k) {
      for (int64_t j = 0; j < n; j++) std::swap(f_.at(k, j), f_.at(pivot, j));
      std::swap(front_.rows[k], front_.rows[pivot]);
    }
    T* const column = &f_.at(0, k);
    for (int64_t i = k + 1; i < n; i++) column[i] = column[i] / column[k];
    for (int64_t j = k + 1; j < end; j++) {
      const T factor = -f_.at(k, j);
      if (factor == T{}) continue;
      linearKernels<T>().addColumns(n - k - 1, 1, &factor, column + k + 1, 0, &f_.at(k + 1, j));
    }
    front_.pivots++;
    return true;
  }

  // The row of a pivot among those that are complete; -1: none is large enough.
  int64_t pivotOf(int64_t k) const {
    const T* const column = &f_.at(0, k);
    double most = 0, best = 0;
    int64_t pivot = -1;
    const int64_t unknown = front_.columns[k];
    int64_t diagonal = front_.rows[k] == unknown ? k : -1;
    for (int64_t i = k; i < front_.complete; i++) {
      const double size = sizeOf(column[i]);
      if (front_.rows[i] == unknown) diagonal = i;
      if (!(size > best)) continue;
      best = size;
      pivot = i;
    }
    most = best;
    for (int64_t i = front_.complete; i < front_.size(); i++) most = std::max(most, sizeOf(column[i]));
    const double least = threshold_ * most;
    if (diagonal >= 0 && sizeOf(column[diagonal]) > 0 && sizeOf(column[diagonal]) >= least) return diagonal;
    return pivot >= 0 && best >= least ? pivot : -1;
  }

  // The pivots [first, first + done) in the columns from `end` on.
  void updateBehind(int64_t first, int64_t done, int64_t end) {
    const int64_t n = front_.size(), next = first + done;
    if (end == n) return;
    const MatrixView<T> top = f_.part(first, end, done, n - end);
    const MatrixView<T> triangle = f_.part(first, first, done, done);
    const MatrixView<T> below = f_.part(next, first, n - next, done);
    if (done * (n - next) * (n - end) > kSmall) {
      solveTriangle(triangle, {false, true, false}, top, work_);
      subtractProduct(f_.part(next, end, n - next, n - end), below, top, false, work_);
      return;
    }
    T factors[kPanel];
    for (int64_t j = 0; j < n - end; j++) {
      T* const column = &top.at(0, j);
      for (int64_t k = 0; k < done; k++) {
        factors[k] = -column[k];
        for (int64_t i = k + 1; i < done; i++) column[i] = column[i] + factors[k] * triangle.at(i, k);
      }
      if (n > next)
        linearKernels<T>().addColumns(n - next, done, factors, below.data, below.columnStride, column + done);
    }
  }

  void exchangeColumns(int64_t i, int64_t j) {
    if (i == j) return;
    std::swap_ranges(&f_.at(0, i), &f_.at(0, i) + front_.size(), &f_.at(0, j));
    std::swap(front_.columns[i], front_.columns[j]);
  }

  static double sizeOf(double a) { return std::abs(a); }
  static double sizeOf(Complex<double> a) { return std::hypot(a.re, a.im); }
  Front<T>& front_;
  MatrixView<T> f_;
  double threshold_;
  const LinearWork& work_;
};

}  // namespace weft::cpu
