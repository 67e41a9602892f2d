// Rows gathered in bins by keys, or by edges that keys lie between: counts, last places, sums of integers,
// extremes, and the fixed-point sums that floats are added up in (src/graph/fixed-sums.ts). Threads have
// copies of the bins, which are combined at the end: no operation depends on an order, so bits do not depend
// on threads.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "cpu/routines.h"
#include "cpu/tape.h"
#include "cpu/threads.h"
#include "shared/layout.h"

namespace weft::cpu {
namespace {

// Rows whose bins are found before they are gathered.
constexpr int64_t kBlock = 1024;
// Rows that a copy of the bins is worth: so many for each bin.
constexpr int64_t kRowsPerBin = 4;
constexpr int64_t kLeastRows = 1 << 14;
constexpr size_t kLine = 64;

// As BIN_OPS and BIN_MODES of src/graph/bin-units.ts.
enum class Op { count, last, sum, min, max, scale, fixed };
constexpr int kOps = 7;
enum class Mode { within, fromEnd, wrap, clip, raise, raiseFromEnd };
constexpr int kModes = 6;
// Scales of bins that have infinities, and NaN.
constexpr int32_t kInfinite = 4096;
constexpr int32_t kNaN = 8192;

struct Job {
  Op op;
  DType keys, values, result;
  bool hasValues, hasEdges, isEven;
  int64_t rows, unitRows, bins, width;
  Mode mode;
  int64_t parts;
  int bits;

