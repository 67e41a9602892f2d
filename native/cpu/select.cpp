// Selection from rows without sorting them: the elements at ranks, by counting digits of those elements that
// begin with the digits found so far, the most significant one first; and the first elements with their
// positions, by a heap for each stretch of a row. Equal elements are in the order of their positions, so bits
// do not depend on threads.
#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>
#include <vector>

#include "cpu/routines.h"
#include "cpu/sort-keys.h"
#include "cpu/threads.h"
#include "shared/layout.h"

namespace weft::cpu {
namespace {

constexpr int kSelectBits = 11;
constexpr int kBins = 1 << kSelectBits;
// As SELECTED_RANKS and SELECTED_MOST of src/graph/routines.ts.
constexpr size_t kMostRanks = 4;
constexpr int64_t kMostTop = 2048;
// Elements of a row that a thread looks at with others at least.
constexpr int64_t kLeastStretch = 1 << 15;

struct Rows {
  DType dtype;
  int64_t rows, length;
};

Rows readRows(const std::vector<int64_t>& numbers) {
  if (numbers.size() < 4) throw std::invalid_argument("four numbers at least");
  const auto [dtype, rows, length] = std::tuple(numbers[0], numbers[1], numbers[2]);
  if (dtype < 0 || dtype >= kDTypes) throw std::invalid_argument("a dtype");
  if (rows < 1 || length < 1 || rows > std::numeric_limits<int64_t>::max() / 16 / length)
    throw std::invalid_argument("rows with elements");
  return {static_cast<DType>(dtype), rows, length};
}

size_t padded(size_t bytes) { return (bytes + kHostAlignment - 1) / kHostAlignment * kHostAlignment; }

// Stretches of a row, which several threads take where there are fewer rows than threads.
int64_t stretchesOf(const Rows& r, int64_t workers) {
  return r.rows >= workers ? 1 : std::clamp<int64_t>(r.length / kLeastStretch, 1, workers);
}

// The workspace of a row at a time by all threads, or of as many rows as there are threads; at least of one
// by one.
WorkspaceNeed needOf(const Rows& r, const ThreadPool& pool, size_t ofStretch) {
  const int64_t workers = pool.workers();
  const int64_t together = r.rows >= workers ? workers : stretchesOf(r, workers);
  return {static_cast<size_t>(together) * ofStretch, ofStretch};
}

// Calls `row(k, stretches, memory, pool)` for each row of the units; without a pool it is one thread's.
template <typename Row>
void eachRow(const Rows& r, const RoutineJob& job, Range units, ThreadPool& pool,
             const std::atomic<bool>* cancel, size_t ofStretch, const Row& row) {
  const auto isStopped = [&] { return cancel != nullptr && cancel->load(std::memory_order_relaxed); };
  const auto fitting = static_cast<int64_t>(job.workspace.byteLength / ofStretch);
  const int64_t stretches = std::min(stretchesOf(r, pool.workers()), fitting);
  if (stretches > 1) {
    for (int64_t k = units.first; k < units.last && !isStopped(); k++)
      row(k, stretches, job.workspace.data, &pool);
    return;
  }
  pool.parallelFor(
      units.last - units.first,
      [&](int64_t task, int worker) {
        if (isStopped()) return;
        row(units.first + task, int64_t{1}, job.workspace.data + worker * ofStretch, nullptr);
      },
      static_cast<int>(std::min<int64_t>(pool.workers(), fitting)));
}

template <typename Work>
void eachStretch(int64_t stretches, ThreadPool* pool, const Work& work) {
  if (pool == nullptr) {
    for (int64_t k = 0; k < stretches; k++) work(k);
  } else {
    pool->parallelFor(stretches, [&](int64_t k, int) { work(k); });
  }
}

using Counts = std::array<std::array<int64_t, kBins>, kMostRanks>;

template <typename Keys>
struct Ranks {
  using Key = typename Keys::Key;
  static constexpr int kBits = 8 * sizeof(Key);

  struct Found {
    Key key = 0;
    int64_t rank = 0;
  };

  static bool matches(Key key, Key found, int high) { return high >= kBits || key >> high == found >> high; }

  static void row(const Rows& r, const std::vector<int64_t>& numbers, const RoutineJob& job, int64_t k,
                  int64_t stretches, std::byte* memory, ThreadPool* pool) {
    const auto* in = reinterpret_cast<const Key*>(job.operands[0]) + k * r.length;
    const size_t count = numbers.size() - 3;
    auto* out = reinterpret_cast<Key*>(job.results[0]) + k * static_cast<int64_t>(count);
    auto* counts = reinterpret_cast<Counts*>(memory);
    std::array<Found, kMostRanks> found;
    for (size_t i = 0; i < count; i++) found[i].rank = numbers[3 + i];
    for (int high = kBits; high > 0; high -= kSelectBits) {
      const int low = std::max(0, high - kSelectBits);
      const auto mask = static_cast<uint64_t>((1 << (high - low)) - 1);
      eachStretch(stretches, pool, [&](int64_t stretch) {
        Counts& own = counts[stretch];
        for (size_t i = 0; i < count; i++) own[i].fill(0);
        const int64_t last = r.length * (stretch + 1) / stretches;
        for (int64_t e = r.length * stretch / stretches; e < last; e++) {
          const Key key = Keys::encode(in[e], false);
          for (size_t i = 0; i < count; i++)
            if (matches(key, found[i].key, high)) own[i][static_cast<uint64_t>(key) >> low & mask]++;
        }
      });
      for (size_t i = 0; i < count; i++) pick(found[i], counts, i, stretches, low);
    }
    for (size_t i = 0; i < count; i++) out[i] = Keys::decode(found[i].key, false);
  }

