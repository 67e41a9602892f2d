// Running sums, products, extremes and sums of exponentials along the middle axis of three, in tiles: each
// tile from the value before it, which is an operand, or its total alone (scan-before.cpp has the values
// before all tiles by those totals). Tiles do not depend on one another, and threads take them by turns.
// Floating-point numbers are combined in double, one after the other, and rounded once. Maps before and
// behind a scan go with it, a stretch of a tile at a time.
//
// A scan of several tiles without the values before them goes over memory once: threads take tiles in their
// order, and each leaves its total, looks back for the value before it, and scans the tile while it is in a
// cache. Tiles that wait have left their totals, so that a thread waits for none but those that are read.
#include <algorithm>
#include <array>
#include <chrono>
#include <new>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "cpu/routines.h"
#include "cpu/scan-maps.h"
#include "cpu/spin.h"
#include "cpu/threads.h"

namespace weft::cpu {
namespace {

// Elements that a thread takes at a time at least.
constexpr int64_t kLeastElements = 1 << 14;
// Columns that a thread goes along at a time: their running values stay in the first-level cache.
constexpr int64_t kColumns = 1024;
// A line's total is combined in so many parts at a time.
constexpr int64_t kParts = 8;
// Tiles of a line that a thread scans at once, whose numbers do not wait for one another's.
constexpr int64_t kTogether = 4;
// How long a thread sleeps between two looks for a tile's total, once it has spun.
constexpr auto kScanNap = std::chrono::microseconds(50);

template <typename N>
struct Scanner {
  using Element = typename N::Element;
  using Wide = typename N::Wide;
  using Maps = ScanMaps<Element>;

  // A row of columns, added to their sums, and scanned with them. Apart: each is in several places.
  [[gnu::noinline]] static void addRow(const Element* row, int64_t count, Wide* sums) {
    for (int64_t c = 0; c < count; c++) sums[c] = N::choose(sums[c], N::widen(row[c]));
  }
  [[gnu::noinline]] static void scanRow(const Element* row, Element* to, int64_t count, Wide* sums) {
    for (int64_t c = 0; c < count; c++) {
      sums[c] = N::choose(sums[c], N::widen(row[c]));
      to[c] = N::round(sums[c]);
    }
  }

  // Columns [from, from + count) of a tile.
  static void scan(const ScanTiles& t, const RoutineJob& job, Maps& maps, int64_t k, int64_t from,
                   int64_t count) {
    std::array<Wide, kColumns> sums;
    if (t.isCarried) {
      const auto* before = reinterpret_cast<const Wide*>(job.operands.back()) + k * t.pitchOfBefore + from;
      std::copy_n(before, count, sums.begin());
    } else {
      std::fill_n(sums.begin(), count, N::identity());
    }
    maps.begin(count);
    inStretches(t, k, maps.rows(count, t.inner), [&](int64_t row, int64_t rows) {
      const int64_t first = row * t.inner + from;
      const int64_t last = first + (rows - 1) * t.inner + count;
      const Element* in = maps.read(first, last);
      Element* out = maps.out(first);
      if (t.inner == 1) {
        sums[0] = scanStretch(t, in, out, row, rows, sums[0]);
      } else {
        alongStretch(t, row, rows, [&](int64_t i) {
          scanRow(in + i * t.pitchOfOperand + from, out + i * t.pitchOfResult + from, count, sums.data());
        });
      }
      maps.write(first, last);
    });
    maps.endAt(k * t.inner + from);
  }

  // Elements [first, first + count) of a line.
  static Wide scanStretch(const ScanTiles& t, const Element* in, Element* out, int64_t first, int64_t count,
                          Wide sum) {
    const int64_t begin = t.isReverse ? first + count - 1 : first;
    return scanLine(in + begin, out + begin, count, t.isReverse ? -1 : 1, sum);
  }

  // Whole rows [first, last) of one line each.
  static void shortRows(const ScanTiles& t, Maps& maps, int64_t first, int64_t last) {
    const int64_t together = kScanMapped / t.length;
    for (int64_t row = first; row < last; row += together) {
      const int64_t begin = row * t.length, end = std::min(last, row + together) * t.length;
      const Element* in = maps.read(begin, end);
      Element* out = maps.out(begin);
      for (int64_t at = begin; at < end; at += t.length) scanStretch(t, in, out, at, t.length, N::identity());
      maps.writeRows(begin, end, row, t.length);
    }
  }

