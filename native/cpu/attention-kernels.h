// The innermost loops of attention, compiled once for each instruction set (attention-lanes.cpp).
#pragma once
#include <cstdint>

namespace weft::cpu {

// Scores of a row are so many floats from one to the next, those behind the last one -infinity.
inline constexpr int64_t kAttentionLanes = 16;

// A row of scores so far: the largest one, and the sum of exponentials of their distances to it.
struct AttentionRow {
  float most, total;
};

struct AttentionKernels {
  // Scales `count` scores and makes them exponentials, less the largest so far, in their place; gives the
  // factor for what was summed before. `count` is a multiple of kAttentionLanes.
  float (*exponentials)(int64_t count, float scale, float* scores, AttentionRow& row);
  // x *= factor.
  void (*multiply)(int64_t count, float factor, float* x);
  void (*fromHalves)(int64_t count, const uint16_t* from, float* to);
  void (*fromBrains)(int64_t count, const uint16_t* from, float* to);
  // x / divisor, rounded.
  void (*toFloats)(int64_t count, float divisor, const float* x, float* to);
  void (*toHalves)(int64_t count, float divisor, const float* x, uint16_t* to);
  void (*toBrains)(int64_t count, float divisor, const float* x, uint16_t* to);
};

}  // namespace weft::cpu
