// Labels of the connected components of a mask, from 1 in the order of their first elements, and their
// number. Rows are runs of true elements; runs of rows beside one another are joined where they touch by
// union-find (M. B. Dillencourt, H. Samet and M. Tamminen, "A general approach to connected-component
// labeling for arbitrary image representations", Journal of the ACM 39, 1992; joins by Rem's algorithm).
// Threads join the runs of slabs along the first axis, one of them what meets at the boundaries; then runs
// are numbered, and threads write their labels.
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "cpu/routines.h"
#include "cpu/threads.h"

namespace weft::cpu {
namespace {

// Elements of a slab, at least.
constexpr int64_t kSlab = int64_t{1} << 18;
constexpr int64_t kMostAxes = 64;

// Neighbours in another row that is before: how far away it is along all axes but the last, and along that
// one an interval [low, high] of offsets.
struct Neighbours {
  std::vector<int64_t> outer;
  int64_t low = 0;
  int64_t high = 0;
  // Rows from that row to this one.
  int64_t rows = 0;
};

// A mask without its axes of one element, and the neighbours of elements.
struct Grid {
  std::vector<int64_t> shape;
  std::vector<Neighbours> neighbours;
  // Whether neighbours along the last axis belong together; if not, each element is a run.
  bool hasRuns = false;

  int64_t size() const {
    int64_t n = 1;
    for (const int64_t length : shape) n *= length;
    return n;
  }
  int64_t width() const { return shape.back(); }
  int64_t rows() const { return size() / width(); }
  int64_t mostRuns() const { return rows() * (hasRuns ? (width() + 1) / 2 : width()); }
  // Rows of one step along the first axis; an array of one axis is one row.
  int64_t slice() const { return shape.size() == 1 ? 1 : rows() / shape[0]; }
  int64_t slices() const { return rows() / slice(); }
  int64_t slabs(const ThreadPool& pool) const {
    return std::clamp<int64_t>(size() / kSlab, 1, std::min<int64_t>(slices(), pool.size()));
  }
};

// Adds the neighbour at some offsets along the axes of a grid.
void addNeighbour(Grid& grid, const std::vector<int64_t>& offsets) {
  const auto first = std::find_if(offsets.begin(), offsets.end(), [](int64_t by) { return by != 0; });
  if (first == offsets.end() || *first > 0) throw std::invalid_argument("a neighbour before an element");
  const int64_t last = offsets.back();
  if (first == offsets.end() - 1) {
    grid.hasRuns = true;
    return;
  }
  Neighbours added{{offsets.begin(), offsets.end() - 1}, last, last, 0};
  int64_t stride = 1;
  for (size_t axis = added.outer.size(); axis-- > 0; stride *= grid.shape[axis])
    added.rows -= added.outer[axis] * stride;
  grid.neighbours.push_back(added);
}

// Makes one of neighbours in the same row that are beside one another. Only intervals of runs may overlap by
// one element, which `joinRows` allows for: between two runs is an element at least.
void mergeNeighbours(Grid& grid) {
  if (!grid.hasRuns) return;
  auto& all = grid.neighbours;
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return std::tie(a.outer, a.low) < std::tie(b.outer, b.low); });
  std::vector<Neighbours> merged;
  for (const Neighbours& each : all) {
    if (!merged.empty() && merged.back().outer == each.outer && merged.back().high + 1 >= each.low)
      merged.back().high = each.high;
    else
      merged.push_back(each);
  }
  all = merged;
}

