// Division, remainder and powers: of integers, and of floats as NumPy defines them. Compiled once per
// instruction set.
#include "cpu/isa-scope.h"

namespace weft::cpu::WEFT_ISA {
namespace {

// C truncates; Python and NumPy take the divisor's sign. Dividing the least integer by -1 wraps.
template <typename T>
T floorDivide(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return static_cast<T>(-static_cast<std::make_unsigned_t<T>>(a));
    const T quotient = static_cast<T>(a / b);
    return static_cast<T>(quotient - ((a % b != 0) && ((a < 0) != (b < 0))));
  } else {
    return static_cast<T>(a / b);
  }
}
template <typename T>
T remainder(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return 0;
    const T rest = static_cast<T>(a % b);
    return static_cast<T>(rest != 0 && ((rest < 0) != (b < 0)) ? rest + b : rest);
  } else {
    return static_cast<T>(a % b);
  }
}

inline float fmodOf(float a, float b) { return __builtin_fmodf(a, b); }
inline double fmodOf(double a, double b) { return __builtin_fmod(a, b); }
inline float floorOf(float a) { return __builtin_floorf(a); }
inline double floorOf(double a) { return __builtin_floor(a); }
inline float copySign(float a, float b) { return __builtin_copysignf(a, b); }
inline double copySign(double a, double b) { return __builtin_copysign(a, b); }

// The quotient is rebuilt from the exact remainder, so that the two agree.
template <typename T>
T floorDivideFloat(T a, T b, T rest) {
  if (b == 0) return a / b;
  T quotient = (a - rest) / b;
  if (rest != 0 && ((b < 0) != (rest < 0))) quotient -= 1;
  if (quotient == 0) return copySign(T(0), a / b);
  const T whole = floorOf(quotient);
  return quotient - whole > T(0.5) ? whole + 1 : whole;
}
template <typename T>
T remainderFloat(T, T b, T rest) {
  if (b == 0) return rest;
  if (rest == 0) return copySign(T(0), b);
  return (b < 0) != (rest < 0) ? rest + b : rest;
}

// By squaring, wrapping. A negative power is the integer part of the true one: 0, but for bases of 1 and -1.
template <typename T>
T power(T base, T exponent) {
  if constexpr (std::is_signed_v<T>) {
    if (exponent < 0) return base == 1 ? T(1) : base == -1 ? (exponent & 1 ? T(-1) : T(1)) : T(0);
  }
  using U = std::make_unsigned_t<T>;
  U result = 1;
  U factor = static_cast<U>(base);
  for (U rest = static_cast<U>(exponent); rest != 0; rest = static_cast<U>(rest >> 1)) {
    if (rest & 1) result = static_cast<U>(result * factor);
    factor = static_cast<U>(factor * factor);
  }
  return static_cast<T>(result);
}

struct FloorDivide {
  template <typename T>
  static T run(T a, T b) {
    return floorDivide(a, b);
  }
  template <typename T>
  static T run(T a, T b, T rest) {
    return floorDivideFloat(a, b, rest);
  }
  template <typename T>
  static T ofQuotient(T quotient, T rest, bool isOpposite, T) {
    return quotient - (rest != 0 && isOpposite ? 1 : 0);
  }
};
struct Remainder {
  template <typename T>
  static T run(T a, T b) {
    return remainder(a, b);
  }
  template <typename T>
  static T run(T a, T b, T rest) {
    return remainderFloat(a, b, rest);
  }
  template <typename T>
  static T ofQuotient(T, T rest, bool isOpposite, T b) {
    return rest + (rest != 0 && isOpposite ? b : 0);
  }
};
struct Power {
  template <typename T>
  static T run(T a, T b) {
    return power(a, b);
  }
};

