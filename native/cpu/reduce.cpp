// Sums, products, extremes and truth: reductions whose accumulator is one value. Compiled once per
// instruction set.
#include "cpu/accumulate.h"
#include "cpu/scalar-ops.h"

namespace weft::cpu::WEFT_ISA {
namespace {

struct Sum {
  template <typename T>
  static constexpr T identity() {
    return T(0);
  }
  template <typename V>
  static V combine(V a, V b) {
    return a + b;
  }
};
struct Product {
  template <typename T>
  static constexpr T identity() {
    return T(1);
  }
  template <typename V>
  static V combine(V a, V b) {
    return a * b;
  }
};
template <typename T>
constexpr T kLargest = std::is_same_v<T, float>    ? static_cast<T>(__builtin_inff())
                       : std::is_same_v<T, double> ? static_cast<T>(__builtin_inf())
                       : std::is_signed_v<T>       ? static_cast<T>((uint64_t{1} << (sizeof(T) * 8 - 1)) - 1)
                                                   : static_cast<T>(-1);
template <typename T>
constexpr T kSmallest = std::is_floating_point_v<T> ? -kLargest<T>
                        : std::is_signed_v<T>       ? static_cast<T>(-kLargest<T> - 1)
                                                    : T(0);
// A comparison with NaN is false, so that the second is taken; a first that is NaN stays.
struct Min {
  template <typename T>
  static constexpr T identity() {
    return kLargest<T>;
  }
  template <typename V>
  static V combine(V a, V b) {
    const V smaller = a < b ? a : b;
    return a == a ? smaller : a;
  }
};
struct Max {
  template <typename T>
  static constexpr T identity() {
    return kSmallest<T>;
  }
  template <typename V>
  static V combine(V a, V b) {
    const V larger = a > b ? a : b;
    return a == a ? larger : a;
  }
};
// On booleans, which are bytes of 0 or 1.
struct Any {
  template <typename T>
  static constexpr T identity() {
    return T(0);
  }
  template <typename V>
  static V combine(V a, V b) {
    return a | b;
  }
};
struct All {
  template <typename T>
  static constexpr T identity() {
    return T(1);
  }
  template <typename V>
  static V combine(V a, V b) {
    return a & b;
  }
};

template <typename T>
using LaneIndex = std::conditional_t<
    sizeof(T) == 1, int8_t,
    std::conditional_t<sizeof(T) == 2, int16_t, std::conditional_t<sizeof(T) == 4, int32_t, int64_t>>>;

// Lane l meets lane l + Half, then l + Half / 2 and so on.
template <typename Op, typename T, int Half>
T foldVector(Vector<T> v) {
  if constexpr (Half == 0) {
    return v[0];
  } else {
    Vector<LaneIndex<T>> upper;
#pragma GCC unroll 64
    for (int l = 0; l < kLanes<T>; l++) upper[l] = static_cast<LaneIndex<T>>((l + Half) % kLanes<T>);
    return foldVector<Op, T, Half / 2>(Op::combine(v, __builtin_shuffle(v, upper)));
  }
}

template <typename T>
inline __attribute__((always_inline)) Vector<T> splat(T value) {
  Vector<T> v;
#pragma GCC unroll 64
  for (int l = 0; l < kLanes<T>; l++) v[l] = value;
  return v;
}

// As foldVector, of `Count` vectors at once, as many as they have lanes at first: the results are the lanes
// of one. Vectors hold kLanes / Count groups of lanes that go together, and with each step half as many.
template <typename Op, typename T, int Count>
inline __attribute__((always_inline)) Vector<T> foldTogether(Vector<T>* v) {
  if constexpr (Count == 1) {
    return v[0];
  } else {
    constexpr int half = Count / 2;
    Vector<LaneIndex<T>> lower, upper;
#pragma GCC unroll 64
    for (int l = 0; l < kLanes<T>; l++) {
      // Lane l of the result comes from group l / half of the two vectors, one after the other.
      const int from = l / half * Count + l % half;
      lower[l] = static_cast<LaneIndex<T>>(from);
      upper[l] = static_cast<LaneIndex<T>>(from + half);
    }
#pragma GCC unroll 64
    for (int i = 0; i < half; i++) {
      const Vector<T> a = v[2 * i];
      const Vector<T> b = v[2 * i + 1];
      v[i] = Op::combine(__builtin_shuffle(a, b, lower), __builtin_shuffle(a, b, upper));
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

// How far ahead of what is read far memory is asked for: hardware prefetchers stop at the end of each page.
constexpr int64_t kAheadBytes = 4096;

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

  // `count` more chunks for the vectors from `first` on.
  template <bool IsFar>
  static inline __attribute__((always_inline)) void takeSteps(Vector<T>* acc, const From& from, int first,
                                                              int64_t count) {
    const T* x = from.x + first * kWidth;
    const Second* y = IsBinary ? from.index + first * kWidth : nullptr;
    for (int64_t k = 0; k < count; k++) {
#pragma GCC unroll 8
      for (int v = 0; v < kGroup; v++) {
        if constexpr (IsFar) {
          if (v * kVectorBytes % 64 == 0)
            __builtin_prefetch(reinterpret_cast<const char*>(x + v * kWidth) + kAheadBytes);
        }
        if constexpr (IsBinary)
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
    if (from.isFar)
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
  static void runWhole(const From& from, Node* levels, int64_t stride, int64_t leaves) {
    for (int g = 0; g < kVectors; g += kGroup) {
      Vector<T> acc[kGroup];
      clear(acc);
      take(acc, from, g, kLeafSteps);
      Node* level = levels;
      for (int64_t left = leaves; left & 1; left >>= 1) {
#pragma GCC unroll 8
        for (int v = 0; v < kGroup; v++)
          acc[v] = Op::combine(loadVector(level->v + (g + v) * kWidth), acc[v]);
        level += stride;
      }
#pragma GCC unroll 8
      for (int v = 0; v < kGroup; v++) storeVector(level->v + (g + v) * kWidth, acc[v]);
    }
  }

  // What `folded` takes its last vector to be, of a row of `steps` chunks.
  static inline __attribute__((always_inline)) Vector<T> rowVector(const From& from, int64_t steps) {
    Vector<T> v[kVectors];
#pragma GCC unroll 8
    for (int g = 0; g < kVectors; g += kGroup) {
      clear(v + g);
      take(v + g, from, g, steps);
    }
    return halved(v);
  }
  static void foldedRow(const From& from, int64_t steps, T* out) {
    const Vector<T> value = splat<T>(foldVector<Op, T, kWidth / 2>(rowVector(from, steps)));
#pragma GCC unroll 32
    for (int v = 0; v < kVectors; v++) storeVector(out + v * kWidth, value);
  }
  static void foldedRows(From from, int64_t rowStep, int64_t secondStep, int64_t steps, T* out,
                         int64_t outStep) {
    Vector<T> rows[kWidth];
    for (int r = 0; r < kWidth; r++) {
      rows[r] = rowVector(from, steps);
      from.x += rowStep;
      if constexpr (IsBinary) from.index += secondStep;
    }
    const Vector<T> results = foldTogether<Op, T, kWidth>(rows);
    for (int r = 0; r < kWidth; r++) {
      const Vector<T> value = splat<T>(results[r]);
#pragma GCC unroll 32
      for (int v = 0; v < kVectors; v++) storeVector(out + r * outStep + v * kWidth, value);
    }
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

struct AbsOf {
  template <typename V>
  static V run(V a) {
    // Clears the sign bit, of NaN too.
    using Bits = std::conditional_t<sizeof(a[0]) == 4, uint32_t, uint64_t>;
    return reinterpret_cast<V>(reinterpret_cast<Vector<Bits>>(a) & (~Bits(0) >> 1));
  }
};
struct AbsOfDifference {
  template <typename V>
  static V run(V a, V b) {
    return AbsOf::run(a - b);
  }
};
struct SquareOfDifference {
  template <typename V>
  static V run(V a, V b) {
    return (a - b) * (a - b);
  }
};

// How many booleans are true.
struct Count : Simple<Sum, int64_t> {
  using In = uint8_t;
  static constexpr bool kWhole = false;
  static uint8_t pad() { return 0; }
  static void run(Leaf& leaf, const Source<uint8_t>& from, int64_t count) {
    // Bytes hold the sum of one leaf's steps.
    uint8_t sums[kChunk] = {};
    for (int64_t k = 0; k < count; k++) {
      const uint8_t* x = from.x + k * from.stride;
      for (int l = 0; l < kChunk; l++) sums[l] = static_cast<uint8_t>(sums[l] + x[l]);
    }
    for (int l = 0; l < kChunk; l++) leaf.v[l] += sums[l];
  }
};
static_assert(kLeafSteps < 256);

template <typename T>
void addSums(Registry& registry) {
  const DType dtype = kDTypeOf<T>;
  registry.addReduction("sum.abs", dtype, Reducer<Simple<Sum, T, AbsOf, false>>::functions());
  registry.addReduction("sum.square", dtype, Reducer<Simple<Sum, T, Square, false>>::functions());
  registry.addReduction("sum.multiply", dtype, Reducer<Simple<Sum, T, Multiply, true>>::functions());
  registry.addReduction("sum.abs.subtract", dtype,
                        Reducer<Simple<Sum, T, AbsOfDifference, true>>::functions());
  registry.addReduction("sum.square.subtract", dtype,
                        Reducer<Simple<Sum, T, SquareOfDifference, true>>::functions());
}

// Complex sums and products.
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
      return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
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

template <typename Op, typename T>
void addSimple(Registry& registry, const char* name) {
  registry.addReduction(name, kDTypeOf<T>, Reducer<Simple<Op, T>>::functions());
}

template <typename T>
void addExtremes(Registry& registry) {
  addSimple<Min, T>(registry, "min");
  addSimple<Max, T>(registry, "max");
}

}  // namespace

void addReductions(Registry& registry) {
  addSimple<Sum, int64_t>(registry, "sum");
  addSimple<Sum, float>(registry, "sum");
  addSimple<Sum, double>(registry, "sum");
  addSimple<Product, int64_t>(registry, "prod");
  addSimple<Product, float>(registry, "prod");
  addSimple<Product, double>(registry, "prod");
  // Wrapping makes signed and unsigned the same.
  registry.addReduction("sum", DType::uint64, Reducer<Simple<Sum, uint64_t>>::functions());
  registry.addReduction("prod", DType::uint64, Reducer<Simple<Product, uint64_t>>::functions());
  registry.addReduction("sum", DType::complex64, Reducer<ComplexFold<true, float>>::functions());
  registry.addReduction("sum", DType::complex128, Reducer<ComplexFold<true, double>>::functions());
  registry.addReduction("prod", DType::complex64, Reducer<ComplexFold<false, float>>::functions());
  registry.addReduction("prod", DType::complex128, Reducer<ComplexFold<false, double>>::functions());
  addSums<float>(registry);
  addSums<double>(registry);
  registry.addReduction("sum.cast", DType::boolean, Reducer<Count>::functions());
  addExtremes<int8_t>(registry);
  addExtremes<int16_t>(registry);
  addExtremes<int32_t>(registry);
  addExtremes<int64_t>(registry);
  addExtremes<uint8_t>(registry);
  addExtremes<uint16_t>(registry);
  addExtremes<uint32_t>(registry);
  addExtremes<uint64_t>(registry);
  addExtremes<float>(registry);
  addExtremes<double>(registry);
  const ReduceFunctions any = Reducer<Simple<Any, uint8_t>>::functions();
  const ReduceFunctions all = Reducer<Simple<All, uint8_t>>::functions();
  for (const char* name : {"any", "max"}) registry.addReduction(name, DType::boolean, any);
  for (const char* name : {"all", "min"}) registry.addReduction(name, DType::boolean, all);
}

}  // namespace weft::cpu::WEFT_ISA
