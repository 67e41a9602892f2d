// Casts between float32 and halves, bit by bit: loops over them become vector instructions. For files
// compiled once per instruction set.
#pragma once
#include "cpu/isa-scope.h"

namespace weft::cpu::WEFT_ISA {
namespace {

inline uint32_t bitsOf(float value) { return __builtin_bit_cast(uint32_t, value); }
inline float floatOf(uint32_t bits) { return __builtin_bit_cast(float, bits); }

struct FromBrain {
  static float run(uint16_t bits) { return floatOf(static_cast<uint32_t>(bits) << 16); }
};
struct ToBrain {
  static uint16_t run(float value) {
    const uint32_t bits = bitsOf(value);
    const uint32_t rounded = bits + 0x7fff + ((bits >> 16) & 1);
    return static_cast<uint16_t>((value != value ? bits | 0x400000 : rounded) >> 16);
  }
};
struct FromHalf {
  static float run(uint16_t half) {
    const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
    const uint32_t magnitude = half & 0x7fff;
    // Subnormals are counts of 2^-24; others are rebiased, infinities and NaNs to the largest exponent.
    const float small = static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24f;
    const uint32_t normal = (magnitude << 13) + ((magnitude >= 0x7c00 ? 224u : 112u) << 23);
    return floatOf(sign | (magnitude < 0x400 ? bitsOf(small) : normal));
  }
};
struct ToHalf {
  static uint16_t run(float value) {
    const uint32_t bits = bitsOf(value);
    const uint32_t sign = (bits >> 16) & 0x8000;
    const uint32_t magnitude = bits & 0x7fffffff;
    // Adding 0.5 leaves the subnormal's bits, rounded to nearest even, at the bottom of the sum.
    const uint32_t small = bitsOf(floatOf(magnitude) + 0.5f) - bitsOf(0.5f);
    const uint32_t normal = (magnitude + 0xfff + ((magnitude >> 13) & 1) - (112u << 23)) >> 13;
    const uint32_t nan = 0x7e00 | ((magnitude >> 13) & 0x3ff);
    const uint32_t finite = magnitude < 0x38800000 ? small : normal;
    const uint32_t half = magnitude > 0x7f800000 ? nan : magnitude >= 0x477ff000 ? 0x7c00 : finite;
    return static_cast<uint16_t>(sign | half);
  }
};

}  // namespace
}  // namespace weft::cpu::WEFT_ISA
