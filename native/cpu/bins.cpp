// Rows gathered in bins by keys, or by edges that keys lie between: counts, last places, sums of integers,
// extremes, and the fixed-point sums that floats are added up in (src/graph/fixed-sums.ts). Threads have
// copies of the bins, which are combined at the end: no operation depends on an order, so bits do not depend
// on threads.
#include <algorithm>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "cpu/bin-exact.h"
#include "cpu/bin-job.h"
#include "cpu/bin-keys.h"
#include "cpu/bin-rows.h"
#include "cpu/bin-values.h"
#include "cpu/routines.h"
#include "cpu/tape.h"
#include "cpu/threads.h"

namespace weft::cpu {
namespace bins {
namespace {

// Rows that a copy of the bins is worth: so many for each bin.
constexpr int64_t kRowsPerBin = 4;
constexpr int64_t kRowsPerExactBin = 8;
constexpr int64_t kLeastRows = 1 << 14;
constexpr size_t kLine = 64;

// Counts of rows. Those of few bins are in four tables by turns, since one count after the other of the same
// bin, as of sorted keys, waits for the store of the one before.
class Counts {
 public:
  Counts(uint32_t* own, int64_t bins) : own_(own), bins_(bins), tables_(bins <= kFewBins ? 4 : 1) {
    if (tables_ > 1) std::fill_n(few_, 4 * bins, 0);
  }
  Counts(const Counts&) = delete;
  Counts& operator=(const Counts&) = delete;
  ~Counts() {
    if (tables_ == 1) return;
    for (int64_t b = 0; b < bins_; b++)
      own_[b] += few_[b] + few_[bins_ + b] + few_[2 * bins_ + b] + few_[3 * bins_ + b];
  }

  void add(const Found& found, const RowsAhead& ahead, int64_t from, int64_t count) {
    const int64_t* const bins = found.bins;
    uint32_t* const first = tables_ == 1 ? own_ : few_;
    const int64_t apart = tables_ == 1 ? 0 : bins_;
    if (found.areAll) return ahead.each(from, count, [=](int64_t i) { first[(i & 3) * apart + bins[i]]++; });
    for (int64_t i = 0; i < count; i++)
      if (bins[i] >= 0) first[(i & 3) * apart + bins[i]]++;
  }

 private:
  static constexpr int64_t kFewBins = 1024;

  uint32_t* const own_;
  const int64_t bins_;
  const int tables_;
  uint32_t few_[4 * kFewBins];
};

// A tile of a job in windows: the parts of a unit's rows follow each other for each window of the bins.
struct Tile {
  Tile(const Job& job, int64_t tile) {
    const int64_t window = tile / job.rowParts % job.windows, part = tile % job.rowParts;
    unit = tile / (job.windows * job.rowParts);
    low = job.bins * window / job.windows;
    high = job.bins * (window + 1) / job.windows;
    const int64_t begin = unit * job.unitRows, rows = std::min(job.unitRows, job.rows - begin);
    first = begin + rows * part / job.rowParts;
    last = begin + rows * (part + 1) / job.rowParts;
    isFirst = part == 0;
  }

  int64_t unit, low, high, first, last;
  bool isFirst;
};

template <typename G>
class Gatherer {
  using Result = typename G::Result;
  using Value = typename G::Value;

 public:
  static WorkspaceNeed needOf(const Job& job, const ThreadPool& pool) {
    if (job.windows > 0) return {};
    return {static_cast<size_t>(copiesOf(job, pool.workers()) - 1) * copyBytes(job), 0};
  }
  static size_t resultBytes() { return sizeof(Result); }