#if defined(__FMA__)
constexpr bool hasFusedMultiply = true;
#else
constexpr bool hasFusedMultiply = false;
#endif
inline float truncOf(float a) { return __builtin_truncf(a); }
inline double truncOf(double a) { return __builtin_trunc(a); }
inline float absOf(float a) { return __builtin_fabsf(a); }
inline double absOf(double a) { return __builtin_fabs(a); }
inline float multiplyAdd(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline double multiplyAdd(double a, double b, double c) { return __builtin_fma(a, b, c); }

// The remainders of a chunk as fmod gives them. Of a quotient that is rounded to a number with a fraction,
// the integer part is the true one or one more: the remainder, which a fused multiply-add gives exactly, then
// has the wrong sign.
template <typename T>
inline void restsOf(T* rest, const T* a, const T* b) {
  if constexpr (hasFusedMultiply) {
    constexpr T kMost = sizeof(T) == 8 ? T(0x1p51) : T(0x1p22);
    int isOrdinary = 1;
    for (int l = 0; l < kChunk; l++) {
      const T quotient = truncOf(a[l] / b[l]);
      const T found = multiplyAdd(-quotient, b[l], a[l]);
      const bool isBeyond = found != 0 && (found < 0) != (a[l] < 0);
      rest[l] = isBeyond ? found + copySign(b[l], a[l]) : found;
      isOrdinary &= (absOf(quotient) < kMost) & (absOf(b[l]) < T(__builtin_inf()));
    }
    if (isOrdinary) return;
    for (int l = 0; l < kChunk; l++)
      if (!(absOf(a[l] / b[l]) < kMost && absOf(b[l]) < T(__builtin_inf()))) rest[l] = fmodOf(a[l], b[l]);
  } else {
    for (int l = 0; l < kChunk; l++) rest[l] = fmodOf(a[l], b[l]);
  }
}

template <typename F, typename T>
void divideFloats(Extent n, const Operand& out, const Operand* const* args) {
  eachChunk<T, T, T>(n, out, args, [](T* d, const T* a, const T* b) {
    alignas(64) T rest[kChunk];
    restsOf(rest, a, b);
    for (int l = 0; l < kChunk; l++) d[l] = F::run(a[l], b[l], rest[l]);
  });
}

// Integers of up to 51 bits, as the last bits of a double, and back.
constexpr int64_t kWholeBits = 0x4338000000000000;
inline double doubleOf(int64_t a) { return __builtin_bit_cast(double, a + kWholeBits) - 0x1.8p52; }
inline int64_t wholeOf(double a) { return __builtin_bit_cast(int64_t, a + 0x1.8p52) - kWholeBits; }
inline double doubleOf(int32_t a) { return a; }
template <typename T>
inline bool isSmall(T a) {
  if constexpr (sizeof(T) == 4) return true;
  return static_cast<uint64_t>(a) + (uint64_t{1} << 49) < uint64_t{1} << 50;
}

// Division of doubles, whose integer part is right for integers this small.
template <typename F, typename T>
void divideIntegers(Extent n, const Operand& out, const Operand* const* args) {
  eachChunk<T, T, T>(n, out, args, [](T* d, const T* a, const T* b) {
    int isOrdinary = 1;
    for (int l = 0; l < kChunk; l++) isOrdinary &= (b[l] != 0) & isSmall(a[l]) & isSmall(b[l]);
    if (!isOrdinary) {
      for (int l = 0; l < kChunk; l++) d[l] = F::run(a[l], b[l]);
      return;
    }
#pragma GCC ivdep
    for (int l = 0; l < kChunk; l++) {
      const T quotient = static_cast<T>(wholeOf(truncOf(doubleOf(a[l]) / doubleOf(b[l]))));
      d[l] = F::ofQuotient(quotient, static_cast<T>(a[l] - quotient * b[l]), (a[l] < 0) != (b[l] < 0), b[l]);
    }
  });
}

template <typename T>
void addDivision(Registry& registry) {
  if constexpr (std::is_floating_point_v<T>) {
    registry.addOp("floorDivide", kDTypeOf<T>, divideFloats<FloorDivide, T>);
    registry.addOp("remainder", kDTypeOf<T>, divideFloats<Remainder, T>);
  } else if constexpr (std::is_signed_v<T> && sizeof(T) >= 4) {
    registry.addOp("floorDivide", kDTypeOf<T>, divideIntegers<FloorDivide, T>);
    registry.addOp("remainder", kDTypeOf<T>, divideIntegers<Remainder, T>);
  } else {
    registry.addOp("floorDivide", kDTypeOf<T>, binary<FloorDivide, T, T>);
    registry.addOp("remainder", kDTypeOf<T>, binary<Remainder, T, T>);
  }
}
template <typename T>
void addInteger(Registry& registry) {
  addDivision<T>(registry);
  registry.addOp("pow", kDTypeOf<T>, binary<Power, T, T>);
}

}  // namespace

void addIntegers(Registry& registry) {
  addInteger<int8_t>(registry);
  addInteger<int16_t>(registry);
  addInteger<int32_t>(registry);
  addInteger<int64_t>(registry);
  addInteger<uint8_t>(registry);
  addInteger<uint16_t>(registry);
  addInteger<uint32_t>(registry);
  addInteger<uint64_t>(registry);
  addDivision<float>(registry);
  addDivision<double>(registry);
}

}  // namespace weft::cpu::WEFT_ISA
