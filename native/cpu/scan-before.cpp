// The values before tiles of scans, by the totals of these: a few numbers of each line, one after the other.
#include <algorithm>
#include <stdexcept>
#include <vector>

#include "cpu/routines.h"
#include "cpu/scan-tiles.h"
#include "cpu/threads.h"

namespace weft::cpu {
namespace {

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
  const Totals t{readScanDType(numbers[0]),
                 readScanOp(numbers[1]),
                 numbers[2] != 0,
                 numbers[3],
                 numbers[4],
                 numbers[5],
                 numbers[6],
                 numbers[7],
                 numbers[8]};
  checkScanSizes(t.outer, t.tiles, t.inner);
  checkScanColumns(t.inner, t.columns, {t.pitchOfTotals, t.pitchOfBefore});
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

const Routine kScanBefore{beforeNeedOf, runBefore};

}  // namespace weft::cpu
