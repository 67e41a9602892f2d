// Running sums, products, extremes and sums of exponentials along the middle axis of three, in tiles: each
// tile from the value before it, which is an operand, or its total alone, or the values before all tiles by
// those totals. Tiles do not depend on one another, and threads take them by turns. Floating-point numbers
// are combined in double, one after the other, and rounded once.
#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>

#include "cpu/routines.h"
#include "cpu/scan-numbers.h"
#include "cpu/tape.h"
#include "cpu/threads.h"

namespace weft::cpu {
namespace {

// Elements that a thread takes at a time at least.
constexpr int64_t kLeastElements = 1 << 14;
// Columns that a thread goes along at a time: their running values stay in the first-level cache.
constexpr int64_t kColumns = 256;
// A line's total is combined in so many parts at a time.
constexpr int64_t kParts = 8;

struct Tiles {
  DType dtype;
  ScanOp op;
  bool isReverse;
  int64_t outer, length, inner, tile, tilesPerUnit;
  bool isCarried;

  int64_t perLine() const { return (length + tile - 1) / tile; }
  int64_t count() const { return outer * perLine(); }
  int64_t units() const { return (count() + tilesPerUnit - 1) / tilesPerUnit; }
};

DType readType(int64_t dtype) {
  if (dtype < 0 || dtype >= kDTypes) throw std::invalid_argument("a dtype");
  return static_cast<DType>(dtype);
}
ScanOp readOp(int64_t op) {
  if (op < 0 || op >= kScanOps) throw std::invalid_argument("an operation");
  return static_cast<ScanOp>(op);
}
void checkSizes(int64_t outer, int64_t length, int64_t inner) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 16;
  if (outer < 1 || length < 1 || inner < 1 || outer > kMost / length || outer * length > kMost / inner)
    throw std::invalid_argument("lines with elements");
}

Tiles readTiles(const std::vector<int64_t>& numbers) {
  if (numbers.size() != 9) throw std::invalid_argument("nine numbers");
  const Tiles t{readType(numbers[0]), readOp(numbers[1]), numbers[2] != 0, numbers[3],    numbers[4],
                numbers[5],           numbers[6],         numbers[7],      numbers[8] > 1};
  checkSizes(t.outer, t.length, t.inner);
  if (t.tile < 1 || t.tilesPerUnit < 1) throw std::invalid_argument("tiles with elements");
  return t;
}

// Calls `each` with the places along the axis of a tile's elements, in the order of the scan.
template <typename Each>
void alongTile(const Tiles& t, int64_t k, const Each& each) {
  const int64_t start = k % t.perLine() * t.tile;
  const int64_t count = std::min(t.tile, t.length - start);
  const int64_t first = k / t.perLine() * t.length + start;
  if (t.isReverse) {
    for (int64_t i = count - 1; i >= 0; i--) each(first + i);
  } else {
    for (int64_t i = 0; i < count; i++) each(first + i);
  }
}

template <typename N>
struct Scanner {
  using Element = typename N::Element;
  using Wide = typename N::Wide;

  // Columns [from, from + count) of a tile.
  static void scan(const Tiles& t, const RoutineJob& job, int64_t k, int64_t from, int64_t count) {
    const auto* in = reinterpret_cast<const Element*>(job.operands[0]) + from;
    auto* out = reinterpret_cast<Element*>(job.results[0]) + from;
    std::array<Wide, kColumns> sums;
    if (t.isCarried) {
      const auto* before = reinterpret_cast<const Wide*>(job.operands[1]) + k * t.inner + from;
      std::copy_n(before, count, sums.begin());
    } else {
      std::fill_n(sums.begin(), count, N::identity());
    }
    if (t.inner == 1) {
      Wide sum = sums[0];
      alongTile(t, k, [&](int64_t i) {
        sum = N::combine(sum, N::widen(in[i]));
        out[i] = N::round(sum);
      });
      return;
    }
    alongTile(t, k, [&](int64_t i) {
      const auto* row = in + i * t.inner;
      auto* to = out + i * t.inner;
      for (int64_t c = 0; c < count; c++) {
        sums[c] = N::combine(sums[c], N::widen(row[c]));
        to[c] = N::round(sums[c]);
      }
    });
  }

  static void total(const Tiles& t, const RoutineJob& job, int64_t k, int64_t from, int64_t count) {
    const auto* in = reinterpret_cast<const Element*>(job.operands[0]) + from;
    auto* out = reinterpret_cast<Wide*>(job.results[0]) + k * t.inner + from;
    if (t.inner == 1) {
      *out = lineTotal(t, in, k);
      return;
    }
    std::array<Wide, kColumns> sums;
    std::fill_n(sums.begin(), count, N::identity());
    alongTile(t, k, [&](int64_t i) {
      const auto* row = in + i * t.inner;
      for (int64_t c = 0; c < count; c++) sums[c] = N::combine(sums[c], N::widen(row[c]));
    });
    std::copy_n(sums.begin(), count, out);
  }

  // In parts that do not wait for one another: elements p, p + kParts … of the tile.
  static Wide lineTotal(const Tiles& t, const Element* in, int64_t k) {
    std::array<Wide, kParts> parts;
    parts.fill(N::identity());
    const int64_t start = k % t.perLine() * t.tile;
    const int64_t count = std::min(t.tile, t.length - start);
    const auto* own = in + k / t.perLine() * t.length + start;
    int64_t i = 0;
    for (; i + kParts <= count; i += kParts) {
      for (int64_t p = 0; p < kParts; p++) parts[p] = N::combine(parts[p], N::widen(own[i + p]));
    }
    for (int64_t p = 0; i < count; i++, p++) parts[p] = N::combine(parts[p], N::widen(own[i]));
    Wide sum = parts[0];
    for (int64_t p = 1; p < kParts; p++) sum = N::combine(sum, parts[p]);
    return sum;
  }

