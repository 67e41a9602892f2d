// Running sums, products, extremes and sums of exponentials along the middle axis of three, in tiles: each
// tile from the value before it, which is an operand, or its total alone, or the values before all tiles by
// those totals. Tiles do not depend on one another, and threads take them by turns. Floating-point numbers
// are combined in double, one after the other, and rounded once. Maps before and behind a scan go with it, a
// stretch of a tile at a time.
//
// A scan of several tiles without the values before them goes over memory once: threads take tiles in their
// order, and each leaves its total, looks back for the value before it, and scans the tile while it is in a
// cache. Tiles that wait have left their totals, so that a thread waits for none but those that are read.
#include <algorithm>
#include <array>
#include <chrono>
#include <initializer_list>
#include <limits>
#include <new>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "cpu/element-map.h"
#include "cpu/routines.h"
#include "cpu/scan-fold.h"
#include "cpu/scan-numbers.h"
#include "cpu/spin.h"
#include "cpu/tape.h"
#include "cpu/threads.h"

namespace weft::cpu {
namespace {

// Elements that a thread takes at a time at least.
constexpr int64_t kLeastElements = 1 << 14;
// Columns that a thread goes along at a time: their running values stay in the first-level cache.
constexpr int64_t kColumns = 1024;
// A line's total is combined in so many parts at a time.
constexpr int64_t kParts = 8;
// Columns that a thread goes along at a time where tiles are scanned in their order: a tile stays in the
// second-level cache.
constexpr int64_t kOrderedColumns = 128;
// How long a thread sleeps between two looks for a tile's total, once it has spun.
constexpr auto kScanNap = std::chrono::microseconds(50);

struct Tiles {
  DType dtype;
  ScanOp op;
  bool isReverse;
  int64_t outer, length, inner, tile, tilesPerUnit;
  bool isCarried;
  // Units are tiles or, where `columns` is not 0, so many columns of all of them, whose rows may be further
  // apart than they are long.
  int64_t columns, pitchOfOperand, pitchOfBefore, pitchOfResult;

