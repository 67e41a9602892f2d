// The Kronecker product of two sparse matrices. Where its rows begin follows from where theirs do: row (i, r)
// is behind all elements of B for each element of A before row i, and those of B before row r for each one of
// row i.
//
//     row i of A (j, a), row r of B (k, b) (l, c)   →   (j · columns + k, a · b) (j · columns + l, a · c)
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "cpu/sparse-lines.h"
#include "cpu/sparse-moves.h"

namespace weft::cpu {
namespace {

struct Kron {
  DType dtype, index;
  int64_t rowsA, storedA, rowsB, storedB, columnsB;
  bool isOpen;  // what is behind the last element may stay undefined

  int64_t rows() const { return rowsA * rowsB; }
  int64_t bound() const { return storedA * storedB; }
};

Kron readKron(const std::vector<int64_t>& n) {
  if (n.size() != 8) throw std::invalid_argument("eight numbers");
  const Kron k{static_cast<DType>(n[0]), static_cast<DType>(n[1]), n[2], n[3], n[4], n[5], n[6], n[7] != 0};
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 64;
  if (std::min({k.rowsA, k.storedA, k.rowsB, k.storedB, k.columnsB}) < 1 || k.rowsA > kMost / k.rowsB ||
      k.storedA > kMost / k.storedB)
    throw std::invalid_argument("two sparse matrices with elements");
  return k;
}

// Rows of the product that a thread has at a time.
constexpr int64_t kRows = 4096;
// Elements that are written together, without a loop, where there is room: those behind a row's last one are
// written by what follows.
constexpr int64_t kAtOnce = 8;

template <typename Index, typename T>
class Multiplying {
 public:
  Multiplying(const Kron& kron, const RoutineJob& job)
      : kron_(kron),
        a_(linesAt<Index>(job, 0, 1, kron.storedA)),
        b_(linesAt<Index>(job, 3, 4, kron.storedB)),
        valuesA_(reinterpret_cast<const T*>(job.operands[2])),
        valuesB_(reinterpret_cast<const T*>(job.operands[5])),
        starts_(reinterpret_cast<Index*>(job.results[0])),
        places_(reinterpret_cast<Index*>(job.results[1])),
        values_(reinterpret_cast<T*>(job.results[2])) {}

  void write(ThreadPool& pool, const std::atomic<bool>* cancel) const {
    starts_[0] = 0;
    pool.parallelFor((kron_.rows() + kRows - 1) / kRows, [&](int64_t task, int) {
      if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) return;
      const int64_t first = task * kRows, last = std::min(kron_.rows(), first + kRows);
      const int64_t end = startOf(last);
      for (int64_t row = first; row < last;) {
        const int64_t i = row / kron_.rowsB, next = std::min(last, (i + 1) * kron_.rowsB);
        writeRows(i, row - i * kron_.rowsB, next - i * kron_.rowsB, end);
        row = next;
      }
    });
    if (!kron_.isOpen) clearLines({startOf(kron_.rows()), kron_.bound()}, pool, places_, values_);
  }

 private:
  using Unsigned = std::make_unsigned_t<Index>;

  // Of rows [i · rowsB + r] of the product.
  int64_t startOf(int64_t row) const {
    const int64_t i = row / kron_.rowsB;
    if (i == kron_.rowsA) return a_.begin(i) * b_.begin(kron_.rowsB);
    return a_.begin(i) * b_.begin(kron_.rowsB) + (a_.end(i) - a_.begin(i)) * b_.begin(row - i * kron_.rowsB);
  }

  // Writes rows [r, last) of row i of A to places up to `end`, and where they end.
  void writeRows(int64_t i, int64_t r, int64_t last, int64_t end) const {
    const int64_t firstA = a_.begin(i), lastA = a_.end(i);
    const int64_t before = firstA * b_.begin(kron_.rowsB), each = lastA - firstA;
    Index* const starts = starts_ + i * kron_.rowsB + 1;
    for (; r < last; r++) {
      const int64_t firstB = b_.begin(r), count = b_.end(r) - firstB;
      int64_t to = before + each * firstB;
      starts[r] = static_cast<Index>(before + each * b_.begin(r + 1));
      for (int64_t k = firstA; k < lastA; k++, to += count) {
        // Of starts that cannot be, rows may have more than there is room for.
        if (to + count > end) break;
        const auto offset = static_cast<Unsigned>(a_.places[k]) * static_cast<Unsigned>(kron_.columnsB);
        const bool isAtOnce = count <= kAtOnce && to + kAtOnce <= end && firstB + kAtOnce <= kron_.storedB;
        multiply(offset, valuesA_[k], firstB, isAtOnce ? kAtOnce : count, to);
      }
    }
  }

  void multiply(Unsigned offset, T factor, int64_t from, int64_t count, int64_t to) const {
    const Index* const columns = b_.places + from;
    const T* const factors = valuesB_ + from;
    Index* const places = places_ + to;
    T* const values = values_ + to;
    const auto write = [&](int64_t size) {
      for (int64_t k = 0; k < size; k++)
        places[k] = static_cast<Index>(static_cast<Unsigned>(columns[k]) + offset);
      for (int64_t k = 0; k < size; k++) values[k] = factor * factors[k];
    };
    // Of a number of elements that is known there is no loop.
    if (count == kAtOnce)
      write(kAtOnce);
    else
      write(count);
  }

  const Kron& kron_;
  const SparseLines<Index> a_, b_;
  const T *const valuesA_, *const valuesB_;
  Index* const starts_;
  Index* const places_;
  T* const values_;
};

template <typename Use>
auto withKronDType(DType dtype, const Use& use) {
  if (dtype == DType::float32) return use(float{});
  if (dtype == DType::float64) return use(double{});
  throw std::invalid_argument("float32 or float64");
}

void run(const RoutineJob& job, Range, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Kron kron = readKron(job.numbers);
  withIndex(kron.index, [&](auto index) {
    return withKronDType(kron.dtype, [&](auto number) {
      Multiplying<decltype(index), decltype(number)>(kron, job).write(pool, cancel);
      return 0;
    });
  });
}

RoutineNeed needOf(const std::vector<int64_t>& numbers, const ThreadPool&) {
  const Kron k = readKron(numbers);
  const auto bytes = [](int64_t size, DType dtype) {
    return static_cast<size_t>(size) * static_cast<size_t>(byteLengthOf(dtype));
  };
  return {{bytes(k.rowsA + 1, k.index), bytes(k.storedA, k.index), bytes(k.storedA, k.dtype),
           bytes(k.rowsB + 1, k.index), bytes(k.storedB, k.index), bytes(k.storedB, k.dtype)},
          {bytes(k.rows() + 1, k.index), bytes(k.bound(), k.index), bytes(k.bound(), k.dtype)},
          {},
          1};
}

}  // namespace

const Routine kSparseKron{needOf, run};

}  // namespace weft::cpu