  static void run(const Job& job, const RoutineJob& arrays, Range units, ThreadPool& pool,
                  const std::atomic<bool>* cancel) {
    const auto isStopped = [&] { return cancel != nullptr && cancel->load(std::memory_order_relaxed); };
    auto* out = reinterpret_cast<Result*>(arrays.results[0]);
    if (job.windows > 0) {
      for (int64_t tile = units.first; tile < units.last && !isStopped(); tile++)
        runTile(job, arrays, Tile(job, tile), out, pool, cancel);
      return;
    }
    const int64_t room = 1 + static_cast<int64_t>(arrays.workspace.byteLength / copyBytes(job));
    const int64_t copies = std::min(room, copiesOf(job, pool.workers()));
    const auto rowsOf = [&](int64_t unit) { return std::min(job.unitRows, job.rows - unit * job.unitRows); };
    if (copies == 1 || units.last - units.first >= 2 * pool.workers()) {
      std::vector<std::optional<RowsRead>> reads(static_cast<size_t>(pool.workers()));
      const auto run = [&](int64_t k, int worker) {
        if (isStopped()) return;
        std::optional<RowsRead>& read = reads[static_cast<size_t>(worker)];
        if (!read) read.emplace(job, arrays, cancel);
        const int64_t unit = units.first + k;
        Result* const own = out + unit * job.slots();
        Touched touched{gather(job, arrays, *read, unit * job.unitRows, rowsOf(unit), own)};
        merge(
            job, touched, [=](int64_t) { return own; }, 0, job.slots());
      };
      pool.parallelFor(units.last - units.first, run, static_cast<int>(reads.size()));
      return;
    }
    for (int64_t unit = units.first; unit < units.last && !isStopped(); unit++) {
      Result* const own = out + unit * job.slots();
      const int64_t rows = rowsOf(unit);
      const auto copyOf = [&](int64_t c) {
        return c == 0 ? own
                      : reinterpret_cast<Result*>(arrays.workspace.data +
                                                  static_cast<size_t>(c - 1) * copyBytes(job));
      };
      Touched touched(static_cast<size_t>(copies));
      pool.parallelFor(copies, [&](int64_t c, int) {
        const int64_t first = rows * c / copies, last = rows * (c + 1) / copies;
        RowsRead read(job, arrays, cancel);
        touched[static_cast<size_t>(c)] =
            gather(job, arrays, read, unit * job.unitRows + first, last - first, copyOf(c));
      });
      const int64_t stretch = std::max<int64_t>(kBlock, job.slots() / (4 * copies));
      pool.parallelFor((job.slots() + stretch - 1) / stretch, [&](int64_t task, int) {
        merge(job, touched, copyOf, task * stretch, std::min(job.slots(), (task + 1) * stretch));
      });
    }
  }

 private:
  struct NoTables {
    explicit NoTables(const Job&) {}
  };
  // Of exact sums, where exponents belong: making it takes longer than to add a block of rows.
  using Tables = std::conditional_t<std::is_same_v<G, Exact>, ExactSums, NoTables>;
  // Of exact sums, the windows of each copy that values were added to.
  using Touched = std::vector<uint64_t>;

  // A part of a unit's rows in a window of the bins: threads look at all its keys, each for bins of its own.
  static void runTile(const Job& job, const RoutineJob& arrays, const Tile& tile, Result* out,
                      ThreadPool& pool, const std::atomic<bool>* cancel) {
    const int64_t bins = tile.high - tile.low;
    const int64_t threads = std::clamp<int64_t>(bins, 1, pool.workers());
    Result* const own = out + tile.unit * job.parts * job.pitch;
    pool.parallelFor(threads, [&](int64_t k, int) {
      const int64_t low = tile.low + bins * k / threads, high = tile.low + bins * (k + 1) / threads;
      for (int64_t part = 0; tile.isFirst && part < job.parts; part++)
        std::fill(own + part * job.pitch + low * job.width, own + part * job.pitch + high * job.width,
                  G::identity());
      const Tables tables(job);
      RowsRead read(job, arrays, cancel);
      read.until(tile.last);
      int64_t room[kBlock];
      for (int64_t from = tile.first; from < tile.last; from += kBlock) {
        const int64_t count = std::min(kBlock, tile.last - from);
        const RoutineJob& rows = read.read(from, count);
        const int64_t* const found = findBins(job, rows, from, count, room).bins;
        for (int64_t i = 0; i < count; i++) room[i] = found[i] >= low && found[i] < high ? found[i] : -1;
        gatherBlock(job, rows, tables, from, count, room, own);
      }
    });
  }

  // Slots [first, last) of the copies together, in the first one.
  template <typename CopyOf>
  static void merge(const Job& job, const Touched& touched, const CopyOf& copyOf, int64_t first,
                    int64_t last) {
    if constexpr (std::is_same_v<G, Exact>) {
      ExactSums(job).merge(touched, copyOf, first, last);
    } else {
      Result* const own = copyOf(0);
      for (size_t c = 1; c < touched.size(); c++) {
        const Result* const other = copyOf(static_cast<int64_t>(c));
        for (int64_t s = first; s < last; s++) own[s] = G::merge(own[s], other[s]);
      }
    }
  }

