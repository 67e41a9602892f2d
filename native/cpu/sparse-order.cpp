// Orders of the unknowns of a sparse system that keep its factors sparse, of the pattern of A + Aᵀ: by least
// approximate degree on a quotient graph (Amestoy, Davis and Duff, "An approximate minimum degree ordering
// algorithm", 1996, without their supervariables), or by reversed breadth (Cuthill and McKee, 1969; George,
// 1971). And how many elements the Cholesky factor of that pattern has (Liu, "The role of elimination trees
// in sparse factorization", 1990).
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "cpu/sparse-lines.h"
#include "shared/layout.h"

namespace weft::cpu {
namespace {

// As SPARSE_ORDERS of src/graph/routines.ts.
enum class Order { natural, degree, breadth };

struct Job {
  DType index;
  int64_t n, stored;
  Order order;
};

Job readJob(const std::vector<int64_t>& numbers) {
  if (numbers.size() != 4) throw std::invalid_argument("four numbers");
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 256;
  if (numbers[1] < 1 || numbers[1] > kMost || numbers[2] < 1 || numbers[2] > kMost || numbers[3] < 0 ||
      numbers[3] > 2)
    throw std::invalid_argument("a square sparse matrix and an order");
  return {static_cast<DType>(numbers[0]), numbers[1], numbers[2], static_cast<Order>(numbers[3])};
}

// Lines of numbers that lie in the workspace one behind another.
class Lines {
 public:
  explicit Lines(std::byte* data) : at_(reinterpret_cast<int64_t*>(data)) {}
  int64_t* take(int64_t count) {
    int64_t* const own = at_;
    at_ += count;
    return own;
  }

 private:
  int64_t* at_;
};

// The neighbours of each unknown in the pattern of A + Aᵀ, without itself, none twice.
struct Pattern {
  int64_t n;
  int64_t *starts, *ends, *neighbours;
};

template <typename Index>
Pattern patternOf(const Job& job, const SparseLines<Index>& a, Lines& lines) {
  const int64_t n = job.n;
  Pattern p{n, lines.take(n + 1), lines.take(n), lines.take(2 * job.stored)};
  int64_t* const seen = lines.take(n);
  std::fill(p.starts, p.starts + n + 1, 0);
  const auto each = [&](const auto& use) {
    for (int64_t row = 0; row < n; row++) {
      for (int64_t k = a.begin(row), last = a.end(row); k < last; k++) {
        const int64_t column = std::clamp<int64_t>(a.places[k], 0, n - 1);
        if (column != row) use(row, column);
      }
    }
  };
  each([&](int64_t row, int64_t column) {
    p.starts[row + 1]++;
    p.starts[column + 1]++;
  });
  for (int64_t i = 0; i < n; i++) p.starts[i + 1] += p.starts[i];
  std::copy(p.starts, p.starts + n, p.ends);
  each([&](int64_t row, int64_t column) {
    p.neighbours[p.ends[row]++] = column;
    p.neighbours[p.ends[column]++] = row;
  });
  std::fill(seen, seen + n, -1);
  for (int64_t i = 0; i < n; i++) {
    int64_t to = p.starts[i];
    for (int64_t k = p.starts[i]; k < p.ends[i]; k++) {
      const int64_t other = p.neighbours[k];
      if (seen[other] == i) continue;
      seen[other] = i;
      p.neighbours[to++] = other;
    }
    p.ends[i] = to;
  }
  return p;
}

// Unknowns by their degree, in lists of which each is linked both ways.
class DegreeLists {
 public:
  DegreeLists(int64_t n, Lines& lines)
      : heads_(lines.take(n + 1)), next_(lines.take(n)), last_(lines.take(n)), n_(n) {
    std::fill(heads_, heads_ + n + 1, -1);
  }
  void add(int64_t i, int64_t degree) {
    next_[i] = heads_[degree];
    last_[i] = -1;
    if (next_[i] >= 0) last_[next_[i]] = i;
    heads_[degree] = i;
    least_ = std::min(least_, degree);
  }
  void remove(int64_t i, int64_t degree) {
    if (next_[i] >= 0) last_[next_[i]] = last_[i];
    (last_[i] >= 0 ? next_[last_[i]] : heads_[degree]) = next_[i];
  }
  // One of least degree, which there is.
  int64_t first() {
    while (least_ < n_ && heads_[least_] < 0) least_++;
    return heads_[least_];
  }

