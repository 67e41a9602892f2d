// LU factors of a sparse matrix column by column (Gilbert and Peierls, "Sparse partial pivoting in time
// proportional to arithmetic operations", 1988): the rows that a column fills are those that its own reach in
// the graph of L, found by depth first. The pivot of a column is its largest element, or the diagonal's where
// that is not much less.
#pragma once
#include "cpu/linear-numbers.h"
#include "cpu/sparse-factors.h"
#include "cpu/sparse-lines.h"

namespace weft::cpu {

// A factor by columns, for up to `bound` elements.
template <typename T>
struct FactorColumns {
  Line<int64_t> starts, places;
  Line<T> values;
  int64_t bound = 0;

  int64_t count() const { return static_cast<int64_t>(places.size()); }
  bool hasRoom(int64_t more) const { return count() + more <= bound; }
  void add(int64_t place, T value) {
    places.push_back(place);
    values.push_back(value);
  }
};

// The order of columns, how large a pivot of the diagonal is beside its column's largest element, and the
// most elements of a factor.
struct Pivoting {
  const int64_t* columns;
  double threshold;
  int64_t bound;
};

template <typename T, typename Index>
class ColumnFactors {
 public:
  ColumnFactors(int64_t n, const SparseLines<Index>& a, const T* values, const Pivoting& pivoting)
      : n_(n), a_(a), values_(values), pivoting_(pivoting), rowOf_(n, 0) {
    for (FactorColumns<T>* factor : {&l_, &u_}) {
      factor->bound = pivoting.bound;
      factor->starts.assign(n + 1, 0);
    }
    x_.assign(n, T{});
    stepOf_.assign(n, -1);
    marks_.assign(n, -1);
    for (Line<int64_t>* line : {&stack_, &at_, &found_}) line->assign(n, 0);
  }

  // 0; the number of a column without a pivot, from 1 on; -1 where the bound is too small.
  int64_t run(const std::atomic<bool>* cancel) {
    for (int64_t step = 0; step < n_; step++) {
      if ((step & 255) == 0 && cancel != nullptr && cancel->load(std::memory_order_relaxed)) return 0;
      l_.starts[step] = l_.count();
      u_.starts[step] = u_.count();
      const int64_t column = std::clamp<int64_t>(pivoting_.columns[step], 0, n_ - 1);
      const int64_t first = reach(column, step);
      // A column fills no rows but those found.
      if (!l_.hasRoom(n_ - first) || !u_.hasRoom(n_ - first)) return -1;
      solve(column, first);
      const int64_t pivot = pivotOf(column, first);
      if (pivot < 0) return step + 1;
      store(pivot, step, first);
    }
    l_.starts[n_] = l_.count();
    u_.starts[n_] = u_.count();
    return 0;
  }

  int64_t rowOf(int64_t pivot) const { return rowOf_[pivot]; }
  int64_t columnOf(int64_t pivot) const { return pivoting_.columns[pivot]; }

  // Calls use(row, column, value) for the elements of a factor, column after column.
  template <typename Use>
  void eachOfLower(const Use& use) const {
    // L has rows of the matrix.
    eachOf(l_, [&](int64_t place, int64_t column, T value) { use(stepOf_[place], column, value); });
  }
  template <typename Use>
  void eachOfUpper(const Use& use) const {
    eachOf(u_, use);
  }

 private:
  template <typename Use>
  void eachOf(const FactorColumns<T>& factor, const Use& use) const {
    for (int64_t column = 0; column < n_; column++)
      for (int64_t k = factor.starts[column]; k < factor.starts[column + 1]; k++)
        use(factor.places[k], column, factor.values[k]);
  }
  int64_t placeAt(int64_t k) const { return std::clamp<int64_t>(a_.places[k], 0, n_ - 1); }

  // The rows that a column fills, in an order in which each is before those that need it: found_[first …].
  int64_t reach(int64_t column, int64_t step) {
    int64_t first = n_;
    for (int64_t k = a_.begin(column), last = a_.end(column); k < last; k++)
      if (marks_[placeAt(k)] != step) first = search(placeAt(k), step, first);
    return first;
  }

  int64_t search(int64_t row, int64_t step, int64_t first) {
    int64_t depth = 0;
    const auto enter = [&](int64_t next) {
      marks_[next] = step;
      stack_[depth] = next;
      // The first element of a column of L is its diagonal.
      at_[depth++] = stepOf_[next] < 0 ? 0 : l_.starts[stepOf_[next]] + 1;
    };
    enter(row);
    while (depth > 0) {
      const int64_t own = stack_[depth - 1], of = stepOf_[own];
      const int64_t last = of < 0 ? 0 : l_.starts[of + 1];
      int64_t& k = at_[depth - 1];
      while (k < last && marks_[l_.places[k]] == step) k++;
      if (k < last) {
        enter(l_.places[k++]);
      } else {
        depth--;
        found_[--first] = own;
      }
    }
    return first;
  }

  // x = L⁻¹ of the column.
  void solve(int64_t column, int64_t first) {
    for (int64_t k = a_.begin(column), last = a_.end(column); k < last; k++) {
      T& x = x_[placeAt(k)];
      x = x + values_[k];
    }
    for (int64_t k = first; k < n_; k++) {
      const int64_t step = stepOf_[found_[k]];
      if (step < 0) continue;
      const T own = x_[found_[k]];
      if (own == T{}) continue;
      const int64_t last = l_.starts[step + 1];
      for (int64_t at = l_.starts[step] + 1; at < last; at++)
        x_[l_.places[at]] = x_[l_.places[at]] - l_.values[at] * own;
    }
  }

  // The row of the pivot; -1: there is none.
  int64_t pivotOf(int64_t diagonal, int64_t first) const {
    int64_t pivot = -1;
    double most = 0;
    for (int64_t k = first; k < n_; k++) {
      const int64_t row = found_[k];
      if (stepOf_[row] >= 0 || !(modulus(x_[row]) > most)) continue;
      most = modulus(x_[row]);
      pivot = row;
    }
    const bool isDiagonal = pivot >= 0 && stepOf_[diagonal] < 0 && modulus(x_[diagonal]) > 0 &&
                            modulus(x_[diagonal]) >= pivoting_.threshold * most;
    return isDiagonal ? diagonal : pivot;
  }

  void store(int64_t pivot, int64_t step, int64_t first) {
    const T divisor = x_[pivot];
    l_.add(pivot, ofReal<T>(1));
    for (int64_t k = first; k < n_; k++) {
      const int64_t row = found_[k];
      const T value = x_[row];
      x_[row] = T{};
      if (row == pivot) continue;
      if (stepOf_[row] >= 0) {
        u_.add(stepOf_[row], value);
      } else {
        l_.add(row, value / divisor);
      }
    }
    u_.add(step, divisor);
    stepOf_[pivot] = step;
    rowOf_[step] = pivot;
    l_.starts[step + 1] = l_.count();
  }

  int64_t n_;
  SparseLines<Index> a_;
  const T* values_;
  Pivoting pivoting_;
  Line<int64_t> rowOf_;
  FactorColumns<T> l_, u_;
  Line<T> x_;
  Line<int64_t> stepOf_, stack_, at_, found_, marks_;
};

}  // namespace weft::cpu
