// Whether integers are among those of a set in order. One bit stands for each value from the least one of the
// set to the greatest where the workspace has as many; else each is searched for by halves, several at once,
// so that they wait for memory together.
#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "cpu/routines.h"
#include "cpu/tape.h"
#include "cpu/threads.h"

namespace weft::cpu {
namespace {

// Elements of a task.
constexpr int64_t kStretch = 1 << 16;
// Elements that are searched for at once.
constexpr int kTogether = 16;
constexpr size_t kMostBytesOfFew = 1 << 20;

struct Members {
  DType dtype;
  // Elements, those of the set, and those of a unit.
  int64_t size, count, unit;
  bool isInverse;

  // 64 bits for each value of the set; of few, as many as there are results, which are written anyway.
  size_t tableBytes() const {
    const size_t few = std::min(static_cast<size_t>(size), kMostBytesOfFew);
    return (std::max(static_cast<size_t>(count) * 8, few) + 7) / 8 * 8;
  }
};

Members readMembers(const std::vector<int64_t>& numbers) {
  if (numbers.size() != 5) throw std::invalid_argument("five numbers");
  if (numbers[0] < 0 || numbers[0] >= kDTypes) throw std::invalid_argument("a dtype");
  if (numbers[1] < 1 || numbers[1] > std::numeric_limits<int64_t>::max() / 16)
    throw std::invalid_argument("elements");
  if (numbers[2] < 1 || numbers[2] > std::numeric_limits<int32_t>::max())
    throw std::invalid_argument("a set with elements");
  if (numbers[3] < 1) throw std::invalid_argument("units with elements");
  return {static_cast<DType>(numbers[0]), numbers[1], numbers[2], numbers[3], numbers[4] != 0};
}

// Calls `use` with a zero of an integer dtype.
template <typename Use>
void withInteger(DType dtype, const Use& use) {
  switch (dtype) {
    case DType::int8:
      return use(int8_t{});
    case DType::int16:
      return use(int16_t{});
    case DType::int32:
      return use(int32_t{});
    case DType::int64:
      return use(int64_t{});
    case DType::uint8:
      return use(uint8_t{});
    case DType::uint16:
      return use(uint16_t{});
    case DType::uint32:
      return use(uint32_t{});
    case DType::uint64:
      return use(uint64_t{});
    default:
      throw std::invalid_argument("integers");
  }
}

RoutineNeed needOf(const std::vector<int64_t>& numbers, const ThreadPool&) {
  const Members m = readMembers(numbers);
  withInteger(m.dtype, [](auto) {});
  const auto bytes = static_cast<size_t>(byteLengthOf(m.dtype));
  const auto size = static_cast<size_t>(m.size);
  return {{size * bytes, static_cast<size_t>(m.count) * bytes},
          {size},
          {m.tableBytes(), 0},
          (m.size + m.unit - 1) / m.unit};
}

// How far a value is from the least one, round the end of its dtype for those below.
template <typename T>
uint64_t distance(T value, T least) {
  using Unsigned = std::make_unsigned_t<T>;
  return static_cast<Unsigned>(static_cast<Unsigned>(value) - static_cast<Unsigned>(least));
}

template <typename T>
struct Table {
  uint64_t* words;
  T least;
  uint64_t range;

  void fill(const T* set, int64_t count) const {
    std::memset(words, 0, (range / 64 + 1) * sizeof(uint64_t));
    for (int64_t i = 0; i < count; i++) {
      const uint64_t at = distance(set[i], least);
      words[at / 64] |= uint64_t{1} << (at % 64);
    }
  }
  void look(const T* in, int64_t count, uint8_t inverse, uint8_t* out) const {
    for (int64_t i = 0; i < count; i++) {
      const uint64_t at = distance(in[i], least);
      const bool isInside = at <= range;
      const uint64_t place = isInside ? at : 0;
      const auto bit = static_cast<uint8_t>(words[place / 64] >> (place % 64) & 1);
      out[i] = static_cast<uint8_t>((bit & static_cast<uint8_t>(isInside)) ^ inverse);
    }
  }
};

// The last element that is not above a value, or the first one, is the value.
template <typename T>
void search(const T* set, int64_t size, const T* in, int64_t count, uint8_t inverse, uint8_t* out) {
  for (int64_t i = 0; i < count; i += kTogether) {
    const int64_t some = std::min<int64_t>(kTogether, count - i);
    T sought[kTogether] = {};
    std::copy_n(in + i, some, sought);
    int32_t at[kTogether] = {};
    for (int64_t left = size; left > 1;) {
      const auto half = static_cast<int32_t>(left / 2);
      for (int l = 0; l < kTogether; l++) at[l] += set[at[l] + half] <= sought[l] ? half : 0;
      left -= half;
    }
    for (int64_t l = 0; l < some; l++)
      out[i + l] = static_cast<uint8_t>(static_cast<uint8_t>(set[at[l]] == sought[l]) ^ inverse);
  }
}

template <typename T>
void runOf(const Members& m, const RoutineJob& job, Range units, ThreadPool& pool,
           const std::atomic<bool>* cancel) {
  const auto* const in = reinterpret_cast<const T*>(job.operands[0]);
  const auto* const set = reinterpret_cast<const T*>(job.operands[1]);
  auto* const out = reinterpret_cast<uint8_t*>(job.results[0]);
  const int64_t first = units.first * m.unit, last = std::min(m.size, units.last * m.unit);
  const uint8_t inverse = m.isInverse ? 1 : 0;
  const Table<T> table{reinterpret_cast<uint64_t*>(job.workspace.data), set[0],
                       distance(set[m.count - 1], set[0])};
  const bool isTable = table.range / 64 < job.workspace.byteLength / sizeof(uint64_t);
  if (isTable) table.fill(set, m.count);
  pool.parallelFor((last - first + kStretch - 1) / kStretch, [&](int64_t k, int) {
    if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) return;
    const int64_t from = first + k * kStretch, count = std::min(kStretch, last - from);
    if (isTable) return table.look(in + from, count, inverse, out + from);
    search(set, m.count, in + from, count, inverse, out + from);
  });
}

void run(const RoutineJob& job, Range units, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Members m = readMembers(job.numbers);
  withInteger(m.dtype, [&](auto zero) { runOf<decltype(zero)>(m, job, units, pool, cancel); });
}

}  // namespace

const Routine kMembers{needOf, run};

}  // namespace weft::cpu
