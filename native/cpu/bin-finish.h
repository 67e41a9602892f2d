// The floats that numbers of a bin mean: as src/graph/fixed-sums.ts and exact-sums.ts compute them.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "cpu/bin-values.h"

namespace weft::cpu::bins {

// Sums that are 0: always +0, or with the signs that the other ways to sum give them, with -0 or 0 for none
// of exact sums.
enum class Zeros { positive, minus, plus };

struct SumForm {
  bool isExact, isDouble;
  Zeros zeros;
  int64_t parts;
  int bits;
};

// Sums are multiples of 2^exponent, and of 2^-bits of it.
struct Units {
  int bits, exponent;
  double scale, unit;
};

using Integer128 = __int128;

// Of exponents of ordinary numbers.
inline double powerOfTwo(int exponent) {
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

// The digits of a sum, of `bits` each from 2^-149 on, from the highest on as floats: rounded wherever more
// are added than a float64 has.
inline double sumOfDigits(Integer128 total, int place, int bits) {
  constexpr int kLeast = 149, kTop = 126;
  const int shift = place + kLeast;
  const auto mask = (Integer128{1} << bits) - 1;
  const double radix = std::ldexp(1.0, bits);
  double sum = total < 0 ? -1 : 0;
  for (int window = std::max(0, (kTop + shift) / bits); window >= 0; window--) {
    const int from = window * bits - shift;
    Integer128 digit = 0;
    if (from > kTop) {
      digit = total < 0 ? mask : 0;
    } else if (from >= 0) {
      digit = total >> from & mask;
    } else if (-from < bits) {
      digit = static_cast<Integer128>(static_cast<unsigned __int128>(total) << -from) & mask;
    }
    sum = sum * radix + static_cast<double>(static_cast<int64_t>(digit));
  }
  return std::ldexp(sum, -kLeast);
}

// whole + rest · 2^-bits, rounded once: by an addition where a float64 has each of the two, which takes a
// fifth of the time of 128 bits.
inline double wholeAndRest(int64_t whole, int64_t rest, int bits) {
  constexpr int64_t kMost = int64_t{1} << 53;
  const auto isExact = [](int64_t number) { return number <= kMost && number >= -kMost; };
  if (isExact(whole) && isExact(rest))
    return static_cast<double>(whole) + static_cast<double>(rest) * powerOfTwo(-bits);
  return std::ldexp(static_cast<double>(Integer128{whole} * (Integer128{1} << bits) + rest), -bits);
}

// whole · 2^exponent + rest · 2^(exponent - bits), which is no subnormal number.
inline double sumOf(const SumForm& form, const Units& units, int64_t whole, int64_t rest) {
  constexpr int64_t kMost = int64_t{1} << 53;
  if (rest == 0 && whole <= kMost && whole >= -kMost) return static_cast<double>(whole) * units.unit;
  if (!form.isExact) return wholeAndRest(whole, rest, units.bits) * units.unit;
  const Integer128 total = Integer128{whole} * (Integer128{1} << units.bits) + rest;
  return sumOfDigits(total, units.exponent - units.bits, form.bits);
}

// The sum of a bin by the numbers of `fixed`.
inline double fixedSum(const SumForm& form, int32_t scale, int64_t whole, int64_t rest) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (scale >= kInfinite) {
    const bool hasPlus = whole > 0, hasMinus = rest > 0;
    if (scale >= kNaN || (hasPlus && hasMinus)) return std::numeric_limits<double>::quiet_NaN();
    return hasPlus ? kInfinity : -kInfinity;
  }
  if (scale == 0) return -0.0;
  return wholeAndRest(whole, rest, form.bits) * powerOfTwo(1 - form.bits) *
         powerOfTwo(std::max(scale - 2, 0) - 1022);
}

// The sum of a bin by the numbers of `exact`, which are `apart` from each other.
inline double exactSum(const SumForm& form, const uint64_t* numbers, int64_t apart) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const uint64_t flags = numbers[(form.parts - 1) * apart];
  const auto has = [&](int flag) { return (flags >> (12 * flag) & 4095) != 0; };
  const bool hasPlus = has(0), hasMinus = has(1);
  if (has(2) || (hasPlus && hasMinus)) return std::numeric_limits<double>::quiet_NaN();
  if (hasPlus || hasMinus) return hasPlus ? kInfinity : -kInfinity;
  double digits[kMostWindows];
  const int64_t mask = (int64_t{1} << form.bits) - 1;
  int64_t carry = 0;
  for (int64_t k = 0; k < form.parts - 1; k++) {
    const int64_t sum = static_cast<int64_t>(numbers[k * apart]) + carry;
    digits[k] = static_cast<double>(sum & mask);
    carry = sum >> form.bits;
  }
  const double radix = std::ldexp(1.0, form.bits);
  auto sum = static_cast<double>(carry);
  for (int64_t k = form.parts - 2; k >= 0; k--) sum = sum * radix + digits[k];
  if (sum != 0) return std::ldexp(sum, -149);
  if (has(3)) return 0;
  return has(4) || form.zeros == Zeros::minus ? -0.0 : 0.0;
}

}  // namespace weft::cpu::bins
