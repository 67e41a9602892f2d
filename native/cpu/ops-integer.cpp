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
T floorDivideFloat(T a, T b) {
  if (b == 0) return a / b;
  const T rest = fmodOf(a, b);
  T quotient = (a - rest) / b;
  if (rest != 0 && ((b < 0) != (rest < 0))) quotient -= 1;
  if (quotient == 0) return copySign(T(0), a / b);
  const T whole = floorOf(quotient);
  return quotient - whole > T(0.5) ? whole + 1 : whole;
}
template <typename T>
T remainderFloat(T a, T b) {
  const T rest = fmodOf(a, b);
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
    if constexpr (std::is_floating_point_v<T>)
      return floorDivideFloat(a, b);
    else
      return floorDivide(a, b);
  }
};
struct Remainder {
  template <typename T>
  static T run(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return remainderFloat(a, b);
    else
      return remainder(a, b);
  }
};
struct Power {
  template <typename T>
  static T run(T a, T b) {
    return power(a, b);
  }
};

template <typename T>
void addDivision(Registry& registry) {
  registry.addOp("floorDivide", kDTypeOf<T>, binary<FloorDivide, T, T>);
  registry.addOp("remainder", kDTypeOf<T>, binary<Remainder, T, T>);
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
