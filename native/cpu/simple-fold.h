// Folds whose accumulator is one value: sums, products, extremes and truth, of elements or of what a cheap op
// makes of them. For files compiled once per instruction set; reduce.cpp has the monoids.
#pragma once
#include <utility>

#include "cpu/accumulate.h"

namespace weft::cpu::WEFT_ISA {
namespace {

template <int Count>
using Lanes = std::make_integer_sequence<int, Count>;

// The vector rotated by `Shift` lanes.
template <int Shift, typename T, int... Lane>
inline __attribute__((always_inline)) Vector<T> rotated(Vector<T> v, std::integer_sequence<int, Lane...>) {
  return __builtin_shufflevector(v, v, (Lane + Shift) % kLanes<T>...);
}

// Lane l meets lane l + Half, then l + Half / 2 and so on.
template <typename Op, typename T, int Half>
T foldVector(Vector<T> v) {
  if constexpr (Half == 0) {
    return v[0];
  } else {
    return foldVector<Op, T, Half / 2>(Op::combine(v, rotated<Half, T>(v, Lanes<kLanes<T>>())));
  }
}

// From an initializer with all lanes gcc makes one broadcast, not one instruction for each lane.
template <typename T, int... Lane>
inline __attribute__((always_inline)) Vector<T> splat(T value, std::integer_sequence<int, Lane...>) {
  return Vector<T>{((void)Lane, value)...};
}
template <typename T>
inline __attribute__((always_inline)) Vector<T> splat(T value) {
  return splat<T>(value, Lanes<kLanes<T>>());
}

// Of groups of `Count` lanes in two vectors, the halves of each that begin at `First`, one after the other.
template <int Count, int First, typename T, int... Lane>
inline __attribute__((always_inline)) Vector<T> halvesOf(Vector<T> a, Vector<T> b,
                                                         std::integer_sequence<int, Lane...>) {
  return __builtin_shufflevector(a, b, Lane / (Count / 2) * Count + Lane % (Count / 2) + First...);
}

// As foldVector, of `Count` vectors at once, as many as they have lanes at first: the results are the lanes
// of one. Vectors hold kLanes / Count groups of lanes that go together, and with each step half as many.
template <typename Op, typename T, int Count>
inline __attribute__((always_inline)) Vector<T> foldTogether(Vector<T>* v) {
  if constexpr (Count == 1) {
    return v[0];
  } else {
    constexpr int half = Count / 2;
    constexpr Lanes<kLanes<T>> lanes;
#pragma GCC unroll 64
    for (int i = 0; i < half; i++) {
      const Vector<T> a = v[2 * i];
      const Vector<T> b = v[2 * i + 1];
      v[i] = Op::combine(halvesOf<Count, 0, T>(a, b, lanes), halvesOf<Count, half, T>(a, b, lanes));
    }
    return foldTogether<Op, T, half>(v);
  }
}

// An element as it is.
struct Itself {
  template <typename V>
  static V run(V a) {
    return a;
  }
};

// Combines what a cheap op makes of each element, which is computed on the way.
template <typename Op, typename T, typename Of = Itself, bool IsBinary = false>
struct Simple {
  using In = T;
  using Out = T;
  struct Leaf {
    alignas(64) T v[kChunk];
  };
  using Node = Leaf;
  using Second = std::conditional_t<IsBinary, T, int64_t>;
  using From = Source<T, Second>;
  static constexpr bool kIndexed = IsBinary;
  static constexpr bool kCounts = false;
  static constexpr bool kFolds = true;
  static constexpr bool kWhole = true;
  static constexpr int kWidth = kLanes<T>;
  static constexpr int kVectors = kChunk / kWidth;
  // As many vectors at a time as there are registers for.
  static constexpr int kGroup = kVectors < 8 ? kVectors : 8;

  static T pad() { return Op::template identity<T>(); }
  static Second padSecond() { return Second(0); }
  static void open(Leaf& leaf) {
    for (int l = 0; l < kChunk; l++) leaf.v[l] = pad();
  }