  int64_t perLine() const { return (length + tile - 1) / tile; }
  int64_t count() const { return outer * perLine(); }
  int64_t units() const {
    return columns == 0 ? (count() + tilesPerUnit - 1) / tilesPerUnit : (inner + columns - 1) / columns;
  }
  // Bytes of the states of tiles that are scanned in their order, before values of up to 16 bytes.
  size_t stateBytes() const {
    return (static_cast<size_t>(count() * groups()) * sizeof(std::atomic<int32_t>) + 15) / 16 * 16;
  }
  // Whether the values before tiles are found on the way, in one unit.
  bool isOrdered() const { return !isCarried && tile < length; }
  int64_t width() const { return std::min(inner, kOrderedColumns); }
  int64_t groups() const { return (inner + width() - 1) / width(); }
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

void checkColumns(int64_t inner, int64_t columns, std::initializer_list<int64_t> pitches) {
  if (columns < 0) throw std::invalid_argument("columns of a unit");
  for (const int64_t pitch : pitches) {
    if (pitch < 1 || (columns == 0 && pitch != inner)) throw std::invalid_argument("rows apart");
  }
}

Tiles readTiles(const std::vector<int64_t>& numbers) {
  if (numbers.size() != 13) throw std::invalid_argument("13 numbers");
  const Tiles t{readType(numbers[0]), readOp(numbers[1]), numbers[2] != 0, numbers[3],     numbers[4],
                numbers[5],           numbers[6],         numbers[7],      numbers[8] > 1, numbers[9],
                numbers[10],          numbers[11],        numbers[12]};
  checkSizes(t.outer, t.length, t.inner);
  checkColumns(t.inner, t.columns, {t.pitchOfOperand, t.pitchOfBefore, t.pitchOfResult});
  if (t.tile < 1 || t.tilesPerUnit < 1) throw std::invalid_argument("tiles with elements");
  return t;
}

// Calls `each` with stretches of so many rows of a tile, first and count, in the order of the scan; a row is
// the elements at a place along the axis.
template <typename Each>
void inStretches(const Tiles& t, int64_t k, int64_t rows, const Each& each) {
  const int64_t start = k % t.perLine() * t.tile;
  const int64_t count = std::min(t.tile, t.length - start);
  const int64_t first = k / t.perLine() * t.length + start;
  for (int64_t done = 0; done < count; done += rows) {
    const int64_t some = std::min(rows, count - done);
    each(first + (t.isReverse ? count - done - some : done), some);
  }
}
// Calls `each` with the rows of a stretch in the order of the scan.
template <typename Each>
void alongStretch(const Tiles& t, int64_t first, int64_t count, const Each& each) {
  if (t.isReverse) {
    for (int64_t i = first + count - 1; i >= first; i--) each(i);
  } else {
    for (int64_t i = first; i < first + count; i++) each(i);
  }
}

// Elements that maps give, and take, at a time: they stay in the first-level cache.
constexpr int64_t kMapped = 2048;

// Where a thread reads a scan's elements and writes its results: arrays, or maps with a stretch of each.
template <typename Element>
class ScanMaps {
 public:
  explicit ScanMaps(const RoutineJob& job, const std::atomic<bool>* cancel) {
    if (job.prologue) prologue_.emplace(*job.prologue, cancel);
    if (job.epilogue) epilogue_.emplace(*job.epilogue, cancel);
    for (size_t k = 0; job.epilogue && k < job.epilogue->results.size(); k++) {
      const int op = job.epilogue->folds[k];
      const DType dtype = job.epilogue->tape.buffers[job.epilogue->results[k]].dtype;
      if (op >= 0)
        folds_.push_back({k, makeScanFold(dtype, static_cast<ScanOp>(op), job.results[k], kMapped)});
    }
    if (!job.prologue) in_ = reinterpret_cast<const Element*>(job.operands[0]);
    out_ = reinterpret_cast<Element*>(job.results[0]);
    if (job.prologue || job.epilogue) stretch_.resize(kMapped);
  }
  // Of tiles that are scanned in their order.
  ScanMaps(const Tiles& t, const RoutineJob& job, const std::atomic<bool>* cancel) : ScanMaps(job, cancel) {
    if (!stretch_.empty()) stretch_.resize(t.tile * t.width());
  }

  // Rows of `count` of `inner` elements that are read and written at a time.
  int64_t rows(int64_t count, int64_t inner) const {
    if (stretch_.empty()) return std::numeric_limits<int64_t>::max();
    return count == inner ? std::max<int64_t>(1, kMapped / inner) : 1;
  }
  // Whether rows of a line each are so short that maps have several at a time.
  bool hasShortRows(const Tiles& t) const {
    return !stretch_.empty() && t.inner == 1 && t.tile >= t.length && !t.isCarried && 2 * t.length <= kMapped;
  }
  // Where element 0 would be of an array that has the elements [first, last).
  const Element* read(int64_t first, int64_t last) {
    if (!prologue_) return in_;
    prologue_->run({first, last}, nullptr, stretch_.data());
    return at(first);
  }
  Element* out(int64_t first) { return epilogue_ ? at(first) : out_; }