  int64_t slots() const { return bins * width * parts; }
  int64_t units() const { return std::max<int64_t>(1, (rows + unitRows - 1) / unitRows); }
};

// The dtype of the values and the mode are counted from 1: 0 is none.
Job readJob(const std::vector<int64_t>& n) {
  if (n.size() != 12) throw std::invalid_argument("twelve numbers");
  const auto isDType = [](int64_t code) { return code >= 0 && code < kDTypes; };
  if (n[0] < 0 || n[0] >= kOps) throw std::invalid_argument("an operation");
  if (!isDType(n[1]) || n[2] < 0 || n[2] > kDTypes || !isDType(n[3])) throw std::invalid_argument("dtypes");
  if (n[8] < 0 || n[8] > kModes) throw std::invalid_argument("a mode");
  Job job{static_cast<Op>(n[0]),
          static_cast<DType>(n[1]),
          static_cast<DType>(std::max<int64_t>(0, n[2] - 1)),
          static_cast<DType>(n[3]),
          n[2] > 0,
          n[8] == 0,
          n[9] != 0,
          n[4],
          n[5],
          n[6],
          n[7],
          static_cast<Mode>(std::max<int64_t>(0, n[8] - 1)),
          n[10],
          static_cast<int>(n[11])};
  const bool isCounted = job.op == Op::count || job.op == Op::last;
  if (isCounted == job.hasValues) throw std::invalid_argument("values of an operation that has some");
  constexpr int64_t most = std::numeric_limits<int64_t>::max() / 64;
  if (job.rows < 0 || job.unitRows < 1 || job.bins < 1 || job.width < 1 || job.parts < 1 || job.parts > 2 ||
      job.bins > most / job.width || job.rows > most / job.width || job.bits < 0 || job.bits > 62)
    throw std::invalid_argument("rows and bins");
  return job;
}

// ---------------------------------------------------------------- numbers of any dtype

template <typename To, typename From>
void widen(const std::byte* from, int64_t first, int64_t count, To* to) {
  const auto* at = reinterpret_cast<const From*>(from) + first;
  for (int64_t i = 0; i < count; i++) to[i] = static_cast<To>(at[i]);
}

// Real numbers other than halves as another type; integers of 64 bits keep their bits in int64.
template <typename To>
void readAs(DType dtype, const std::byte* from, int64_t first, int64_t count, To* to) {
  switch (dtype) {
    case DType::boolean:
    case DType::uint8:
      return widen<To, uint8_t>(from, first, count, to);
    case DType::int8:
      return widen<To, int8_t>(from, first, count, to);
    case DType::uint16:
      return widen<To, uint16_t>(from, first, count, to);
    case DType::int16:
      return widen<To, int16_t>(from, first, count, to);
    case DType::uint32:
      return widen<To, uint32_t>(from, first, count, to);
    case DType::int32:
      return widen<To, int32_t>(from, first, count, to);
    case DType::uint64:
      return widen<To, uint64_t>(from, first, count, to);
    case DType::int64:
      return widen<To, int64_t>(from, first, count, to);
    case DType::float32:
      if constexpr (std::is_floating_point_v<To>) return widen<To, float>(from, first, count, to);
      break;
    case DType::float64:
      if constexpr (std::is_floating_point_v<To>) return widen<To, double>(from, first, count, to);
      break;
    default:
      break;
  }
  throw std::invalid_argument("numbers of such a dtype");
}

// ---------------------------------------------------------------- bins of keys

// Keys become bins, or -1 for none.
void adjust(Mode mode, bool isUnsigned64, int64_t bins, int64_t* k, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    int64_t at = k[i];
    // Of 64 bits without a sign, those beyond the others look negative.
    const bool isLarge = isUnsigned64 && at < 0;
    switch (mode) {
      case Mode::fromEnd:
      case Mode::raiseFromEnd:
        if (!isLarge && at < 0) at += bins;
        break;
      case Mode::wrap:
        if (isLarge) {
          at = static_cast<int64_t>(static_cast<uint64_t>(at) % static_cast<uint64_t>(bins));
        } else {
          at %= bins;
          if (at < 0) at += bins;
        }
        break;
      case Mode::clip:
        at = isLarge ? bins - 1 : std::clamp<int64_t>(at, 0, bins - 1);
        break;
      default:
        break;
    }
    k[i] = static_cast<uint64_t>(at) < static_cast<uint64_t>(bins) ? at : -1;
  }
}

// Between which edges a number lies. Of equally spaced ones its distance from the first one says it, but
// within rounding of an edge, where the edges are asked. As codegen/cuda/routines/bins.ts.
template <typename Real>
class Search {
 public:
  Search(const Real* edges, int64_t bins, bool isEven) : edges_(edges), bins_(bins), isEven_(isEven) {
    first_ = edges[0];
    last_ = edges[bins];
    scale_ = static_cast<Real>(bins) / (last_ - first_);
    const Real most = std::max(std::abs(first_), std::abs(last_));
    margin_ = (4 * static_cast<Real>(bins) + 4 * most * scale_) * std::numeric_limits<Real>::epsilon();
  }

  int64_t operator()(Real x) const {
    if (!(x >= first_ && x <= last_)) return -1;
    if (!isEven_) {
      int64_t low = 0, high = bins_;
      while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        (x >= edges_[middle] ? low : high) = middle;
      }
      return low;
    }
    const Real place = (x - first_) * scale_;
    int64_t k = place < static_cast<Real>(bins_) ? static_cast<int64_t>(place) : bins_ - 1;
    if (!(std::abs(place - std::nearbyint(place)) >= margin_)) {
      while (k > 0 && x < edges_[k]) k--;
      while (k < bins_ - 1 && x >= edges_[k + 1]) k++;
    }
    return k;
  }

 private:
  const Real* edges_;
  int64_t bins_;
  bool isEven_;
  Real first_, last_, scale_, margin_;
};

template <typename Real>
void search(const Job& job, const RoutineJob& arrays, int64_t first, int64_t count, int64_t* bins) {
  const Search<Real> find(reinterpret_cast<const Real*>(arrays.operands[1]), job.bins, job.isEven);
  Real block[kBlock];
  readAs(job.keys, arrays.operands[0], first, count, block);
  for (int64_t i = 0; i < count; i++) bins[i] = find(block[i]);
}

