// Sorting rows, and the positions that sort them: keys in the order of the elements, NaN last, in vector
// registers where those take them (vector-sort.h), else by radix sorts of the least significant digit first.
// Many rows are sorted one by each thread; a long one by all threads, each of which counts and moves a
// stretch of it. The order is stable, hence one: bits do not depend on threads, nor on the way.
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "cpu/counting-order.h"
#include "cpu/routines.h"
#include "cpu/sort-keys.h"
#include "cpu/tape.h"
#include "cpu/threads.h"
#include "cpu/vector-sort.h"
#include "shared/layout.h"

namespace weft::cpu {

#define WEFT_DECLARE_SORTS(isa)     \
  namespace isa {                   \
  const SortKernels* sortKernels(); \
  }
WEFT_DECLARE_SORTS(baseline)
#ifdef WEFT_HAS_AVX
WEFT_DECLARE_SORTS(avx2)
WEFT_DECLARE_SORTS(avx512)
#endif
#undef WEFT_DECLARE_SORTS

const SortKernels* sortKernels() {
#ifdef WEFT_HAS_AVX
  if (currentIsa() == Isa::avx512) return avx512::sortKernels();
  if (currentIsa() == Isa::avx2) return avx2::sortKernels();
#endif
  return baseline::sortKernels();
}

namespace {

constexpr int kDigits = 1 << kDigitBits;
static_assert(kDigits == kMostBuckets);
// Shorter rows are sorted by comparisons.
constexpr int64_t kShort = 256;
// Elements of a row that a thread sorts with others at least.
constexpr int64_t kLeastStretch = 1 << 14;

struct Rows {
  DType dtype;
  int64_t rows, length, rowsPerUnit;
  bool descending;
  // Whole numbers below it, from 0 on; 0: any elements.
  int64_t below;
  // Of quicksort, before heap sort (vector-sort.h).
  int levels;

  // Whether positions are counted, not sorted by digits: of one row, ascending.
  bool isCounted() const { return below > 0 && below <= 2 * length && rows == 1 && !descending; }
  CountedLine counted() const { return {length, below}; }
};

Rows readRows(const std::vector<int64_t>& numbers) {
  // Plans give six; a seventh is for tests, which reach heap sort by it.
  if (numbers.size() != 6 && numbers.size() != 7) throw std::invalid_argument("six numbers");
  const auto [dtype, rows, length, rowsPerUnit, descending] =
      std::tuple(numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]);
  if (dtype < 0 || dtype >= kDTypes) throw std::invalid_argument("a dtype");
  if (rows < 1 || length < 1 || rowsPerUnit < 1 || rows > std::numeric_limits<int64_t>::max() / 16 / length)
    throw std::invalid_argument("rows with elements");
  const int64_t below = numbers[5];
  const bool isWhole =
      dtype == static_cast<int64_t>(DType::int32) || dtype == static_cast<int64_t>(DType::int64);
  if (below < 0 || below > std::numeric_limits<int64_t>::max() / 16 || (below > 0 && !isWhole))
    throw std::invalid_argument("whole numbers below a number");
  const int64_t levels = numbers.size() == 7 ? numbers[6] : 0;
  if (levels < 0 || levels > 1 << 10) throw std::invalid_argument("levels");
  return {static_cast<DType>(dtype), rows, length, rowsPerUnit, descending != 0, below,
          static_cast<int>(levels)};
}

// The items that are moved: a key, or a key and its position. `Form`: how vector registers sort the same,
// where items are integers of 32 or 64 bits there.
template <typename Keys>
struct Plain {
  using Item = typename Keys::Key;
  static constexpr bool kTakesVectors = Keys::kIsOne && sizeof(Item) >= sizeof(int32_t);
  using Form = VectorValues<Keys>;
  static typename Keys::Key key(const Item& item) { return item; }
  static Item make(typename Keys::Key key, int64_t) { return key; }
  static bool less(const Item& a, const Item& b) { return Keys::less(a, b); }
};
template <typename Keys, typename Index>
struct Indexed {
  struct Item {
    typename Keys::Key own;
    Index at;
  };
  static constexpr bool kTakesVectors = Keys::kIsOne && sizeof(Index) == 4 && sizeof(typename Keys::Key) == 4;
  using Form = VectorPositions<Keys>;
  static typename Keys::Key key(const Item& item) { return item.own; }
  static Item make(typename Keys::Key key, int64_t at) { return {key, static_cast<Index>(at)}; }
  static bool less(const Item& a, const Item& b) {
    if (Keys::less(a.own, b.own)) return true;
    return !Keys::less(b.own, a.own) && a.at < b.at;
  }
};

using Counts = std::array<int64_t, kDigits>;

// Sorts a row from `a`, with `b` as long, in passes over its digits; gives the one that it ends up in.
template <typename Keys, typename Moved>
typename Moved::Item* sortDigits(typename Moved::Item* a, typename Moved::Item* b, int64_t length,
                                 Counts* counts, int64_t stretches, ThreadPool* pool) {
  const auto firstOf = [&](int64_t stretch) { return length * stretch / stretches; };
  const auto each = [&](const auto& work) {
    if (pool == nullptr) {
      for (int64_t k = 0; k < stretches; k++) work(k);
    } else {
      pool->parallelFor(stretches, [&](int64_t k, int) { work(k); });
    }
  };
  for (int pass = 0; pass < Keys::kPasses; pass++) {
    each([&](int64_t stretch) {
      Counts& own = counts[stretch];
      own.fill(0);
      for (int64_t i = firstOf(stretch); i < firstOf(stretch + 1); i++)
        own[Keys::digit(Moved::key(a[i]), pass)]++;
    });
    int64_t before = 0;
    bool isOne = false;
    for (int d = 0; d < kDigits; d++) {
      const int64_t first = before;
      for (int64_t k = 0; k < stretches; k++) {
        const int64_t count = counts[k][d];
        counts[k][d] = before;
        before += count;
      }
      isOne = isOne || before - first == length;
    }
    if (isOne) continue;
    each([&](int64_t stretch) {
      Counts& own = counts[stretch];
      for (int64_t i = firstOf(stretch); i < firstOf(stretch + 1); i++)
        b[own[Keys::digit(Moved::key(a[i]), pass)]++] = a[i];
    });
    std::swap(a, b);
  }
  return a;
}

size_t padded(size_t bytes) { return (bytes + kHostAlignment - 1) / kHostAlignment * kHostAlignment; }

template <typename Keys, typename Moved, typename Result>
struct Sorter {
  using Item = typename Moved::Item;