  static void pick(Found& found, const Counts* counts, size_t i, int64_t stretches, int low) {
    for (int bin = 0;; bin++) {
      int64_t total = 0;
      for (int64_t k = 0; k < stretches; k++) total += counts[k][i][bin];
      if (found.rank < total) {
        found.key = static_cast<Key>(found.key | static_cast<uint64_t>(bin) << low);
        return;
      }
      found.rank -= total;
    }
  }
};

RoutineNeed ranksNeedOf(const std::vector<int64_t>& numbers, const ThreadPool& pool) {
  const Rows r = readRows(numbers);
  const size_t count = numbers.size() - 3;
  if (count > kMostRanks) throw std::invalid_argument("fewer ranks");
  for (size_t i = 3; i < numbers.size(); i++)
    if (numbers[i] < 0 || numbers[i] >= r.length) throw std::invalid_argument("ranks of the row");
  const auto size = static_cast<size_t>(byteLengthOf(r.dtype));
  const auto rows = static_cast<size_t>(r.rows);
  return {{rows * static_cast<size_t>(r.length) * size},
          {rows * count * size},
          needOf(r, pool, padded(sizeof(Counts))),
          r.rows};
}

void runRanks(const RoutineJob& job, Range units, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Rows r = readRows(job.numbers);
  withRealKeys<false>(r.dtype, [&](auto keys) {
    eachRow(r, job, units, pool, cancel, padded(sizeof(Counts)),
            [&](int64_t k, int64_t stretches, std::byte* memory, ThreadPool* own) {
              Ranks<decltype(keys)>::row(r, job.numbers, job, k, stretches, memory, own);
            });
    return 0;
  });
}

struct Top {
  Rows rows;
  bool isDescending;
  int64_t count;
};

Top readTop(const std::vector<int64_t>& numbers) {
  if (numbers.size() != 5) throw std::invalid_argument("five numbers");
  const Top t{readRows(numbers), numbers[3] != 0, numbers[4]};
  if (t.count < 1 || t.count > kMostTop || t.count > t.rows.length)
    throw std::invalid_argument("elements of the row");
  return t;
}

template <typename Keys>
struct TopItem {
  typename Keys::Key key;
  int64_t at;
  bool operator<(const TopItem& other) const { return key != other.key ? key < other.key : at < other.at; }
};

template <typename Keys>
size_t topBytes(const Top& t) {
  return padded(static_cast<size_t>(t.count) * sizeof(TopItem<Keys>));
}

template <typename Keys>
void topRow(const Top& t, const RoutineJob& job, int64_t k, int64_t stretches, std::byte* memory,
            ThreadPool* pool) {
  using Item = TopItem<Keys>;
  const int64_t length = t.rows.length;
  const auto* in = reinterpret_cast<const typename Keys::Element*>(job.operands[0]) + k * length;
  const auto itemsOf = [&](int64_t stretch) {
    return reinterpret_cast<Item*>(memory + static_cast<size_t>(stretch) * topBytes<Keys>(t));
  };
  const auto firstOf = [&](int64_t stretch) { return length * stretch / stretches; };
  const auto sizeOf = [&](int64_t stretch) {
    return std::min(t.count, firstOf(stretch + 1) - firstOf(stretch));
  };
  // A heap whose first item is the last of those that are kept.
  eachStretch(stretches, pool, [&](int64_t stretch) {
    Item* items = itemsOf(stretch);
    const int64_t first = firstOf(stretch), size = sizeOf(stretch);
    for (int64_t i = 0; i < size; i++) items[i] = {Keys::encode(in[first + i], t.isDescending), first + i};
    std::make_heap(items, items + size);
    for (int64_t i = first + size; i < firstOf(stretch + 1); i++) {
      const auto key = Keys::encode(in[i], t.isDescending);
      if (!(key < items[0].key)) continue;
      std::pop_heap(items, items + size);
      items[size - 1] = {key, i};
      std::push_heap(items, items + size);
    }
  });
  std::vector<Item> all;
  for (int64_t stretch = 0; stretch < stretches; stretch++)
    all.insert(all.end(), itemsOf(stretch), itemsOf(stretch) + sizeOf(stretch));
  std::partial_sort(all.begin(), all.begin() + t.count, all.end());
  auto* values = reinterpret_cast<typename Keys::Element*>(job.results[0]) + k * t.count;
  auto* indices = reinterpret_cast<int64_t*>(job.results[1]) + k * t.count;
  for (int64_t i = 0; i < t.count; i++) {
    values[i] = in[all[i].at];
    indices[i] = all[i].at;
  }
}

RoutineNeed topNeedOf(const std::vector<int64_t>& numbers, const ThreadPool& pool) {
  const Top t = readTop(numbers);
  const auto size = static_cast<size_t>(byteLengthOf(t.rows.dtype));
  const size_t one = withRealKeys<true>(t.rows.dtype, [&](auto keys) { return topBytes<decltype(keys)>(t); });
  const auto found = static_cast<size_t>(t.rows.rows * t.count);
  return {{static_cast<size_t>(t.rows.rows * t.rows.length) * size},
          {found * size, found * sizeof(int64_t)},
          needOf(t.rows, pool, one),
          t.rows.rows};
}

void runTop(const RoutineJob& job, Range units, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Top t = readTop(job.numbers);
  withRealKeys<true>(t.rows.dtype, [&](auto keys) {
    using Keys = decltype(keys);
    eachRow(t.rows, job, units, pool, cancel, topBytes<Keys>(t),
            [&](int64_t k, int64_t stretches, std::byte* memory, ThreadPool* own) {
              topRow<Keys>(t, job, k, stretches, memory, own);
            });
    return 0;
  });
}

}  // namespace

const Routine kRanks{ranksNeedOf, runRanks};
const Routine kTop{topNeedOf, runTop};

}  // namespace weft::cpu
