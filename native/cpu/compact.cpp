// The elements of a line that are kept, or their places, in order, and their number: those where a mask is
// true, or those that differ from the one before. Threads count stretches, then write them behind one
// another.
#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

#include "cpu/routines.h"
#include "cpu/sort-keys.h"
#include "cpu/threads.h"
#include "shared/layout.h"

namespace weft::cpu {
namespace {

constexpr int64_t kStretch = 1 << 16;

enum class Kept { places, values, distinct };

struct Line {
  Kept kept;
  DType dtype;
  int64_t size;
  // Whether what is behind the kept ones is the last element, or place, of the line.
  bool hasTail;

  int64_t stretches() const { return (size + kStretch - 1) / kStretch; }
};

Line readLine(const std::vector<int64_t>& numbers) {
  if (numbers.size() != 4) throw std::invalid_argument("four numbers");
  if (numbers[0] < 0 || numbers[0] > 2) throw std::invalid_argument("what is kept");
  if (numbers[1] < 0 || numbers[1] >= kDTypes) throw std::invalid_argument("a dtype");
  if (numbers[2] < 1 || numbers[2] > std::numeric_limits<int64_t>::max() / 16)
    throw std::invalid_argument("a line with elements");
  return {static_cast<Kept>(numbers[0]), static_cast<DType>(numbers[1]), numbers[2], numbers[3] != 0};
}

RoutineNeed needOf(const std::vector<int64_t>& numbers, const ThreadPool&) {
  const Line line = readLine(numbers);
  const auto size = static_cast<size_t>(line.size);
  const size_t values = size * static_cast<size_t>(byteLengthOf(line.dtype));
  const size_t counts = static_cast<size_t>(line.stretches()) * sizeof(int64_t);
  std::vector<size_t> operands;
  if (line.kept != Kept::distinct) operands.push_back(size);
  if (line.kept != Kept::places) operands.push_back(values);
  const size_t result = line.kept == Kept::places ? size * sizeof(int64_t) : values;
  return {operands, {result, sizeof(int64_t)}, {counts, counts}, 1};
}

// Writes what `isKept` keeps of the elements that `at` gives.
template <typename T, typename IsKept, typename At>
void compact(const Line& line, const RoutineJob& job, ThreadPool& pool, const std::atomic<bool>* cancel,
             const IsKept& isKept, const At& at) {
  auto* out = reinterpret_cast<T*>(job.results[0]);
  auto* counts = reinterpret_cast<int64_t*>(job.workspace.data);
  const auto each = [&](const auto& work) {
    pool.parallelFor(line.stretches(), [&](int64_t stretch, int) {
      if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) return;
      work(stretch, stretch * kStretch, std::min(line.size, (stretch + 1) * kStretch));
    });
  };
  each([&](int64_t stretch, int64_t first, int64_t last) {
    int64_t count = 0;
    for (int64_t k = first; k < last; k++) count += isKept(k) ? 1 : 0;
    counts[stretch] = count;
  });
  if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) return;
  int64_t total = 0;
  for (int64_t stretch = 0; stretch < line.stretches(); stretch++) {
    const int64_t own = counts[stretch];
    counts[stretch] = total;
    total += own;
  }
  *reinterpret_cast<int64_t*>(job.results[1]) = total;
  each([&](int64_t stretch, int64_t first, int64_t last) {
    int64_t to = counts[stretch];
    for (int64_t k = first; k < last; k++) {
      if (isKept(k)) out[to++] = at(k);
    }
    if (!line.hasTail) return;
    const T end = at(line.size - 1);
    for (int64_t k = std::max(first, total); k < last; k++) out[k] = end;
  });
}

template <typename Bits, typename IsKept>
void compactBits(const Line& line, const RoutineJob& job, ThreadPool& pool, const std::atomic<bool>* cancel,
                 const std::byte* values, const IsKept& isKept) {
  const auto* in = reinterpret_cast<const Bits*>(values);
  compact<Bits>(line, job, pool, cancel, isKept, [in](int64_t k) { return in[k]; });
}

struct Wide {
  uint64_t low, high;
};

template <typename IsKept>
void compactValues(const Line& line, const RoutineJob& job, ThreadPool& pool, const std::atomic<bool>* cancel,
                   const std::byte* values, const IsKept& isKept) {
  switch (byteLengthOf(line.dtype)) {
    case 1:
      return compactBits<uint8_t>(line, job, pool, cancel, values, isKept);
    case 2:
      return compactBits<uint16_t>(line, job, pool, cancel, values, isKept);
    case 4:
      return compactBits<uint32_t>(line, job, pool, cancel, values, isKept);
    case 8:
      return compactBits<uint64_t>(line, job, pool, cancel, values, isKept);
    default:
      return compactBits<Wide>(line, job, pool, cancel, values, isKept);
  }
}

void run(const RoutineJob& job, Range, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Line line = readLine(job.numbers);
  const auto* mask = reinterpret_cast<const uint8_t*>(job.operands[0]);
  const auto isTrue = [mask](int64_t k) { return mask[k] != 0; };
  if (line.kept == Kept::places)
    return compact<int64_t>(line, job, pool, cancel, isTrue, [](int64_t k) { return k; });
  if (line.kept == Kept::values) return compactValues(line, job, pool, cancel, job.operands[1], isTrue);
  // NaN differs from all, -0 not from 0.
  const auto distinct = [&](auto keys) {
    using Keys = decltype(keys);
    const auto* in = reinterpret_cast<const typename Keys::Element*>(job.operands[0]);
    compactValues(line, job, pool, cancel, job.operands[0], [in](int64_t k) {
      return k == 0 || Keys::differ(Keys::encode(in[k], false), Keys::encode(in[k - 1], false));
    });
  };
  if (line.dtype == DType::complex64) {
    distinct(ComplexKeys<uint32_t, 8, true>{});
  } else if (line.dtype == DType::complex128) {
    distinct(ComplexKeys<uint64_t, 11, true>{});
  } else {
    withRealKeys<true>(line.dtype, [&](auto keys) {
      distinct(keys);
      return 0;
    });
  }
}

}  // namespace

const Routine kCompact{needOf, run};
const Routine kDistinct{needOf, run};

}  // namespace weft::cpu
