// LU factors of a sparse matrix by fronts (Duff and Reid, "The multifrontal solution of unsymmetric sets of
// linear equations", 1984): dense matrices, so that nearly all work is products of gemm.h. Subtrees are a
// thread's each, the fronts above them all threads'; bits depend on neither.
#pragma once
#include <cmath>
#include <memory>
#include <optional>

#include "cpu/sparse-front.h"
#include "cpu/sparse-tree.h"

namespace weft::cpu {

// Element k of a matrix is at (rows[k], columns[k]).
template <typename T>
struct SparseElements {
  Pairs places;
  const T* values;
  int64_t n;
};

template <typename T>
class Multifrontal {
 public:
  Multifrontal(const SparseElements<T>& a, const int64_t* order, double threshold, ThreadPool& pool,
               const std::atomic<bool>* cancel)
      : a_(a),
        tree_(frontTree(a.places, order, a.n)),
        threshold_(threshold),
        pool_(pool),
        cancel_(cancel),
        done_(sized(tree_.fronts())),
        workers_(sized(pool.workers())) {
    listElements();
    listChildren();
    double work = 0;
    for (int64_t front = 0; front < fronts(); front++) work += tree_.work(front);
    mostWork_ = 16 * work + 1e7;
  }

  // 0; the number of a column without a pivot, from 1 on; std::nullopt where so many columns wait for pivots
  // that fronts have become far larger than the pattern says.
  std::optional<int64_t> run() {
    const Line<int64_t> above = runSubtrees();
    for (const int64_t front : above) eliminate(front, 0);
    if (isTooLarge()) return std::nullopt;
    int64_t pivots = 0;
    for (const Done& front : done_) pivots += front.pivots;
    if (pivots < a_.n) return pivots + 1;
    placePivots();
    return 0;
  }

  // The unknowns of each pivot.
  int64_t rowOf(int64_t pivot) const { return tree_.unknowns[rowSteps_[pivot]]; }
  int64_t columnOf(int64_t pivot) const { return tree_.unknowns[columnSteps_[pivot]]; }

  // Calls use(row, column, value) for the elements of L that are not 0: in a row, columns ascend. Rows of a
  // front are gone through one by one, so that little is written far apart.
  template <typename Use>
  void eachOfLower(const Use& use) const {
    for (int64_t k = 0; k < fronts(); k++) {
      const Done& front = done_[k];
      const int64_t size = front.size(), base = bases_[k];
      for (int64_t i = 0; i < size; i++) {
        const int64_t row = rowPivots_[front.rows[i]];
        for (int64_t t = 0; t < std::min(i, front.pivots); t++) {
          const T value = front.lower[t * size + i];
          if (!(value == T{})) use(row, base + t, value);
        }
        if (i < front.pivots) use(row, row, ofReal<T>(1));
      }
    }
  }

  // Of U, row after row.
  template <typename Use>
  void eachOfUpper(const Use& use) const {
    for (int64_t k = 0; k < fronts(); k++) {
      const Done& front = done_[k];
      const int64_t size = front.size(), base = bases_[k], count = front.pivots;
      for (int64_t t = 0; t < count; t++) {
        for (int64_t j = t; j < count; j++) {
          const T value = front.lower[j * size + t];
          if (!(value == T{})) use(base + t, base + j, value);
        }
        for (int64_t j = count; j < size; j++) {
          const T value = front.upper[(j - count) * count + t];
          if (!(value == T{})) use(base + t, columnPivots_[front.columns[j]], value);
        }
      }
    }
  }

 private:
  static size_t sized(int64_t count) { return static_cast<size_t>(count); }
  int64_t fronts() const { return tree_.fronts(); }

  // An eliminated front: its columns of L, with U's in the same rows, the other columns of U's rows, and what
  // its parent adds.
  struct Done {
    Line<int64_t> rows, columns;
    int64_t complete = 0, pivots = 0;
    Line<T> lower, upper, rest;
    int64_t size() const { return static_cast<int64_t>(rows.size()); }
  };

  // A thread's memory: where steps are in its front, the front, and what products work in.
  struct Worker {
    Line<int64_t> rowAt, columnAt, to;
    Front<T> front;
    std::vector<std::byte> bytes;

    Workspace workspace(size_t size) {
      bytes.resize(std::max(bytes.size(), size + kHostAlignment));
      void* data = bytes.data();
      size_t room = bytes.size();
      std::align(kHostAlignment, size, data, room);
      return {static_cast<std::byte*>(data), size};
    }
  };

