// The numbers of products: halves, TF32 and complex factors, as the units of a GPU take them.
#pragma once
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace weft::sim {

struct Half {
  uint16_t bits;
};
struct Bfloat {
  uint16_t bits;
};

inline float widen(Half half) {
  const int exponent = half.bits >> 10 & 31, fraction = half.bits & 0x3ff;
  const float size = exponent == 31  ? (fraction != 0 ? NAN : INFINITY)
                     : exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                     : std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
  return (half.bits & 0x8000) != 0 ? -size : size;
}
inline float widen(Bfloat value) {
  const uint32_t word = static_cast<uint32_t>(value.bits) << 16;
  float result;
  std::memcpy(&result, &word, sizeof result);
  return result;
}
template <typename T>
T widen(T value) {
  return value;
}

// To the nearest, ties to even.
inline void narrow(float value, Half& out) {
  const int sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::fabs(value);
  if (std::isnan(value)) {
    out.bits = 0x7fff;
  } else if (size >= 65520.0) {
    out.bits = static_cast<uint16_t>(sign | 0x7c00);
  } else if (size < 0x1p-14) {
    // Multiples of the least half.
    out.bits = static_cast<uint16_t>(sign | std::lrint(size * 0x1p24));
  } else {
    const int exponent = std::ilogb(size);
    const long fraction = std::lrint(std::ldexp(size, 10 - exponent));
    // The leading bit and a carry go into the exponent.
    out.bits = static_cast<uint16_t>(sign | (((exponent + 14) << 10) + fraction));
  }
}
inline void narrow(float value, Bfloat& out) {
  uint32_t word;
  std::memcpy(&word, &value, sizeof word);
  out.bits = static_cast<uint16_t>(std::isnan(value) ? 0x7fff : (word + 0x7fff + (word >> 16 & 1)) >> 16);
}
template <typename T>
void narrow(T value, T& out) {
  out = value;
}

// To 10 bits of mantissa, ties to even; infinities and NaNs stay what they are.
inline float toTf32(float value) {
  if (!std::isfinite(value)) return value;
  uint32_t word;
  std::memcpy(&word, &value, sizeof word);
  word = (word + 0xfff + (word >> 13 & 1)) & ~uint32_t{0x1fff};
  std::memcpy(&value, &word, sizeof word);
  return value;
}

// A factor of a product, as its units take it.
template <typename T>
T factor(T value, bool tf32) {
  if constexpr (std::is_same_v<T, float>) return tf32 ? toTf32(value) : value;
  if constexpr (std::is_same_v<T, std::complex<float>>)
    return tf32 ? T(toTf32(value.real()), toTf32(value.imag())) : value;
  return value;
}

template <typename Accumulator>
Accumulator scalar(const double (&parts)[2]) {
  if constexpr (std::is_floating_point_v<Accumulator>) {
    return static_cast<Accumulator>(parts[0]);
  } else {
    using Part = typename Accumulator::value_type;
    return {static_cast<Part>(parts[0]), static_cast<Part>(parts[1])};
  }
}

// Plain products, without the infinities of C's Annex G.
template <typename T>
T times(T a, T b) {
  return a * b;
}
template <typename T>
std::complex<T> times(std::complex<T> a, std::complex<T> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

}  // namespace weft::sim