  // Two lines of items, and the counts of so many stretches.
  static size_t workspaceOf(const Rows& r, int64_t stretches) {
    return 2 * padded(static_cast<size_t>(r.length) * sizeof(Item)) +
           padded(static_cast<size_t>(stretches) * sizeof(Counts));
  }
  static int64_t stretchesOf(const Rows& r, int64_t workers) {
    return std::clamp<int64_t>(r.length / kLeastStretch, 1, workers);
  }

  static WorkspaceNeed needOf(const Rows& r, const ThreadPool& pool) {
    const int64_t workers = pool.workers();
    if (r.rows >= workers) {
      const size_t one = workspaceOf(r, 1);
      return {static_cast<size_t>(workers) * one, one};
    }
    const size_t all = workspaceOf(r, stretchesOf(r, workers));
    return {all, workspaceOf(r, 1)};
  }

  static void row(const Rows& r, const typename Keys::Element* in, Result* out, std::byte* memory,
                  int64_t stretches, ThreadPool* pool) {
    const size_t line = padded(static_cast<size_t>(r.length) * sizeof(Item));
    if constexpr (Moved::kTakesVectors) {
      if (const SortKernels* const kernels = sortKernels()) {
        using Form = typename Moved::Form;
        const VectorSpace<typename Form::Item> space{reinterpret_cast<typename Form::Item*>(memory),
                                                     reinterpret_cast<typename Form::Item*>(memory + line),
                                                     reinterpret_cast<Counts*>(memory + 2 * line)};
        const VectorSort<Form> sort(Form(*kernels, r.descending), r.length, r.levels, in, out, space);
        return stretches == 1 ? sort.run() : sort.runByAll(stretches, *pool);
      }
    }
    rowByDigits(r, in, out, reinterpret_cast<Item*>(memory), reinterpret_cast<Item*>(memory + line),
                reinterpret_cast<Counts*>(memory + 2 * line), stretches, pool);
  }

  static void rowByDigits(const Rows& r, const typename Keys::Element* in, Result* out, Item* a, Item* b,
                          Counts* counts, int64_t stretches, ThreadPool* pool) {
    const auto firstOf = [&](int64_t stretch) { return r.length * stretch / stretches; };
    const auto each = [&](const auto& work) {
      if (pool == nullptr) {
        for (int64_t k = 0; k < stretches; k++) work(k);
      } else {
        pool->parallelFor(stretches, [&](int64_t k, int) { work(k); });
      }
    };
    each([&](int64_t k) {
      for (int64_t i = firstOf(k); i < firstOf(k + 1); i++)
        a[i] = Moved::make(Keys::encode(in[i], r.descending), i);
    });
    const Item* sorted = a;
    if (r.length < kShort) {
      std::sort(a, a + r.length, Moved::less);
    } else {
      sorted = sortDigits<Keys, Moved>(a, b, r.length, counts, stretches, pool);
    }
    each([&](int64_t k) {
      for (int64_t i = firstOf(k); i < firstOf(k + 1); i++) {
        if constexpr (std::is_same_v<Result, typename Keys::Element>) {
          out[i] = Keys::decode(Moved::key(sorted[i]), r.descending);
        } else {
          out[i] = static_cast<Result>(sorted[i].at);
        }
      }
    });
  }

