// The product of two sparse matrices, row by row (Gustavson, "Two fast algorithms for sparse matrices",
// 1978): how many elements each row has, and the elements. A row is gathered in a dense line of its columns,
// with a bit for each that says whether it is there, so that columns are found in their order; of matrices of
// many columns one of few products in a hash table. Sums are in the order of the first matrix's row, so that
// bits do not depend on threads.
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

#include "cpu/sparse-lines.h"
#include "cpu/sparse-numbers.h"
#include "shared/layout.h"

namespace weft::cpu {
namespace {

// Slots of the hash table, of which a row's products fill at most a half.
constexpr int kSlotBits = 12;
constexpr int64_t kSlots = 1 << kSlotBits;
// Columns up to which all rows are gathered in dense lines, which the second-level cache holds or nearly so.
constexpr int64_t kDenseColumns = 1 << 18;
constexpr uint64_t kWordBits = 64;
// Elements that are sorted by insertion.
constexpr int64_t kInserted = 32;

struct Product {
  DType index, dtype, placeIndex;
  int64_t rows, storedA, inner, storedB, columns, products, bound;
  RowUnits units;
  bool isTight = false;  // there is no room for a dense line

  // Whether rows of few products are gathered in a hash table, and whether some may be in a dense line.
  bool isHashed() const { return columns > kDenseColumns || isTight; }
  bool isDense() const { return !isHashed() || products > kSlots / 2; }
  int64_t words() const { return (columns + 63) / 64; }
};

Product readProduct(const std::vector<int64_t>& numbers) {
  if (numbers.size() != 13) throw std::invalid_argument("thirteen numbers");
  const Product p{static_cast<DType>(numbers[0]),
                  static_cast<DType>(numbers[1]),
                  static_cast<DType>(numbers[2]),
                  numbers[3],
                  numbers[4],
                  numbers[5],
                  numbers[6],
                  numbers[7],
                  numbers[8],
                  numbers[9],
                  rowUnitsOf(numbers)};
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 64;
  for (size_t k = 3; k < 9; k++)
    if (numbers[k] < 1 || numbers[k] > kMost)
      throw std::invalid_argument("two sparse matrices with elements");
  if (p.bound < 0 || p.bound > kMost) throw std::invalid_argument("a bound of elements");
  return p;
}

size_t padded(size_t bytes) { return (bytes + kHostAlignment - 1) / kHostAlignment * kHostAlignment; }

// Where a thread gathers a row. Of the hash table a key is a column, or -1; an element found is column ·
// slots + slot. Of the dense line the bits of the columns that are there, and which words of them are not 0.
template <typename Wide>
struct Space {
  int64_t* keys;
  Wide* sums;
  uint64_t* found;
  uint64_t* bits;
  Wide* dense;
  uint64_t* words;

