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

// Lane l meets lane l + Half, then l + Half / 2 and so on.
template <typename Op, typename T, int Half>
T foldVector(Vector<T> v) {
  if constexpr (Half == 0) {
    return v[0];
  } else {
    using Index = std::conditional_t<
        sizeof(T) == 1, int8_t,
        std::conditional_t<sizeof(T) == 2, int16_t, std::conditional_t<sizeof(T) == 4, int32_t, int64_t>>>;
    Vector<Index> upper;
#pragma GCC unroll 64
    for (int l = 0; l < kLanes<T>; l++) upper[l] = static_cast<Index>((l + Half) % kLanes<T>);
    return foldVector<Op, T, Half / 2>(Op::combine(v, __builtin_shuffle(v, upper)));
  }
}

template <typename Op, typename T>
struct Simple {
  using In = T;
  using Out = T;
  struct Leaf {
    alignas(64) T v[kChunk];
  };
  using Node = Leaf;
  using Second = int64_t;
  static constexpr bool kIndexed = false;
  static constexpr bool kCounts = false;
  static constexpr bool kFolds = true;

  static T pad() { return Op::template identity<T>(); }
  static void open(Leaf& leaf) {
    for (int l = 0; l < kChunk; l++) leaf.v[l] = pad();
  }
  // As many vectors at a time as there are registers for.
  static void run(Leaf& leaf, const Source<T>& from, int64_t count) {
    constexpr int width = kLanes<T>;
    constexpr int vectors = kChunk / width;
    constexpr int group = vectors < 8 ? vectors : 8;
    for (int g = 0; g < vectors; g += group) {
      Vector<T> acc[group];
#pragma GCC unroll 8
      for (int v = 0; v < group; v++) acc[v] = loadVector(leaf.v + (g + v) * width);
      const T* x = from.x + g * width;
      for (int64_t k = 0; k < count; k++) {
#pragma GCC unroll 8
        for (int v = 0; v < group; v++) acc[v] = Op::combine(acc[v], loadVector(x + v * width));
        x += from.stride;
      }
#pragma GCC unroll 8
      for (int v = 0; v < group; v++) storeVector(leaf.v + (g + v) * width, acc[v]);
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
  static T folded(const Node& node) {
    constexpr int vectors = kChunk / kLanes<T>;
    Vector<T> v[vectors];
#pragma GCC unroll 32
    for (int i = 0; i < vectors; i++) v[i] = loadVector(node.v + i * kLanes<T>);
#pragma GCC unroll 6
    for (int half = vectors / 2; half > 0; half /= 2) {
#pragma GCC unroll 32
      for (int i = 0; i < half; i++) v[i] = Op::combine(v[i], v[i + half]);
    }
    return foldVector<Op, T, kLanes<T> / 2>(v[0]);
  }
};

// A sum of what a cheap op makes of each element, which is computed on the way.
template <typename Inner, typename T, bool IsBinary>
struct SumOf : Simple<Sum, T> {
  using In = T;
  using Second = T;
  using Leaf = typename Simple<Sum, T>::Leaf;
  static constexpr bool kIndexed = IsBinary;

  static T padSecond() { return T(0); }
  static void run(Leaf& leaf, const Source<T, T>& from, int64_t count) {
    constexpr int width = kLanes<T>;
    constexpr int vectors = kChunk / width;
    constexpr int group = vectors < 8 ? vectors : 8;
    for (int g = 0; g < vectors; g += group) {
      Vector<T> acc[group];
#pragma GCC unroll 8
      for (int v = 0; v < group; v++) acc[v] = loadVector(leaf.v + (g + v) * width);
      const T* x = from.x + g * width;
      const T* y = from.index + g * width;
      for (int64_t k = 0; k < count; k++) {
#pragma GCC unroll 8
        for (int v = 0; v < group; v++) {
          if constexpr (IsBinary)
            acc[v] += Inner::run(loadVector(x + v * width), loadVector(y + v * width));
          else
            acc[v] += Inner::run(loadVector(x + v * width));
        }
        x += from.stride;
        y += from.indexStride;
      }
#pragma GCC unroll 8
      for (int v = 0; v < group; v++) storeVector(leaf.v + (g + v) * width, acc[v]);
    }
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
  registry.addReduction("sum.abs", dtype, Reducer<SumOf<AbsOf, T, false>>::functions());
  registry.addReduction("sum.square", dtype, Reducer<SumOf<Square, T, false>>::functions());
  registry.addReduction("sum.multiply", dtype, Reducer<SumOf<Multiply, T, true>>::functions());
  registry.addReduction("sum.abs.subtract", dtype, Reducer<SumOf<AbsOfDifference, T, true>>::functions());
  registry.addReduction("sum.square.subtract", dtype,
                        Reducer<SumOf<SquareOfDifference, T, true>>::functions());
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