  // Elements by the front of the earlier of their two steps.
  void listElements() {
    const int64_t n = a_.n;
    Line<int64_t> frontOf(sized(n));
    stepOf_.resize(sized(n));
    for (int64_t k = 0; k < n; k++) stepOf_[tree_.unknowns[k]] = k;
    for (int64_t front = 0; front < fronts(); front++)
      std::fill(frontOf.begin() + tree_.firsts[front], frontOf.begin() + tree_.firsts[front + 1], front);
    const auto frontAt = [&](int64_t k) {
      return frontOf[std::min(stepOf_[a_.places.rows[k]], stepOf_[a_.places.columns[k]])];
    };
    const auto count = static_cast<int64_t>(a_.places.rows.size());
    elementStarts_.assign(done_.size() + 1, 0);
    for (int64_t k = 0; k < count; k++) elementStarts_[frontAt(k) + 1]++;
    std::partial_sum(elementStarts_.begin(), elementStarts_.end(), elementStarts_.begin());
    Line<int64_t> next = elementStarts_;
    elements_.resize(sized(count));
    for (int64_t k = 0; k < count; k++) elements_[next[frontAt(k)]++] = k;
  }

  void listChildren() {
    childStarts_.assign(done_.size() + 1, 0);
    for (const int64_t parent : tree_.parents)
      if (parent >= 0) childStarts_[parent + 1]++;
    std::partial_sum(childStarts_.begin(), childStarts_.end(), childStarts_.begin());
    Line<int64_t> next = childStarts_;
    children_.resize(sized(childStarts_.back()));
    for (int64_t k = 0; k < fronts(); k++)
      if (tree_.parents[k] >= 0) children_[next[tree_.parents[k]]++] = k;
  }

  // Eliminates subtrees, a few for each thread; gives the fronts that are left, in order.
  Line<int64_t> runSubtrees() {
    Line<int64_t> sizes(done_.size(), 1), roots, above;
    Line<double> works(done_.size());
    for (int64_t k = 0; k < fronts(); k++) {
      works[k] += tree_.work(k);
      const int64_t parent = tree_.parents[k];
      if (parent < 0) {
        roots.push_back(k);
      } else {
        works[parent] += works[k];
        sizes[parent] += sizes[k];
      }
    }
    const auto isLess = [&](int64_t a, int64_t b) { return std::pair(works[a], a) < std::pair(works[b], b); };
    const auto wanted = static_cast<size_t>(8 * pool_.workers());
    std::make_heap(roots.begin(), roots.end(), isLess);
    while (pool_.workers() > 1 && !roots.empty() && roots.size() < wanted && sizes[roots.front()] > 1) {
      std::pop_heap(roots.begin(), roots.end(), isLess);
      const int64_t front = roots.back();
      roots.pop_back();
      above.push_back(front);
      for (int64_t c = childStarts_[front]; c < childStarts_[front + 1]; c++) {
        roots.push_back(children_[c]);
        std::push_heap(roots.begin(), roots.end(), isLess);
      }
    }
    std::sort(roots.begin(), roots.end(), [&](int64_t a, int64_t b) { return isLess(b, a); });
    pool_.parallelFor(
        static_cast<int64_t>(roots.size()),
        [&](int64_t task, int worker) {
          const int64_t root = roots[task];
          for (int64_t front = root - sizes[root] + 1; front <= root; front++) eliminate(front, worker);
        },
        pool_.workers());
    std::sort(above.begin(), above.end());
    return above;
  }

  bool isTooLarge() const { return work_.load(std::memory_order_relaxed) > mostWork_; }

  void eliminate(int64_t front, int worker) {
    if (isTooLarge() || (cancel_ != nullptr && cancel_->load(std::memory_order_relaxed))) return;
    Worker& own = workers_[worker];
    Front<T>& f = own.front;
    beginFront(front, own);
    const auto size = static_cast<double>(f.size()), complete = static_cast<double>(f.complete);
    for (double known = work_.load(); !work_.compare_exchange_weak(known, known + complete * size * size);) {
    }
    if (isTooLarge()) return;
    f.elements.assign(sized(f.size() * f.size()), T{});
    for (int64_t k = elementStarts_[front]; k < elementStarts_[front + 1]; k++) {
      const int64_t element = elements_[k];
      const int64_t row = own.rowAt[stepOf_[a_.places.rows[element]]];
      const int64_t column = own.columnAt[stepOf_[a_.places.columns[element]]];
      T& to = f.elements[column * f.size() + row];
      to = to + a_.values[element];
    }
    for (int64_t c = childStarts_[front]; c < childStarts_[front + 1]; c++)
      addChild(done_[children_[c]], own);
    const size_t bytes = FrontElimination<T>::workspace(kLinearDType<T>, f.size());
    FrontElimination<T>(f, threshold_, {pool_, cancel_, own.workspace(bytes)}).run();
    keep(f, done_[front]);
  }

