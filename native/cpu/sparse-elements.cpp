// A sparse matrix of elements in any order: a stable counting sort of their rows, each of which is then
// sorted by its columns, elements at one place being added up in the order in which they were given, floats
// in float64, rounded once.
#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

#include "cpu/counting-order.h"
#include "cpu/scan-numbers.h"
#include "cpu/sparse-lines.h"
#include "cpu/sparse-moves.h"

namespace weft::cpu {
namespace {

struct Elements {
  DType dtype, index;
  int64_t rows, columns, stored;
  bool isOpen;  // what is behind the last element may stay undefined

  size_t countBytes() const { return static_cast<size_t>(rows) * static_cast<size_t>(byteLengthOf(index)); }
  // The workspace has values, columns and counts, each aligned for numbers of eight bytes.
  size_t columnsAt() const { return aligned(bytesOf(dtype)); }
  size_t countsAt() const { return aligned(columnsAt() + bytesOf(index)); }
  size_t bytesOf(DType type) const {
    return static_cast<size_t>(stored) * static_cast<size_t>(byteLengthOf(type));
  }
  static size_t aligned(size_t at) { return (at + sizeof(int64_t) - 1) / sizeof(int64_t) * sizeof(int64_t); }
  int64_t stretches(int64_t workers) const { return CountedLine{stored, rows}.stretches(workers); }
};

Elements readElements(const std::vector<int64_t>& n) {
  if (n.size() != 6) throw std::invalid_argument("six numbers");
  const Elements e{static_cast<DType>(n[0]), static_cast<DType>(n[1]), n[2], n[3], n[4], n[5] != 0};
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 64;
  if (std::min({e.rows, e.columns, e.stored}) < 1 || std::max({e.rows, e.columns, e.stored}) > kMost)
    throw std::invalid_argument("elements of a sparse matrix");
  return e;
}

// The columns and values of some elements, and as much room.
template <typename Index, typename Element>
struct ElementLines {
  Index* places;
  Element* values;

  ElementLines from(int64_t k) const { return {places + k, values + k}; }
  void move(const ElementLines& given, int64_t from, int64_t to) const {
    places[to] = given.places[from];
    values[to] = given.values[from];
  }
};

// Elements that are sorted by insertion.
constexpr int64_t kInserted = 32;

template <typename Index, typename Element>
void insertElements(const ElementLines<Index, Element>& line, int64_t count) {
  for (int64_t k = 1; k < count; k++) {
    const Index place = line.places[k];
    if (line.places[k - 1] <= place) continue;
    const Element value = line.values[k];
    int64_t to = k;
    for (; to > 0 && line.places[to - 1] > place; to--) line.move(line, to - 1, to);
    line.places[to] = place;
    line.values[to] = value;
  }
}

// Elements in a stable order of their columns: runs of them, which are merged.
template <typename Index, typename Element>
void sortElements(ElementLines<Index, Element> line, ElementLines<Index, Element> room, int64_t count) {
  if (std::is_sorted(line.places, line.places + count)) return;
  for (int64_t k = 0; k < count; k += kInserted) insertElements(line.from(k), std::min(kInserted, count - k));
  const ElementLines<Index, Element> result = line;
  for (int64_t width = kInserted; width < count; width *= 2) {
    for (int64_t begin = 0; begin < count; begin += 2 * width) {
      const int64_t middle = std::min(count, begin + width), end = std::min(count, begin + 2 * width);
      int64_t i = begin, j = middle;
      for (int64_t to = begin; to < end; to++) {
        const bool isFirst = j == end || (i < middle && line.places[i] <= line.places[j]);
        room.move(line, isFirst ? i++ : j++, to);
      }
    }
    std::swap(line, room);
  }
  if (line.places == result.places) return;
  std::copy_n(line.places, count, result.places);
  std::copy_n(line.values, count, result.values);
}

template <typename N, typename Index>
class Collecting {
  using Element = typename N::Element;
  using Lines = ElementLines<Index, Element>;

 public:
  Collecting(const Elements& e, const RoutineJob& job, ThreadPool& pool, const std::atomic<bool>* cancel)
      : e_(e),
        pool_(pool),
        cancel_(cancel),
        rows_(reinterpret_cast<const Index*>(job.operands[0])),
        columns_(reinterpret_cast<const Index*>(job.operands[1])),
        values_(reinterpret_cast<const Element*>(job.operands[2])),
        starts_(reinterpret_cast<Index*>(job.results[0])),
        result_{reinterpret_cast<Index*>(job.results[1]), reinterpret_cast<Element*>(job.results[2])} {
    std::byte* const room = job.workspace.data;
    room_ = {reinterpret_cast<Index*>(room + e.columnsAt()), reinterpret_cast<Element*>(room)};
    counts_ = reinterpret_cast<Index*>(room + e.countsAt());
    const auto most = static_cast<int64_t>((job.workspace.byteLength - e.countsAt()) / e.countBytes());
    stretches_ = std::clamp<int64_t>(most, 1, e.stretches(pool.workers()));
  }

