// Ends of sparse rows of which a mask keeps some elements. Stored elements are looked at wherever rows begin,
// a block at a time, so that a row is no loop of its own.
#pragma once
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>

#include "cpu/sparse-lines.h"

namespace weft::cpu {

// Stored elements that are looked at together.
inline constexpr int64_t kMaskBlock = 2048;

// How many of a block's elements are kept before each of them, by the bytes of its mask.
class KeptBefore {
 public:
  explicit KeptBefore(const uint8_t* mask) {
    constexpr uint64_t kEach = 0x0101010101010101, kLow = 0x7f7f7f7f7f7f7f7f;
    uint32_t sum = 0;
    for (size_t word = 0; word < kWords; word++) {
      uint64_t bytes;
      std::memcpy(&bytes, mask + word * sizeof bytes, sizeof bytes);
      const uint64_t isKept = ((((bytes & kLow) + kLow) | bytes) >> 7) & kEach;
      const uint64_t upTo = isKept * kEach;
      const uint64_t inWord = upTo << 8;
      std::memcpy(within_ + word * sizeof inWord, &inWord, sizeof inWord);
      before_[word] = sum;
      sum += static_cast<uint32_t>(upTo >> 56);
    }
    before_[kWords] = sum;
    within_[kMaskBlock] = 0;
  }

  int64_t operator()(int64_t element) const { return before_[element / 8] + within_[element]; }

 private:
  static_assert(std::endian::native == std::endian::little);
  static constexpr size_t kWords = kMaskBlock / sizeof(uint64_t);
  uint32_t before_[kWords + 1];
  uint8_t within_[kMaskBlock + 1];
};

// Writes the ends of rows, counted from 0, as `starts` from rows.first + 1 on. `maskOf(at, size, room)` gives
// the mask of a block of elements, 0 behind its last one; `move(at, size, mask, kept, to)` moves those that
// it keeps to places of the result from `to` on. Gives how many are kept; 0 where the work is cancelled.
template <typename Index, typename Start, typename MaskOf, typename Move>
int64_t keepRows(const SparseLines<Index>& lines, Range rows, Range to, Start* starts,
                 const std::atomic<bool>* cancel, const MaskOf& maskOf, const Move& move) {
  uint8_t room[kMaskBlock];
  const int64_t first = lines.begin(rows.first);
  // Of starts that cannot be, rows may have more than there is room for.
  const int64_t end =
      std::clamp<int64_t>(lines.begin(rows.last), first, first + std::max<int64_t>(0, to.last - to.first));
  int64_t row = rows.first, kept = 0;
  for (int64_t at = first; at < end || row < rows.last; at += kMaskBlock) {
    if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) return 0;
    const int64_t size = std::clamp<int64_t>(end - at, 0, kMaskBlock);
    const uint8_t* const mask = maskOf(at, size, room);
    const KeptBefore before(mask);
    for (; row < rows.last && (at + size >= end || lines.begin(row + 1) <= at + size); row++) {
      const int64_t stop = std::clamp<int64_t>(lines.begin(row + 1) - at, 0, size);
      starts[row + 1] = static_cast<Start>(kept + before(stop));
    }
    if (const int64_t own = before(size); own > 0) {
      move(at, size, mask, own, to.first + kept);
      kept += own;
    }
  }
  return kept;
}

}  // namespace weft::cpu
