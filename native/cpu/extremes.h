// The smaller and the larger of two numbers, or of each lane of two vectors: NaN where one is, the first of
// two, and -0 is less than 0, so that an extreme is the same in any order. For files compiled once per
// instruction set.
#pragma once
#include <cstdint>
#include <type_traits>

#include "cpu/isa-scope.h"

namespace weft::cpu::WEFT_ISA {
namespace {

template <typename T>
inline __attribute__((always_inline)) T allBits(T a, T b) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  return __builtin_bit_cast(T, __builtin_bit_cast(Bits, a) & __builtin_bit_cast(Bits, b));
}
template <typename T>
inline __attribute__((always_inline)) T anyBits(T a, T b) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  return __builtin_bit_cast(T, __builtin_bit_cast(Bits, a) | __builtin_bit_cast(Bits, b));
}

template <typename V>
inline __attribute__((always_inline)) V smallerOf(V a, V b) {
  const V smaller = a < b ? a : b;
  if constexpr (std::is_floating_point_v<V>) {
    return a != a ? a : a == b ? anyBits(a, b) : smaller;
  } else if constexpr (std::is_integral_v<V>) {
    return smaller;
  } else if constexpr (std::is_floating_point_v<std::decay_t<decltype(a[0])>>) {
    using Bits = decltype(a < b);
    const V ofBoth = reinterpret_cast<V>(reinterpret_cast<Bits>(a) | reinterpret_cast<Bits>(b));
    const V ordered = a == b ? ofBoth : smaller;
    return a == a ? ordered : a;
  } else {
    return smaller;
  }
}
template <typename V>
inline __attribute__((always_inline)) V largerOf(V a, V b) {
  const V larger = a > b ? a : b;
  if constexpr (std::is_floating_point_v<V>) {
    return a != a ? a : a == b ? allBits(a, b) : larger;
  } else if constexpr (std::is_integral_v<V>) {
    return larger;
  } else if constexpr (std::is_floating_point_v<std::decay_t<decltype(a[0])>>) {
    using Bits = decltype(a > b);
    const V ofBoth = reinterpret_cast<V>(reinterpret_cast<Bits>(a) & reinterpret_cast<Bits>(b));
    const V ordered = a == b ? ofBoth : larger;
    return a == a ? ordered : a;
  } else {
    return larger;
  }
}

}  // namespace
}  // namespace weft::cpu::WEFT_ISA
