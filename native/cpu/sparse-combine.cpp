// A sum, difference, product or comparison of two sparse matrices, element by element: rows are merged and
// their elements combined at once, 0 where a matrix has none. Of comparisons what is true is kept. Matrices
// that store the same places, as a matrix and a function of its elements, are not merged: line by line their
// columns are compared, and their elements combined in vectors.
#include <bit>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "cpu/compact-kernels.h"
#include "cpu/copy-forward.h"
#include "cpu/scan-numbers.h"
#include "cpu/sparse-kept-rows.h"
#include "cpu/sparse-merged-row.h"
#include "cpu/sparse-moves.h"
#include "cpu/sparse-stretches.h"

namespace weft::cpu {
namespace {

// As COMBINED_OPS of src/graph/sparse-routines.ts.
enum class CombineOp { add, subtract, multiply, notEqual, less, greater };

constexpr bool isComparison(CombineOp op) { return op >= CombineOp::notEqual; }

struct Combine {
  DType dtype, index, result;
  int64_t rows, storedA, storedB, bound;
  CombineOp op;
  bool isOfBoth, isOpen;  // what is behind the last element may stay undefined
};

Combine readCombine(const std::vector<int64_t>& n) {
  if (n.size() != 10) throw std::invalid_argument("ten numbers");
  if (n[7] < 0 || n[7] > 5) throw std::invalid_argument("an operation of two sparse matrices");
  const Combine c{static_cast<DType>(n[0]),
                  static_cast<DType>(n[1]),
                  static_cast<DType>(n[2]),
                  n[3],
                  n[4],
                  n[5],
                  n[6],
                  static_cast<CombineOp>(n[7]),
                  n[8] != 0,
                  n[9] != 0};
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 64;
  if (std::min({c.rows, c.storedA, c.storedB, c.bound}) < 1 ||
      std::max({c.rows, c.storedA, c.storedB, c.bound}) > kMost)
    throw std::invalid_argument("two sparse matrices");
  return c;
}

template <typename Use>
auto withFloat(DType dtype, const Use& use) {
  if (dtype == DType::float32) return use(float{});
  if (dtype == DType::float64) return use(double{});
  throw std::invalid_argument("float32 or float64");
}

// One for all comparisons, as their arithmetic is little beside the merge. NaN differs from every number.
template <typename T>
struct Comparison {
  bool less, greater, other;

  explicit Comparison(CombineOp op)
      : less(op != CombineOp::greater), greater(op != CombineOp::less), other(op == CombineOp::notEqual) {}
  bool operator()(T a, T b) const {
    return (less && a < b) || (greater && a > b) || (other && (a != a || b != b));
  }
};

// Writes the rows; `use` has a column and both elements, and the place for it, whose end it gives.
template <typename Index, typename Place, typename T, typename Element, typename Use>
void combineRows(const Combine& c, const RoutineJob& job, ThreadPool& pool, const std::atomic<bool>* cancel,
                 const Use& use) {
  const auto a = linesAt<Index>(job, 0, 1, c.storedA), b = linesAt<Index>(job, 3, 4, c.storedB);
  const auto* const valuesA = reinterpret_cast<const T*>(job.operands[2]);
  const auto* const valuesB = reinterpret_cast<const T*>(job.operands[5]);
  auto* const starts = reinterpret_cast<Place*>(job.results[0]);
  auto* const places = reinterpret_cast<Place*>(job.results[1]);
  auto* const values = reinterpret_cast<Element*>(job.results[2]);
  const bool isOfBoth = c.isOfBoth;
  const auto together = [isOfBoth](int64_t ofA, int64_t ofB) {
    return isOfBoth ? std::min(ofA, ofB) : ofA + ofB;
  };
  const int64_t end = writeRowsAtOnce(
      c.rows, c.bound, starts, pool, cancel,
      [=](int64_t row) { return together(a.begin(row), b.begin(row)); },
      [=](int64_t row) { return together(a.end(row) - a.begin(row), b.end(row) - b.begin(row)); },
      [=](int64_t row, int64_t to) {
        mergeRow(isOfBoth, a, b, row, [&](Index column, int64_t i, int64_t j) {
          places[to] = static_cast<Place>(column);
          to = use(values, to, i < 0 ? T{} : valuesA[i], j < 0 ? T{} : valuesB[j]);
        });
        return to;
      },
      places, values);
  if (!c.isOpen) clearLines({end, c.bound}, pool, places, values);
}

// Two matrices of int32 indices that store the same places. Others are merged, too: few are that large, and
// code for them would be as much again for each width.
template <typename T>
class Alike {
 public:
  using Index = int32_t;

