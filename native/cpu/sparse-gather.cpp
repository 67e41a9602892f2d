// The rows of sparse matrices in another one: of one matrix those of some numbers, of several ones above one
// another or side by side. Rows that follow one another there and here are copied at once.
#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

#include "cpu/sparse-lines.h"
#include "cpu/sparse-moves.h"

namespace weft::cpu {
namespace {

// As GATHER_WAYS of src/graph/sparse-routines.ts.
enum class GatherWay { chosen, above, beside };

// A matrix that rows are taken from; the offset is that of its columns.
struct GatheredMatrix {
  int64_t rows, stored, offset;
};

struct Gather {
  DType index;
  int64_t rows, bound;
  size_t width;  // bytes of an element
  GatherWay way;
  bool isOpen;  // what is behind the last element may stay undefined
  std::vector<GatheredMatrix> matrices;

  size_t firstMatrix() const { return way == GatherWay::chosen ? 2 : 1; }
};

Gather readGather(const std::vector<int64_t>& n) {
  constexpr size_t kOwn = 6, kEach = 3;
  if (n.size() < kOwn + kEach || n.size() % kEach != 0)
    throw std::invalid_argument("three numbers for each matrix");
  if (n[4] < 0 || n[4] > 2) throw std::invalid_argument("a way to put rows together");
  Gather g{static_cast<DType>(n[0]),     n[1],      n[2], static_cast<size_t>(n[3]),
           static_cast<GatherWay>(n[4]), n[5] != 0, {}};
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 64;
  if (std::min(g.rows, g.bound) < 1 || std::max(g.rows, g.bound) > kMost || g.width < 1 || g.width > 16)
    throw std::invalid_argument("rows of a sparse matrix");
  for (size_t k = kOwn; k < n.size(); k += kEach) {
    if (std::min({n[k], n[k + 1], n[k + 2]}) < 0 || std::max({n[k], n[k + 1], n[k + 2]}) > kMost)
      throw std::invalid_argument("sparse matrices");
    g.matrices.push_back({n[k], n[k + 1], n[k + 2]});
  }
  const bool isAlike =
      g.way != GatherWay::beside || std::all_of(g.matrices.begin(), g.matrices.end(),
                                                [&](const GatheredMatrix& m) { return m.rows == g.rows; });
  if (!isAlike || (g.way == GatherWay::chosen && g.matrices.size() != 1))
    throw std::invalid_argument("matrices of as many rows, or one");
  return g;
}

// Elements up to which a loop is quicker than a call of `memmove`.
constexpr int64_t kShort = 16;

template <typename T>
void moveElements(const T* from, int64_t count, T* to) {
  if (count > kShort) {
    std::copy_n(from, count, to);
    return;
  }
#pragma GCC unroll 4
  for (int64_t k = 0; k < count; k++) to[k] = from[k];
}

template <typename Index, typename Element>
class Gathering {
 public:
  Gathering(const Gather& g, const RoutineJob& job)
      : g_(g),
        starts_(reinterpret_cast<const int64_t*>(job.operands[0])),
        numbers_(reinterpret_cast<const int64_t*>(job.operands[1])),
        places_(reinterpret_cast<Index*>(job.results[0])),
        values_(reinterpret_cast<Element*>(job.results[1])) {
    for (size_t k = 0; k < g.matrices.size(); k++) {
      const size_t at = g.firstMatrix() + 3 * k;
      from_.push_back({linesAt<Index>(job, at, at + 1, g.matrices[k].stored),
                       reinterpret_cast<const Element*>(job.operands[at + 2]),
                       static_cast<Index>(g.matrices[k].offset), g.matrices[k].rows});
    }
  }

  // Writes rows [first, last) of the result.
  void write(int64_t first, int64_t last) const {
    switch (g_.way) {
      case GatherWay::chosen:
        return writeChosen(first, last);
      case GatherWay::above:
        return writeAbove(first, last);
      case GatherWay::beside:
        return writeBeside(first, last);
    }
  }

  void finish(ThreadPool& pool) const {
    if (!g_.isOpen)
      clearLines({std::clamp<int64_t>(starts_[g_.rows], 0, g_.bound), g_.bound}, pool, places_, values_);
  }

 private:
  struct From {
    SparseLines<Index> lines;
    const Element* values;
    Index offset;
    int64_t rows;
  };

  // Copies the elements of rows [row, end) to `to` and behind; gives their number.
  int64_t copy(const From& from, int64_t row, int64_t end, int64_t to) const {
    const int64_t first = from.lines.begin(row);
    const int64_t count = std::min(from.lines.begin(end) - first, g_.bound - to);
    if (count <= 0 || to < 0) return 0;
    const Index* const places = from.lines.places + first;
    if (from.offset == 0)
      moveElements(places, count, places_ + to);
    else
      for (int64_t k = 0; k < count; k++) places_[to + k] = static_cast<Index>(places[k] + from.offset);
    moveElements(from.values + first, count, values_ + to);
    return count;
  }

  void writeChosen(int64_t first, int64_t last) const {
    const From& from = from_[0];
    for (int64_t row = first; row < last;) {
      const int64_t own = std::clamp<int64_t>(numbers_[row], 0, from.rows - 1);
      int64_t count = 1;
      while (row + count < last && own + count < from.rows && numbers_[row + count] == own + count) count++;
      copy(from, own, own + count, starts_[row]);
      row += count;
    }
  }

  void writeAbove(int64_t first, int64_t last) const {
    int64_t before = 0;
    for (const From& from : from_) {
      const int64_t row = std::max(first, before), end = std::min(last, before + from.rows);
      if (row < end) copy(from, row - before, end - before, starts_[row]);
      before += from.rows;
    }
  }

  void writeBeside(int64_t first, int64_t last) const {
    for (int64_t row = first; row < last; row++) {
      int64_t to = starts_[row];
      for (const From& from : from_) to += copy(from, row, row + 1, to);
    }
  }

  const Gather& g_;
  const int64_t* const starts_;
  const int64_t* const numbers_;  // of rows, where they are chosen
  Index* const places_;
  Element* const values_;
  std::vector<From> from_;
};

void run(const RoutineJob& job, Range, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Gather g = readGather(job.numbers);
  withIndex(g.index, [&](auto index) {
    return withWidth(g.width, [&](auto element) {
      const Gathering<decltype(index), decltype(element)> gathering(g, job);
      forRows({0, g.rows}, pool, cancel,
              [&](int64_t first, int64_t last, int) { gathering.write(first, last); });
      gathering.finish(pool);
      return 0;
    });
  });
}

RoutineNeed needOf(const std::vector<int64_t>& numbers, const ThreadPool&) {
  const Gather g = readGather(numbers);
  const auto index = static_cast<size_t>(byteLengthOf(g.index));
  const auto bytes = [](int64_t count, size_t size) { return static_cast<size_t>(count) * size; };
  std::vector<size_t> operands{bytes(g.rows + 1, sizeof(int64_t))};
  if (g.way == GatherWay::chosen) operands.push_back(bytes(g.rows, sizeof(int64_t)));
  for (const GatheredMatrix& m : g.matrices)
    operands.insert(operands.end(),
                    {bytes(m.rows + 1, index), bytes(m.stored, index), bytes(m.stored, g.width)});
  return {operands, {bytes(g.bound, index), bytes(g.bound, g.width)}, {}, 1};
}

}  // namespace

const Routine kSparseGather{needOf, run};

}  // namespace weft::cpu
