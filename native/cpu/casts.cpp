// Casts between dtypes. Compiled once per instruction set.
//
// Integers wrap, floats saturate to integers and NaN becomes 0, anything becomes true unless it is 0. Casts
// that pass through another dtype (int8 to float16 through float32) are split by the encoder, `castHops` in
// tape-domain.ts.
#include "cpu/half-lanes.h"

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace weft::cpu::WEFT_ISA {
namespace {

// Stands for the boolean dtype, which is stored as a byte.
struct Boolean {};
template <typename T>
using Stored = std::conditional_t<std::is_same_v<T, Boolean>, uint8_t, T>;
template <typename T>
constexpr DType kCode = std::is_same_v<T, Boolean> ? DType::boolean : kDTypeOf<T>;

template <typename T>
constexpr T kMost = std::is_signed_v<T> ? static_cast<T>((uint64_t{1} << (sizeof(T) * 8 - 1)) - 1)
                                        : static_cast<T>(-1);
template <typename T>
constexpr T kLeast = std::is_signed_v<T> ? static_cast<T>(-kMost<T> - 1) : T(0);

// The first float above an integer dtype's range: a power of two, so exact.
template <typename To, typename From>
constexpr From kAbove = static_cast<From>(kMost<To> / 2 + 1) * From(2);

template <typename To, typename From>
To saturate(From a) {
  const bool high = a >= kAbove<To, From>;
  const bool low = a < static_cast<From>(kLeast<To>);
  const From inside = (high || low || a != a) ? From(0) : a;
  // Small integers by way of int, for which there are vector instructions.
  using Middle = std::conditional_t<(sizeof(To) < 4), int32_t, To>;
  const To value = static_cast<To>(static_cast<Middle>(inside));
  return high ? kMost<To> : low ? kLeast<To> : value;
}

template <typename To, typename From>
struct Cast {
  static Stored<To> run(Stored<From> a) {
    if constexpr (std::is_same_v<To, Boolean>)
      return a != 0;
    else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>)
      return saturate<To, From>(a);
    else
      return static_cast<To>(a);
  }
};

template <typename From, typename To>
void addPair(Registry& registry) {
  if constexpr (!std::is_same_v<From, To>) {
    registry.addCast(kCode<From>, kCode<To>, unary<Cast<To, From>, Stored<To>, Stored<From>>);
  }
}
template <typename From, typename... To>
void addFrom(Registry& registry) {
  (addPair<From, To>(registry), ...);
}
template <typename... T>
void addReal(Registry& registry) {
  (addFrom<T, T...>(registry), ...);
}

// float64 to float32 with the last bit set where anything was lost: rounding the result again then gives what
// rounding once would have.
float toOdd(double value) {
  const float rounded = static_cast<float>(value);
  const double back = rounded;
  const uint32_t bits = bitsOf(rounded);
  const uint32_t truncated = bits - (__builtin_fabs(back) > __builtin_fabs(value) ? 1 : 0);
  return back == value || value != value ? rounded : floatOf(truncated | 1);
}

struct WideToBrain {
  static uint16_t run(double value) { return ToBrain::run(toOdd(value)); }
};

#if defined(__F16C__)
void halfToFloat(Extent n, const Operand& out, const Operand* const* args) {
  eachChunk<float, uint16_t>(n, out, args, [](float* d, const uint16_t* a) {
    for (int l = 0; l < kChunk; l += 8) {
      _mm256_storeu_ps(d + l, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(a + l))));
    }
  });
}
inline void storeHalves(uint16_t* d, const float* a) {
  for (int l = 0; l < kChunk; l += 8) {
    const __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(a + l), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(d + l), halves);
  }
}
#else
void halfToFloat(Extent n, const Operand& out, const Operand* const* args) {
  unary<FromHalf, float, uint16_t>(n, out, args);
}
inline void storeHalves(uint16_t* d, const float* a) {
  for (int l = 0; l < kChunk; l++) d[l] = ToHalf::run(a[l]);
}
#endif

void floatToHalf(Extent n, const Operand& out, const Operand* const* args) {
  eachChunk<uint16_t, float>(n, out, args, [](uint16_t* d, const float* a) { storeHalves(d, a); });
}
void doubleToHalf(Extent n, const Operand& out, const Operand* const* args) {
  eachChunk<uint16_t, double>(n, out, args, [](uint16_t* d, const double* a) {
    alignas(64) float odd[kChunk];
    for (int l = 0; l < kChunk; l++) odd[l] = toOdd(a[l]);
    storeHalves(d, odd);
  });
}

template <typename T>
struct Complex {
  T re, im;
};
struct RealPart {
  template <typename T>
  static T run(Complex<T> a) {
    return a.re;
  }
};
template <typename To>
struct Widen {
  template <typename T>
  static Complex<To> run(Complex<T> a) {
    return {static_cast<To>(a.re), static_cast<To>(a.im)};
  }
};
struct WithoutImaginary {
  template <typename T>
  static Complex<T> run(T a) {
    return {a, T(0)};
  }
};
struct IsNotZero {
  template <typename T>
  static uint8_t run(Complex<T> a) {
    return a.re != 0 || a.im != 0;
  }
};

template <typename T>
void addComplexCasts(Registry& registry, DType complex) {
  registry.addCast(complex, kDTypeOf<T>, unary<RealPart, T, Complex<T>>);
  registry.addCast(kDTypeOf<T>, complex, unary<WithoutImaginary, Complex<T>, T>);
  registry.addCast(complex, DType::boolean, unary<IsNotZero, uint8_t, Complex<T>>);
}

}  // namespace

void addCasts(Registry& registry) {
  addReal<Boolean, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, float, double>(
      registry);
  registry.addCast(DType::float16, DType::float32, halfToFloat);
  registry.addCast(DType::float32, DType::float16, floatToHalf);
  registry.addCast(DType::float64, DType::float16, doubleToHalf);
  registry.addCast(DType::bfloat16, DType::float32, unary<FromBrain, float, uint16_t>);
  registry.addCast(DType::float32, DType::bfloat16, unary<ToBrain, uint16_t, float>);
  registry.addCast(DType::float64, DType::bfloat16, unary<WideToBrain, uint16_t, double>);
  addComplexCasts<float>(registry, DType::complex64);
  addComplexCasts<double>(registry, DType::complex128);
  registry.addCast(DType::complex64, DType::complex128,
                   unary<Widen<double>, Complex<double>, Complex<float>>);
  registry.addCast(DType::complex128, DType::complex64, unary<Widen<float>, Complex<float>, Complex<double>>);
}

}  // namespace weft::cpu::WEFT_ISA