  Alike(const Combine& c, const RoutineJob& job, ThreadPool& pool, const std::atomic<bool>* cancel)
      : c_(c),
        pool_(pool),
        cancel_(cancel),
        a_(linesAt<Index>(job, 0, 1, c.storedA)),
        b_(linesAt<Index>(job, 3, 4, c.storedB)),
        valuesA_(reinterpret_cast<const T*>(job.operands[2])),
        valuesB_(reinterpret_cast<const T*>(job.operands[5])),
        starts_(reinterpret_cast<Index*>(job.results[0])),
        places_(reinterpret_cast<Index*>(job.results[1])),
        values_(job.results[2]) {}

  // Gives false, and anything in the results, where places differ.
  bool combine() const {
    if (!areAlike({0, std::min(c_.rows, kFirstRows)}) || a_.begin(c_.rows) != b_.begin(c_.rows)) return false;
    return isComparison(c_.op) ? write(reinterpret_cast<uint8_t*>(values_))
                               : write(reinterpret_cast<T*>(values_));
  }

 private:
  // Rows that are compared before threads have work: where matrices differ, they mostly do there.
  static constexpr int64_t kFirstRows = 256;

  // Whether both matrices store the same places in some rows.
  bool areAlike(Range rows) const {
    const auto areEqual = [](const Index* x, const Index* y, int64_t count) {
      return x == y || std::memcmp(x, y, static_cast<size_t>(count) * sizeof(Index)) == 0;
    };
    const int64_t first = a_.begin(rows.first);
    const int64_t count = std::max<int64_t>(0, a_.begin(rows.last) - first);
    return areEqual(a_.starts + rows.first, b_.starts + rows.first, rows.last - rows.first + 1) &&
           first + count <= b_.stored && areEqual(a_.places + first, b_.places + first, count);
  }

  template <typename Element>
  bool write(Element* values) const {
    std::atomic<bool> isSame{true};
    const int64_t end = writeStretchesAtOnce(
        c_.rows, c_.bound, kLeastMoved, starts_, pool_, cancel_,
        [this](int64_t row) { return a_.begin(row); },
        [&](Range rows, Range to) -> int64_t {
          if (isSame.load(std::memory_order_relaxed) && areAlike(rows)) return writeRows(rows, to, values);
          isSame.store(false, std::memory_order_relaxed);
          return 0;
        },
        places_, values);
    if (!isSame.load(std::memory_order_relaxed)) return false;
    if (!c_.isOpen) clearLines({end, c_.bound}, pool_, places_, values);
    return true;
  }

  // Sums, differences or products.
  int64_t writeRows(Range rows, Range to, T* values) const {
    const int64_t first = a_.begin(rows.first);
    const int64_t count = std::clamp<int64_t>(a_.begin(rows.last) - first, 0, to.last - to.first);
    for (int64_t at = 0; at < count; at += kMaskBlock) {
      if (cancel_ != nullptr && cancel_->load(std::memory_order_relaxed)) return 0;
      const int64_t size = std::min(kMaskBlock, count - at);
      copyForward(a_.places + first + at, size, places_ + to.first + at);
      const T *const x = valuesA_ + first + at, *const y = valuesB_ + first + at;
      T* const out = values + to.first + at;
      if (c_.op == CombineOp::add)
        for (int64_t k = 0; k < size; k++) out[k] = x[k] + y[k];
      else if (c_.op == CombineOp::subtract)
        for (int64_t k = 0; k < size; k++) out[k] = x[k] - y[k];
      else
        for (int64_t k = 0; k < size; k++) out[k] = x[k] * y[k];
    }
    for (int64_t row = rows.first; row < rows.last; row++)
      starts_[row + 1] = static_cast<Index>(std::clamp<int64_t>(a_.begin(row + 1) - first, 0, count));
    return count;
  }

