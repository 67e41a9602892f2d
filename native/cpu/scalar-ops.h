// Arithmetic and comparison of two scalars: what the loops over lanes are made of. For files compiled once
// per instruction set.
#pragma once
#include "cpu/extremes.h"
#include "cpu/isa-scope.h"

namespace weft::cpu::WEFT_ISA {
namespace {

struct Add {
  template <typename T>
  static T run(T a, T b) {
    return static_cast<T>(a + b);
  }
};
struct Subtract {
  template <typename T>
  static T run(T a, T b) {
    return static_cast<T>(a - b);
  }
};
struct Multiply {
  // 16-bit operands would meet in int, where their product can overflow; -fwrapv makes that wrap.
  template <typename T>
  static T run(T a, T b) {
    return static_cast<T>(a * b);
  }
};
struct Divide {
  template <typename T>
  static T run(T a, T b) {
    return a / b;
  }
};
struct Negative {
  template <typename T>
  static T run(T a) {
    return static_cast<T>(-a);
  }
};
struct Same {
  template <typename T>
  static T run(T a) {
    return a;
  }
};
struct Zero {
  template <typename T>
  static T run(T) {
    return T(0);
  }
};
struct Square {
  template <typename T>
  static T run(T a) {
    return static_cast<T>(a * a);
  }
};

struct Abs {
  static float run(float a) { return __builtin_fabsf(a); }
  static double run(double a) { return __builtin_fabs(a); }
  template <typename T>
  static T run(T a) {
    return a < 0 ? static_cast<T>(-a) : a;
  }
};

struct Sign {
  template <typename T>
  static T run(T a) {
    if constexpr (std::is_floating_point_v<T>) {
      const T sign = static_cast<T>((a > 0 ? T(1) : T(0)) - (a < 0 ? T(1) : T(0)));
      return a != a ? a : sign;
    } else {
      return static_cast<T>((a > 0) - (a < 0));
    }
  }
};

struct Reciprocal {
  template <typename T>
  static T run(T a) {
    if constexpr (std::is_floating_point_v<T>) return T(1) / a;
    // An integer's is 0 but for 1 and -1 (and for 0, by our rule).
    if constexpr (std::is_signed_v<T>) return a == 1 ? T(1) : a == -1 ? T(-1) : T(0);
    return a == 1 ? T(1) : T(0);
  }
};

struct Maximum {
  template <typename T>
  static T run(T a, T b) {
    return largerOf(a, b);
  }
};
struct Minimum {
  template <typename T>
  static T run(T a, T b) {
    return smallerOf(a, b);
  }
};

struct CopySign {
  static float run(float a, float b) { return __builtin_copysignf(a, b); }
  static double run(double a, double b) { return __builtin_copysign(a, b); }
};
struct Sqrt {
  static float run(float a) { return __builtin_sqrtf(a); }
  static double run(double a) { return __builtin_sqrt(a); }
};
struct ReciprocalSqrt {
  static float run(float a) { return 1.0f / __builtin_sqrtf(a); }
  static double run(double a) { return 1.0 / __builtin_sqrt(a); }
};
struct Round {
  static float run(float a) { return __builtin_rintf(a); }
  static double run(double a) { return __builtin_rint(a); }
};
struct Floor {
  static float run(float a) { return __builtin_floorf(a); }
  static double run(double a) { return __builtin_floor(a); }
};
struct Ceil {
  static float run(float a) { return __builtin_ceilf(a); }
  static double run(double a) { return __builtin_ceil(a); }
};
struct Trunc {
  static float run(float a) { return __builtin_truncf(a); }
  static double run(double a) { return __builtin_trunc(a); }
};

struct Equal {
  template <typename T>
  static uint8_t run(T a, T b) {
    return a == b;
  }
};
struct NotEqual {
  template <typename T>
  static uint8_t run(T a, T b) {
    return a != b;
  }
};
struct Less {
  template <typename T>
  static uint8_t run(T a, T b) {
    return a < b;
  }
};
struct LessEqual {
  template <typename T>
  static uint8_t run(T a, T b) {
    return a <= b;
  }
};
struct Greater {
  template <typename T>
  static uint8_t run(T a, T b) {
    return a > b;
  }
};
struct GreaterEqual {
  template <typename T>
  static uint8_t run(T a, T b) {
    return a >= b;
  }
};

}  // namespace
}  // namespace weft::cpu::WEFT_ISA
