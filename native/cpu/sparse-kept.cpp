// The elements of a sparse matrix that a mask keeps, or those of a stretch of columns, in one pass.
#include <limits>
#include <stdexcept>

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
void keepElements(const Keep& keep, const RoutineJob& job, ThreadPool& pool,
                  const std::atomic<bool>* cancel) {
  const auto lines = linesAt<Index>(job, 0, 1, keep.stored);
  const auto* const values = reinterpret_cast<const Element*>(job.operands[2]);
  const auto* const mask = keep.hasMask ? reinterpret_cast<const uint8_t*>(job.operands[3]) : nullptr;
  auto* const starts = reinterpret_cast<Index*>(job.results[0]);
  auto* const places = reinterpret_cast<Index*>(job.results[1]);
  auto* const out = reinterpret_cast<Element*>(job.results[2]);
  const auto first = static_cast<Index>(keep.first);
  // Every element is written, and stays where it is kept: no branch depends on what is.
  const auto write = [&](const auto& isKept) {
    return writeRowsAtOnce(
        keep.rows, keep.stored, starts, pool, cancel, [lines](int64_t row) { return lines.begin(row); },
        [lines](int64_t row) { return lines.end(row) - lines.begin(row); },
        [=](int64_t row, int64_t to) {
          for (int64_t k = lines.begin(row), end = lines.begin(row + 1); k < end; k++) {
            const Index column = lines.places[k];
            places[to] = static_cast<Index>(column - first);
            out[to] = values[k];
            to += isKept(column, k) ? 1 : 0;
          }
          return to;
        },
        places, out);
  };
  const auto end = mask != nullptr
                       ? write([mask](Index, int64_t k) { return mask[k] != 0; })
                       : write([first, last = static_cast<Index>(keep.first + keep.count)](
                                   Index column, int64_t) { return column >= first && column < last; });
  if (!keep.isOpen) clearLines({end, keep.stored}, pool, places, out);
}

void run(const RoutineJob& job, Range, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Keep keep = readKeep(job.numbers);
  withIndex(keep.index, [&](auto index) {
    return withWidth(keep.width, [&](auto element) {
      keepElements<decltype(index), decltype(element)>(keep, job, pool, cancel);
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