  // `count` more chunks for the vectors from `first` on. `Repeated`: whether the lanes of the first argument
  // are equal (1), or those of the second (2), so that the first lane is enough.
  template <bool IsFar, int Repeated = 0>
  static inline __attribute__((always_inline)) void takeSteps(Vector<T>* acc, const From& from, int first,
                                                              int64_t count) {
    const T* x = Repeated == 1 ? from.x : from.x + first * kWidth;
    const Second* y = !IsBinary || Repeated == 2 ? from.index : from.index + first * kWidth;
    // Not unrolled: gcc would read all chunks of one vector, then all of the next, which no hardware
    // prefetcher follows.
#pragma GCC unroll 1
    for (int64_t k = 0; k < count; k++) {
      [[maybe_unused]] Vector<T> same;
      if constexpr (Repeated == 1) same = splat<T>(*x);
      if constexpr (Repeated == 2) same = splat<T>(*y);
#pragma GCC unroll 8
      for (int v = 0; v < kGroup; v++) {
        if constexpr (IsFar) prefetchAhead(x, v, from.ahead);
        if constexpr (Repeated == 1)
          acc[v] = Op::combine(acc[v], Of::run(same, loadVector(y + v * kWidth)));
        else if constexpr (Repeated == 2)
          acc[v] = Op::combine(acc[v], Of::run(loadVector(x + v * kWidth), same));
        else if constexpr (IsBinary)
          acc[v] = Op::combine(acc[v], Of::run(loadVector(x + v * kWidth), loadVector(y + v * kWidth)));
        else
          acc[v] = Op::combine(acc[v], Of::run(loadVector(x + v * kWidth)));
      }
      x += from.stride;
      if constexpr (IsBinary) y += from.indexStride;
    }
  }
  static inline __attribute__((always_inline)) void take(Vector<T>* acc, const From& from, int first,
                                                         int64_t count) {
    if constexpr (IsBinary) {
      if (from.isRepeated) return takeSteps<false, 1>(acc, from, first, count);
      if (from.isSecondRepeated) return takeSteps<false, 2>(acc, from, first, count);
    }
    if (from.ahead != 0)
      takeSteps<true>(acc, from, first, count);
    else
      takeSteps<false>(acc, from, first, count);
  }
  static inline __attribute__((always_inline)) void clear(Vector<T>* acc) {
    const Vector<T> none = splat(pad());
#pragma GCC unroll 8
    for (int v = 0; v < kGroup; v++) acc[v] = none;
  }

  static void run(Leaf& leaf, const From& from, int64_t count) {
    for (int g = 0; g < kVectors; g += kGroup) {
      Vector<T> acc[kGroup];
#pragma GCC unroll 8
      for (int v = 0; v < kGroup; v++) acc[v] = loadVector(leaf.v + (g + v) * kWidth);
      take(acc, from, g, count);
#pragma GCC unroll 8
      for (int v = 0; v < kGroup; v++) storeVector(leaf.v + (g + v) * kWidth, acc[v]);
    }
  }
  // Sums of what two values make are of blocks that stay in the caches.
  static constexpr int64_t kTogether = IsBinary ? 4 : 1;