  static size_t copyBytes(const Job& job) {
    return (static_cast<size_t>(job.slots()) * sizeof(Result) + kLine - 1) / kLine * kLine;
  }

  // Copies of the bins that threads have of one unit.
  static int64_t copiesOf(const Job& job, int64_t workers) {
    const int64_t rows = std::min(job.rows, job.unitRows) * job.width;
    const int64_t perBin = job.op == Op::exact ? kRowsPerExactBin : kRowsPerBin;
    const int64_t least = std::max(kLeastRows, perBin * job.bins * job.width);
    return std::clamp<int64_t>(rows / least, 1, workers);
  }

  static uint64_t gather(const Job& job, const RoutineJob& arrays, RowsRead& read, int64_t first,
                         int64_t rows, Result* own) {
    read.until(first + rows);
    if constexpr (std::is_same_v<G, Exact>) return ExactSums(job).gather(read, first, rows, own);
    std::fill_n(own, job.slots(), G::identity());
    int64_t room[kBlock];
    if constexpr (std::is_same_v<G, Count<uint32_t>>) {
      Counts counts(own, job.bins);
      const RowsAhead ahead(arrays.prologue == nullptr ? arrays.operands[0] : nullptr,
                            arrays.prologue == nullptr ? byteLengthOf(job.keys) : 0, nullptr, 0);
      for (int64_t from = first; from < first + rows; from += kBlock) {
        const int64_t count = std::min(kBlock, first + rows - from);
        counts.add(findBins(job, read.read(from, count), from, count, room), ahead, from, count);
      }
      return 0;
    }
    const Tables tables(job);
    for (int64_t from = first; from < first + rows; from += kBlock) {
      const int64_t count = std::min(kBlock, first + rows - from);
      const RoutineJob& block = read.read(from, count);
      gatherBlock(job, block, tables, from, count, findBins(job, block, from, count, room).bins, own);
    }
    return 0;
  }

  // Rows [from, from + count), whose bins are these.
  static void gatherBlock(const Job& job, const RoutineJob& arrays, const Tables& tables, int64_t from,
                          int64_t count, const int64_t* bins, Result* own) {
    if constexpr (std::is_same_v<G, Exact>) {
      uint64_t all = ~uint64_t{0};
      tables.gatherBlock(arrays, from, count, bins, own, all);
    } else if constexpr (std::is_same_v<G, Count<uint32_t>>) {
      for (int64_t i = 0; i < count; i++)
        if (bins[i] >= 0) own[bins[i]]++;
    } else if constexpr (std::is_same_v<G, Last<int32_t>> || std::is_same_v<G, Last<int64_t>>) {
      for (int64_t i = 0; i < count; i++)
        if (bins[i] >= 0) own[bins[i]] = static_cast<Result>(from + i);
    } else {
      gatherValues(job, arrays, from, count, bins, own);
    }
  }

