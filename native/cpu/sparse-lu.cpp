// The LU factors of a sparse matrix, column by column (Gilbert and Peierls, "Sparse partial pivoting in time
// proportional to arithmetic operations", 1988): the rows that a column fills are those that its own reach in
// the graph of L, found by depth first. The pivot of a column is its largest element, or the diagonal's where
// that is not much less.
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <stdexcept>

#include "cpu/sparse-lines.h"
#include "shared/layout.h"

namespace weft::cpu {
namespace {

struct Job {
  DType dtype, index;
  int64_t n, stored, bound;
  double threshold;
};

// The threshold in millionths.
Job readJob(const std::vector<int64_t>& numbers) {
  if (numbers.size() != 6) throw std::invalid_argument("six numbers");
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 256;
  const Job job{static_cast<DType>(numbers[0]),
                static_cast<DType>(numbers[1]),
                numbers[2],
                numbers[3],
                numbers[4],
                static_cast<double>(numbers[5]) * 1e-6};
  if (job.n < 1 || job.stored < 1 || job.bound < 1 || std::max({job.n, job.stored, job.bound}) > kMost ||
      !(job.threshold >= 0 && job.threshold <= 1))
    throw std::invalid_argument("a square sparse matrix, a bound and a threshold");
  return job;
}

double sizeOf(double a) { return std::abs(a); }
double sizeOf(std::complex<double> a) { return std::abs(a); }

// A factor by columns.
template <typename T>
struct Factor {
  int64_t *starts, *places;
  T* values;
  int64_t bound, count = 0;

  bool hasRoom(int64_t more) const { return count + more <= bound; }
  void add(int64_t place, T value) {
    places[count] = place;
    values[count++] = value;
  }
};

template <typename T, typename Index>
class Factorization {
 public:
  Factorization(const Job& job, const RoutineJob& routine)
      : job_(job),
        a_(linesAt<Index>(routine, 0, 1, job.stored)),
        values_(lineAt<const T>(routine, 2)),
        columns_(lineAt<const int64_t>(routine, 3)),
        rowOf_(reinterpret_cast<int64_t*>(routine.results[0])),
        l_{resultAt<int64_t>(routine, 1), resultAt<int64_t>(routine, 2), resultAt<T>(routine, 3), job.bound},
        u_{resultAt<int64_t>(routine, 4), resultAt<int64_t>(routine, 5), resultAt<T>(routine, 6), job.bound} {
    auto* at = routine.workspace.data;
    const auto take = [&](auto*& line, int64_t count) {
      line = reinterpret_cast<std::remove_reference_t<decltype(line)>>(at);
      at += static_cast<size_t>(count) * sizeof(*line);
    };
    take(x_, job.n);
    take(stepOf_, job.n);
    take(stack_, job.n);
    take(at_, job.n);
    take(found_, job.n);
    take(marks_, job.n);
    std::fill(x_, x_ + job.n, T{});
    std::fill(stepOf_, stepOf_ + job.n, -1);
    std::fill(marks_, marks_ + job.n, -1);
    std::fill(rowOf_, rowOf_ + job.n, 0);
  }

  static size_t workspace(int64_t n) { return static_cast<size_t>(n) * (sizeof(T) + 5 * sizeof(int64_t)); }

  // 0; the number of a column without a pivot, from 1 on; -1 where the bound is too small.
  int64_t run(const std::atomic<bool>* cancel) {
    for (int64_t step = 0; step < job_.n; step++) {
      if ((step & 255) == 0 && cancel != nullptr && cancel->load(std::memory_order_relaxed)) return 0;
      l_.starts[step] = l_.count;
      u_.starts[step] = u_.count;
      const int64_t column = std::clamp<int64_t>(columns_[step], 0, job_.n - 1);
      const int64_t first = reach(column, step);
      // A column fills no rows but those found.
      if (!l_.hasRoom(job_.n - first) || !u_.hasRoom(job_.n - first)) return -1;
      solve(column, first);
      const int64_t pivot = pivotOf(column, first);
      if (pivot < 0) return step + 1;
      store(pivot, step, first);
    }
    l_.starts[job_.n] = l_.count;
    u_.starts[job_.n] = u_.count;
    // L has rows of the matrix so far.
    for (int64_t k = 0; k < l_.count; k++) l_.places[k] = stepOf_[l_.places[k]];
    finish(l_);
    finish(u_);
    return 0;
  }

