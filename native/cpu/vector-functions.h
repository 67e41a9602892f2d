// Functions of float32 vectors of our own, in place of the vector math library's: steps of a chain compute
// them without a call, which takes longer than the arithmetic. For files compiled once per instruction set;
// where a multiply-add is not one instruction, there are none (kHasVectorFunctions).
//
// Each reduces its argument to a small one and takes the polynomial with the least relative error there,
// found by iterated least squares. The bits are the same on all sets.
#pragma once
#include "cpu/isa-scope.h"

namespace weft::cpu::WEFT_ISA {
namespace {

#if defined(__AVX2__)
constexpr bool kHasVectorFunctions = true;
#else
constexpr bool kHasVectorFunctions = false;
#endif

// Within 1.02 units in the last place.
struct VectorExp {
  static Vector<float> run(Vector<float> x);
};
// Within 2 units in the last place.
struct VectorSin {
  static Vector<float> run(Vector<float> x);
};
struct VectorCos {
  static Vector<float> run(Vector<float> x);
};

#if defined(__AVX512F__)
// The second argument where one is NaN.
inline Vector<float> least(Vector<float> a, Vector<float> b) { return _mm512_min_ps(a, b); }
inline Vector<float> greatest(Vector<float> a, Vector<float> b) { return _mm512_max_ps(a, b); }
inline Vector<float> multiplyAdd(Vector<float> a, Vector<float> b, Vector<float> c) {
  return _mm512_fmadd_ps(a, b, c);
}
// a 2^n, rounded once.
inline Vector<float> scaled(Vector<float> a, Vector<float> n) { return _mm512_scalef_ps(a, n); }
// Whether all are numbers of at most this size.
inline bool isEachWithin(Vector<float> x, float limit) {
  const __m512i size = _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x7fffffff));
  return _mm512_cmpgt_epi32_mask(size, _mm512_castps_si512(_mm512_set1_ps(limit))) == 0;
}
#elif defined(__AVX2__)
inline Vector<float> least(Vector<float> a, Vector<float> b) { return _mm256_min_ps(a, b); }
inline Vector<float> greatest(Vector<float> a, Vector<float> b) { return _mm256_max_ps(a, b); }
inline Vector<float> multiplyAdd(Vector<float> a, Vector<float> b, Vector<float> c) {
  return _mm256_fmadd_ps(a, b, c);
}
// In two steps, since 2^n may be no float32: the first is exact. NaN stays.
inline Vector<float> scaled(Vector<float> a, Vector<float> n) {
  const auto power = [](__m256i e) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(e, _mm256_set1_epi32(127)), 23));
  };
  const __m256i whole = _mm256_cvtps_epi32(n);
  const __m256i half = _mm256_srai_epi32(whole, 1);
  return a * power(half) * power(_mm256_sub_epi32(whole, half));
}
inline bool isEachWithin(Vector<float> x, float limit) {
  const __m256 size = _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x);
  return _mm256_movemask_ps(_mm256_cmp_ps(size, _mm256_set1_ps(limit), _CMP_NLE_UQ)) == 0;
}
#endif

#if defined(__AVX2__)
inline Vector<float> allLanes(float value) { return value - Vector<float>{}; }

// Added to a number below 2^22, it rounds to an integer, which is then in the lowest bits.
constexpr float kRound = 0x1.8p23f;

// e^x = 2^n (1 + r + r^2 q(r)) with n the nearest integer to x / log(2) and r = x - n log(2).
inline __attribute__((always_inline)) Vector<float> VectorExp::run(Vector<float> x) {
  // Beyond these, the result is 0 or infinity.
  x = least(allLanes(89), greatest(allLanes(-104), x));
  const Vector<float> n = multiplyAdd(x, allLanes(0x1.715476p0f), allLanes(kRound)) - kRound;
  Vector<float> r = multiplyAdd(n, allLanes(-0x1.62e43p-1f), x);
  r = multiplyAdd(n, allLanes(0x1.05c61p-29f), r);
  Vector<float> q = multiplyAdd(allLanes(0x1.6a5428p-10f), r, allLanes(0x1.12398cp-7f));
  q = multiplyAdd(q, r, allLanes(0x1.5558aap-5f));
  q = multiplyAdd(q, r, allLanes(0x1.555492p-3f));
  q = multiplyAdd(q, r, allLanes(0x1.fffffcp-2f));
  return scaled(multiplyAdd(q, r * r, r) + 1, n);
}

// Arguments up to here are reduced with three parts of pi: the first difference is exact.
constexpr float kMostReduced = 0x1p16f;

// sin(r) = r + r^3 p(r^2) for r = x - n pi, with the sign changed if `rounded`, an integer plus kRound, is
// odd.
inline __attribute__((always_inline)) Vector<float> sineOfRest(Vector<float> x, Vector<float> n,
                                                               Vector<float> rounded) {
  using Bits = Vector<uint32_t>;
  Vector<float> r = multiplyAdd(n, allLanes(-0x1.921fb6p1f), x);
  r = multiplyAdd(n, allLanes(0x1.777a5cp-24f), r);
  r = multiplyAdd(n, allLanes(0x1.ee59dap-49f), r);
  const Vector<float> s = r * r;
  Vector<float> p = multiplyAdd(allLanes(0x1.5dc902p-19f), s, allLanes(-0x1.9f70fp-13f));
  p = multiplyAdd(p, s, allLanes(0x1.110edap-7f));
  p = multiplyAdd(p, s, allLanes(-0x1.55554cp-3f));
  const Vector<float> sine = multiplyAdd(p, r * s, r);
  const Bits sign = reinterpret_cast<Bits>(rounded) << 31;
  return reinterpret_cast<Vector<float>>(reinterpret_cast<Bits>(sine) ^ sign);
}

// The C library's where an argument is too large, or no number.
template <typename Large>
__attribute__((noinline, cold)) Vector<float> withLarge(Vector<float> x, Vector<float> results, Large large) {
  for (int l = 0; l < kLanes<float>; l++) {
    if (!(__builtin_fabsf(x[l]) <= kMostReduced)) results[l] = large(x[l]);
  }
  return results;
}

inline __attribute__((always_inline)) Vector<float> VectorSin::run(Vector<float> x) {
  const Vector<float> rounded = multiplyAdd(x, allLanes(0x1.45f306p-2f), allLanes(kRound));
  Vector<float> sine = sineOfRest(x, rounded - kRound, rounded);
  // Zero keeps its sign.
  sine = x == 0 ? x : sine;
  if (isEachWithin(x, kMostReduced)) return sine;
  return withLarge(x, sine, [](float a) { return __builtin_sinf(a); });
}

// The sine of x + pi / 2.
inline __attribute__((always_inline)) Vector<float> VectorCos::run(Vector<float> x) {
  const Vector<float> rounded = multiplyAdd(x, allLanes(0x1.45f306p-2f), allLanes(0.5f)) + kRound;
  const Vector<float> cosine = sineOfRest(x, rounded - kRound - 0.5f, rounded);
  if (isEachWithin(x, kMostReduced)) return cosine;
  return withLarge(x, cosine, [](float a) { return __builtin_cosf(a); });
}
#endif

}  // namespace
}  // namespace weft::cpu::WEFT_ISA