  // The rows and columns of a front: those for which its children found no pivot, its own, and its border.
  void beginFront(int64_t front, Worker& own) {
    Front<T>& f = own.front;
    f.rows.clear();
    f.columns.clear();
    for (int64_t c = childStarts_[front]; c < childStarts_[front + 1]; c++) {
      const Done& child = done_[children_[c]];
      for (int64_t k = child.pivots; k < child.complete; k++) {
        f.rows.push_back(child.rows[k]);
        f.columns.push_back(child.columns[k]);
      }
    }
    for (int64_t step = tree_.firsts[front]; step < tree_.firsts[front + 1]; step++) {
      f.rows.push_back(step);
      f.columns.push_back(step);
    }
    f.complete = f.size();
    f.pivots = 0;
    const auto begin = tree_.borders.begin();
    for (auto* line : {&f.rows, &f.columns})
      line->insert(line->end(), begin + tree_.starts[front], begin + tree_.starts[front + 1]);
    own.rowAt.resize(sized(a_.n));
    own.columnAt.resize(sized(a_.n));
    for (int64_t k = 0; k < f.size(); k++) {
      own.rowAt[f.rows[k]] = k;
      own.columnAt[f.columns[k]] = k;
    }
  }

  // Adds what a child left.
  void addChild(Done& child, Worker& own) {
    Front<T>& f = own.front;
    const int64_t count = child.size() - child.pivots;
    own.to.resize(sized(count));
    for (int64_t i = 0; i < count; i++) own.to[i] = own.rowAt[child.rows[child.pivots + i]];
    for (int64_t j = 0; j < count; j++) {
      const int64_t column = own.columnAt[child.columns[child.pivots + j]];
      T* const to = f.elements.data() + column * f.size();
      const T* const from = child.rest.data() + j * count;
      for (int64_t i = 0; i < count; i++) to[own.to[i]] = to[own.to[i]] + from[i];
    }
    child.rest = {};
  }

  void keep(Front<T>& f, Done& done) {
    const int64_t size = f.size(), count = f.pivots;
    done.complete = f.complete;
    done.pivots = count;
    const T* const all = f.elements.data();
    done.lower.assign(all, all + size * count);
    done.upper.resize(sized(count * (size - count)));
    done.rest.resize(sized((size - count) * (size - count)));
    for (int64_t j = count; j < size; j++) {
      const T* const column = all + j * size;
      std::copy(column, column + count, done.upper.data() + (j - count) * count);
      std::copy(column + count, column + size, done.rest.data() + (j - count) * (size - count));
    }
    done.rows = f.rows;
    done.columns = f.columns;
  }

  // Pivots are numbered front by front.
  void placePivots() {
    rowSteps_.reserve(sized(a_.n));
    columnSteps_.reserve(sized(a_.n));
    for (const Done& front : done_) {
      bases_.push_back(static_cast<int64_t>(rowSteps_.size()));
      for (int64_t t = 0; t < front.pivots; t++) {
        rowSteps_.push_back(front.rows[t]);
        columnSteps_.push_back(front.columns[t]);
      }
    }
    rowPivots_.resize(sized(a_.n));
    columnPivots_.resize(sized(a_.n));
    for (int64_t k = 0; k < a_.n; k++) {
      rowPivots_[rowSteps_[k]] = k;
      columnPivots_[columnSteps_[k]] = k;
    }
  }

  const SparseElements<T>& a_;
  FrontTree tree_;
  double threshold_;
  ThreadPool& pool_;
  const std::atomic<bool>* cancel_;
  Line<Done> done_;
  Line<Worker> workers_;
  Line<int64_t> stepOf_, elementStarts_, elements_, childStarts_, children_;
  double mostWork_ = 0;
  std::atomic<double> work_{0};
  Line<int64_t> bases_, rowSteps_, columnSteps_, rowPivots_, columnPivots_;
};

}  // namespace weft::cpu
