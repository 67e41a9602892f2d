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
// The others: within 2 units in the last place.
struct VectorSin {
  static Vector<float> run(Vector<float> x);
};
struct VectorCos {
  static Vector<float> run(Vector<float> x);
};
struct VectorLog1p {
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
// Whether low < x <= high for each.
inline bool isEachBetween(Vector<float> x, float low, float high) {
  const __mmask16 above = _mm512_cmp_ps_mask(x, _mm512_set1_ps(low), _CMP_GT_OQ);
  return _mm512_mask_cmp_ps_mask(above, x, _mm512_set1_ps(high), _CMP_LE_OQ) == 0xffff;
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
inline bool isEachBetween(Vector<float> x, float low, float high) {
  const __m256 above = _mm256_cmp_ps(x, _mm256_set1_ps(low), _CMP_GT_OQ);
  const __m256 below = _mm256_cmp_ps(x, _mm256_set1_ps(high), _CMP_LE_OQ);
  return _mm256_movemask_ps(_mm256_and_ps(above, below)) == 0xff;
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

// The C library's where an argument is one of those that are not `usual`.
template <typename Usual, typename Other>
__attribute__((noinline, cold)) Vector<float> withOthers(Vector<float> x, Vector<float> results, Usual usual,
                                                         Other other) {
  for (int l = 0; l < kLanes<float>; l++) {
    if (!usual(x[l])) results[l] = other(x[l]);
  }
  return results;
}
inline bool isReduced(float x) { return __builtin_fabsf(x) <= kMostReduced; }

inline __attribute__((always_inline)) Vector<float> VectorSin::run(Vector<float> x) {
  const Vector<float> rounded = multiplyAdd(x, allLanes(0x1.45f306p-2f), allLanes(kRound));
  Vector<float> sine = sineOfRest(x, rounded - kRound, rounded);
  // Zero keeps its sign.
  sine = x == 0 ? x : sine;
  if (isEachBetween(x, -kMostReduced, kMostReduced)) return sine;
  return withOthers(x, sine, isReduced, [](float a) { return __builtin_sinf(a); });
}

// The sine of x + pi / 2.
inline __attribute__((always_inline)) Vector<float> VectorCos::run(Vector<float> x) {
  const Vector<float> rounded = multiplyAdd(x, allLanes(0x1.45f306p-2f), allLanes(0.5f)) + kRound;
  const Vector<float> cosine = sineOfRest(x, rounded - kRound - 0.5f, rounded);
  if (isEachBetween(x, -kMostReduced, kMostReduced)) return cosine;
  return withOthers(x, cosine, isReduced, [](float a) { return __builtin_cosf(a); });
}

// log(1 + x) = k log(2) + log(1 + f) for 1 + x = 2^k (1 + f), with f between the square roots of 1/2 and 2,
// less 1. f is rounded once. log(1 + f) = f - f^2 / 2 + f^3 p(f).
inline __attribute__((always_inline)) Vector<float> VectorLog1p::run(Vector<float> x) {
  using Bits = Vector<int32_t>;
  constexpr float kMost = 0x1p64f;
  const auto isUsual = [](float a) { return a > -1 && a <= kMost; };
  const Bits rootHalf = 0x3f3504f3 - Bits{};
  const Bits k = (reinterpret_cast<Bits>(x + 1) - rootHalf) >> 23;
  const Vector<float> power = reinterpret_cast<Vector<float>>((127 - k) << 23);
  const Vector<float> f = multiplyAdd(x, power, power - 1);
  Vector<float> p = multiplyAdd(allLanes(-0x1.38d886p-4f), f, allLanes(0x1.056a56p-3f));
  p = multiplyAdd(p, f, allLanes(-0x1.0d853ap-3f));
  p = multiplyAdd(p, f, allLanes(0x1.22d7ccp-3f));
  p = multiplyAdd(p, f, allLanes(-0x1.54721p-3f));
  p = multiplyAdd(p, f, allLanes(0x1.99a026p-3f));
  p = multiplyAdd(p, f, allLanes(-0x1.000228p-2f));
  p = multiplyAdd(p, f, allLanes(0x1.555554p-2f));
  const Vector<float> whole = __builtin_convertvector(k, Vector<float>);
  const Vector<float> rest = whole * -0x1.05c61p-29f;
  const Vector<float> small = multiplyAdd(f * f, multiplyAdd(p, f, allLanes(-0.5f)), rest) + f;
  Vector<float> log = multiplyAdd(whole, allLanes(0x1.62e43p-1f), small);
  // Zero keeps its sign.
  log = x == 0 ? x : log;
  if (isEachBetween(x, -1, kMost)) return log;
  return withOthers(x, log, isUsual, [](float a) { return __builtin_log1pf(a); });
}
#endif

}  // namespace
}  // namespace weft::cpu::WEFT_ISA
