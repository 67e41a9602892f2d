// Connected components of a mask: for each element of it the least place of its component. Rows are runs of
// true elements; a run takes the number of a component that it touches in the rows before, and joins all that
// it touches (union-find over numbers, which are few beside elements). Threads number the runs of slabs along
// the first axis; one of them joins what meets at the boundaries, and all places are looked up.
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
  // Those in other rows.
  std::vector<Neighbour> neighbours;
  // Whether neighbours along the last axis belong together; if not, each element is a run.
  bool hasRuns = false;

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
  Grid grid;
  grid.shape.assign(numbers.begin() + 1, numbers.begin() + 1 + static_cast<std::ptrdiff_t>(ndim));
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
    if (neighbour.isInRow())
      grid.hasRuns = true;
    else
      grid.neighbours.push_back(neighbour);
  }
  return grid;
}

bool isNarrow(int64_t size) { return size <= std::numeric_limits<int32_t>::max(); }

RoutineNeed needOf(const std::vector<int64_t>& numbers, const ThreadPool&) {
  const Grid grid = readGrid(numbers);
  const auto size = static_cast<size_t>(grid.size());
  const size_t places = size * (isNarrow(grid.size()) ? sizeof(int32_t) : sizeof(int64_t));
  return {{size}, {places}, {places, places}, 1};
}

// The components of a slab. `numbers` has the number of each element's run, -1 of none. `parents` has of a
// number that is joined with a smaller one that one, and of a root -1 - p, where p is the first place of its
// component: numbers grow with the places of runs.
template <typename Index>
class Components {
 public:
  Components(const Grid& grid, const uint8_t* mask, Index* numbers, Index* parents)
      : grid_(grid), mask_(mask), numbers_(numbers), parents_(parents), outer_(grid.shape.size() - 1) {}

  // Numbers the runs of rows [first, last) from `next` on; what is before the first row is not looked at.
  Index number(int64_t first, int64_t last, Index next) {
    for (int64_t row = first; row < last; row++) {
      find(row, first);
      const int64_t base = row * grid_.width();
      for (int64_t k = 0; k < grid_.width();) {
        if (!mask_[base + k]) {
          numbers_[base + k++] = -1;
          continue;
        }
        int64_t end = k + 1;
        if (grid_.hasRuns)
          while (end < grid_.width() && mask_[base + end]) end++;
        Index own = touched(k, end, -1);
        if (own < 0) {
          own = next++;
          parents_[own] = static_cast<Index>(-1 - (base + k));
        }
        std::fill(numbers_ + base + k, numbers_ + base + end, own);
        k = end;
      }
    }
    return next;
  }

  // Joins the runs of a row, which have numbers, with what they touch in the rows before `boundary`.
  void joinAcross(int64_t row, int64_t boundary) {
    find(row, 0);
    std::erase_if(others_, [&](const Other& other) { return other.row >= boundary; });
    const int64_t base = row * grid_.width();
    for (int64_t k = 0; k < grid_.width(); k++)
      if (mask_[base + k]) touched(k, k + 1, numbers_[base + k]);
  }

 private:
  struct Other {
    int64_t row;
    int64_t last;
  };

  // The rows of a row's neighbours that are there, from `first` on.
  void find(int64_t row, int64_t first) {
    int64_t rest = row;
    for (size_t axis = outer_.size(); axis-- > 0;) {
      outer_[axis] = rest % grid_.shape[axis];
      rest /= grid_.shape[axis];
    }
    others_.clear();
    for (const Neighbour& neighbour : grid_.neighbours) {
      const int64_t other = rowOf(neighbour, row);
      if (other >= first) others_.push_back({other, neighbour.last});
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

  // The component of all that places [first, last) of a row touch, with `own` if that is one; -1: they touch
  // none.
  Index touched(int64_t first, int64_t last, Index own) {
    for (const Other& other : others_) {
      const int64_t begin = std::max<int64_t>(0, first + other.last);
      const int64_t end = std::min(grid_.width(), last + other.last);
      const Index* const there = numbers_ + other.row * grid_.width();
      Index before = -1;
      for (int64_t k = begin; k < end; k++) {
        const Index number = there[k];
        if (number >= 0 && number != before) own = own < 0 ? root(number) : joined(own, number);
        before = number;
      }
    }
    return own;
  }

  Index root(Index number) {
    while (parents_[number] >= 0) {
      const Index parent = parents_[number];
      if (parents_[parent] >= 0) parents_[number] = parents_[parent];
      number = parent;
    }
    return number;
  }

  Index joined(Index a, Index b) {
    const Index first = root(a);
    const Index second = root(b);
    if (first == second) return first;
    const auto [least, other] = std::minmax(first, second);
    parents_[other] = least;
    return least;
  }

  const Grid& grid_;
  const uint8_t* mask_;
  Index* numbers_;
  Index* parents_;
  std::vector<int64_t> outer_;
  std::vector<Other> others_;
};

template <typename Index>
void findComponents(const Grid& grid, const RoutineJob& job, ThreadPool& pool,
                    const std::atomic<bool>* cancel) {
  const auto* mask = reinterpret_cast<const uint8_t*>(job.operands[0]);
  auto* parents = reinterpret_cast<Index*>(job.workspace.data);
  auto* places = reinterpret_cast<Index*>(job.results[0]);
  const int64_t slabs = grid.slabs(pool);
  const auto rowOfSlab = [&](int64_t slab) { return slab * grid.slices() / slabs * grid.slice(); };
  const auto isStopped = [&] { return cancel != nullptr && cancel->load(std::memory_order_relaxed); };
  // A slab has at most as many numbers as elements, and begins with that of its first place.
  std::vector<Index> ends(static_cast<size_t>(slabs));
  pool.parallelFor(slabs, [&](int64_t slab, int) {
    if (isStopped()) return;
    Components<Index> components(grid, mask, places, parents);
    const int64_t first = rowOfSlab(slab);
    ends[static_cast<size_t>(slab)] =
        components.number(first, rowOfSlab(slab + 1), static_cast<Index>(first * grid.width()));
  });
  if (isStopped()) return;
  Components<Index> joined(grid, mask, places, parents);
  for (int64_t slab = 1; slab < slabs; slab++) {
    const int64_t first = rowOfSlab(slab);
    for (int64_t row = first; row < first + grid.slice(); row++) joined.joinAcross(row, first);
  }
  // In ascending order, the parent of a number has the place of its root already.
  for (int64_t slab = 0; slab < slabs; slab++) {
    const auto first = static_cast<Index>(rowOfSlab(slab) * grid.width());
    for (Index number = first; number < ends[static_cast<size_t>(slab)]; number++)
      if (parents[number] >= 0) parents[number] = parents[parents[number]];
  }
  const int64_t size = grid.size();
  const int64_t stretches = std::max<int64_t>(1, size / kSlab);
  pool.parallelFor(stretches, [&](int64_t stretch, int) {
    if (isStopped()) return;
    const int64_t last = (stretch + 1) * size / stretches;
    for (int64_t k = stretch * size / stretches; k < last; k++) {
      const Index number = places[k];
      const Index place = static_cast<Index>(-1 - parents[number < 0 ? 0 : number]);
      places[k] = number < 0 ? number : place;
    }
  });
}

void run(const RoutineJob& job, Range, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Grid grid = readGrid(job.numbers);
  if (isNarrow(grid.size())) return findComponents<int32_t>(grid, job, pool, cancel);
  findComponents<int64_t>(grid, job, pool, cancel);
}

}  // namespace

const Routine kComponents = {needOf, run};

}  // namespace weft::cpu
