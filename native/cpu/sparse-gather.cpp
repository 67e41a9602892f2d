// The rows of sparse matrices in another one: of one matrix those of some numbers, of several ones above one
// another or side by side. Of several threads each first counts the elements of stretches of rows, so that a
// stretch knows where it begins. Rows that follow one another there and here are copied at once.
#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "cpu/copy-forward.h"
#include "cpu/sparse-lines.h"
#include "cpu/sparse-moves.h"
#include "cpu/sparse-stretches.h"

namespace weft::cpu {
namespace {

// As GATHER_WAYS of src/graph/sparse-routines.ts. Numbers of a user's count from the end where they are
// negative, and are looked at; narrow ones are int32.
enum class GatherWay { chosen, above, beside, given, givenNarrow };

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

  bool isGiven() const { return way == GatherWay::given || way == GatherWay::givenNarrow; }
  bool hasNumbers() const { return way == GatherWay::chosen || isGiven(); }
  size_t firstMatrix() const { return hasNumbers() ? 1 : 0; }
  size_t numberBytes() const { return way == GatherWay::givenNarrow ? sizeof(int32_t) : sizeof(int64_t); }
};

Gather readGather(const std::vector<int64_t>& n) {
  constexpr size_t kOwn = 6, kEach = 3;
  if (n.size() < kOwn + kEach || n.size() % kEach != 0)
    throw std::invalid_argument("three numbers for each matrix");
  if (n[4] < 0 || n[4] > 4) throw std::invalid_argument("a way to put rows together");
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
  int64_t rows = 0;
  bool areAlike = true;
  for (const GatheredMatrix& m : g.matrices) {
    rows += m.rows;
    areAlike = areAlike && m.rows == g.rows;
  }
  const bool areThere = g.way == GatherWay::beside  ? areAlike
                        : g.way == GatherWay::above ? rows == g.rows
                                                    : g.matrices.size() == 1;
  if (!areThere) throw std::invalid_argument("the rows of one matrix or several");
  return g;
}

// Rows that one of several threads copies at a time.
constexpr int64_t kStretchRows = 4096;
// Elements up to which a loop is quicker than `copyForward`.
constexpr int64_t kShort = 16;
// Elements that are copied together, without a loop, where there is room: those behind a row's last one are
// written by the rows behind it.
constexpr int64_t kTogether = 8;

template <typename T>
struct Together {
  T elements[kTogether];