  // `count` elements of each of some rows: where the first is, and from row to row.
  struct Rows {
    Element* data;
    int64_t pitch;
  };
  // Those that are scanned: of a prologue, all are computed.
  Rows readRows(int64_t first, int64_t rows, int64_t inner, int64_t count) {
    // They are not written.
    if (!prologue_) return {const_cast<Element*>(in_) + first, inner};
    eachRow(first, rows, inner, count, [&](int64_t from, int64_t size, int64_t done) {
      prologue_->run({from, from + size}, nullptr, stretch_.data() + done);
    });
    return {stretch_.data(), count};
  }
  // Where results go, rows that follow one another; with an epilogue, they go on from there.
  Rows outRows(int64_t first, int64_t inner, int64_t count) {
    return epilogue_ ? Rows{stretch_.data(), count} : Rows{out_ + first, inner};
  }
  void writeTileRows(int64_t first, int64_t done, int64_t rows, int64_t inner, int64_t count) {
    if (!epilogue_) return;
    eachRow(first + done * inner, rows, inner, count, [&](int64_t from, int64_t size, int64_t at) {
      take({from, from + size}, stretch_.data() + done * count + at);
    });
  }
  void write(int64_t first, int64_t last) {
    if (epilogue_) take({first, last}, stretch_.data());
  }
  // Rows of a line each, the first of them the number `row`.
  void writeRows(int64_t first, int64_t last, int64_t row, int64_t length) {
    if (!epilogue_) return;
    run({first, last}, stretch_.data());
    for (Fold& fold : folds_) fold.values->takeRows(row, (last - first) / length, length);
  }
  // A tile of so many columns, whose partial results are at a place of all.
  void begin(int64_t columns) {
    for (Fold& fold : folds_) fold.values->begin(columns);
  }
  void endAt(int64_t at) {
    for (Fold& fold : folds_) fold.values->end(at);
  }
  // Stores past the caches are complete before other threads read them.
  void end() {
    if (epilogue_) epilogue_->fence();
  }

 private:
  void run(Range elements, Element* given) {
    for (Fold& fold : folds_) epilogue_->place(fold.result, elements, fold.values->elements());
    epilogue_->run(elements, given, nullptr);
  }
  void take(Range elements, Element* given) {
    run(elements, given);
    for (Fold& fold : folds_) fold.values->take(elements.last - elements.first);
  }

  // Calls `each` with the elements of rows that lie side by side: first, how many, how many before them.
  template <typename Each>
  static void eachRow(int64_t first, int64_t rows, int64_t inner, int64_t count, const Each& each) {
    if (count == inner) return each(first, rows * count, 0);
    for (int64_t r = 0; r < rows; r++) each(first + r * inner, count, r * count);
  }

  // Elements of a stretch are read before the results at their places are written.
  Element* at(int64_t first) {
    return reinterpret_cast<Element*>(reinterpret_cast<uintptr_t>(stretch_.data()) -
                                      static_cast<uintptr_t>(first) * sizeof(Element));
  }

  struct Fold {
    size_t result;
    std::unique_ptr<ScanFold> values;
  };