// The bins of rows [first, first + count), at most kBlock.
void findBins(const Job& job, const RoutineJob& arrays, int64_t first, int64_t count, int64_t* bins) {
  if (job.hasEdges) {
    if (job.keys == DType::float32) {
      search<float>(job, arrays, first, count, bins);
    } else {
      search<double>(job, arrays, first, count, bins);
    }
    return;
  }
  readAs(job.keys, arrays.operands[0], first, count, bins);
  adjust(job.mode, job.keys == DType::uint64, job.bins, bins, count);
}

// ---------------------------------------------------------------- what bins gather

template <typename T>
struct Count {
  using Value = int64_t;
  using Result = T;
  static Result identity() { return 0; }
  static Result merge(Result a, Result b) { return a + b; }
};

template <typename T>
struct Last {
  using Value = int64_t;
  using Result = T;
  static Result identity() { return -1; }
  static Result merge(Result a, Result b) { return std::max(a, b); }
};

struct Sum {
  using Value = int64_t;
  using Result = uint64_t;
  static Result identity() { return 0; }
  static Result merge(Result a, Result b) { return a + b; }
};

template <typename T, bool kLeast>
struct Extreme {
  using Value = T;
  using Result = T;
  static Result identity() {
    using Limits = std::numeric_limits<T>;
    if constexpr (Limits::has_infinity) return kLeast ? Limits::infinity() : -Limits::infinity();
    return kLeast ? Limits::max() : Limits::lowest();
  }
  static Result merge(Result a, Result b) {
    if constexpr (std::is_floating_point_v<T>) {
      if (a != a || b != b) return std::numeric_limits<T>::quiet_NaN();
      if (a == b) return std::signbit(a) == kLeast ? a : b;
    }
    return (kLeast ? b < a : b > a) ? b : a;
  }
};

struct Scale {
  using Value = double;
  using Result = int32_t;
  static Result identity() { return 0; }
  static Result merge(Result a, Result b) { return std::max(a, b); }
  static Result of(double value) {
    if (value != value) return kNaN;
    uint64_t word;
    std::memcpy(&word, &value, sizeof word);
    const auto exponent = static_cast<int32_t>(word >> 52 & 2047);
    if (exponent == 2047) return kInfinite;
    return word == uint64_t{1} << 63 ? 0 : exponent + 1;
  }
};

struct Fixed {
  using Value = double;
  using Result = uint64_t;
  static Result identity() { return 0; }
  static Result merge(Result a, Result b) { return a + b; }
  static double power(int e) {
    const uint64_t word = static_cast<uint64_t>(e + 1023) << 52;
    double value;
    std::memcpy(&value, &word, sizeof value);
    return value;
  }
  // The parts of a value in units of its bin's scale.
  static void of(double value, int32_t scale, int bits, int64_t parts, Result* part) {
    if (scale >= kInfinite) {
      constexpr double infinity = std::numeric_limits<double>::infinity();
      const uint64_t plus = scale == kInfinite && value == infinity ? 1 : 0;
      const uint64_t minus = scale == kInfinite && value == -infinity ? 1 : 0;
      part[0] = parts == 1 ? minus << 32 | plus : plus;
      part[1] = minus;
      return;
    }
    const int shift = bits + 1022 - std::max(scale - 1, 1);
    const double scaled = value * power(shift / 2) * power(shift - shift / 2);
    // A multiple has no more bits than a double, which holds it exactly.
    const int64_t whole = std::llrint(scaled);
    part[0] = static_cast<Result>(whole);
    if (parts > 1)
      part[1] = static_cast<Result>(std::llrint((scaled - static_cast<double>(whole)) * power(bits)));
  }
};

template <typename G>
class Gatherer {
  using Result = typename G::Result;
  using Value = typename G::Value;

 public:
  static WorkspaceNeed needOf(const Job& job, const ThreadPool& pool) {
    return {static_cast<size_t>(copiesOf(job, pool.workers()) - 1) * copyBytes(job), 0};
  }
  static size_t resultBytes() { return sizeof(Result); }

