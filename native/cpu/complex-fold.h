// Complex sums and products. For files compiled once per instruction set.
#pragma once
#include "cpu/accumulate.h"
#include "cpu/rounded-products.h"

namespace weft::cpu::WEFT_ISA {
namespace {

template <bool IsSum, typename T>
struct ComplexFold {
  struct In {
    T re, im;
  };
  using Out = In;
  struct Leaf {
    In v[kChunk];
  };
  using Node = Leaf;
  using Second = int64_t;
  static constexpr bool kIndexed = false;
  static constexpr bool kCounts = false;
  static constexpr bool kFolds = false;
  static constexpr bool kWhole = false;

  static In pad() { return {IsSum ? T(0) : T(1), T(0)}; }
  static In combine(In a, In b) {
    if constexpr (IsSum)
      return {a.re + b.re, a.im + b.im};
    else
      return complexProduct(a, b);
  }
  static void open(Leaf& leaf) {
    for (int l = 0; l < kChunk; l++) leaf.v[l] = pad();
  }
  static void run(Leaf& leaf, const Source<In>& from, int64_t count) {
    for (int64_t k = 0; k < count; k++) {
      const In* x = from.x + k * from.stride;
      for (int l = 0; l < kChunk; l++) leaf.v[l] = combine(leaf.v[l], x[l]);
    }
  }
  static void close(const Leaf& leaf, Node& node) { node = leaf; }
  template <int N>
  static void merge(Node& a, const Node& b, int offset) {
#pragma GCC ivdep
    for (int l = 0; l < N; l++) a.v[l] = combine(a.v[l], b.v[l + offset]);
  }
  static void copyLane(Node& to, int64_t i, const Node& from, int64_t k) { to.v[i] = from.v[k]; }
  template <int N>
  static Out finish(const Node& node, Out* d) {
    for (int l = 0; l < N; l++) d[l] = node.v[l];
    return node.v[0];
  }
};

template <typename T>
struct ComplexProducts : ComplexFold<false, T> {
  using In = typename ComplexFold<false, T>::In;
  static In ofNeighbours(const In* x) {
    In v[kChunk];
    for (int l = 0; l < kChunk; l++) v[l] = x[l];
    for (int count = kChunk / 2; count > 0; count /= 2)
      for (int l = 0; l < count; l++) v[l] = complexProduct(v[2 * l], v[2 * l + 1]);
    return v[0];
  }
};

}  // namespace
}  // namespace weft::cpu::WEFT_ISA
