// Exact sums of float32 by bin (src/graph/exact-sums.ts): a bin has a number for each window of exponents,
// and flags. Threads have copies, of whose windows only those are cleared and added up that some value
// belongs to.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "cpu/bin-job.h"
#include "cpu/bin-keys.h"
#include "cpu/bin-rows.h"
#include "cpu/routines.h"

namespace weft::cpu::bins {

class ExactSums {
 public:
  explicit ExactSums(const Job& job) : job_(job) {
    for (int exponent = 0; exponent < 255; exponent++) {
      const int place = std::max(exponent, 1) - 1;
      windows_[exponent] = static_cast<uint8_t>(place / job.bits);
      shifts_[exponent] = static_cast<uint8_t>(place % job.bits);
    }
  }

  // Adds rows [first, first + rows) to windows, and gives those that it cleared for that, as bits.
  uint64_t gather(RowsRead& read, int64_t first, int64_t rows, uint64_t* own) const {
    uint64_t touched = 0;
    int64_t room[kBlock];
    for (int64_t from = first; from < first + rows; from += kBlock) {
      const int64_t count = std::min(kBlock, first + rows - from);
      const RoutineJob& arrays = read.read(from, count);
      gatherBlock(arrays, from, count, findBins(job_, arrays, from, count, room).bins, own, touched);
    }
    return touched;
  }

  // Adds rows [from, from + count) of these bins to windows, those of which in `touched` are clear.
  void gatherBlock(const RoutineJob& arrays, int64_t from, int64_t count, const int64_t* bins, uint64_t* own,
                   uint64_t& touched) const {
    const auto* const values = reinterpret_cast<const float*>(arrays.operands[job_.hasEdges ? 2 : 1]);
    const int64_t width = job_.width;
    for (int64_t i = 0; i < count; i++) {
      if (bins[i] < 0) continue;
      for (int64_t j = 0; j < width; j++)
        add(values[(from + i) * width + j], own + bins[i] * width + j, own, job_.pitch, touched);
    }
  }

  // Slots [first, last) of the copies together, in the first one; `touched` are the windows of each that
  // count.
  template <typename CopyOf>
  void merge(const std::vector<uint64_t>& touched, const CopyOf& copyOf, int64_t first, int64_t last) const {
    const int64_t size = slotsOfWindow();
    uint64_t* const own = copyOf(0);
    for (int64_t from = first; from < last;) {
      const int64_t window = from / size, to = std::min(last, (window + 1) * size);
      const auto isTouched = [&](size_t copy) { return (touched[copy] >> window & 1) != 0; };
      if (!isTouched(0)) std::fill(own + from, own + to, 0);
      for (size_t copy = 1; copy < touched.size(); copy++) {
        if (!isTouched(copy)) continue;
        const uint64_t* const other = copyOf(static_cast<int64_t>(copy));
        if (window == flags())
          for (int64_t s = from; s < to; s++) own[s] |= other[s];
        else
          for (int64_t s = from; s < to; s++) own[s] += other[s];
      }
      from = to;
    }
  }

 private:
  // As FLAGS of src/graph/exact-sums.ts.
  enum Flag { infinite, minusInfinite, nan, zero, minusZero };
  static constexpr int kFlagField = 12;

  int64_t slotsOfWindow() const { return job_.bins * job_.width; }
  int64_t flags() const { return job_.parts - 1; }

  void add(float value, uint64_t* at, uint64_t* own, int64_t size, uint64_t& touched) const {
    uint32_t word;
    std::memcpy(&word, &value, sizeof word);
    const uint32_t exponent = word >> 23 & 255;
    const bool isMinus = word >> 31 != 0;
    const bool isFlag = exponent == 255 || word << 1 == 0;
    const int64_t window = isFlag ? flags() : windows_[exponent];
    if ((touched >> window & 1) == 0) {
      std::fill_n(own + window * size, size, 0);
      touched |= uint64_t{1} << window;
    }
    if (isFlag) {
      const Flag flag = value != value    ? nan
                        : exponent == 255 ? (isMinus ? minusInfinite : infinite)
                        : isMinus         ? minusZero
                                          : zero;
      at[window * size] |= uint64_t{1} << (kFlagField * flag);
      return;
    }
    const uint64_t fraction = (word & 0x7fffff) | (exponent == 0 ? 0u : 0x800000u);
    const uint64_t number = fraction << shifts_[exponent];
    at[window * size] += isMinus ? -number : number;
  }

  const Job& job_;
  uint8_t windows_[255];
  uint8_t shifts_[255];
};

}  // namespace weft::cpu::bins