  static void gatherValues(const Job& job, const RoutineJob& arrays, int64_t from, int64_t count,
                           const int64_t* bins, Result* own) {
    Value values[kBlock];
    // Copies, which no write to a bin can change.
    const int64_t width = job.width, second = job.pitch;
    const int bits = job.bits;
    const int32_t* const scales =
        job.op == Op::fixed ? reinterpret_cast<const int32_t*>(arrays.operands[job.hasEdges ? 3 : 2])
                            : nullptr;
    const auto put = [=](int64_t slot, Value value) {
      if constexpr (std::is_same_v<G, Sum>) {
        own[slot] += static_cast<Result>(value);
      } else if constexpr (std::is_same_v<G, Scale>) {
        own[slot] = std::max(own[slot], Scale::of(value));
      } else if constexpr (std::is_same_v<G, Fixed>) {
        Result part[2];
        Fixed::of(value, scales[slot], bits, part);
        own[slot] += part[0];
        own[slot + second] += part[1];
      } else {
        own[slot] = G::merge(own[slot], value);
      }
    };
    const std::byte* const all = arrays.operands[job.hasEdges ? 2 : 1];
    if (width == 1) {
      readAs(job.values, all, from, count, values);
      for (int64_t i = 0; i < count; i++)
        if (bins[i] >= 0) put(bins[i], values[i]);
      return;
    }
    for (int64_t i = 0; i < count; i++) {
      if (bins[i] < 0) continue;
      for (int64_t j = 0; j < width; j += kBlock) {
        const int64_t some = std::min(kBlock, width - j);
        readAs(job.values, all, (from + i) * width + j, some, values);
        for (int64_t e = 0; e < some; e++) put(bins[i] * width + j + e, values[e]);
      }
    }
  }
};

template <bool kLeast, typename Use>
auto withExtreme(const Job& job, const Use& use) {
  switch (job.result) {
    case DType::int32:
      return use(Gatherer<Extreme<int32_t, kLeast>>{});
    case DType::uint32:
      return use(Gatherer<Extreme<uint32_t, kLeast>>{});
    case DType::int64:
      return use(Gatherer<Extreme<int64_t, kLeast>>{});
    case DType::uint64:
      return use(Gatherer<Extreme<uint64_t, kLeast>>{});
    case DType::float32:
      return use(Gatherer<Extreme<float, kLeast>>{});
    case DType::float64:
      return use(Gatherer<Extreme<double, kLeast>>{});
    default:
      throw std::invalid_argument("a dtype that has extremes in bins");
  }
}

// Calls `use` with the gatherer of an operation.
template <typename Use>
auto withGatherer(const Job& job, const Use& use) {
  switch (job.op) {
    case Op::count:
      return use(Gatherer<Count<uint32_t>>{});
    case Op::last:
      if (job.result == DType::int32) return use(Gatherer<Last<int32_t>>{});
      return use(Gatherer<Last<int64_t>>{});
    case Op::sum:
      return use(Gatherer<Sum>{});
    case Op::min:
      return withExtreme<true>(job, use);
    case Op::max:
      return withExtreme<false>(job, use);
    case Op::scale:
      return use(Gatherer<Scale>{});
    case Op::exact:
      if (job.values != DType::float32) throw std::invalid_argument("exact sums of float32");
      return use(Gatherer<Exact>{});
    default:
      return use(Gatherer<Fixed>{});
  }
}

RoutineNeed needOf(const std::vector<int64_t>& numbers, const ThreadPool& pool) {
  const Job job = readJob(numbers);
  const auto [workspace, resultBytes] = withGatherer(job, [&](auto gatherer) {
    return std::pair(decltype(gatherer)::needOf(job, pool), decltype(gatherer)::resultBytes());
  });
  if (byteLengthOf(job.result) != resultBytes) throw std::invalid_argument("the result's dtype");
  const auto rows = static_cast<size_t>(job.rows);
  const int64_t tiles = job.windows > 0 ? job.windows * job.rowParts : 1;
  RoutineNeed need{{rows * byteLengthOf(job.keys)}, {}, workspace, job.units() * tiles};
  if (job.hasValues) need.weights = job.hasEdges ? 2 : 1;
  const size_t realBytes = job.keys == DType::float32 ? sizeof(float) : sizeof(double);
  if (job.hasEdges) need.operands.push_back(static_cast<size_t>(job.bins + 1) * realBytes);
  if (job.hasValues)
    need.operands.push_back(rows * static_cast<size_t>(job.width) * byteLengthOf(job.values));
  if (job.op == Op::fixed)
    need.operands.push_back(static_cast<size_t>(job.bins * job.width) * sizeof(int32_t));
  need.results.push_back(static_cast<size_t>(job.units() * job.slots()) * resultBytes);
  return need;
}

void runBins(const RoutineJob& arrays, Range units, ThreadPool& pool, const std::atomic<bool>* cancel) {
  gatherBins(readJob(arrays.numbers), arrays, units, pool, cancel);
}

}  // namespace

void gatherBins(const Job& job, const RoutineJob& arrays, Range units, ThreadPool& pool,
                const std::atomic<bool>* cancel) {
  withGatherer(job, [&](auto gatherer) {
    decltype(gatherer)::run(job, arrays, units, pool, cancel);
    return size_t{0};
  });
}

WorkspaceNeed workspaceOfBins(const Job& job, const ThreadPool& pool) {
  return withGatherer(job, [&](auto gatherer) { return decltype(gatherer)::needOf(job, pool); });
}

}  // namespace bins

const Routine kBins{bins::needOf, bins::runBins, true, false};

}  // namespace weft::cpu