  // The elements of which a comparison is true.
  int64_t writeRows(Range rows, Range to, uint8_t* values) const {
    return keepRows(
        a_, rows, to, starts_, cancel_,
        [this](int64_t at, int64_t size, uint8_t* room) {
          const T *const x = valuesA_ + at, *const y = valuesB_ + at;
          if (c_.op == CombineOp::notEqual)
            for (int64_t k = 0; k < size; k++) room[k] = x[k] != y[k];
          else if (c_.op == CombineOp::less)
            for (int64_t k = 0; k < size; k++) room[k] = x[k] < y[k];
          else
            for (int64_t k = 0; k < size; k++) room[k] = x[k] > y[k];
          std::memset(room + size, 0, static_cast<size_t>(kMaskBlock - size));
          return room;
        },
        [this, values](int64_t at, int64_t size, const uint8_t* mask, int64_t kept, int64_t place) {
          if (kept == size)
            copyForward(a_.places + at, size, places_ + place);
          else
            compactKernels().values[std::bit_width(sizeof(Index)) - 1](mask, a_.places + at, kept,
                                                                       places_ + place);
          std::memset(values + place, 1, static_cast<size_t>(kept));
        });
  }

  const Combine& c_;
  ThreadPool& pool_;
  const std::atomic<bool>* const cancel_;
  const SparseLines<Index> a_, b_;
  const T* const valuesA_;
  const T* const valuesB_;
  Index* const starts_;
  Index* const places_;
  std::byte* const values_;
};

void run(const RoutineJob& job, Range, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Combine c = readCombine(job.numbers);
  withIndex(c.index, [&](auto index) {
    return withIndex(c.result, [&](auto place) {
      return withFloat(c.dtype, [&](auto number) {
        using Index = decltype(index);
        using Place = decltype(place);
        using T = decltype(number);
        if constexpr (sizeof(Index) == 4 && sizeof(Place) == 4)
          if (Alike<T>(c, job, pool, cancel).combine()) return 0;
        const auto write = [&](const auto& combine) {
          combineRows<Index, Place, T, T>(c, job, pool, cancel, [combine](T* values, int64_t to, T a, T b) {
            values[to] = combine(a, b);
            return to + 1;
          });
        };
        if (isComparison(c.op))
          combineRows<Index, Place, T, uint8_t>(
              c, job, pool, cancel, [isTrue = Comparison<T>(c.op)](uint8_t* values, int64_t to, T a, T b) {
                values[to] = 1;
                return to + (isTrue(a, b) ? 1 : 0);
              });
        else if (c.op == CombineOp::add)
          write([](T a, T b) { return a + b; });
        else if (c.op == CombineOp::subtract)
          write([](T a, T b) { return a - b; });
        else
          write([](T a, T b) { return a * b; });
        return 0;
      });
    });
  });
}

RoutineNeed needOf(const std::vector<int64_t>& numbers, const ThreadPool&) {
  const Combine c = readCombine(numbers);
  const auto bytes = [](int64_t size, DType dtype) {
    return static_cast<size_t>(size) * static_cast<size_t>(byteLengthOf(dtype));
  };
  const size_t index = bytes(c.rows + 1, c.index);
  return {{index, bytes(c.storedA, c.index), bytes(c.storedA, c.dtype), index, bytes(c.storedB, c.index),
           bytes(c.storedB, c.dtype)},
          {bytes(c.rows + 1, c.result), bytes(c.bound, c.result),
           isComparison(c.op) ? static_cast<size_t>(c.bound) : bytes(c.bound, c.dtype)},
          {},
          1};
}

}  // namespace

const Routine kSparseCombine{needOf, run};

}  // namespace weft::cpu
