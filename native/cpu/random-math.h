// Blocks of Philox 4x32-10, and logarithms and powers of operations that IEEE 754 rounds. Included by files
// that are compiled once per instruction set; prelude-random.ts has the same for GPUs.
#pragma once
#include "cpu/isa-scope.h"

namespace weft::cpu::WEFT_ISA {
namespace {

constexpr uint32_t kPhiloxM0 = 0xD2511F53, kPhiloxM1 = 0xCD9E8D57;
constexpr uint32_t kPhiloxW0 = 0x9E3779B9, kPhiloxW1 = 0xBB67AE85;
constexpr int kPhiloxRounds = 10;

struct PhiloxBlock {
  uint32_t x[4];
};

inline PhiloxBlock philoxBlock(uint64_t block, uint64_t key) {
  uint32_t x0 = static_cast<uint32_t>(block), x1 = static_cast<uint32_t>(block >> 32), x2 = 0, x3 = 0;
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < kPhiloxRounds; round++) {
    const uint64_t a = static_cast<uint64_t>(kPhiloxM0) * x0;
    const uint64_t b = static_cast<uint64_t>(kPhiloxM1) * x2;
    x0 = static_cast<uint32_t>(b >> 32) ^ x1 ^ k0;
    x1 = static_cast<uint32_t>(b);
    x2 = static_cast<uint32_t>(a >> 32) ^ x3 ^ k1;
    x3 = static_cast<uint32_t>(a);
    k0 += kPhiloxW0;
    k1 += kPhiloxW1;
  }
  return {{x0, x1, x2, x3}};
}

inline float fusedOf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline double fusedOf(double a, double b, double c) { return __builtin_fma(a, b, c); }
inline float rootOf(float a) { return __builtin_sqrtf(a); }
inline double rootOf(double a) { return __builtin_sqrt(a); }

// A polynomial, its highest coefficient first.
template <typename T>
inline T horner(T, T value) {
  return value;
}
template <typename T, typename... More>
inline T horner(T x, T value, T next, More... more) {
  return horner<T>(x, fusedOf(value, x, next), more...);
}

template <typename To, typename From>
inline To bitsAs(From from) {
  To to;
  __builtin_memcpy(&to, &from, sizeof(to));
  return to;
}

// -log of a positive number, to 1e-7 of the larger of it and 1.
inline float minusLogOf(float x) {
  const bool small = x < 0x1p-126f;
  const uint32_t bits = bitsAs<uint32_t>(small ? x * 0x1p25f : x) + (0x3f800000 - 0x3f3504f3);
  const float e = static_cast<float>(static_cast<int>(bits >> 23) - 127 - (small ? 25 : 0));
  const float f = bitsAs<float>((bits & 0x007fffff) + 0x3f3504f3) - 1.0f;
  const float series = horner<float>(f, -0.08101559f, 0.12712307f, -0.12972239f, 0.14202175f, -0.16642247f,
                                     0.20001468f, -0.25000298f, 0.33333328f, -0.5f);
  return -fusedOf(e, 0.69314718f, fusedOf(f * f, series, f));
}
// The natural logarithm of a positive number.
inline double logOf(double x) {
  const bool small = x < 0x1p-1022;
  const uint64_t bits = bitsAs<uint64_t>(small ? x * 0x1p54 : x) + ((0x3ff00000ull - 0x3fe6a09eull) << 32);
  const int k = static_cast<int>(bits >> 52) - 1023 - (small ? 54 : 0);
  const double f = bitsAs<double>((bits & 0x000fffffffffffffull) + (0x3fe6a09eull << 32)) - 1.0;
  const double s = f / (2.0 + f), z = s * s, half = 0.5 * f * f, e = static_cast<double>(k);
  const double series =
      horner<double>(z, 0x1.2f112df3e5244p-3, 0x1.39a09d078c69fp-3, 0x1.7466496cb03dep-3,
                     0x1.c71c51d8e78afp-3, 0x1.2492494229359p-2, 0x1.999999997fa04p-2, 0x1.5555555555593p-1);
  return fusedOf(e, 0x1.62e42feep-1,
                 fusedOf(s, fusedOf(z, series, half), e * 0x1.a39ef35793c76p-33) - half + f);
}

// e^x, to 2e-9 but for the rounding of its steps.
inline float expOf(float x) {
  const float within = x < -104.0f ? -104.0f : x > 89.0f ? 89.0f : x;
  const float turn = fusedOf(within, 1.44269502f, 12582912.0f);
  const float k = turn - 12582912.0f;
  const float r = fusedOf(-k, 1.42860677e-06f, fusedOf(-k, 0.693145752f, within));
  const int32_t n = bitsAs<int32_t>(turn) - 0x4b400000, half = n >> 1;
  const float value = horner<float>(r, 0.00138368376f, 0.00837482233f, 0.0416682251f, 0.166664198f,
                                    0.499999911f, 1.0f, 1.0f) *
                      bitsAs<float>((half + 127) << 23);
  return value * bitsAs<float>((n - half + 127) << 23);
}
// e^x by Taylor's series.
inline double expOf(double x) {
  const double within = x < -746.0 ? -746.0 : x > 710.0 ? 710.0 : x;
  const double turn = fusedOf(within, 1.4426950408889634, 6755399441055744.0);
  const double k = turn - 6755399441055744.0;
  const double r = fusedOf(-k, 1.90821492927058770002e-10, fusedOf(-k, 6.93147180369123816490e-01, within));
  const auto n = static_cast<int64_t>(static_cast<int32_t>(bitsAs<int64_t>(turn))), half = n >> 1;
  const double value = horner<double>(r, 1.6059043836821613e-10, 2.08767569878681e-09, 2.505210838544172e-08,
                                      2.755731922398589e-07, 2.7557319223985893e-06, 2.48015873015873e-05,
                                      0.0001984126984126984, 0.001388888888888889, 0.008333333333333333,
                                      0.041666666666666664, 0.16666666666666666, 0.5, 1.0, 1.0) *
                       bitsAs<double>((half + 1023) << 52);
  return value * bitsAs<double>((n - half + 1023) << 52);
}

}  // namespace
}  // namespace weft::cpu::WEFT_ISA