 private:
  int64_t *heads_, *next_, *last_;
  int64_t n_, least_ = 0;
};

// Minimum degree: an eliminated unknown is an element, whose line has the unknowns that it joined. An unknown
// has a line of elements and one of other unknowns, which lie in its part of the pattern and only become
// shorter.
class Elimination {
 public:
  Elimination(const Pattern& p, Lines& lines)
      : p_(p),
        elements_(lines.take(p.n)),
        degrees_(lines.take(p.n)),
        firsts_(lines.take(p.n)),
        sizes_(lines.take(p.n)),
        marks_(lines.take(p.n)),
        outside_(lines.take(p.n)),
        capacity_(p.starts[p.n] + 4 * p.n),
        joined_(lines.take(capacity_)),
        lists_(p.n, lines) {
    std::fill(elements_, elements_ + p.n, 0);
    std::fill(sizes_, sizes_ + p.n, -1);
    std::fill(marks_, marks_ + p.n, 0);
    std::fill(outside_, outside_ + p.n, 0);
  }

  static int64_t words(int64_t n, int64_t stored) { return 6 * n + 2 * stored + 4 * n + 3 * n + 1; }

  void run(int64_t* order, const std::atomic<bool>* cancel) {
    const int64_t n = p_.n;
    // Unknowns that nearly all others meet are last, and are left out of lines.
    const auto dense = std::max<int64_t>(16, static_cast<int64_t>(10 * std::sqrt(static_cast<double>(n))));
    int64_t last = n;
    for (int64_t i = n - 1; i >= 0; i--) {
      if (p_.ends[i] - p_.starts[i] <= dense) continue;
      order[--last] = i;
      sizes_[i] = 0;
    }
    left_ = last;
    for (int64_t i = n - 1; i >= 0; i--) {
      if (sizes_[i] == 0) continue;
      keepLine(i, [&](int64_t other) { return sizes_[other] != 0; });
      degrees_[i] = p_.ends[i] - p_.starts[i];
      lists_.add(i, degrees_[i]);
    }
    for (int64_t k = 0; k < last; k++) {
      if ((k & 1023) == 0 && cancel != nullptr && cancel->load(std::memory_order_relaxed)) return;
      order[k] = lists_.first();
      eliminate(order[k]);
    }
  }

 private:
  template <typename Keep>
  void keepLine(int64_t i, const Keep& keep) {
    int64_t to = p_.starts[i] + elements_[i];
    for (int64_t k = to; k < p_.ends[i]; k++)
      if (keep(p_.neighbours[k])) p_.neighbours[to++] = p_.neighbours[k];
    p_.ends[i] = to;
  }

  // Moves the lines of elements together, in the order in which they lie.
  void compact() {
    int64_t to = 0;
    for (int64_t at = 0; at < used_;) {
      const int64_t owner = joined_[at], length = joined_[at + 1];
      if (sizes_[owner] > 0 && firsts_[owner] == at + 2) {
        std::copy(joined_ + at, joined_ + at + 2 + length, joined_ + to);
        firsts_[owner] = to + 2;
        to += 2 + length;
      }
      at += 2 + length;
    }
    used_ = to;
  }

