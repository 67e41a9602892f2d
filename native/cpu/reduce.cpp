// Sums, products, extremes and truth: reductions whose accumulator is one value. Compiled once per
// instruction set.
#include "cpu/complex-fold.h"
#include "cpu/scalar-ops.h"
#include "cpu/simple-fold.h"

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
struct Min {
  template <typename T>
  static constexpr T identity() {
    return kLargest<T>;
  }
  template <typename V>
  static V combine(V a, V b) {
    return smallerOf(a, b);
  }
};
struct Max {
  template <typename T>
  static constexpr T identity() {
    return kSmallest<T>;
  }
  template <typename V>
  static V combine(V a, V b) {
    return largerOf(a, b);
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

// Products of floating-point numbers.
template <typename T>
struct Products : Simple<Product, T> {
  using Of = Simple<Product, T>;
  static T combine(T a, T b) { return a * b; }
  static T ofNeighbours(const T* x) {
    Vector<T> v[Of::kVectors];
#pragma GCC unroll 32
    for (int k = 0; k < Of::kVectors; k++) v[k] = loadVector(x + k * Of::kWidth);
#pragma GCC unroll 6
    for (int count = Of::kVectors; count > 1; count /= 2) {
#pragma GCC unroll 16
      for (int k = 0; k < count / 2; k++) v[k] = ofPairs(v[2 * k], v[2 * k + 1], Lanes<kLanes<T>>());
    }
    return foldNeighbours<1>(v[0]);
  }

 private:
  template <int... Lane>
  static inline __attribute__((always_inline)) Vector<T> ofPairs(Vector<T> a, Vector<T> b,
                                                                 std::integer_sequence<int, Lane...>) {
    return __builtin_shufflevector(a, b, (2 * Lane)...) * __builtin_shufflevector(a, b, (2 * Lane + 1)...);
  }
  template <int Step>
  static T foldNeighbours(Vector<T> v) {
    if constexpr (Step == kLanes<T>)
      return v[0];
    else
      return foldNeighbours<2 * Step>(v * rotated<Step, T>(v, Lanes<kLanes<T>>()));
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
  addSimple<Sum, float>(registry, "sum");
  addSimple<Sum, double>(registry, "sum");
  registry.addReduction("prod", DType::float32, Reducer<Products<float>>::functions());
  registry.addReduction("prod", DType::float64, Reducer<Products<double>>::functions());
  // Wrapping makes signed and unsigned the same.
  for (const DType dtype : {DType::int64, DType::uint64}) {
    registry.addReduction("sum", dtype, Reducer<Simple<Sum, int64_t>>::functions());
    registry.addReduction("prod", dtype, Reducer<Simple<Product, int64_t>>::functions());
  }
  registry.addReduction("sum", DType::complex64, Reducer<ComplexFold<true, float>>::functions());
  registry.addReduction("sum", DType::complex128, Reducer<ComplexFold<true, double>>::functions());
  registry.addReduction("prod", DType::complex64, Reducer<ComplexProducts<float>>::functions());
  registry.addReduction("prod", DType::complex128, Reducer<ComplexProducts<double>>::functions());
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