// Axes, the size of each, then the offsets of each neighbour, plus 1.
Grid readGrid(const std::vector<int64_t>& numbers) {
  if (numbers.empty() || numbers[0] < 1 || numbers[0] > kMostAxes) throw std::invalid_argument("axes");
  const auto ndim = static_cast<size_t>(numbers[0]);
  if (numbers.size() < 1 + ndim || (numbers.size() - 1) % ndim != 0)
    throw std::invalid_argument("numbers of axes");
  Grid grid;
  int64_t size = 1;
  for (size_t axis = 0; axis < ndim; axis++) {
    const int64_t length = numbers[1 + axis];
    if (length < 1 || length > std::numeric_limits<int64_t>::max() / 16 / size)
      throw std::invalid_argument("a size");
    size *= length;
    if (length > 1) grid.shape.push_back(length);
  }
  if (grid.shape.empty()) grid.shape.push_back(1);
  for (size_t k = 1 + ndim; k < numbers.size(); k += ndim) {
    std::vector<int64_t> offsets;
    bool isInside = true;
    for (size_t axis = 0; axis < ndim; axis++) {
      const int64_t by = numbers[k + axis] - 1;
      if (by < -1 || by > 1) throw std::invalid_argument("an offset");
      if (numbers[1 + axis] > 1)
        offsets.push_back(by);
      else if (by != 0)
        isInside = false;
    }
    if (isInside && size > 1) addNeighbour(grid, offsets);
  }
  mergeNeighbours(grid);
  return grid;
}

bool isNarrow(int64_t size) { return size <= std::numeric_limits<int32_t>::max(); }

RoutineNeed needOf(const std::vector<int64_t>& numbers, const ThreadPool&) {
  const Grid grid = readGrid(numbers);
  const size_t index = isNarrow(grid.size()) ? sizeof(int32_t) : sizeof(int64_t);
  const size_t places = static_cast<size_t>(grid.size()) * index;
  const size_t runs = static_cast<size_t>(grid.mostRuns() + 2 * grid.rows()) * index;
  return {{static_cast<size_t>(grid.size())}, {places, index}, {runs, runs}, 1};
}

// Which of 64 elements of a mask, or of the `count` that are left of a row, are true.
uint64_t bitsOf(const uint8_t* mask, int64_t count) {
  uint8_t rest[64];
  if (count < 64) {
    std::memset(rest, 0, sizeof rest);
    std::memcpy(rest, mask, static_cast<size_t>(count));
    mask = rest;
  }
  uint64_t bits = 0;
  for (int k = 0; k < 8; k++) {
    uint64_t bytes;
    std::memcpy(&bytes, mask + 8 * k, sizeof bytes);
    // The highest bit of each byte that is not 0, then those bits beside one another.
    constexpr uint64_t kLow = 0x7f7f7f7f7f7f7f7f;
    bytes = ((((bytes & kLow) + kLow) | bytes) & ~kLow) >> 7;
    bits |= ((bytes * 0x0102040810204080) >> 56) << (8 * k);
  }
  return bits;
}

// The runs of a row: run k is number `first` + k, of columns [begin(k), end(k)). Where each element is a run,
// only its column is kept; an end that has no room is that of the row.
template <typename Index, bool kHasRuns>
struct Row {
  const Index* bounds;
  Index width;
  Index first;
  Index count;

  Index begin(Index k) const { return kHasRuns ? bounds[2 * k] : bounds[k]; }
  Index end(Index k) const {
    if constexpr (!kHasRuns) return bounds[k] + 1;
    return 2 * k + 1 < width ? bounds[2 * k + 1] : width;
  }
};

// The runs of a grid. Their columns lie where their row's labels will: a row has at most as many as elements.
// `parents` has of a run that is joined with one before it that one, and else itself; then its label.
template <typename Index, bool kHasRuns>
class Runs {
 public:
  Runs(const Grid& grid, const RoutineJob& job)
      : grid_(grid),
        width_(static_cast<Index>(grid.width())),
        mask_(reinterpret_cast<const uint8_t*>(job.operands[0])),
        labels_(reinterpret_cast<Index*>(job.results[0])),
        parents_(reinterpret_cast<Index*>(job.workspace.data)),
        firsts_(parents_ + grid.mostRuns()),
        counts_(firsts_ + grid.rows()) {}