  std::optional<ElementMapRun> prologue_, epilogue_;
  std::vector<Fold> folds_;
  const Element* in_ = nullptr;
  Element* out_;
  std::vector<Element> stretch_;
};

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
  static void scan(const Tiles& t, const RoutineJob& job, Maps& maps, int64_t k, int64_t from,
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
  static Wide scanStretch(const Tiles& t, const Element* in, Element* out, int64_t first, int64_t count,
                          Wide sum) {
    const int64_t begin = t.isReverse ? first + count - 1 : first;
    return scanLine(in + begin, out + begin, count, t.isReverse ? -1 : 1, sum);
  }

  // Whole rows [first, last) of one line each.
  static void shortRows(const Tiles& t, Maps& maps, int64_t first, int64_t last) {
    const int64_t together = kMapped / t.length;
    for (int64_t row = first; row < last; row += together) {
      const int64_t begin = row * t.length, end = std::min(last, row + together) * t.length;
      const Element* in = maps.read(begin, end);
      Element* out = maps.out(begin);
      for (int64_t at = begin; at < end; at += t.length) scanStretch(t, in, out, at, t.length, N::identity());
      maps.writeRows(begin, end, row, t.length);
    }
  }

  static void total(const Tiles& t, const RoutineJob& job, Maps& maps, int64_t k, int64_t from,
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

  // In parts that do not wait for one another: elements p, p + kParts … of the tile.
  static Wide lineTotal(const Tiles& t, Maps& maps, int64_t k) {
    static_assert(kMapped % kParts == 0, "stretches begin with the first part");
    std::array<Wide, kParts> parts;
    parts.fill(N::identity());
    Tiles forward = t;
    forward.isReverse = false;
    inStretches(forward, k, maps.rows(1, 1), [&](int64_t first, int64_t count) {
      addParts(maps.read(first, first + count) + first, count, parts);
    });
    return wholeOf(parts);
  }

  using Parts = std::array<Wide, kParts>;
  [[gnu::noinline]] static void addParts(const Element* own, int64_t count, Parts& parts) {
    int64_t i = 0;
    for (; i + kParts <= count; i += kParts) {
      for (int64_t p = 0; p < kParts; p++) parts[p] = N::choose(parts[p], N::widen(own[i + p]));
    }
    for (int64_t p = 0; i < count; i++, p++) parts[p] = N::choose(parts[p], N::widen(own[i]));
  }
  static Wide wholeOf(const Parts& parts) {
    Wide sum = parts[0];
    for (int64_t p = 1; p < kParts; p++) sum = N::combine(sum, parts[p]);
    return sum;
  }

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

  // Columns of a tile, rows [first, first + rows) of all lines; false: the run ends.
  template <typename Wait>
  static bool orderedTile(const Tiles& t, Maps& maps, const Chains& chains, int64_t task, const Wait& wait) {
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
    if (!isLast && t.inner == 1) {
      Parts parts;
      parts.fill(N::identity());
      addParts(in.data, rows, parts);
      own[0] = wholeOf(parts);
    } else if (!isLast) {
      std::fill_n(own.begin(), count, N::identity());
      for (int64_t r = 0; r < rows; r++) {
        addRow(in.data + rowOf(r) * in.pitch, count, own.data());
      }
    }
    if (!isLast && turn > 0) chains.leave(ofChain + turn, kTotal, own.data(), count);
    if (!lookBack(chains, ofChain, turn, count, sums.data(), wait)) return false;
    if (!isLast) {
      for (int64_t c = 0; c < count; c++) own[c] = N::combine(sums[c], own[c]);
      chains.leave(ofChain + turn, kBehind, own.data(), count);
    }
    const auto out = maps.outRows(first, t.inner, count);
    maps.begin(count);
    const int64_t together = t.inner == 1 ? kMapped : std::max<int64_t>(1, kMapped / count);
    for (int64_t done = 0; done < rows; done += together) {
      const int64_t some = std::min(together, rows - done);
      const int64_t lowest = t.isReverse ? rows - done - some : done;
      if (t.inner == 1) {
        const int64_t begin = rowOf(done);
        sums[0] = scanLine(in.data + begin, out.data + begin, some, t.isReverse ? -1 : 1, sums[0]);
      } else {
        for (int64_t r = done; r < done + some; r++) {
          scanRow(in.data + rowOf(r) * in.pitch, out.data + rowOf(r) * out.pitch, count, sums.data());
        }
      }
      maps.writeTileRows(first, lowest, some, t.inner, count);
    }
    maps.endAt((line * t.perLine() + start / t.tile) * t.inner + from);
    return true;
  }

  static void runInOrder(const Tiles& t, const RoutineJob& job, ThreadPool& pool,
                         const std::atomic<bool>* cancel) {
    const int64_t tasks = t.count() * t.groups();
    auto* states = reinterpret_cast<std::atomic<int32_t>*>(job.workspace.data);
    auto* totals = reinterpret_cast<Wide*>(job.workspace.data + t.stateBytes());
    const Chains chains{t.width(), totals, totals + tasks * t.width(), states};
    for (int64_t k = 0; k < tasks; k++) new (states + k) std::atomic<int32_t>(kNothing);
    std::atomic<int64_t> next{0};
    std::atomic<bool> fails{false};
    const auto ends = [&] {
      return fails.load(std::memory_order_relaxed) ||
             (cancel != nullptr && cancel->load(std::memory_order_relaxed));
    };
    const int64_t ofTile = t.tile * t.width();
    const int64_t threads = std::clamp<int64_t>(tasks * ofTile / kLeastElements, 1, pool.workers());
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
        Maps maps(t, job, cancel);
        while (!ends()) {
          const int64_t task = next.fetch_add(1, std::memory_order_relaxed);
          if (task >= tasks || !orderedTile(t, maps, chains, task, wait)) break;
        }
        maps.end();
      } catch (...) {
        fails.store(true, std::memory_order_relaxed);
        throw;
      }
    };
    pool.parallelFor(threads, run, static_cast<int>(threads));
  }