  // `data` null: only the bytes.
  static size_t at(const Product& p, bool hasSums, std::byte* data, Space* space) {
    size_t bytes = 0;
    const auto take = [&](auto*& line, int64_t count) {
      if (space != nullptr) line = reinterpret_cast<std::remove_reference_t<decltype(line)>>(data + bytes);
      bytes += padded(static_cast<size_t>(count) * sizeof(*line));
    };
    Space none{};
    Space& own = space == nullptr ? none : *space;
    if (p.isHashed()) {
      take(own.keys, kSlots);
      take(own.found, kSlots);
      if (hasSums) take(own.sums, kSlots);
    }
    if (p.isDense()) {
      take(own.bits, p.words());
      take(own.words, p.words());
      if (hasSums) take(own.dense, p.columns);
    }
    return bytes;
  }
};

template <typename N, typename Index>
struct Matrices {
  SparseLines<Index> a, b;
  // Null: elements are counted.
  const typename N::Element *valuesA, *valuesB;
};

// Calls `use` with each product of a row, its column and its factors' places, in the order of A's row.
template <typename Index, typename Use>
void products(const Product& p, const SparseLines<Index>& a, const SparseLines<Index>& b, int64_t row,
              const Use& use) {
  for (int64_t k = a.begin(row), last = a.end(row); k < last; k++) {
    const int64_t place = insideOf(a.places[k], p.inner);
    for (int64_t i = b.begin(place), end = b.end(place); i < end; i++)
      use(insideOf(b.places[i], p.columns), k, i);
  }
}

template <typename Index>
int64_t productsOf(const Product& p, const SparseLines<Index>& a, const SparseLines<Index>& b, int64_t row) {
  int64_t count = 0;
  for (int64_t k = a.begin(row), last = a.end(row); k < last; k++) {
    const int64_t place = insideOf(a.places[k], p.inner);
    count += b.end(place) - b.begin(place);
  }
  return count;
}

// Gathers a row of up to so many products in the hash table; gives how many elements it has.
template <bool hasSums, typename N, typename Index>
int64_t gatherHashed(const Product& p, const Matrices<N, Index>& m, int64_t row, int64_t count,
                     const Space<typename N::Wide>& space) {
  int bits = 3;
  while ((int64_t{1} << bits) < 2 * count) bits++;
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  std::fill(space.keys, space.keys + mask + 1, -1);
  int64_t found = 0;
  products(p, m.a, m.b, row, [&](int64_t column, int64_t k, int64_t i) {
    uint64_t slot = (static_cast<uint64_t>(column) * 0x9E3779B97F4A7C15u) >> (64 - bits);
    while (space.keys[slot] != column && space.keys[slot] >= 0) slot = (slot + 1) & mask;
    const bool isNew = space.keys[slot] < 0;
    if (isNew) {
      space.keys[slot] = column;
      space.found[found++] = static_cast<uint64_t>(column) << kSlotBits | slot;
      if constexpr (hasSums) space.sums[slot] = typename N::Wide{};
    }
    if constexpr (hasSums)
      space.sums[slot] = N::combine(space.sums[slot], times(N::widen(m.valuesA[k]), N::widen(m.valuesB[i])));
  });
  return found;
}

// Gathers a row in the dense line; gives how many elements it has, and in how many words their bits are.
struct DenseRow {
  int64_t found, words;
};
template <bool hasSums, typename N, typename Index>
DenseRow gatherDense(const Product& p, const Matrices<N, Index>& m, int64_t row,
                     const Space<typename N::Wide>& space) {
  // Of its own, so that they stay in registers.
  const auto [a, b, valuesA, valuesB] = m;
  uint64_t *const bits = space.bits, *const words = space.words;
  auto* const dense = space.dense;
  const int64_t inner = p.inner, columns = p.columns;
  int64_t found = 0, count = 0;
  for (int64_t k = a.begin(row), last = a.end(row); k < last; k++) {
    const int64_t place = insideOf(a.places[k], inner);
    for (int64_t i = b.begin(place), end = b.end(place); i < end; i++) {
      const auto column = static_cast<uint64_t>(insideOf(b.places[i], columns));
      const uint64_t bit = uint64_t{1} << (column % kWordBits);
      uint64_t& own = bits[column / kWordBits];
      typename N::Wide sum{};
      if ((own & bit) == 0) {
        if (own == 0) words[count++] = column / kWordBits;
        own |= bit;
        found++;
      } else if constexpr (hasSums) {
        sum = dense[column];
      }
      if constexpr (hasSums)
        dense[column] = N::combine(sum, times(N::widen(valuesA[k]), N::widen(valuesB[i])));
    }
  }
  return {found, count};
}

// Rows of a matrix whose own are in order are nearly so.
void sortFound(uint64_t* found, int64_t count) {
  if (count > kInserted) {
    if (!std::is_sorted(found, found + count)) std::sort(found, found + count);
    return;
  }
  for (int64_t i = 1; i < count; i++) {
    const uint64_t own = found[i];
    int64_t to = i;
    for (; to > 0 && found[to - 1] > own; to--) found[to] = found[to - 1];
    found[to] = own;
  }
}

// The words of a dense line in order: those found are sorted, or all are looked at where they are many.
void sortWords(const Product& p, uint64_t* words, int64_t count, const uint64_t* bits) {
  if (count < p.words() / 32) return sortFound(words, count);
  int64_t to = 0;
  for (int64_t word = 0; word < p.words(); word++)
    if (bits[word] != 0) words[to++] = static_cast<uint64_t>(word);
}

template <typename Wide>
void clearDense(const Space<Wide>& space, int64_t words) {
  for (int64_t k = 0; k < words; k++) space.bits[space.words[k]] = 0;
}

// The product with hash tables alone, where no row has more products than these take.
Product tightOf(Product p) {
  p.isTight = p.products <= kSlots / 2;
  return p;
}

template <typename Wide>
size_t leastOf(const Product& p, bool hasSums) {
  return std::min(Space<Wide>::at(p, hasSums, nullptr, nullptr),
                  Space<Wide>::at(tightOf(p), hasSums, nullptr, nullptr));
}

// The product as a thread has room for it.
template <typename Wide>
Product inRoom(const Product& p, const RoutineJob& job, bool hasSums) {
  return job.workspace.byteLength < Space<Wide>::at(p, hasSums, nullptr, nullptr) ? tightOf(p) : p;
}

// Calls `work` with rows and a thread's own space.
template <bool hasSums, typename Wide, typename Work>
void eachRow(const Product& p, const RoutineJob& job, Range units, ThreadPool& pool,
             const std::atomic<bool>* cancel, const Work& work) {
  const size_t own = Space<Wide>::at(p, hasSums, nullptr, nullptr);
  const auto most = static_cast<int>(std::min<size_t>(pool.workers(), job.workspace.byteLength / own));
  const auto spaceOf = [&](int worker) {
    Space<Wide> space{};
    Space<Wide>::at(p, hasSums, job.workspace.data + static_cast<size_t>(worker) * own, &space);
    return space;
  };
  if (p.isDense())
    for (int worker = 0; worker < most; worker++) std::fill_n(spaceOf(worker).bits, p.words(), uint64_t{0});
  forRows(
      p.units.rowsOf(units, p.rows), pool, cancel,
      [&](int64_t first, int64_t last, int worker) {
        const Space<Wide> space = spaceOf(worker);
        for (int64_t row = first; row < last; row++) work(row, space);
      },
      most);
}

void count(const RoutineJob& job, Range units, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Product p = inRoom<double>(readProduct(job.numbers), job, false);
  withIndex(p.index, [&](auto index) {
    using Index = decltype(index);
    using N = ScanReal<double, ScanOp::sum>;
    const Matrices<N, Index> m{linesAt<Index>(job, 0, 1, p.storedA), linesAt<Index>(job, 2, 3, p.storedB),
                               nullptr, nullptr};
    auto* counts = reinterpret_cast<int64_t*>(job.results[0]);
    eachRow<false, double>(p, job, units, pool, cancel, [&](int64_t row, const Space<double>& space) {
      const bool isShort = m.a.end(row) <= m.a.begin(row) + 1;
      const int64_t some = isShort || p.isHashed() ? productsOf(p, m.a, m.b, row) : 0;
      if (isShort) {
        counts[row] = some;
      } else if (p.isHashed() && some <= kSlots / 2) {
        counts[row] = some == 0 ? 0 : gatherHashed<false>(p, m, row, some, space);
      } else {
        const DenseRow own = gatherDense<false>(p, m, row, space);
        counts[row] = own.found;
        clearDense(space, own.words);
      }
    });
    return 0;
  });
}

// The elements of a row, in the order of their columns.
template <typename N, typename Index, typename Place>
void fillRow(const Product& p, const Matrices<N, Index>& m, int64_t row, const Space<typename N::Wide>& space,
             Place* places, typename N::Element* values) {
  const int64_t some = p.isHashed() ? productsOf(p, m.a, m.b, row) : 0;
  if (p.isHashed() && some <= kSlots / 2) {
    if (some == 0) return;
    const int64_t count = gatherHashed<true>(p, m, row, some, space);
    sortFound(space.found, count);
    for (int64_t i = 0; i < count; i++) {
      places[i] = static_cast<Place>(space.found[i] >> kSlotBits);
      values[i] = N::round(space.sums[space.found[i] & (kSlots - 1)]);
    }
    return;
  }
  const int64_t words = gatherDense<true>(p, m, row, space).words;
  sortWords(p, space.words, words, space.bits);
  for (int64_t k = 0, to = 0; k < words; k++) {
    const uint64_t word = space.words[k];
    for (uint64_t bits = std::exchange(space.bits[word], 0); bits != 0; bits &= bits - 1) {
      const uint64_t column = word * kWordBits + static_cast<uint64_t>(std::countr_zero(bits));
      places[to] = static_cast<Place>(column);
      values[to++] = N::round(space.dense[column]);
    }
  }
}

void fill(const RoutineJob& job, Range units, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Product given = readProduct(job.numbers);
  const auto* starts = reinterpret_cast<const int64_t*>(job.operands[6]);
  withScanNumbers(given.dtype, ScanOp::sum, [&](auto number) {
    using N = decltype(number);
    using Element = typename N::Element;
    const Product p = inRoom<typename N::Wide>(given, job, true);
    return withIndex(p.index, [&](auto index) {
      using Index = decltype(index);
      return withIndex(p.placeIndex, [&](auto placeIndex) {
        using Place = decltype(placeIndex);
        const Matrices<N, Index> m{linesAt<Index>(job, 0, 1, p.storedA), linesAt<Index>(job, 3, 4, p.storedB),
                                   reinterpret_cast<const Element*>(job.operands[2]),
                                   reinterpret_cast<const Element*>(job.operands[5])};
        auto* places = reinterpret_cast<Place*>(job.results[0]);
        auto* values = reinterpret_cast<Element*>(job.results[1]);
        eachRow<true, typename N::Wide>(p, job, units, pool, cancel, [&](int64_t row, const auto& space) {
          const int64_t to = starts[row];
          if (to < 0 || starts[row + 1] > p.bound) return;
          fillRow(p, m, row, space, places + to, values + to);
        });
        clearLines(p.units.tailOf(units, p.rows, starts, p.bound), pool, places, values);
        return 0;
      });
    });
  });
}

size_t bytesOf(int64_t count, size_t size) { return static_cast<size_t>(count) * size; }

RoutineNeed countNeed(const std::vector<int64_t>& numbers, const ThreadPool& pool) {
  const Product p = readProduct(numbers);
  const size_t index = byteLengthOf(p.index);
  const size_t own = Space<double>::at(p, false, nullptr, nullptr);
  const size_t most = own * static_cast<size_t>(std::min<int64_t>(pool.workers(), rowTasks(p.rows)));
  return {{bytesOf(p.rows + 1, index), bytesOf(p.storedA, index), bytesOf(p.inner + 1, index),
           bytesOf(p.storedB, index)},
          {bytesOf(p.rows, sizeof(int64_t))},
          {most, leastOf<double>(p, false)},
          p.units.units};
}

RoutineNeed fillNeed(const std::vector<int64_t>& numbers, const ThreadPool& pool) {
  const Product p = readProduct(numbers);
  return withScanNumbers(p.dtype, ScanOp::sum, [&](auto number) -> RoutineNeed {
    using N = decltype(number);
    constexpr size_t element = sizeof(typename N::Element);
    const size_t index = byteLengthOf(p.index);
    const size_t own = Space<typename N::Wide>::at(p, true, nullptr, nullptr);
    const size_t most = own * static_cast<size_t>(std::min<int64_t>(pool.workers(), rowTasks(p.rows)));
    return {{bytesOf(p.rows + 1, index), bytesOf(p.storedA, index), bytesOf(p.storedA, element),
             bytesOf(p.inner + 1, index), bytesOf(p.storedB, index), bytesOf(p.storedB, element),
             bytesOf(p.rows + 1, sizeof(int64_t))},
            {bytesOf(p.bound, byteLengthOf(p.placeIndex)), bytesOf(p.bound, element)},
            {most, leastOf<typename N::Wide>(p, true)},
            p.units.units};
  });
}

}  // namespace

const Routine kSparseMatmulCounts{countNeed, count};
const Routine kSparseMatmul{fillNeed, fill};

}  // namespace weft::cpu