  static void total(const ScanTiles& t, const RoutineJob& job, Maps& maps, int64_t k, int64_t from,
                    int64_t count) {
    auto* out = reinterpret_cast<Wide*>(job.results[0]) + k * t.pitchOfResult + from;
    if (t.inner == 1) {
      *out = lineTotal(t, maps, k);
      return;
    }
    std::array<Wide, kColumns> sums;
    std::fill_n(sums.begin(), count, N::identity());
    inStretches(t, k, maps.rows(count, t.inner), [&](int64_t row, int64_t rows) {
      const int64_t first = row * t.inner + from;
      const Element* in = maps.read(first, first + (rows - 1) * t.inner + count);
      alongStretch(t, row, rows,
                   [&](int64_t i) { addRow(in + i * t.pitchOfOperand + from, count, sums.data()); });
    });
    std::copy_n(sums.begin(), count, out);
  }

  static Wide lineTotal(const ScanTiles& t, Maps& maps, int64_t k) {
    static_assert(kScanMapped % kParts == 0, "stretches begin with the first part");
    LineTotal total;
    ScanTiles forward = t;
    forward.isReverse = false;
    inStretches(forward, k, maps.rows(1, 1), [&](int64_t first, int64_t count) {
      total.take(maps.read(first, first + count) + first, count);
    });
    return total.whole();
  }

  // Of a line's elements, a multiple of kParts at a time but the last: sums in parts that do not wait for one
  // another, elements p, p + kParts … each. Products of neighbours, one such product after the other: where
  // large and small numbers take turns, parts of the large ones alone would overflow.
  class LineTotal {
   public:
    LineTotal() { parts_.fill(N::identity()); }
    [[gnu::noinline]] void take(const Element* own, int64_t count) {
      int64_t i = 0;
      for (; i + kParts <= count; i += kParts) {
        if constexpr (N::kIsProduct) {
          parts_[0] = N::combine(parts_[0], ofNeighbours<kParts>(own + i));
        } else {
          for (int64_t p = 0; p < kParts; p++) parts_[p] = N::choose(parts_[p], N::widen(own[i + p]));
        }
      }
      for (int64_t p = 0; i < count; i++, p++) {
        Wide& part = parts_[N::kIsProduct ? 0 : p];
        part = N::choose(part, N::widen(own[i]));
      }
    }
    Wide whole() const {
      Wide sum = parts_[0];
      for (int64_t p = 1; p < kParts && !N::kIsProduct; p++) sum = N::combine(sum, parts_[p]);
      return sum;
    }

   private:
    template <int64_t kCount>
    static Wide ofNeighbours(const Element* own) {
      if constexpr (kCount == 1)
        return N::widen(*own);
      else
        return N::combine(ofNeighbours<kCount / 2>(own), ofNeighbours<kCount / 2>(own + kCount / 2));
    }
    std::array<Wide, kParts> parts_;
  };

  // Scans a line from `sum` on, `step` 1 or -1.
  [[gnu::noinline]] static Wide scanLine(const Element* in, Element* out, int64_t count, int64_t step,
                                         Wide sum) {
    int64_t i = 0;
    if constexpr (N::kSelects) {
      // Of elements of which none is chosen, all results are the one before them.
      for (; i + kParts <= count; i += kParts) {
        bool isKept = true;
        for (int64_t p = 0; p < kParts; p++) isKept &= N::keeps(sum, N::widen(in[(i + p) * step]));
        for (int64_t p = 0; p < kParts; p++) {
          if (!isKept) sum = N::combine(sum, N::widen(in[(i + p) * step]));
          out[(i + p) * step] = N::round(sum);
        }
      }
    }
    for (; i < count; i++) {
      sum = N::combine(sum, N::widen(in[i * step]));
      out[i * step] = N::round(sum);
    }
    return sum;
  }

  // As many lines of one length at once: results of one wait for those before, which take several cycles
  // each.
  [[gnu::noinline]] static void scanLines(const Element* const* in, Element* const* out, int64_t count,
                                          int64_t step, Wide* carried) {
    std::array<Wide, kTogether> sums;
    std::copy_n(carried, kTogether, sums.begin());
    for (int64_t i = 0; i < count; i++) {
      for (int64_t k = 0; k < kTogether; k++) sums[k] = N::combine(sums[k], N::widen(in[k][i * step]));
      for (int64_t k = 0; k < kTogether; k++) out[k][i * step] = N::round(sums[k]);
    }
    std::copy_n(sums.begin(), kTogether, carried);
  }

