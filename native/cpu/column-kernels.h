// Rows of a few elements each, as channels of pixels, to lanes and back, compiled once for each instruction
// set (column-lanes.cpp).
#pragma once
#include <cstdint>

namespace weft::cpu {

inline constexpr int kMostColumns = 9;

// Of `width` columns, at most kMostColumns: memory[l * width + c] = columns[c][l], and back.
struct ColumnKernels {
  void (*join)(void* memory, const void* const* columns, int64_t count, int width);
  void (*part)(void* const* columns, const void* memory, int64_t count, int width);
};

// Those of this processor, by the logarithm of an element's bytes.
const ColumnKernels* columnKernels();

}  // namespace weft::cpu