  void run() {
    sortByRows();
    if (isStopped()) return;
    forRows({0, e_.rows}, pool_, cancel_, [&](int64_t first, int64_t last, int) {
      for (int64_t row = first; row < last; row++) counts_[row] = static_cast<Index>(finishRow(row));
    });
    if (isStopped()) return;
    closeGaps();
    if (!e_.isOpen) clearLines({starts_[e_.rows], e_.stored}, pool_, result_.places, result_.values);
  }

 private:
  bool isStopped() const { return cancel_ != nullptr && cancel_->load(std::memory_order_relaxed); }
  Index* countsOf(int64_t stretch) const { return counts_ + stretch * e_.rows; }
  int64_t rowAt(int64_t k) const { return insideOf(rows_[k], e_.rows); }

  template <typename Work>
  void eachStretch(const Work& work) const {
    pool_.parallelFor(stretches_, [&](int64_t stretch, int) {
      if (isStopped()) return;
      work(countsOf(stretch), e_.stored * stretch / stretches_, e_.stored * (stretch + 1) / stretches_);
    });
  }

  void sortByRows() const {
    eachStretch([&](Index* counts, int64_t first, int64_t last) {
      std::fill_n(counts, e_.rows, 0);
      for (int64_t k = first; k < last; k++) counts[rowAt(k)]++;
    });
    if (isStopped()) return;
    Index before = 0;
    for (int64_t row = 0; row < e_.rows; row++) {
      starts_[row] = before;
      for (int64_t stretch = 0; stretch < stretches_; stretch++) {
        Index& count = countsOf(stretch)[row];
        const Index own = count;
        count = before;
        before += own;
      }
    }
    starts_[e_.rows] = before;
    eachStretch([&](Index* to, int64_t first, int64_t last) {
      for (int64_t k = first; k < last; k++) {
        const Index at = to[rowAt(k)]++;
        result_.places[at] = columns_[k];
        result_.values[at] = values_[k];
      }
    });
  }

  // Sorts a row and adds up what is at one place; gives how many elements are left.
  int64_t finishRow(int64_t row) const {
    const int64_t begin = starts_[row], count = starts_[row + 1] - begin;
    const Lines line = result_.from(begin);
    if (count <= kInserted)
      insertElements(line, count);
    else
      sortElements(line, room_.from(begin), count);
    int64_t found = 0;
    for (int64_t k = 0; k < count; found++) {
      const Index place = line.places[k];
      typename N::Wide sum{};
      for (; k < count && line.places[k] == place; k++) sum = N::combine(sum, N::widen(line.values[k]));
      line.places[found] = place;
      line.values[found] = N::round(sum);
    }
    return found;
  }

  // Moves rows to where those before them end.
  void closeGaps() const {
    Index to = 0;
    Index begin = 0;
    for (int64_t row = 0; row < e_.rows; row++) {
      const Index count = counts_[row];
      if (to != begin) {
        std::copy_n(result_.places + begin, count, result_.places + to);
        std::copy_n(result_.values + begin, count, result_.values + to);
      }
      begin = starts_[row + 1];
      to += count;
      starts_[row + 1] = to;
    }
  }

  const Elements& e_;
  ThreadPool& pool_;
  const std::atomic<bool>* const cancel_;
  const Index* const rows_;
  const Index* const columns_;
  const Element* const values_;
  Index* const starts_;
  const Lines result_;
  Lines room_{};
  Index* counts_;  // of each stretch, then of rows
  int64_t stretches_;
};

void run(const RoutineJob& job, Range, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Elements e = readElements(job.numbers);
  withScanType<ScanOp::sum>(e.dtype, [&](auto number) {
    withIndex(e.index, [&](auto index) {
      Collecting<decltype(number), decltype(index)>(e, job, pool, cancel).run();
      return 0;
    });
    return 0;
  });
}

RoutineNeed needOf(const std::vector<int64_t>& numbers, const ThreadPool& pool) {
  const Elements e = readElements(numbers);
  withScanType<ScanOp::sum>(e.dtype, [](auto) { return 0; });
  const size_t places = e.bytesOf(e.index), values = e.bytesOf(e.dtype);
  const size_t starts = e.countBytes() + static_cast<size_t>(byteLengthOf(e.index));
  const size_t least = e.countsAt() + e.countBytes();
  const size_t more = static_cast<size_t>(e.stretches(pool.workers()) - 1) * e.countBytes();
  return {{places, places, values}, {starts, places, values}, {least + more, least}, 1};
}

}  // namespace

const Routine kSparseElements{needOf, run};

}  // namespace weft::cpu