  // Totals of tiles and values behind them, one chain of tiles after another; the state of a tile says which
  // of the two is there. One thread writes those of a tile.
  enum State : int32_t { kNothing, kTotal, kBehind };
  struct Chains {
    const int64_t width;
    Wide *totals, *behind;
    std::atomic<int32_t>* states;

    void leave(int64_t tile, State state, const Wide* values, int64_t count) const {
      std::copy_n(values, count, (state == kTotal ? totals : behind) + tile * width);
      states[tile].store(state, std::memory_order_release);
    }
  };

  // The values before tile `turn` of those from `first` on: from the last one behind which they are known,
  // one tile after the other. False: the run ends.
  template <typename Wait>
  static bool lookBack(const Chains& chains, int64_t first, int64_t turn, int64_t count, Wide* sums,
                       const Wait& wait) {
    if (turn == 0) {
      std::fill_n(sums, count, N::identity());
      return true;
    }
    int64_t tile = first + turn - 1;
    for (;; tile--) {
      if (!wait(chains.states[tile])) return false;
      if (chains.states[tile].load(std::memory_order_acquire) == kBehind) break;
    }
    std::copy_n(chains.behind + tile * chains.width, count, sums);
    while (++tile < first + turn) {
      const Wide* own = chains.totals + tile * chains.width;
      for (int64_t c = 0; c < count; c++) sums[c] = N::combine(sums[c], own[c]);
    }
    return true;
  }

  // A tile of a line: where it begins, from the lowest element of those that are scanned together.
  struct LineTile {
    int64_t number, from, count;
  };

  // `n` tiles of a line from number `turn` on, in the order of the scan; false: the run ends.
  template <typename Wait>
  static bool orderedLines(const ScanTiles& t, Maps& maps, const Chains& chains, int64_t line, int64_t turn,
                           int64_t n, const Wait& wait) {
    const int64_t ofChain = line * t.perLine();
    const int64_t lowest = (t.isReverse ? t.perLine() - turn - n : turn) * t.tile;
    const int64_t highest = std::min(t.length, lowest + n * t.tile);
    const int64_t first = line * t.length + lowest;
    const auto in = maps.readRows(first, highest - lowest, 1, 1);
    std::array<LineTile, kTogether> tiles;
    std::array<Wide, kTogether> totals, sums;
    const bool isLast = turn + n == t.perLine();
    for (int64_t k = 0; k < n; k++) {
      const int64_t number = t.isReverse ? t.perLine() - 1 - turn - k : turn + k;
      tiles[k] = {number, number * t.tile - lowest, std::min(t.tile, t.length - number * t.tile)};
      if (isLast && k + 1 == n) break;
      LineTotal total;
      total.take(in.data + tiles[k].from, tiles[k].count);
      totals[k] = total.whole();
      if (turn > 0) chains.leave(ofChain + turn + k, kTotal, &totals[k], 1);
    }
    if (!lookBack(chains, ofChain, turn, 1, sums.data(), wait)) return false;
    for (int64_t k = 1; k < n; k++) sums[k] = N::combine(sums[k - 1], totals[k - 1]);
    if (!isLast) {
      const Wide behind = N::combine(sums[n - 1], totals[n - 1]);
      chains.leave(ofChain + turn + n - 1, kBehind, &behind, 1);
    }
    scanTiles(t, maps, tiles.data(), n, first, in.data, sums.data());
    for (int64_t k = 0; k < n; k++) {
      maps.begin(1);
      for (int64_t done = 0; done < tiles[k].count; done += kScanMapped) {
        const int64_t some = std::min(kScanMapped, tiles[k].count - done);
        maps.writeTileRows(first, tiles[k].from + done, some, 1, 1);
      }
      maps.endAt(ofChain + tiles[k].number);
    }
    return true;
  }

  static void scanTiles(const ScanTiles& t, Maps& maps, const LineTile* tiles, int64_t n, int64_t first,
                        const Element* in, Wide* sums) {
    Element* const out = maps.outRows(first, 1, 1).data;
    const int64_t step = t.isReverse ? -1 : 1;
    std::array<const Element*, kTogether> from;
    std::array<Element*, kTogether> to;
    int64_t least = N::kWaits && n == kTogether ? t.tile : 0;
    for (int64_t k = 0; k < n; k++) {
      const int64_t begin = tiles[k].from + (t.isReverse ? tiles[k].count - 1 : 0);
      from[k] = in + begin;
      to[k] = out + begin;
      least = std::min(least, tiles[k].count);
    }
    if constexpr (N::kWaits)
      if (least > 0) scanLines(from.data(), to.data(), least, step, sums);
    for (int64_t k = 0; k < n; k++)
      scanLine(from[k] + least * step, to[k] + least * step, tiles[k].count - least, step, sums[k]);
  }