  static void run(const Job& job, const RoutineJob& arrays, Range units, ThreadPool& pool,
                  const std::atomic<bool>* cancel) {
    const auto isStopped = [&] { return cancel != nullptr && cancel->load(std::memory_order_relaxed); };
    auto* out = reinterpret_cast<Result*>(arrays.results[0]);
    const int64_t room = 1 + static_cast<int64_t>(arrays.workspace.byteLength / copyBytes(job));
    const int64_t copies = std::min(room, copiesOf(job, pool.workers()));
    const auto rowsOf = [&](int64_t unit) { return std::min(job.unitRows, job.rows - unit * job.unitRows); };
    if (copies == 1 || units.last - units.first >= 2 * pool.workers()) {
      pool.parallelFor(units.last - units.first, [&](int64_t k, int) {
        if (isStopped()) return;
        const int64_t unit = units.first + k;
        gather(job, arrays, unit * job.unitRows, rowsOf(unit), out + unit * job.slots());
      });
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
      pool.parallelFor(copies, [&](int64_t c, int) {
        const int64_t first = rows * c / copies, last = rows * (c + 1) / copies;
        gather(job, arrays, unit * job.unitRows + first, last - first, copyOf(c));
      });
      const int64_t stretch = std::max<int64_t>(kBlock, job.slots() / (4 * copies));
      pool.parallelFor((job.slots() + stretch - 1) / stretch, [&](int64_t task, int) {
        const int64_t last = std::min(job.slots(), (task + 1) * stretch);
        for (int64_t c = 1; c < copies; c++) {
          const Result* const other = copyOf(c);
          for (int64_t s = task * stretch; s < last; s++) own[s] = G::merge(own[s], other[s]);
        }
      });
    }
  }

 private:
  static size_t copyBytes(const Job& job) {
    return (static_cast<size_t>(job.slots()) * sizeof(Result) + kLine - 1) / kLine * kLine;
  }

  // Copies of the bins that threads have of one unit.
  static int64_t copiesOf(const Job& job, int64_t workers) {
    const int64_t rows = std::min(job.rows, job.unitRows) * job.width;
    const int64_t least = std::max(kLeastRows, kRowsPerBin * job.bins * job.width);
    return std::clamp<int64_t>(rows / least, 1, workers);
  }

  static void gather(const Job& job, const RoutineJob& arrays, int64_t first, int64_t rows, Result* own) {
    std::fill_n(own, job.slots(), G::identity());
    int64_t bins[kBlock];
    for (int64_t from = first; from < first + rows; from += kBlock) {
      const int64_t count = std::min(kBlock, first + rows - from);
      findBins(job, arrays, from, count, bins);
      if constexpr (std::is_same_v<G, Count<uint32_t>>) {
        for (int64_t i = 0; i < count; i++)
          if (bins[i] >= 0) own[bins[i]]++;
      } else if constexpr (std::is_same_v<G, Last<int32_t>> || std::is_same_v<G, Last<int64_t>>) {
        for (int64_t i = 0; i < count; i++)
          if (bins[i] >= 0) own[bins[i]] = static_cast<Result>(from + i);
      } else {
        gatherValues(job, arrays, from, count, bins, own);
      }
    }
  }

  static void gatherValues(const Job& job, const RoutineJob& arrays, int64_t from, int64_t count,
                           const int64_t* bins, Result* own) {
    Value values[kBlock];
    // Copies, which no write to a bin can change.
    const int64_t width = job.width, second = job.bins * width, parts = job.parts;
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
        Fixed::of(value, scales[slot], bits, parts, part);
        own[slot] += part[0];
        if (parts > 1) own[slot + second] += part[1];
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
  RoutineNeed need{{rows * byteLengthOf(job.keys)}, {}, workspace, job.units()};
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
  const Job job = readJob(arrays.numbers);
  withGatherer(job, [&](auto gatherer) {
    decltype(gatherer)::run(job, arrays, units, pool, cancel);
    return size_t{0};
  });
}

}  // namespace

const Routine kBins{needOf, runBins};

}  // namespace weft::cpu