  static void run(const Tiles& t, bool isTotal, const RoutineJob& job, Range units, ThreadPool& pool,
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
  const Tiles t = readTiles(numbers);
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
  const Tiles t = readTiles(job.numbers);
  withScanNumbers(t.dtype, t.op, [&](auto type) {
    Scanner<decltype(type)>::run(t, kIsTotal, job, units, pool, cancel);
    return 0;
  });
}

// The totals of lines' tiles. Units are lines or, where `columns` is not 0, so many columns of all lines,
// whose rows may be further apart than they are long.
struct Totals {
  DType dtype;
  ScanOp op;
  bool isReverse;
  int64_t outer, tiles, inner, columns, pitchOfTotals, pitchOfBefore;

  int64_t units() const { return columns == 0 ? outer : (inner + columns - 1) / columns; }
};

Totals readTotals(const std::vector<int64_t>& numbers) {
  if (numbers.size() != 9) throw std::invalid_argument("nine numbers");
  const Totals t{readType(numbers[0]), readOp(numbers[1]), numbers[2] != 0, numbers[3], numbers[4],
                 numbers[5],           numbers[6],         numbers[7],      numbers[8]};
  checkSizes(t.outer, t.tiles, t.inner);
  checkColumns(t.inner, t.columns, {t.pitchOfTotals, t.pitchOfBefore});
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

// Columns [from, from + count) of a line. Totals are read before the value at their place is written: the
// result may lie where they are.
template <typename N>
void combineBefore(const Totals& t, const RoutineJob& job, int64_t line, int64_t from, int64_t count) {
  using Wide = typename N::Wide;
  const auto* totals =
      reinterpret_cast<const Wide*>(job.operands[0]) + line * t.tiles * t.pitchOfTotals + from;
  auto* before = reinterpret_cast<Wide*>(job.results[0]) + line * t.tiles * t.pitchOfBefore + from;
  Wide carried[kCarried];
  std::fill_n(carried, count, N::identity());
  for (int64_t k = 0; k < t.tiles; k++) {
    const int64_t at = t.isReverse ? t.tiles - 1 - k : k;
    const auto* own = totals + at * t.pitchOfTotals;
    auto* to = before + at * t.pitchOfBefore;
    for (int64_t c = 0; c < count; c++) {
      const Wide total = own[c];
      to[c] = carried[c];
      carried[c] = N::combine(carried[c], total);
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
  return {{bytes}, {bytes}, {}, t.units()};
}

void runBefore(const RoutineJob& job, Range units, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Totals t = readTotals(job.numbers);
  withTotals(t, [&](auto type) {
    const Range lines = t.columns == 0 ? units : Range{0, t.outer};
    const int64_t from = t.columns == 0 ? 0 : units.first * t.columns;
    const int64_t last = t.columns == 0 ? t.inner : std::min(t.inner, units.last * t.columns);
    const int64_t stretches = (last - from + kCarried - 1) / kCarried;
    pool.parallelFor((lines.last - lines.first) * stretches, [&](int64_t task, int) {
      if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) return;
      const int64_t first = from + task % stretches * kCarried;
      const int64_t count = std::min(kCarried, last - first);
      combineBefore<decltype(type)>(t, job, lines.first + task / stretches, first, count);
    });
    return 0;
  });
}

}  // namespace

const Routine kScan{needOf<false>, runTiles<false>, true};
const Routine kScanTotals{needOf<true>, runTiles<true>, true};
const Routine kScanBefore{beforeNeedOf, runBefore};

}  // namespace weft::cpu