  template <int64_t Leaves>
  static void runWhole(const From& from, Node* levels, int64_t stride, int64_t leaves) {
    for (int g = 0; g < kVectors; g += kGroup) {
      Vector<T> acc[kGroup];
      Node* level = levels;
      int64_t left = leaves;
      if constexpr (Leaves == 1) {
        clear(acc);
        take(acc, from, g, kLeafSteps);
      } else {
        static_assert(Leaves == 4);
        takeFourLeaves(acc, from, g);
        level += 2 * stride;
        left >>= 2;
      }
      for (; left & 1; left >>= 1) {
#pragma GCC unroll 8
        for (int v = 0; v < kGroup; v++)
          acc[v] = Op::combine(loadVector(level->v + (g + v) * kWidth), acc[v]);
        level += stride;
      }
#pragma GCC unroll 8
      for (int v = 0; v < kGroup; v++) storeVector(level->v + (g + v) * kWidth, acc[v]);
    }
  }
  // Four leaves as one: the first with the second, the third with the fourth, then both pairs.
  static inline __attribute__((always_inline)) void takeFourLeaves(Vector<T>* acc, From from, int first) {
    Vector<T> earlier[kGroup], pair[kGroup];
    clear(earlier);
    clear(pair);
#pragma GCC unroll 1
    for (int leaf = 0; leaf < 4; leaf++) {
      clear(acc);
      take(acc, from, first, kLeafSteps);
      if (leaf % 2 == 0) copy(earlier, acc);
      if (leaf % 2 == 1) join(earlier, acc);
      if (leaf == 1) copy(pair, acc);
      from.x += kLeafSteps * from.stride;
      if constexpr (IsBinary) from.index += kLeafSteps * from.indexStride;
    }
    join(pair, acc);
  }
  static inline __attribute__((always_inline)) void copy(Vector<T>* to, const Vector<T>* acc) {
#pragma GCC unroll 8
    for (int v = 0; v < kGroup; v++) to[v] = acc[v];
  }
  static inline __attribute__((always_inline)) void join(const Vector<T>* earlier, Vector<T>* acc) {
#pragma GCC unroll 8
    for (int v = 0; v < kGroup; v++) acc[v] = Op::combine(earlier[v], acc[v]);
  }

  // The last vector of `folded`, of a row of `steps` chunks.
  static inline __attribute__((always_inline)) Vector<T> rowVector(const From& from, int64_t steps) {
    Vector<T> v[kVectors];
#pragma GCC unroll 1
    for (int g = 0; g < kVectors; g += kGroup) {
      Vector<T> acc[kGroup];
      clear(acc);
      take(acc, from, g, steps);
#pragma GCC unroll 8
      for (int i = 0; i < kGroup; i++) v[g + i] = acc[i];
    }
    return halved(v);
  }
  static Vector<T> foldedRows(From from, int64_t rowStep, int64_t secondStep, int64_t steps, int64_t count) {
    Vector<T> rows[kWidth];
    for (int64_t r = 0; r < count; r++) {
      rows[r] = rowVector(from, steps);
      from.x += rowStep;
      if constexpr (IsBinary) from.index += secondStep;
    }
    for (int64_t r = count; r < kWidth; r++) rows[r] = Vector<T>{};
    return foldTogether<Op, T, kWidth>(rows);
  }

  static void close(const Leaf& leaf, Node& node) { node = leaf; }
  template <int N>
  static void merge(Node& a, const Node& b, int offset) {
    if constexpr (N < kLanes<T>) {
      for (int l = 0; l < N; l++) a.v[l] = Op::combine(a.v[l], b.v[l + offset]);
    } else {
      for (int l = 0; l < N; l += kLanes<T>) {
        storeVector(a.v + l, Op::combine(loadVector(a.v + l), loadVector(b.v + l + offset)));
      }
    }
  }
  static void copyLane(Node& to, int64_t i, const Node& from, int64_t k) { to.v[i] = from.v[k]; }
  template <int N>
  static T finish(const Node& node, T* d) {
    for (int l = 0; l < N; l++) d[l] = node.v[l];
    return node.v[0];
  }
  static inline __attribute__((always_inline)) Vector<T> halved(Vector<T>* v) {
#pragma GCC unroll 6
    for (int half = kVectors / 2; half > 0; half /= 2) {
#pragma GCC unroll 32
      for (int i = 0; i < half; i++) v[i] = Op::combine(v[i], v[i + half]);
    }
    return v[0];
  }
  static T folded(const Node& node) {
    Vector<T> v[kVectors];
#pragma GCC unroll 32
    for (int i = 0; i < kVectors; i++) v[i] = loadVector(node.v + i * kLanes<T>);
    return foldVector<Op, T, kLanes<T> / 2>(halved(v));
  }
};

}  // namespace
}  // namespace weft::cpu::WEFT_ISA
