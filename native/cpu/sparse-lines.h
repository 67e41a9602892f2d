// The starts and columns of a sparse matrix, given by rows, as routines read them: numbers that cannot be are
// found before anything runs, and here read within their lines.
#pragma once
#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "cpu/tape.h"

namespace weft::cpu {

template <typename Index>
struct SparseLines {
  const Index* starts;
  const Index* places;
  int64_t stored;

  int64_t begin(int64_t row) const { return std::clamp<int64_t>(starts[row], 0, stored); }
  // Of a row whose end is before its beginning, that one.
  int64_t end(int64_t row) const { return std::max(begin(row), begin(row + 1)); }
};

template <typename Use>
auto withIndex(DType index, const Use& use) {
  if (index == DType::int32) return use(int32_t{});
  if (index == DType::int64) return use(int64_t{});
  throw std::invalid_argument("starts and columns of int32 or int64");
}

// Rows that a thread has at a time.
inline constexpr int64_t kRowsAtOnce = 256;

}  // namespace weft::cpu
