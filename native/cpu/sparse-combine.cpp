// A sum, difference, product or comparison of two sparse matrices, element by element: rows are merged and
// their elements combined at once, 0 where a matrix has none. Of comparisons what is true is kept.
#include <limits>
#include <stdexcept>

#include "cpu/scan-numbers.h"
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

void run(const RoutineJob& job, Range, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Combine c = readCombine(job.numbers);
  withIndex(c.index, [&](auto index) {
    return withIndex(c.result, [&](auto place) {
      return withFloat(c.dtype, [&](auto number) {
        using Index = decltype(index);
        using Place = decltype(place);
        using T = decltype(number);
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