  void eliminate(int64_t pivot) {
    lists_.remove(pivot, degrees_[pivot]);
    left_--;
    if (used_ + 2 + degrees_[pivot] > capacity_) compact();
    const int64_t first = used_ + 2;
    int64_t end = first;
    const int64_t mark = ++mark_;
    const auto join = [&](int64_t i) {
      if (i == pivot || marks_[i] == mark || sizes_[i] >= 0) return;
      marks_[i] = mark;
      joined_[end++] = i;
    };
    const int64_t begin = p_.starts[pivot];
    for (int64_t k = begin; k < begin + elements_[pivot]; k++) {
      const int64_t element = p_.neighbours[k];
      if (sizes_[element] <= 0) continue;
      for (int64_t j = 0; j < sizes_[element]; j++) join(joined_[firsts_[element] + j]);
      sizes_[element] = 0;
    }
    for (int64_t k = begin + elements_[pivot]; k < p_.ends[pivot]; k++) join(p_.neighbours[k]);
    joined_[used_] = pivot;
    joined_[used_ + 1] = end - first;
    used_ = end;
    firsts_[pivot] = first;
    sizes_[pivot] = end - first;
    update(pivot);
  }

  // New approximate degrees of the unknowns that a pivot joined.
  void update(int64_t pivot) {
    const int64_t first = firsts_[pivot], size = sizes_[pivot];
    const int64_t base = base_;
    int64_t largest = 0;
    // Unknowns of each element that are not in the pivot's line.
    for (int64_t j = first; j < first + size; j++) {
      const int64_t i = joined_[j];
      for (int64_t k = p_.starts[i]; k < p_.starts[i] + elements_[i]; k++) {
        const int64_t element = p_.neighbours[k];
        if (sizes_[element] <= 0) continue;
        if (outside_[element] < base) outside_[element] = base + sizes_[element];
        outside_[element]--;
        largest = std::max(largest, sizes_[element]);
      }
    }
    for (int64_t j = first; j < first + size; j++) {
      const int64_t i = joined_[j];
      lists_.remove(i, degrees_[i]);
      const int64_t degree = degreeOf(i, pivot, base);
      degrees_[i] = std::max<int64_t>(0, std::min({left_ - 1, degrees_[i] + size - 1, degree + size - 1}));
      lists_.add(i, degrees_[i]);
    }
    base_ = base + largest + 1;
  }

  // The degree beside the pivot's line, whose unknowns leave the lines of this one.
  int64_t degreeOf(int64_t i, int64_t pivot, int64_t base) {
    const int64_t begin = p_.starts[i], others = begin + elements_[i];
    int64_t degree = 0, to = begin;
    for (int64_t k = begin; k < others; k++) {
      const int64_t element = p_.neighbours[k];
      if (sizes_[element] <= 0) continue;
      const int64_t beside = outside_[element] - base;
      if (beside <= 0) {
        sizes_[element] = 0;  // The pivot's line has all of it.
        continue;
      }
      degree += beside;
      p_.neighbours[to++] = element;
    }
    // There is room: an element of the line, or the pivot itself, is left out.
    int64_t end = to;
    for (int64_t k = others; k < p_.ends[i]; k++) {
      const int64_t other = p_.neighbours[k];
      if (other == pivot || sizes_[other] >= 0 || marks_[other] == mark_) continue;
      p_.neighbours[end++] = other;
    }
    degree += end - to;
    // The pivot takes the place of the first unknown, which goes to the end.
    if (end > to) p_.neighbours[end] = p_.neighbours[to];
    p_.neighbours[to] = pivot;
    elements_[i] = to + 1 - begin;
    p_.ends[i] = end + 1;
    return degree;
  }

