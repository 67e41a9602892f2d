// The innermost loops of compaction by a mask, compiled once for each instruction set (compact-lanes.cpp).
#pragma once
#include <cstdint>

namespace weft::cpu {

// Elements whose mask is not 0 are kept. A loop ends with the `kept`-th of them, and writes nothing behind
// it.
struct CompactKernels {
  int64_t (*count)(const uint8_t* mask, int64_t size);
  // The places, of which the first element's is `first`.
  void (*places)(const uint8_t* mask, int64_t first, int64_t kept, int64_t* out);
  // The elements, by the logarithm of their bytes.
  void (*values[5])(const uint8_t* mask, const void* in, int64_t kept, void* out);
};

// Those of this processor.
const CompactKernels& compactKernels();

}  // namespace weft::cpu