  // Columns of a tile, rows [first, first + rows) of all lines; false: the run ends.
  template <typename Wait>
  static bool orderedTile(const ScanTiles& t, Maps& maps, const Chains& chains, int64_t task,
                          const Wait& wait) {
    const int64_t group = task % t.groups(), turn = task / t.groups() % t.perLine();
    const int64_t line = task / t.groups() / t.perLine();
    const int64_t ofChain = (line * t.groups() + group) * t.perLine();
    const int64_t from = group * t.width(), count = std::min(t.width(), t.inner - from);
    const int64_t start = (t.isReverse ? t.perLine() - 1 - turn : turn) * t.tile;
    const int64_t rows = std::min(t.tile, t.length - start);
    const int64_t first = (line * t.length + start) * t.inner + from;
    const auto in = maps.readRows(first, rows, t.inner, count);
    const bool isLast = turn + 1 == t.perLine();
    std::array<Wide, kOrderedColumns> own, sums;
    const auto rowOf = [&](int64_t done) { return t.isReverse ? rows - 1 - done : done; };
    if (!isLast) {
      std::fill_n(own.begin(), count, N::identity());
      for (int64_t r = 0; r < rows; r++) addRow(in.data + rowOf(r) * in.pitch, count, own.data());
    }
    if (!isLast && turn > 0) chains.leave(ofChain + turn, kTotal, own.data(), count);
    if (!lookBack(chains, ofChain, turn, count, sums.data(), wait)) return false;
    if (!isLast) {
      for (int64_t c = 0; c < count; c++) own[c] = N::combine(sums[c], own[c]);
      chains.leave(ofChain + turn, kBehind, own.data(), count);
    }
    const auto out = maps.outRows(first, t.inner, count);
    maps.begin(count);
    const int64_t together = std::max<int64_t>(1, kScanMapped / count);
    for (int64_t done = 0; done < rows; done += together) {
      const int64_t some = std::min(together, rows - done);
      const int64_t lowest = t.isReverse ? rows - done - some : done;
      for (int64_t r = done; r < done + some; r++)
        scanRow(in.data + rowOf(r) * in.pitch, out.data + rowOf(r) * out.pitch, count, sums.data());
      maps.writeTileRows(first, lowest, some, t.inner, count);
    }
    maps.endAt((line * t.perLine() + start / t.tile) * t.inner + from);
    return true;
  }

  static void runInOrder(const ScanTiles& t, const RoutineJob& job, ThreadPool& pool,
                         const std::atomic<bool>* cancel) {
    const int64_t tiles = t.count() * t.groups();
    auto* states = reinterpret_cast<std::atomic<int32_t>*>(job.workspace.data);
    auto* totals = reinterpret_cast<Wide*>(job.workspace.data + t.stateBytes());
    const Chains chains{t.width(), totals, totals + tiles * t.width(), states};
    for (int64_t k = 0; k < tiles; k++) new (states + k) std::atomic<int32_t>(kNothing);
    std::atomic<int64_t> next{0};
    std::atomic<bool> fails{false};
    const auto ends = [&] {
      return fails.load(std::memory_order_relaxed) ||
             (cancel != nullptr && cancel->load(std::memory_order_relaxed));
    };
    const int64_t ofTile = t.tile * t.width();
    const int64_t threads = std::clamp<int64_t>(tiles * ofTile / kLeastElements, 1, pool.workers());
    // Tiles of a line that a thread takes at a time: fewer where threads would wait for one another's.
    const int64_t together = t.inner == 1 && N::kWaits && tiles >= 4 * kTogether * threads ? kTogether : 1;
    const int64_t ofLine = (t.perLine() + together - 1) / together;
    const int64_t tasks = t.inner == 1 ? t.outer * ofLine : tiles;
    const auto runTask = [&](Maps& maps, int64_t task, const auto& wait) {
      if (t.inner > 1) return orderedTile(t, maps, chains, task, wait);
      const int64_t turn = task % ofLine * together;
      const int64_t n = std::min(together, t.perLine() - turn);
      return orderedLines(t, maps, chains, task / ofLine, turn, n, wait);
    };
    // A tile before was taken before this one, by a thread that runs.
    const auto wait = [&](const std::atomic<int32_t>& state) {
      const auto isLeft = [&] { return state.load(std::memory_order_acquire) != kNothing; };
      if (isLeft()) return true;
      spinFor(spinOf(static_cast<int>(threads)), [&] { return isLeft() || ends(); });
      while (!isLeft()) {
        if (ends()) return false;
        std::this_thread::sleep_for(kScanNap);
      }
      return true;
    };
    const auto run = [&](int64_t, int) {
      try {
        Maps maps(t.tile * t.width() * together, job, cancel);
        while (!ends()) {
          const int64_t task = next.fetch_add(1, std::memory_order_relaxed);
          if (task >= tasks || !runTask(maps, task, wait)) break;
        }
        maps.end();
      } catch (...) {
        fails.store(true, std::memory_order_relaxed);
        throw;
      }
    };
    pool.parallelFor(threads, run, static_cast<int>(threads));
  }