  explicit Together(const T* from) { std::memcpy(elements, from, sizeof elements); }
  void write(T* to) const { std::memcpy(to, elements, sizeof elements); }
};

template <typename T>
void moveElements(const T* from, int64_t count, T* to) {
  if (count > kShort) {
    copyForward(from, count, to);
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
        numbers_(job.operands[0]),
        starts_(reinterpret_cast<Index*>(job.results[0])),
        places_(reinterpret_cast<Index*>(job.results[1])),
        values_(reinterpret_cast<Element*>(job.results[2])) {
    for (size_t k = 0; k < g.matrices.size(); k++) {
      const size_t at = g.firstMatrix() + 3 * k;
      from_.push_back({linesAt<Index>(job, at, at + 1, g.matrices[k].stored),
                       reinterpret_cast<const Element*>(job.operands[at + 2]),
                       static_cast<Index>(g.matrices[k].offset), g.matrices[k].rows});
    }
  }

  // Writes each stretch of rows behind those before it, which one thread has written by then.
  void write(ThreadPool& pool, const std::atomic<bool>* cancel) const {
    const auto threads = static_cast<int>(std::clamp<int64_t>(g_.bound / kLeastMoved, 1, pool.workers()));
    // One thread copies as much at a time as it may before it looks whether it is cancelled.
    const int64_t wanted = threads > 1 ? g_.rows / kStretchRows : g_.bound / (2 * kLeastMoved);
    const int64_t inStretch = g_.rows / std::min(g_.rows, wanted + 1) + 1;
    const int64_t stretches = (g_.rows + inStretch - 1) / inStretch;
    std::vector<int64_t> ends(static_cast<size_t>(stretches + 1));
    const auto each = [&](const auto& work) {
      pool.parallelFor(
          stretches,
          [&](int64_t s, int) {
            if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) return;
            work(static_cast<size_t>(s), s * inStretch, std::min(g_.rows, (s + 1) * inStretch));
          },
          threads);
    };
    const bool isCounted = threads > 1;
    if (isCounted) each([&](size_t s, int64_t first, int64_t last) { ends[s + 1] = count(first, last); });
    for (size_t s = 1; s < ends.size(); s++) ends[s] = std::min(g_.bound, ends[s - 1] + ends[s]);
    starts_[0] = 0;
    each([&](size_t s, int64_t first, int64_t last) {
      const int64_t end = writeRows(first, last, {ends[s], isCounted ? ends[s + 1] : g_.bound});
      if (!isCounted) ends[s + 1] = end;
    });
    // src/exec/run/checks-in-run.ts says which.
    if (hasMissed_.load(std::memory_order_relaxed))
      throw std::out_of_range("[sparse] expected numbers of rows");
    if (!g_.isOpen) clearLines({ends.back(), g_.bound}, pool, places_, values_);
  }

 private:
  using Unsigned = std::make_unsigned_t<Index>;

  // Rows whose numbers are read at a time.
  static constexpr int64_t kNumbers = 256;

  struct From {
    SparseLines<Index> lines;
    const Element* values;
    Index offset;
    int64_t rows;
  };

  // Elements of rows [first, last).
  int64_t count(int64_t first, int64_t last) const {
    int64_t sum = 0;
    if (g_.hasNumbers()) {
      const SparseLines<Index> lines = from_[0].lines;
      eachNumbers(first, last, [&](int64_t, const int64_t* own, int64_t count) {
        for (int64_t k = 0; k < count; k++) sum += lines.end(own[k]) - lines.begin(own[k]);
      });
      return sum;
    }
    eachPart(first, last, [&](const From& from, int64_t row, int64_t end) {
      sum += std::max<int64_t>(0, from.lines.begin(end) - from.lines.begin(row));
    });
    return sum;
  }

  // Calls `use` with the rows of each matrix that are in rows [first, last).
  template <typename Use>
  void eachPart(int64_t first, int64_t last, const Use& use) const {
    int64_t before = 0;
    for (const From& from : from_) {
      if (g_.way == GatherWay::beside) {
        use(from, first, last);
        continue;
      }
      const int64_t row = std::max(first, before), end = std::min(last, before + from.rows);
      if (row < end) use(from, row - before, end - before);
      before += from.rows;
    }
  }

  // Writes the ends of rows that follow one another in their matrix, counted on from `sum`. Numbers without a
  // sign, as starts that cannot be may be any.
  void moveStarts(const From& from, int64_t row, int64_t end, int64_t sum, Index* to) const {
    const auto most = static_cast<Index>(std::min<int64_t>(g_.bound, std::numeric_limits<Index>::max()));
    const Index* const starts = from.lines.starts + row;
    const auto apart = static_cast<Unsigned>(sum) - static_cast<Unsigned>(from.lines.begin(row));
    for (int64_t k = 1; k <= end - row; k++) {
      const auto moved = static_cast<Index>(static_cast<Unsigned>(starts[k]) + apart);
      to[k - 1] = std::clamp<Index>(moved, 0, most);
    }
  }

  // Calls `use(row, own, count)` with the numbers in their matrix of some of the rows [first, last) at a
  // time.
  template <typename Use>
  void eachNumbers(int64_t first, int64_t last, const Use& use) const {
    int64_t own[kNumbers];
    for (int64_t row = first; row < last; row += kNumbers) {
      const int64_t count = std::min(kNumbers, last - row);
      if (g_.way == GatherWay::givenNarrow)
        readNumbers<int32_t>(row, count, own);
      else
        readNumbers<int64_t>(row, count, own);
      use(row, static_cast<const int64_t*>(own), count);
    }
  }
  template <typename Number>
  void readNumbers(int64_t row, int64_t count, int64_t* own) const {
    const auto* const numbers = reinterpret_cast<const Number*>(numbers_) + row;
    const int64_t rows = from_[0].rows;
    if (!g_.isGiven()) {
      for (int64_t k = 0; k < count; k++) own[k] = insideOf(numbers[k], rows);
      return;
    }
    bool hasMissed = false;
    for (int64_t k = 0; k < count; k++) {
      const int64_t number = numbers[k];
      own[k] = number < 0 ? number + rows : number;
      if (static_cast<uint64_t>(own[k]) < static_cast<uint64_t>(rows)) continue;
      hasMissed = true;
      own[k] = 0;
    }
    if (hasMissed) hasMissed_.store(true, std::memory_order_relaxed);
  }

  // Copies the elements of rows [row, end) to the first place of those that are left; gives how many there
  // are.
  static int64_t copy(const From& from, int64_t row, int64_t end, Range to, Index* toPlaces,
                      Element* toValues) {
    const int64_t first = from.lines.begin(row);
    const int64_t count = std::min(from.lines.begin(end) - first, to.last - to.first);
    if (count <= 0) return 0;
    const Index* const places = from.lines.places + first;
    if (count <= kTogether && to.first + kTogether <= to.last && first + kTogether <= from.lines.stored) {
      Together<Index> columns(places);
      // Without a sign, as numbers behind the last element may be any.
      for (Index& column : columns.elements)
        column = static_cast<Index>(static_cast<Unsigned>(column) + static_cast<Unsigned>(from.offset));
      columns.write(toPlaces + to.first);
      Together<Element>(from.values + first).write(toValues + to.first);
      return count;
    }
    if (from.offset == 0)
      moveElements(places, count, toPlaces + to.first);
    else
      for (int64_t k = 0; k < count; k++)
        toPlaces[to.first + k] = static_cast<Index>(places[k] + from.offset);
    moveElements(from.values + first, count, toValues + to.first);
    return count;
  }

  // Writes the ends of rows [first, last), and their elements to the first of these places; gives the end.
  int64_t writeRows(int64_t first, int64_t last, Range to) const {
    if (g_.hasNumbers()) {
      eachNumbers(first, last, [&](int64_t row, const int64_t* own, int64_t count) {
        to.first = writeChosen(row, own, count, to);
      });
    } else if (g_.way == GatherWay::above) {
      eachPart(first, last, [&](const From& from, int64_t row, int64_t end) {
        moveStarts(from, row, end, to.first, starts_ + first + 1);
        to.first += copy(from, row, end, to, places_, values_);
        first += end - row;
      });
    } else {
      to.first = writeBeside(first, last, to);
    }
    return to.first;
  }

  // Lines in variables of these functions stay in registers while elements are written.
  int64_t writeBeside(int64_t first, int64_t last, Range to) const {
    Index *const starts = starts_, *const places = places_;
    Element* const values = values_;
    for (int64_t row = first; row < last; row++) {
      for (const From& from : from_) to.first += copy(from, row, row + 1, to, places, values);
      starts[row + 1] = static_cast<Index>(to.first);
    }
    return to.first;
  }

  int64_t writeChosen(int64_t row, const int64_t* own, int64_t count, Range to) const {
    const From from = from_[0];
    Index *const starts = starts_ + row, *const places = places_;
    Element* const values = values_;
    for (int64_t k = 0; k < count;) {
      int64_t end = k + 1;
      while (end < count && own[end] == own[end - 1] + 1) end++;
      const int64_t copied = copy(from, own[k], own[end - 1] + 1, to, places, values);
      if (end > k + 1) moveStarts(from, own[k], own[end - 1], to.first, starts + k + 1);
      k = end;
      starts[k] = static_cast<Index>(to.first += copied);
    }
    return to.first;
  }

  const Gather& g_;
  const std::byte* const numbers_;  // of rows, where they are chosen
  mutable std::atomic<bool> hasMissed_{false};
  Index* const starts_;
  Index* const places_;
  Element* const values_;
  std::vector<From> from_;
};

void run(const RoutineJob& job, Range, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Gather g = readGather(job.numbers);
  withIndex(g.index, [&](auto index) {
    return withWidth(g.width, [&](auto element) {
      Gathering<decltype(index), decltype(element)>(g, job).write(pool, cancel);
      return 0;
    });
  });
}

RoutineNeed needOf(const std::vector<int64_t>& numbers, const ThreadPool&) {
  const Gather g = readGather(numbers);
  const auto index = static_cast<size_t>(byteLengthOf(g.index));
  const auto bytes = [](int64_t count, size_t size) { return static_cast<size_t>(count) * size; };
  std::vector<size_t> operands;
  if (g.hasNumbers()) operands.push_back(bytes(g.rows, g.numberBytes()));
  for (const GatheredMatrix& m : g.matrices)
    operands.insert(operands.end(),
                    {bytes(m.rows + 1, index), bytes(m.stored, index), bytes(m.stored, g.width)});
  return {operands, {bytes(g.rows + 1, index), bytes(g.bound, index), bytes(g.bound, g.width)}, {}, 1};
}

}  // namespace

const Routine kSparseGather{needOf, run};

}  // namespace weft::cpu