  const Pattern& p_;
  // Of unknowns: elements of their line. Of elements: where their line begins. `sizes_` is -1 for unknowns,
  // the length of an element's line, 0 for one that another has taken in and for unknowns that are left out.
  int64_t *elements_, *degrees_, *firsts_, *sizes_, *marks_, *outside_;
  int64_t capacity_;
  int64_t* joined_;
  DegreeLists lists_;
  int64_t used_ = 0, mark_ = 0, base_ = 1, left_ = 0;
};

// From a far unknown of each component, neighbours by their degree; then backwards.
void byBreadth(const Pattern& p, int64_t* order, Lines& lines) {
  int64_t* const seen = lines.take(p.n);
  std::fill(seen, seen + p.n, 0);
  const auto degree = [&](int64_t i) { return p.ends[i] - p.starts[i]; };
  int64_t round = 0, done = 0;
  // Gives where the last level begins.
  const auto levels = [&](int64_t root, int64_t mark) {
    int64_t begin = done, end = done + 1, level = done;
    order[done] = root;
    seen[root] = mark;
    while (begin < end) {
      level = begin;
      for (const int64_t last = end; begin < last; begin++) {
        const int64_t i = order[begin], from = end;
        for (int64_t k = p.starts[i]; k < p.ends[i]; k++) {
          if (seen[p.neighbours[k]] == mark) continue;
          seen[p.neighbours[k]] = mark;
          order[end++] = p.neighbours[k];
        }
        std::stable_sort(order + from, order + end,
                         [&](int64_t a, int64_t b) { return degree(a) < degree(b); });
      }
    }
    return std::pair(level, end);
  };
  for (int64_t i = 0; i < p.n; i++) {
    if (seen[i] != 0) continue;
    int64_t root = i, end = done;
    for (int pass = 0; pass < 3; pass++) {
      const auto [level, last] = levels(root, ++round);
      end = last;
      root = *std::min_element(order + level, order + last,
                               [&](int64_t a, int64_t b) { return degree(a) < degree(b); });
    }
    done = end;
  }
  std::reverse(order, order + p.n);
}

// Elements of the Cholesky factor in an order: rows of it are subtrees of the elimination tree.
int64_t factorSize(const Pattern& p, const int64_t* order, Lines& lines) {
  int64_t *const places = lines.take(p.n), *const parents = lines.take(p.n), *const marks = lines.take(p.n);
  for (int64_t k = 0; k < p.n; k++) places[order[k]] = k;
  int64_t size = p.n;
  for (int64_t k = 0; k < p.n; k++) {
    parents[k] = -1;
    marks[k] = k;
    const int64_t i = order[k];
    for (int64_t at = p.starts[i]; at < p.ends[i]; at++) {
      for (int64_t j = places[p.neighbours[at]]; j < k && marks[j] != k; j = parents[j]) {
        if (parents[j] < 0) parents[j] = k;
        marks[j] = k;
        size++;
      }
    }
  }
  return size;
}

int64_t wordsOf(const Job& job) {
  const int64_t pattern = 2 * job.n + 1 + 2 * job.stored + job.n;
  // Elimination has a pattern of its own, since it shortens its lines.
  const int64_t elimination =
      job.order == Order::degree ? pattern + Elimination::words(job.n, job.stored) : 0;
  return elimination + pattern + 4 * job.n;
}

RoutineNeed needOf(const std::vector<int64_t>& numbers, const ThreadPool&) {
  const Job job = readJob(numbers);
  const auto index = static_cast<size_t>(byteLengthOf(job.index));
  const size_t work = static_cast<size_t>(wordsOf(job)) * sizeof(int64_t);
  return {{static_cast<size_t>(job.n + 1) * index, static_cast<size_t>(job.stored) * index},
          {static_cast<size_t>(job.n) * sizeof(int64_t), sizeof(int64_t)},
          {work, work},
          1};
}

void run(const RoutineJob& routine, Range, ThreadPool&, const std::atomic<bool>* cancel) {
  const Job job = readJob(routine.numbers);
  auto* order = reinterpret_cast<int64_t*>(routine.results[0]);
  auto* size = reinterpret_cast<int64_t*>(routine.results[1]);
  withIndex(job.index, [&](auto index) {
    using Index = decltype(index);
    const auto a = linesAt<Index>(routine, 0, 1, job.stored);
    Lines lines(routine.workspace.data);
    for (int64_t i = 0; i < job.n; i++) order[i] = i;
    if (job.order == Order::degree) {
      const Pattern own = patternOf(job, a, lines);
      Elimination(own, lines).run(order, cancel);
    }
    const Pattern pattern = patternOf(job, a, lines);
    if (job.order == Order::breadth) byBreadth(pattern, order, lines);
    if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) return 0;
    *size = factorSize(pattern, order, lines);
    return 0;
  });
}

}  // namespace

const Routine kSparseOrder{needOf, run};

}  // namespace weft::cpu