  // Finds the runs of rows [first, last) and joins them with one another. They are numbered from the most
  // that the rows before can have.
  void find(int64_t first, int64_t last) {
    auto next = static_cast<Index>(grid_.mostRuns() / grid_.rows() * first);
    Coordinates at(grid_, first);
    for (int64_t row = first; row < last; row++, at.step()) {
      firsts_[row] = next;
      counts_[row] = boundsOf(row);
      for (Index k = 0; k < counts_[row]; k++, next++) parents_[next] = next;
      for (const Neighbours& by : grid_.neighbours)
        if (row - by.rows >= first && at.hasRow(by)) joinRows(rowAt(row - by.rows), rowAt(row), by);
    }
  }

  // Joins the runs of a slice with those before it.
  void joinAcross(int64_t first) {
    Coordinates at(grid_, first);
    for (int64_t row = first; row < first + grid_.slice(); row++, at.step())
      for (const Neighbours& by : grid_.neighbours)
        if (row - by.rows < first && at.hasRow(by)) joinRows(rowAt(row - by.rows), rowAt(row), by);
  }

  // Numbers the components from `next` on in the order of their first runs, and gives the number behind the
  // last. A parent is before its runs, and has its label already.
  Index number(int64_t first, int64_t last, Index next) {
    const Index end = firsts_[last - 1] + counts_[last - 1];
    for (Index run = firsts_[first]; run < end; run++)
      parents_[run] = parents_[run] == run ? next++ : parents_[parents_[run]];
    return next;
  }

  // Writes the labels of rows [first, last).
  void write(int64_t first, int64_t last) {
    std::vector<Index> bounds(static_cast<size_t>(width_));
    for (int64_t row = first; row < last; row++) {
      const Row<Index, kHasRuns> found = rowAt(row);
      const Index kept = std::min(width_, kHasRuns ? 2 * found.count : found.count);
      std::copy(found.bounds, found.bounds + kept, bounds.begin());
      writeRow({bounds.data(), width_, found.first, found.count}, labels_ + row * grid_.width());
    }
  }

 private:
  // The coordinates of rows that follow one another.
  class Coordinates {
   public:
    Coordinates(const Grid& grid, int64_t row) : grid_(grid), at_(grid.shape.size() - 1) {
      for (size_t axis = at_.size(); axis-- > 0; row /= grid.shape[axis]) at_[axis] = row % grid.shape[axis];
    }
    void step() {
      for (size_t axis = at_.size(); axis-- > 0;) {
        if (++at_[axis] < grid_.shape[axis]) return;
        at_[axis] = 0;
      }
    }
    bool hasRow(const Neighbours& by) const {
      for (size_t axis = 0; axis < at_.size(); axis++) {
        const int64_t there = at_[axis] + by.outer[axis];
        if (there < 0 || there >= grid_.shape[axis]) return false;
      }
      return true;
    }

   private:
    const Grid& grid_;
    std::vector<int64_t> at_;
  };

  Row<Index, kHasRuns> rowAt(int64_t row) const {
    return {labels_ + row * grid_.width(), width_, firsts_[row], counts_[row]};
  }

  // Writes the columns of a row's runs, and gives their number.
  Index boundsOf(int64_t row) {
    const uint8_t* const mask = mask_ + row * grid_.width();
    Index* const bounds = labels_ + row * grid_.width();
    Index count = 0;
    uint64_t before = 0;
    for (Index column = 0; column < width_; column += 64) {
      const uint64_t bits = bitsOf(mask + column, width_ - column);
      // Where a run begins or ends.
      uint64_t found = kHasRuns ? bits ^ (bits << 1 | before) : bits;
      before = bits >> 63;
      for (; found != 0; found &= found - 1) {
        const Index bound = column + static_cast<Index>(std::countr_zero(found));
        if (bound < width_) bounds[count++] = bound;
      }
      if (width_ - column <= 64) break;
    }
    if constexpr (!kHasRuns) return count;
    if (count % 2 == 1 && count < width_) bounds[count] = width_;
    return (count + 1) / 2;
  }

