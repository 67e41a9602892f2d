// Comparisons, tests of floats, logic on booleans and bits. Compiled once per instruction set.
//
// A boolean is a byte, 0 or 1.
#include "cpu/scalar-ops.h"

namespace weft::cpu::WEFT_ISA {
namespace {

struct IsNan {
  template <typename T>
  static uint8_t run(T a) {
    return a != a;
  }
};
struct IsInf {
  static uint8_t run(float a) { return __builtin_fabsf(a) == __builtin_inff(); }
  static uint8_t run(double a) { return __builtin_fabs(a) == __builtin_inf(); }
};
struct IsFinite {
  static uint8_t run(float a) { return __builtin_fabsf(a) < __builtin_inff(); }
  static uint8_t run(double a) { return __builtin_fabs(a) < __builtin_inf(); }
};
// Of the bits, for a NaN has a sign too.
struct TopBit {
  static uint8_t run(uint32_t bits) { return static_cast<uint8_t>(bits >> 31); }
  static uint8_t run(uint64_t bits) { return static_cast<uint8_t>(bits >> 63); }
};
struct False {
  template <typename T>
  static uint8_t run(T) {
    return 0;
  }
};
struct True {
  template <typename T>
  static uint8_t run(T) {
    return 1;
  }
};

struct And {
  template <typename T>
  static T run(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <typename T>
  static T run(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct Xor {
  template <typename T>
  static T run(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
struct Invert {
  template <typename T>
  static T run(T a) {
    return static_cast<T>(~a);
  }
};
struct Not {
  static uint8_t run(uint8_t a) { return a ^ 1; }
};

// Shifts by the width or more, or by a negative count, move every bit out.
struct ShiftLeft {
  template <typename T>
  static T run(T a, T b) {
    using U = std::make_unsigned_t<T>;
    constexpr U width = sizeof(T) * 8;
    const U count = static_cast<U>(b);
    const U moved = static_cast<U>(static_cast<U>(a) << (count & (width - 1)));
    return static_cast<T>(count < width ? moved : U(0));
  }
};
struct ShiftRight {
  template <typename T>
  static T run(T a, T b) {
    using U = std::make_unsigned_t<T>;
    constexpr U width = sizeof(T) * 8;
    const U count = static_cast<U>(b);
    const U most = std::is_signed_v<T> ? width - 1 : width;
    if constexpr (std::is_signed_v<T>) return static_cast<T>(a >> (count < most ? count : most));
    return static_cast<T>(count < width ? a >> (count & (width - 1)) : 0);
  }
};

template <typename T>
void addEquality(Registry& registry, DType dtype) {
  registry.addOp("equal", dtype, binary<Equal, uint8_t, T>);
  registry.addOp("notEqual", dtype, binary<NotEqual, uint8_t, T>);
}

template <typename T>
void addOrder(Registry& registry, DType dtype) {
  registry.addOp("less", dtype, binary<Less, uint8_t, T>);
  registry.addOp("lessEqual", dtype, binary<LessEqual, uint8_t, T>);
  registry.addOp("greater", dtype, binary<Greater, uint8_t, T>);
  registry.addOp("greaterEqual", dtype, binary<GreaterEqual, uint8_t, T>);
}

template <typename T>
void addExactTests(Registry& registry, DType dtype) {
  registry.addOp("isnan", dtype, unary<False, uint8_t, T>);
  registry.addOp("isinf", dtype, unary<False, uint8_t, T>);
  registry.addOp("isfinite", dtype, unary<True, uint8_t, T>);
}

template <typename S, typename U>
void addBits(Registry& registry) {
  for (const DType dtype : {kDTypeOf<S>, kDTypeOf<U>}) {
    addEquality<U>(registry, dtype);
    addExactTests<U>(registry, dtype);
    registry.addOp("bitwiseAnd", dtype, binary<And, U, U>);
    registry.addOp("bitwiseOr", dtype, binary<Or, U, U>);
    registry.addOp("bitwiseXor", dtype, binary<Xor, U, U>);
    registry.addOp("bitwiseInvert", dtype, unary<Invert, U, U>);
    registry.addOp("bitwiseLeftShift", dtype, binary<ShiftLeft, U, U>);
  }
  addOrder<S>(registry, kDTypeOf<S>);
  addOrder<U>(registry, kDTypeOf<U>);
  registry.addOp("bitwiseRightShift", kDTypeOf<S>, binary<ShiftRight, S, S>);
  registry.addOp("bitwiseRightShift", kDTypeOf<U>, binary<ShiftRight, U, U>);
}

template <typename T, typename Bits>
void addFloatTests(Registry& registry) {
  const DType dtype = kDTypeOf<T>;
  addEquality<T>(registry, dtype);
  addOrder<T>(registry, dtype);
  registry.addOp("isnan", dtype, unary<IsNan, uint8_t, T>);
  registry.addOp("isinf", dtype, unary<IsInf, uint8_t, T>);
  registry.addOp("isfinite", dtype, unary<IsFinite, uint8_t, T>);
  registry.addOp("signbit", dtype, unary<TopBit, uint8_t, Bits>);
}

}  // namespace

void addComparisons(Registry& registry) {
  addBits<int8_t, uint8_t>(registry);
  addBits<int16_t, uint16_t>(registry);
  addBits<int32_t, uint32_t>(registry);
  addBits<int64_t, uint64_t>(registry);
  addFloatTests<float, uint32_t>(registry);
  addFloatTests<double, uint64_t>(registry);

  const DType boolean = DType::boolean;
  addEquality<uint8_t>(registry, boolean);
  addOrder<uint8_t>(registry, boolean);
  addExactTests<uint8_t>(registry, boolean);
  for (const char* name : {"add", "maximum", "logicalOr", "bitwiseOr"}) {
    registry.addOp(name, boolean, binary<Or, uint8_t, uint8_t>);
  }
  for (const char* name : {"multiply", "minimum", "logicalAnd", "bitwiseAnd"}) {
    registry.addOp(name, boolean, binary<And, uint8_t, uint8_t>);
  }
  for (const char* name : {"logicalXor", "bitwiseXor"}) {
    registry.addOp(name, boolean, binary<Xor, uint8_t, uint8_t>);
  }
  for (const char* name : {"logicalNot", "bitwiseInvert"}) {
    registry.addOp(name, boolean, unary<Not, uint8_t, uint8_t>);
  }
}

}  // namespace weft::cpu::WEFT_ISA
