// The elements of a line that are kept, or their places, in order, and their number: those where a mask is
// true, or those that differ from the one before. Threads count stretches, then write them behind one
// another.
#include <algorithm>
#include <bit>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "cpu/compact-kernels.h"
#include "cpu/isa.h"
#include "cpu/routines.h"
#include "cpu/sort-keys.h"
#include "cpu/threads.h"
#include "shared/layout.h"

namespace weft::cpu {

#define WEFT_DECLARE_COMPACTION(isa)      \
  namespace isa {                         \
  const CompactKernels& compactKernels(); \
  }
WEFT_DECLARE_COMPACTION(baseline)
#ifdef WEFT_HAS_AVX
WEFT_DECLARE_COMPACTION(avx2)
WEFT_DECLARE_COMPACTION(avx512)
#endif
#undef WEFT_DECLARE_COMPACTION

const CompactKernels& compactKernels() {
#ifdef WEFT_HAS_AVX
  if (currentIsa() == Isa::avx512) return avx512::compactKernels();
  if (currentIsa() == Isa::avx2) return avx2::compactKernels();
#endif
  return baseline::compactKernels();
}

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

// Compacts a line of elements, which `at` gives: `count` says how many of [first, last) are kept, and `write`
// puts so many of those from `first` on where they belong.
template <typename T, typename Count, typename Write, typename At>
void compact(const Line& line, const RoutineJob& job, ThreadPool& pool, const std::atomic<bool>* cancel,
             const Count& count, const Write& write, const At& at) {
  auto* out = reinterpret_cast<T*>(job.results[0]);
  auto* counts = reinterpret_cast<int64_t*>(job.workspace.data);
  const auto each = [&](const auto& work) {
    pool.parallelFor(line.stretches(), [&](int64_t stretch, int) {
      if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) return;
      work(stretch, stretch * kStretch, std::min(line.size, (stretch + 1) * kStretch));
    });
  };
  each([&](int64_t stretch, int64_t first, int64_t last) { counts[stretch] = count(first, last); });
  if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) return;
  int64_t total = 0;
  for (int64_t stretch = 0; stretch < line.stretches(); stretch++) {
    const int64_t own = counts[stretch];
    counts[stretch] = total;
    total += own;
  }
  *reinterpret_cast<int64_t*>(job.results[1]) = total;
  each([&](int64_t stretch, int64_t first, int64_t last) {
    const int64_t to = counts[stretch];
    const int64_t end = stretch + 1 < line.stretches() ? counts[stretch + 1] : total;
    write(first, end - to, out + to);
    if (!line.hasTail) return;
    std::fill(out + std::clamp(total, first, last), out + last, at(line.size - 1));
  });
}

struct Wide {
  uint64_t low, high;
};

// Calls `use` with a pointer to elements of so many bytes.
template <typename Use>
void withBits(size_t byteLength, const std::byte* values, const Use& use) {
  switch (byteLength) {
    case 1:
      return use(reinterpret_cast<const uint8_t*>(values));
    case 2:
      return use(reinterpret_cast<const uint16_t*>(values));
    case 4:
      return use(reinterpret_cast<const uint32_t*>(values));
    case 8:
      return use(reinterpret_cast<const uint64_t*>(values));
    default:
      return use(reinterpret_cast<const Wide*>(values));
  }
}

void runByMask(const Line& line, const RoutineJob& job, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const CompactKernels& loops = compactKernels();
  const auto* mask = reinterpret_cast<const uint8_t*>(job.operands[0]);
  const auto count = [&](int64_t first, int64_t last) { return loops.count(mask + first, last - first); };
  if (line.kept == Kept::places) {
    const auto write = [&](int64_t first, int64_t kept, int64_t* out) {
      loops.places(mask + first, first, kept, out);
    };
    return compact<int64_t>(line, job, pool, cancel, count, write, [](int64_t k) { return k; });
  }
  withBits(byteLengthOf(line.dtype), job.operands[1], [&](const auto* in) {
    using Bits = std::remove_cvref_t<decltype(*in)>;
    const auto write = [&](int64_t first, int64_t kept, Bits* out) {
      loops.values[std::bit_width(sizeof(Bits)) - 1](mask + first, in + first, kept, out);
    };
    compact<Bits>(line, job, pool, cancel, count, write, [in](int64_t k) { return in[k]; });
  });
}

void runDistinct(const Line& line, const RoutineJob& job, ThreadPool& pool, const std::atomic<bool>* cancel) {
  // NaN differs from all, -0 not from 0.
  const auto distinct = [&](auto keys) {
    using Keys = decltype(keys);
    const auto* elements = reinterpret_cast<const typename Keys::Element*>(job.operands[0]);
    const auto isKept = [elements](int64_t k) {
      return k == 0 || Keys::differ(Keys::encode(elements[k], false), Keys::encode(elements[k - 1], false));
    };
    const auto count = [&](int64_t first, int64_t last) {
      int64_t kept = 0;
      for (int64_t k = first; k < last; k++) kept += isKept(k) ? 1 : 0;
      return kept;
    };
    withBits(byteLengthOf(line.dtype), job.operands[0], [&](const auto* in) {
      using Bits = std::remove_cvref_t<decltype(*in)>;
      // Without a branch for each element.
      const auto write = [&](int64_t first, int64_t kept, Bits* out) {
        for (int64_t k = first, to = 0; to < kept; k++) {
          out[to] = in[k];
          to += isKept(k) ? 1 : 0;
        }
      };
      compact<Bits>(line, job, pool, cancel, count, write, [in](int64_t k) { return in[k]; });
    });
  };
  if (line.dtype == DType::complex64) return distinct(ComplexKeys<uint32_t, 8, true>{});
  if (line.dtype == DType::complex128) return distinct(ComplexKeys<uint64_t, 11, true>{});
  withRealKeys<true>(line.dtype, [&](auto keys) {
    distinct(keys);
    return 0;
  });
}

void run(const RoutineJob& job, Range, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Line line = readLine(job.numbers);
  if (line.kept == Kept::distinct) return runDistinct(line, job, pool, cancel);
  runByMask(line, job, pool, cancel);
}

}  // namespace

const Routine kCompact{needOf, run};
const Routine kDistinct{needOf, run};

}  // namespace weft::cpu