  // Joins the runs of two rows that touch: both are in order, and of two the one that ends first touches no
  // more.
  void joinRows(const Row<Index, kHasRuns>& there, const Row<Index, kHasRuns>& here, const Neighbours& by) {
    const auto low = static_cast<Index>(by.low);
    const auto high = static_cast<Index>(by.high);
    for (Index i = 0, k = 0; i < there.count && k < here.count;) {
      const Index end = there.end(i);
      const Index reach = here.end(k) + high;
      if (there.begin(i) < reach && here.begin(k) + low < end) join(there.first + i, here.first + k);
      const Index isBefore = end < reach ? 1 : 0;
      i += isBefore;
      k += 1 - isBefore;
    }
  }

  void join(Index a, Index b) {
    while (parents_[a] != parents_[b]) {
      if (parents_[a] > parents_[b]) std::swap(a, b);
      const Index above = parents_[b];
      parents_[b] = parents_[a];
      if (above == b) return;
      b = above;
    }
  }

  void writeRow(const Row<Index, kHasRuns>& row, Index* labels) const {
    Index column = 0;
    for (Index k = 0; k < row.count; k++) {
      fill(labels, column, row.begin(k), 0);
      column = row.end(k);
      fill(labels, row.begin(k), column, parents_[row.first + k]);
    }
    std::fill(labels + column, labels + width_, 0);
  }

  // Few elements by stores of a fixed number, where the row goes on: those behind are written afterwards.
  void fill(Index* labels, Index begin, Index end, Index value) const {
    constexpr Index kFew = 8;
    if (end - begin <= kFew && width_ - begin >= kFew)
      std::fill_n(labels + begin, kFew, value);
    else
      std::fill(labels + begin, labels + end, value);
  }

  const Grid& grid_;
  Index width_;
  const uint8_t* mask_;
  Index* labels_;
  Index* parents_;
  Index* firsts_;
  Index* counts_;
};

template <typename Index, bool kHasRuns>
void label(const Grid& grid, const RoutineJob& job, ThreadPool& pool, const std::atomic<bool>* cancel) {
  Runs<Index, kHasRuns> runs(grid, job);
  const int64_t slabs = grid.slabs(pool);
  const auto rowOfSlab = [&](int64_t slab) { return slab * grid.slices() / slabs * grid.slice(); };
  const auto isStopped = [&] { return cancel != nullptr && cancel->load(std::memory_order_relaxed); };
  pool.parallelFor(slabs, [&](int64_t slab, int) {
    if (!isStopped()) runs.find(rowOfSlab(slab), rowOfSlab(slab + 1));
  });
  if (isStopped()) return;
  for (int64_t slab = 1; slab < slabs; slab++) runs.joinAcross(rowOfSlab(slab));
  Index next = 1;
  for (int64_t slab = 0; slab < slabs; slab++) next = runs.number(rowOfSlab(slab), rowOfSlab(slab + 1), next);
  *reinterpret_cast<Index*>(job.results[1]) = next - 1;
  const int64_t rows = grid.rows();
  const int64_t stretches = std::clamp<int64_t>(grid.size() / kSlab, 1, rows);
  pool.parallelFor(stretches, [&](int64_t stretch, int) {
    if (!isStopped()) runs.write(stretch * rows / stretches, (stretch + 1) * rows / stretches);
  });
}

void run(const RoutineJob& job, Range, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Grid grid = readGrid(job.numbers);
  const auto way = isNarrow(grid.size()) ? (grid.hasRuns ? label<int32_t, true> : label<int32_t, false>)
                                         : (grid.hasRuns ? label<int64_t, true> : label<int64_t, false>);
  way(grid, job, pool, cancel);
}

}  // namespace

const Routine kLabels = {needOf, run};

}  // namespace weft::cpu