  static void run(const Rows& r, const RoutineJob& job, Range units, ThreadPool& pool,
                  const std::atomic<bool>* cancel) {
    const auto* in = reinterpret_cast<const typename Keys::Element*>(job.operands[0]);
    auto* out = reinterpret_cast<Result*>(job.results[0]);
    const int64_t first = units.first * r.rowsPerUnit;
    const int64_t last = std::min(r.rows, units.last * r.rowsPerUnit);
    const auto isStopped = [&] { return cancel != nullptr && cancel->load(std::memory_order_relaxed); };
    const int64_t workers = pool.workers();
    const int64_t stretches = stretchesOf(r, workers);
    if (r.rows < workers && job.workspace.byteLength >= workspaceOf(r, stretches)) {
      for (int64_t k = first; k < last && !isStopped(); k++)
        row(r, in + k * r.length, out + k * r.length, job.workspace.data, stretches, &pool);
      return;
    }
    const size_t own = workspaceOf(r, 1);
    const auto most = static_cast<int>(std::min<int64_t>(workers, job.workspace.byteLength / own));
    pool.parallelFor(
        last - first,
        [&](int64_t task, int worker) {
          if (isStopped()) return;
          const int64_t k = first + task;
          row(r, in + k * r.length, out + k * r.length, job.workspace.data + worker * own, 1, nullptr);
        },
        most);
  }
};

// Calls `use` with the sorter of a dtype.
template <bool kIsArgument, typename Keys, typename Use>
auto withKeys(const Rows& r, const Use& use) {
  if constexpr (!kIsArgument) {
    return use(Sorter<Keys, Plain<Keys>, typename Keys::Element>{});
  } else if (r.length <= std::numeric_limits<uint32_t>::max()) {
    return use(Sorter<Keys, Indexed<Keys, uint32_t>, int64_t>{});
  } else {
    return use(Sorter<Keys, Indexed<Keys, uint64_t>, int64_t>{});
  }
}

template <bool isArg, typename Use>
auto withSorter(const Rows& r, const Use& use) {
  if (r.dtype == DType::complex64) return withKeys<isArg, ComplexKeys<uint32_t, 8, isArg>>(r, use);
  if (r.dtype == DType::complex128) return withKeys<isArg, ComplexKeys<uint64_t, 11, isArg>>(r, use);
  return withRealKeys<isArg>(r.dtype, [&](auto keys) { return withKeys<isArg, decltype(keys)>(r, use); });
}

WorkspaceNeed countedNeed(const Rows& r, const ThreadPool& pool) {
  const CountedLine line = r.counted();
  return {line.workspace(line.stretches(pool.workers())), line.workspace(1)};
}

void runCounted(const Rows& r, const RoutineJob& job, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const CountedLine line = r.counted();
  const auto fitting = static_cast<int64_t>(job.workspace.byteLength / line.workspace(1));
  const int64_t stretches = std::min(line.stretches(pool.workers()), fitting);
  const auto order = [&](const auto* keys) {
    countingOrder(line, keys, reinterpret_cast<int64_t*>(job.results[0]),
                  reinterpret_cast<int64_t*>(job.workspace.data), stretches, pool, cancel);
  };
  if (r.dtype == DType::int32) return order(reinterpret_cast<const int32_t*>(job.operands[0]));
  order(reinterpret_cast<const int64_t*>(job.operands[0]));
}

template <bool isArg>
RoutineNeed needOf(const std::vector<int64_t>& numbers, const ThreadPool& pool) {
  const Rows r = readRows(numbers);
  const auto elements = static_cast<size_t>(r.rows * r.length);
  const auto size = static_cast<size_t>(byteLengthOf(r.dtype));
  const WorkspaceNeed workspace =
      isArg && r.isCounted()
          ? countedNeed(r, pool)
          : withSorter<isArg>(r, [&](auto sorter) { return decltype(sorter)::needOf(r, pool); });
  const int64_t units = (r.rows + r.rowsPerUnit - 1) / r.rowsPerUnit;
  return {{elements * size}, {elements * (isArg ? sizeof(int64_t) : size)}, workspace, units};
}

template <bool isArg>
void runSort(const RoutineJob& job, Range units, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Rows r = readRows(job.numbers);
  if (isArg && r.isCounted()) return runCounted(r, job, pool, cancel);
  withSorter<isArg>(r, [&](auto sorter) {
    decltype(sorter)::run(r, job, units, pool, cancel);
    return 0;
  });
}

}  // namespace

const Routine kSort{needOf<false>, runSort<false>};
const Routine kArgsort{needOf<true>, runSort<true>};

}  // namespace weft::cpu