  static void run(const ScanTiles& t, bool isTotal, const RoutineJob& job, Range units, ThreadPool& pool,
                  const std::atomic<bool>* cancel) {
    if (!isTotal && t.isOrdered()) return runInOrder(t, job, pool, cancel);
    const bool inTiles = t.columns == 0;
    const int64_t first = inTiles ? units.first * t.tilesPerUnit : 0;
    const int64_t last = inTiles ? std::min(t.count(), units.last * t.tilesPerUnit) : t.count();
    const int64_t begin = inTiles ? 0 : units.first * t.columns;
    const int64_t columns = (inTiles ? t.inner : std::min(t.inner, units.last * t.columns)) - begin;
    const int64_t stretches = (columns + kColumns - 1) / kColumns;
    const int64_t ofTile = std::min(t.tile, t.length) * std::min(columns, kColumns);
    const int64_t together = std::max<int64_t>(1, kLeastElements / ofTile);
    const int64_t tasks = (last - first) * stretches;
    std::vector<std::optional<Maps>> workers(pool.workers());
    const auto run = [&](int64_t task, int worker) {
      if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) return;
      std::optional<Maps>& maps = workers[worker];
      if (!maps) maps.emplace(job, cancel);
      const int64_t end = std::min(tasks, (task + 1) * together);
      if (!isTotal && maps->hasShortRows(t)) {
        shortRows(t, *maps, first + task * together, first + end);
        maps->end();
        return;
      }
      for (int64_t at = task * together; at < end; at++) {
        const int64_t from = at % stretches * kColumns;
        const int64_t count = std::min(kColumns, columns - from);
        (isTotal ? total : scan)(t, job, *maps, first + at / stretches, begin + from, count);
      }
      maps->end();
    };
    pool.parallelFor((tasks + together - 1) / together, run, static_cast<int>(workers.size()));
  }
};

template <bool kIsTotal>
RoutineNeed needOf(const std::vector<int64_t>& numbers, const ThreadPool&) {
  const ScanTiles t = readScanTiles(numbers);
  const size_t wide = withScanNumbers(
      t.dtype, t.op, [](auto type) { return sizeof(typename Scanner<decltype(type)>::Wide); });
  const size_t bytes = static_cast<size_t>(t.outer * t.length * t.inner) * byteLengthOf(t.dtype);
  const size_t ofTiles = static_cast<size_t>(t.count() * t.inner) * wide;
  if (kIsTotal) return {{bytes}, {ofTiles}, {}, t.units()};
  RoutineNeed need{{bytes}, {bytes}, {}, t.units()};
  if (t.isCarried) need.operands.push_back(ofTiles);
  if (t.columns == 0) need.folded = static_cast<size_t>(t.count() * t.inner);
  if (t.isOrdered()) {
    if (t.columns > 0 || t.units() != 1) throw std::invalid_argument("tiles of one unit, in their order");
    need.workspace.most = t.stateBytes() + 2 * static_cast<size_t>(t.count() * t.groups() * t.width()) * wide;
    need.workspace.least = need.workspace.most;
  }
  return need;
}

template <bool kIsTotal>
void runTiles(const RoutineJob& job, Range units, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const ScanTiles t = readScanTiles(job.numbers);
  withScanNumbers(t.dtype, t.op, [&](auto type) {
    Scanner<decltype(type)>::run(t, kIsTotal, job, units, pool, cancel);
    return 0;
  });
}

}  // namespace

const Routine kScan{needOf<false>, runTiles<false>, true};
const Routine kScanTotals{needOf<true>, runTiles<true>, true};

}  // namespace weft::cpu
