// Products that are rounded before they are added. gcc's vectorizer otherwise makes one instruction of
// products with their differences and sums (vfmaddsub), whatever -ffp-contract says, so that complex
// products had other bits on newer processors. For files compiled once per instruction set.
#pragma once
#include "cpu/isa-scope.h"

namespace weft::cpu::WEFT_ISA {
namespace {

template <typename T>
inline __attribute__((always_inline)) T rounded(T product) {
#if __has_builtin(__builtin_assoc_barrier)
  return __builtin_assoc_barrier(product);
#else
  return product;
#endif
}

// Of any structures of two parts.
template <typename Complex>
inline Complex complexProduct(Complex a, Complex b) {
  return {rounded(a.re * b.re) - rounded(a.im * b.im), rounded(a.re * b.im) + rounded(a.im * b.re)};
}

}  // namespace
}  // namespace weft::cpu::WEFT_ISA
