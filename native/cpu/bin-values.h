// Values of bins: how two results of a bin become one, whatever their order.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace weft::cpu::bins {

// Scales of bins that have infinities, and NaN.
constexpr int32_t kInfinite = 4096;
constexpr int32_t kNaN = 8192;
// Windows of exact sums at most.
constexpr int64_t kMostWindows = 32;

template <typename T>
struct Count {
  using Value = int64_t;
  using Result = T;
  static Result identity() { return 0; }
  static Result merge(Result a, Result b) { return a + b; }
};

template <typename T>
struct Last {
  using Value = int64_t;
  using Result = T;
  static Result identity() { return -1; }
  static Result merge(Result a, Result b) { return std::max(a, b); }
};

struct Sum {
  using Value = int64_t;
  using Result = uint64_t;
  static Result identity() { return 0; }
  static Result merge(Result a, Result b) { return a + b; }
};

template <typename T, bool kLeast>
struct Extreme {
  using Value = T;
  using Result = T;
  static Result identity() {
    using Limits = std::numeric_limits<T>;
    if constexpr (Limits::has_infinity) return kLeast ? Limits::infinity() : -Limits::infinity();
    return kLeast ? Limits::max() : Limits::lowest();
  }
  static Result merge(Result a, Result b) {
    if constexpr (std::is_floating_point_v<T>) {
      if (a != a || b != b) return std::numeric_limits<T>::quiet_NaN();
      if (a == b) return std::signbit(a) == kLeast ? a : b;
    }
    return (kLeast ? b < a : b > a) ? b : a;
  }
};

struct Scale {
  using Value = double;
  using Result = int32_t;
  static Result identity() { return 0; }
  static Result merge(Result a, Result b) { return std::max(a, b); }
  static Result of(double value) {
    if (value != value) return kNaN;
    uint64_t word;
    std::memcpy(&word, &value, sizeof word);
    const auto exponent = static_cast<int32_t>(word >> 52 & 2047);
    if (exponent == 2047) return kInfinite;
    return word == uint64_t{1} << 63 ? 0 : exponent + 1;
  }
};

// See bin-exact.h.
struct Exact {
  using Value = float;
  using Result = uint64_t;
  static Result identity() { return 0; }
  static Result merge(Result a, Result b) { return a + b; }
};

struct Fixed {
  using Value = double;
  using Result = uint64_t;
  static Result identity() { return 0; }
  static Result merge(Result a, Result b) { return a + b; }
  static double power(int e) {
    const uint64_t word = static_cast<uint64_t>(e + 1023) << 52;
    double value;
    std::memcpy(&value, &word, sizeof value);
    return value;
  }
  // The parts of a value in units of its bin's scale.
  static void of(double value, int32_t scale, int bits, Result* part) {
    if (scale >= kInfinite) {
      constexpr double infinity = std::numeric_limits<double>::infinity();
      part[0] = scale == kInfinite && value == infinity ? 1 : 0;
      part[1] = scale == kInfinite && value == -infinity ? 1 : 0;
      return;
    }
    const int shift = bits + 1022 - std::max(scale - 1, 1);
    const double scaled = value * power(shift / 2) * power(shift - shift / 2);
    // A multiple has no more bits than a double, which holds it exactly.
    const int64_t whole = std::llrint(scaled);
    part[0] = static_cast<Result>(whole);
    part[1] = static_cast<Result>(std::llrint((scaled - static_cast<double>(whole)) * power(bits)));
  }
};

}  // namespace weft::cpu::bins