 private:
  template <typename Line>
  static Line* lineAt(const RoutineJob& routine, size_t k) {
    return reinterpret_cast<Line*>(routine.operands[k]);
  }
  template <typename Line>
  static Line* resultAt(const RoutineJob& routine, size_t k) {
    return reinterpret_cast<Line*>(routine.results[k]);
  }
  int64_t placeAt(int64_t k) const { return std::clamp<int64_t>(a_.places[k], 0, job_.n - 1); }

  // The rows that a column fills, in an order in which each is before those that need it: found_[first …].
  int64_t reach(int64_t column, int64_t step) {
    int64_t first = job_.n;
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
    for (int64_t k = a_.begin(column), last = a_.end(column); k < last; k++) x_[placeAt(k)] += values_[k];
    for (int64_t k = first; k < job_.n; k++) {
      const int64_t step = stepOf_[found_[k]];
      if (step < 0) continue;
      const T own = x_[found_[k]];
      if (own == T{}) continue;
      const int64_t last = l_.starts[step + 1];
      for (int64_t at = l_.starts[step] + 1; at < last; at++) x_[l_.places[at]] -= l_.values[at] * own;
    }
  }

  // The row of the pivot; -1: there is none.
  int64_t pivotOf(int64_t diagonal, int64_t first) const {
    int64_t pivot = -1;
    double most = 0;
    for (int64_t k = first; k < job_.n; k++) {
      const int64_t row = found_[k];
      if (stepOf_[row] >= 0 || !(sizeOf(x_[row]) > most)) continue;
      most = sizeOf(x_[row]);
      pivot = row;
    }
    const bool isDiagonal = pivot >= 0 && stepOf_[diagonal] < 0 && sizeOf(x_[diagonal]) > 0 &&
                            sizeOf(x_[diagonal]) >= job_.threshold * most;
    return isDiagonal ? diagonal : pivot;
  }

  void store(int64_t pivot, int64_t step, int64_t first) {
    const T divisor = x_[pivot];
    l_.add(pivot, T{1});
    for (int64_t k = first; k < job_.n; k++) {
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
    l_.starts[step + 1] = l_.count;
  }

  // Zeros behind the last element.
  static void finish(Factor<T>& factor) {
    std::fill(factor.places + factor.count, factor.places + factor.bound, 0);
    std::fill(factor.values + factor.count, factor.values + factor.bound, T{});
  }

  const Job& job_;
  SparseLines<Index> a_;
  const T* values_;
  const int64_t* columns_;
  int64_t* rowOf_;
  Factor<T> l_, u_;
  T* x_;
  int64_t *stepOf_, *stack_, *at_, *found_, *marks_;
};

template <typename Use>
auto withElement(DType dtype, const Use& use) {
  if (dtype == DType::float64) return use(double{});
  if (dtype == DType::complex128) return use(std::complex<double>{});
  throw std::invalid_argument("a matrix of float64 or complex128");
}

RoutineNeed needOf(const std::vector<int64_t>& numbers, const ThreadPool&) {
  const Job job = readJob(numbers);
  return withElement(job.dtype, [&](auto element) -> RoutineNeed {
    const auto bytes = [](int64_t count, size_t size) { return static_cast<size_t>(count) * size; };
    const auto index = static_cast<size_t>(byteLengthOf(job.index));
    constexpr size_t word = sizeof(int64_t), own = sizeof(element);
    const size_t starts = bytes(job.n + 1, word), places = bytes(job.bound, word),
                 values = bytes(job.bound, own);
    const size_t work = Factorization<decltype(element), int32_t>::workspace(job.n);
    return {{bytes(job.n + 1, index), bytes(job.stored, index), bytes(job.stored, own), bytes(job.n, word)},
            {bytes(job.n, word), starts, places, values, starts, places, values, word},
            {work, work},
            1};
  });
}

void run(const RoutineJob& routine, Range, ThreadPool&, const std::atomic<bool>* cancel) {
  const Job job = readJob(routine.numbers);
  withElement(job.dtype, [&](auto element) {
    return withIndex(job.index, [&](auto index) {
      Factorization<decltype(element), decltype(index)> factors(job, routine);
      *reinterpret_cast<int64_t*>(routine.results[7]) = factors.run(cancel);
      return 0;
    });
  });
}

}  // namespace

const Routine kSparseLu{needOf, run};

}  // namespace weft::cpu
