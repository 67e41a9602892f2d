// Connected components of a mask: for each element of it the least place of its component, by union-find over
// the neighbours before it in C order. Threads find the components of slabs along the first axis; those that
// meet at a boundary of slabs are joined by one thread, and all places are looked up again.
#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

#include "cpu/routines.h"
#include "cpu/threads.h"

namespace weft::cpu {
namespace {

// Elements of a slab, at least.
constexpr int64_t kSlab = int64_t{1} << 18;
constexpr int64_t kMostAxes = 64;

// A neighbour before an element: how far away along all axes but the last, and along that one.
struct Neighbour {
  std::vector<int64_t> outer;
  int64_t last = 0;

  bool isInRow() const {
    return std::all_of(outer.begin(), outer.end(), [](int64_t by) { return by == 0; });
  }
};

struct Grid {
  std::vector<int64_t> shape;
  std::vector<Neighbour> neighbours;

  int64_t size() const {
    int64_t n = 1;
    for (const int64_t length : shape) n *= length;
    return n;
  }
  int64_t width() const { return shape.back(); }
  int64_t rows() const { return size() / width(); }
  // Rows of one step along the first axis; an array of one axis is one row.
  int64_t slice() const { return shape.size() == 1 ? 1 : rows() / shape[0]; }
  int64_t slices() const { return rows() / slice(); }
  int64_t slabs(const ThreadPool& pool) const {
    return std::clamp<int64_t>(size() / kSlab, 1, std::min<int64_t>(slices(), pool.size()));
  }
};

// Axes, the size of each, then the offsets of each neighbour, plus 1.
Grid readGrid(const std::vector<int64_t>& numbers) {
  if (numbers.empty() || numbers[0] < 1 || numbers[0] > kMostAxes) throw std::invalid_argument("axes");
  const auto ndim = static_cast<size_t>(numbers[0]);
  if (numbers.size() < 1 + ndim || (numbers.size() - 1) % ndim != 0)
    throw std::invalid_argument("numbers of axes");
  Grid grid{{numbers.begin() + 1, numbers.begin() + 1 + static_cast<std::ptrdiff_t>(ndim)}, {}};
  int64_t size = 1;
  for (const int64_t length : grid.shape) {
    if (length < 1 || length > std::numeric_limits<int64_t>::max() / 16 / size)
      throw std::invalid_argument("a size");
    size *= length;
  }
  for (size_t k = 1 + ndim; k < numbers.size(); k += ndim) {
    Neighbour neighbour;
    int64_t sign = 0;
    for (size_t axis = 0; axis < ndim; axis++) {
      const int64_t by = numbers[k + axis] - 1;
      if (by < -1 || by > 1) throw std::invalid_argument("an offset");
      if (sign == 0) sign = by;
      if (axis + 1 < ndim)
        neighbour.outer.push_back(by);
      else
        neighbour.last = by;
    }
    if (sign >= 0) throw std::invalid_argument("a neighbour before an element");
    grid.neighbours.push_back(neighbour);
  }
  return grid;
}

bool isNarrow(int64_t size) { return size <= std::numeric_limits<int32_t>::max(); }

RoutineNeed needOf(const std::vector<int64_t>& numbers, const ThreadPool&) {
  const Grid grid = readGrid(numbers);
  const auto size = static_cast<size_t>(grid.size());
  const size_t parents = size * (isNarrow(grid.size()) ? sizeof(int32_t) : sizeof(int64_t));
  return {{size}, {size * sizeof(int64_t)}, {parents, parents}, 1};
}

template <typename Index>
class Components {
 public:
  Components(const Grid& grid, const uint8_t* mask, Index* parents)
      : grid_(grid), mask_(mask), parents_(parents), outer_(grid.shape.size() - 1) {}

  // The root of a place, which is the least of its component so far; halves the way to it.
  Index find(Index at) {
    while (parents_[at] != at) {
      parents_[at] = parents_[parents_[at]];
      at = parents_[at];
    }
    return at;
  }

