// The elements of a sparse matrix that a mask keeps, or those of a stretch of columns, in one pass.
#include <bit>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "cpu/compact-kernels.h"
#include "cpu/copy-forward.h"
#include "cpu/sparse-kept-rows.h"
#include "cpu/sparse-lines.h"
#include "cpu/sparse-moves.h"
#include "cpu/sparse-stretches.h"

namespace weft::cpu {
namespace {

struct Keep {
  DType index;
  int64_t rows, stored;
  size_t width;  // bytes of an element
  int64_t first,
      count;  // columns that are kept where there is no mask; columns are counted from the first one
  bool hasMask, isOpen;  // what is behind the last element may stay undefined
};

Keep readKeep(const std::vector<int64_t>& n) {
  if (n.size() != 8) throw std::invalid_argument("eight numbers");
  const Keep k{
      static_cast<DType>(n[0]), n[1], n[2], static_cast<size_t>(n[3]), n[4], n[5], n[6] != 0, n[7] != 0};
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 64;
  if (std::min({k.rows, k.stored, k.count}) < 1 || k.first < 0 || k.width < 1 || k.width > 16 ||
      std::max({k.rows, k.stored, k.first, k.count}) > kMost)
    throw std::invalid_argument("a sparse matrix of which elements are kept");
  return k;
}

template <typename Index, typename Element>
class Keeping {
 public:
  Keeping(const Keep& keep, const RoutineJob& job)
      : keep_(keep),
        lines_(linesAt<Index>(job, 0, 1, keep.stored)),
        values_(reinterpret_cast<const Element*>(job.operands[2])),
        mask_(keep.hasMask ? reinterpret_cast<const uint8_t*>(job.operands[3]) : nullptr),
        areTrue_(keep.hasMask && job.operands[2] == job.operands[3]),
        starts_(reinterpret_cast<Index*>(job.results[0])),
        places_(reinterpret_cast<Index*>(job.results[1])),
        out_(reinterpret_cast<Element*>(job.results[2])) {}

  void write(ThreadPool& pool, const std::atomic<bool>* cancel) const {
    const auto begin = [lines = lines_](int64_t row) { return lines.begin(row); };
    const int64_t end = writeStretchesAtOnce(
        keep_.rows, keep_.stored, kLeastMoved, starts_, pool, cancel, begin,
        [&](Range rows, Range to) { return writeRows(rows, to, cancel); }, places_, out_);
    if (!keep_.isOpen) clearLines({end, keep_.stored}, pool, places_, out_);
  }

 private:
  // Writes what is kept of rows to places from the first one on, and their ends, counted from there.
  int64_t writeRows(Range rows, Range to, const std::atomic<bool>* cancel) const {
    return keepRows(
        lines_, rows, to, starts_, cancel,
        [this](int64_t at, int64_t size, uint8_t* room) { return maskOf(at, size, room); },
        [this](int64_t at, int64_t size, const uint8_t* mask, int64_t kept, int64_t place) {
          move(at, size, mask, kept, place);
        });
  }

  // The mask of a block, 0 behind its last element.
  const uint8_t* maskOf(int64_t at, int64_t size, uint8_t* room) const {
    if (mask_ != nullptr && size == kMaskBlock) return mask_ + at;
    if (mask_ != nullptr) {
      std::memcpy(room, mask_ + at, static_cast<size_t>(size));
    } else {
      // Without a sign there is one comparison.
      using Unsigned = std::make_unsigned_t<Index>;
      const auto first = static_cast<Unsigned>(keep_.first), count = static_cast<Unsigned>(keep_.count);
      const Index* const places = lines_.places + at;
      for (int64_t k = 0; k < size; k++) room[k] = static_cast<Unsigned>(places[k]) - first < count;
    }
    std::memset(room + size, 0, static_cast<size_t>(kMaskBlock - size));
    return room;
  }

  void move(int64_t at, int64_t size, const uint8_t* mask, int64_t kept, int64_t to) const {
    compact(lines_.places + at, size, mask, kept, places_ + to);
    if (keep_.first > 0)
      for (int64_t k = to; k < to + kept; k++) places_[k] = static_cast<Index>(places_[k] - keep_.first);
    if constexpr (sizeof(Element) == 1)
      if (areTrue_) {
        std::memset(out_ + to, 1, static_cast<size_t>(kept));
        return;
      }
    compact(values_ + at, size, mask, kept, out_ + to);
  }

  template <typename T>
  static void compact(const T* from, int64_t size, const uint8_t* mask, int64_t kept, T* to) {
    if (kept == size)
      copyForward(from, size, to);
    else
      compactKernels().values[std::bit_width(sizeof(T)) - 1](mask, from, kept, to);
  }

  const Keep& keep_;
  const SparseLines<Index> lines_;
  const Element* const values_;
  const uint8_t* const mask_;
  // Whether the elements are booleans and their own mask.
  const bool areTrue_;
  Index* const starts_;
  Index* const places_;
  Element* const out_;
};

void run(const RoutineJob& job, Range, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Keep keep = readKeep(job.numbers);
  withIndex(keep.index, [&](auto index) {
    return withWidth(keep.width, [&](auto element) {
      Keeping<decltype(index), decltype(element)>(keep, job).write(pool, cancel);
      return 0;
    });
  });
}

RoutineNeed needOf(const std::vector<int64_t>& numbers, const ThreadPool&) {
  const Keep k = readKeep(numbers);
  const auto bytes = [](int64_t count, size_t size) { return static_cast<size_t>(count) * size; };
  const auto index = static_cast<size_t>(byteLengthOf(k.index));
  const size_t starts = bytes(k.rows + 1, index), places = bytes(k.stored, index);
  std::vector<size_t> operands{starts, places, bytes(k.stored, k.width)};
  if (k.hasMask) operands.push_back(static_cast<size_t>(k.stored));
  return {operands, {starts, places, bytes(k.stored, k.width)}, {}, 1};
}

}  // namespace

const Routine kSparseKept{needOf, run};

}  // namespace weft::cpu