  static void run(const Tiles& t, bool isTotal, const RoutineJob& job, Range units, ThreadPool& pool,
                  const std::atomic<bool>* cancel) {
    const int64_t first = units.first * t.tilesPerUnit;
    const int64_t last = std::min(t.count(), units.last * t.tilesPerUnit);
    const int64_t stretches = (t.inner + kColumns - 1) / kColumns;
    const int64_t together = std::max<int64_t>(1, kLeastElements / (t.tile * std::min(t.inner, kColumns)));
    const int64_t tasks = (last - first) * stretches;
    pool.parallelFor((tasks + together - 1) / together, [&](int64_t task, int) {
      if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) return;
      for (int64_t at = task * together; at < std::min(tasks, (task + 1) * together); at++) {
        const int64_t from = at % stretches * kColumns;
        const int64_t count = std::min(kColumns, t.inner - from);
        (isTotal ? total : scan)(t, job, first + at / stretches, from, count);
      }
    });
  }
};

template <bool kIsTotal>
RoutineNeed needOf(const std::vector<int64_t>& numbers, const ThreadPool&) {
  const Tiles t = readTiles(numbers);
  const size_t wide = withScanNumbers(
      t.dtype, t.op, [](auto type) { return sizeof(typename Scanner<decltype(type)>::Wide); });
  const size_t bytes = static_cast<size_t>(t.outer * t.length * t.inner) * byteLengthOf(t.dtype);
  const size_t ofTiles = static_cast<size_t>(t.count() * t.inner) * wide;
  if (kIsTotal) return {{bytes}, {ofTiles}, {}, t.units()};
  RoutineNeed need{{bytes}, {bytes}, {}, t.units()};
  if (t.isCarried) need.operands.push_back(ofTiles);
  return need;
}

template <bool kIsTotal>
void runTiles(const RoutineJob& job, Range units, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Tiles t = readTiles(job.numbers);
  withScanNumbers(t.dtype, t.op, [&](auto type) {
    Scanner<decltype(type)>::run(t, kIsTotal, job, units, pool, cancel);
    return 0;
  });
}

// The totals of lines' tiles.
struct Totals {
  DType dtype;
  ScanOp op;
  bool isReverse;
  int64_t outer, tiles, inner;
};

Totals readTotals(const std::vector<int64_t>& numbers) {
  if (numbers.size() != 6) throw std::invalid_argument("six numbers");
  const Totals t{readType(numbers[0]), readOp(numbers[1]), numbers[2] != 0,
                 numbers[3],           numbers[4],         numbers[5]};
  checkSizes(t.outer, t.tiles, t.inner);
  return t;
}

// The numbers that totals of a dtype are: those of exponentials have one of their own.
template <typename Use>
auto withTotals(const Totals& t, const Use& use) {
  if (t.op == ScanOp::logsumexp) return use(ScanExponentials<double>{});
  return withScanNumbers(t.dtype, t.op, use);
}

// Columns whose values so far are held at once.
constexpr int64_t kCarried = 64;

// Totals are read before the value at their place is written: the result may lie where they are.
template <typename N>
void combineBefore(const Totals& t, const RoutineJob& job, int64_t line) {
  using Wide = typename N::Wide;
  const auto* totals = reinterpret_cast<const Wide*>(job.operands[0]) + line * t.tiles * t.inner;
  auto* before = reinterpret_cast<Wide*>(job.results[0]) + line * t.tiles * t.inner;
  for (int64_t first = 0; first < t.inner; first += kCarried) {
    const int64_t columns = std::min(kCarried, t.inner - first);
    Wide carried[kCarried];
    std::fill_n(carried, columns, N::identity());
    for (int64_t k = 0; k < t.tiles; k++) {
      const int64_t at = (t.isReverse ? t.tiles - 1 - k : k) * t.inner + first;
      for (int64_t c = 0; c < columns; c++) {
        const Wide total = totals[at + c];
        before[at + c] = carried[c];
        carried[c] = N::combine(carried[c], total);
      }
    }
  }
}

RoutineNeed beforeNeedOf(const std::vector<int64_t>& numbers, const ThreadPool&) {
  const Totals t = readTotals(numbers);
  const size_t bytes = static_cast<size_t>(t.outer * t.tiles * t.inner) * byteLengthOf(t.dtype);
  withTotals(t, [&](auto type) {
    if (sizeof(typename decltype(type)::Wide) != static_cast<size_t>(byteLengthOf(t.dtype))) refuseScanType();
    return 0;
  });
  return {{bytes}, {bytes}, {}, t.outer};
}

void runBefore(const RoutineJob& job, Range units, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Totals t = readTotals(job.numbers);
  withTotals(t, [&](auto type) {
    pool.parallelFor(units.last - units.first, [&](int64_t task, int) {
      if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) return;
      combineBefore<decltype(type)>(t, job, units.first + task);
    });
    return 0;
  });
}

}  // namespace

const Routine kScan{needOf<false>, runTiles<false>};
const Routine kScanTotals{needOf<true>, runTiles<true>};
const Routine kScanBefore{beforeNeedOf, runBefore};

}  // namespace weft::cpu