  // Joins the places of a row with neighbours; those in slices before `first` are left out, or with
  // `isBoundary` they alone are looked at, and the row has its parents already.
  void row(int64_t row, int64_t first, bool isBoundary) {
    const int64_t width = grid_.width();
    int64_t rest = row;
    for (size_t axis = outer_.size(); axis-- > 0;) {
      outer_[axis] = rest % grid_.shape[axis];
      rest /= grid_.shape[axis];
    }
    const int64_t base = row * width;
    if (!isBoundary) begin(base, width);
    for (const Neighbour& neighbour : grid_.neighbours) {
      if (isLine_ && neighbour.isInRow()) continue;
      const int64_t other = rowOf(neighbour, row);
      if (other < 0 || (other < first * grid_.slice()) != isBoundary) continue;
      const int64_t from = other * width + neighbour.last;
      const int64_t end = neighbour.last > 0 ? width - 1 : width;
      bool wasJoined = false;
      for (int64_t k = neighbour.last < 0 ? 1 : 0; k < end; k++) {
        const bool areBoth = mask_[base + k] && mask_[from + k];
        // A run beside a run has been joined with it at the element before.
        if (areBoth && !(wasJoined && isLine_))
          join(static_cast<Index>(base + k), static_cast<Index>(from + k));
        wasJoined = areBoth;
      }
    }
  }

  // Whether neighbours along the last axis are joined first, so that a run is one component before others are
  // met.
  void joinsRuns(bool is) { isLine_ = is; }

 private:
  // Elements of a row are their own parents, or those of a run its first element.
  void begin(int64_t base, int64_t width) {
    int64_t start = -1;
    for (int64_t k = base; k < base + width; k++) {
      if (!mask_[k])
        start = -1;
      else if (start < 0 || !isLine_)
        start = k;
      parents_[k] = static_cast<Index>(start);
    }
  }

  // The row of a neighbour, or -1.
  int64_t rowOf(const Neighbour& neighbour, int64_t row) const {
    int64_t stride = 1;
    for (size_t axis = outer_.size(); axis-- > 0;) {
      const int64_t at = outer_[axis] + neighbour.outer[axis];
      if (at < 0 || at >= grid_.shape[axis]) return -1;
      row += neighbour.outer[axis] * stride;
      stride *= grid_.shape[axis];
    }
    return row;
  }

  void join(Index a, Index b) {
    const Index first = find(a);
    const Index second = find(b);
    if (first < second)
      parents_[second] = first;
    else
      parents_[first] = second;
  }

  const Grid& grid_;
  const uint8_t* mask_;
  Index* parents_;
  std::vector<int64_t> outer_;
  bool isLine_ = false;
};

template <typename Index>
void label(const Grid& grid, const RoutineJob& job, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const auto* mask = reinterpret_cast<const uint8_t*>(job.operands[0]);
  auto* parents = reinterpret_cast<Index*>(job.workspace.data);
  auto* roots = reinterpret_cast<int64_t*>(job.results[0]);
  const int64_t slabs = grid.slabs(pool);
  const auto firstSlice = [&](int64_t slab) { return slab * grid.slices() / slabs; };
  const auto isStopped = [&] { return cancel != nullptr && cancel->load(std::memory_order_relaxed); };
  const bool hasLine = std::any_of(grid.neighbours.begin(), grid.neighbours.end(),
                                   [](const Neighbour& neighbour) { return neighbour.isInRow(); });
  pool.parallelFor(slabs, [&](int64_t slab, int) {
    Components<Index> components(grid, mask, parents);
    components.joinsRuns(hasLine);
    const int64_t last = firstSlice(slab + 1) * grid.slice();
    for (int64_t row = firstSlice(slab) * grid.slice(); row < last && !isStopped(); row++)
      components.row(row, firstSlice(slab), false);
  });
  if (isStopped()) return;
  Components<Index> joined(grid, mask, parents);
  joined.joinsRuns(hasLine);
  for (int64_t slab = 1; slab < slabs; slab++) {
    const int64_t first = firstSlice(slab);
    for (int64_t row = first * grid.slice(); row < (first + 1) * grid.slice(); row++)
      joined.row(row, first, true);
  }
  const int64_t size = grid.size();
  const int64_t stretches = std::max<int64_t>(1, size / kSlab);
  pool.parallelFor(stretches, [&](int64_t stretch, int) {
    if (isStopped()) return;
    const int64_t last = (stretch + 1) * size / stretches;
    for (int64_t k = stretch * size / stretches; k < last; k++) {
      Index at = parents[k];
      while (at >= 0 && parents[at] != at) at = parents[at];
      roots[k] = at;
    }
  });
}

void run(const RoutineJob& job, Range, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Grid grid = readGrid(job.numbers);
  if (isNarrow(grid.size())) return label<int32_t>(grid, job, pool, cancel);
  label<int64_t>(grid, job, pool, cancel);
}

}  // namespace

const Routine kComponents = {needOf, run};

}  // namespace weft::cpu
