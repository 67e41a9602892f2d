// The ops and casts of a step that are vector instructions, with the bits of the functions of lanes
// (`ops-arithmetic.cpp`, `ops-comparison.cpp`, `casts.cpp`). Others are called.
#pragma once
#include <string_view>

#include "cpu/jit/vector-code.h"

namespace weft::cpu::jit {

struct VectorOp {
  Emit emit = nullptr;
  // The code leaves the sign of the first scratch set in lanes whose numbers it does not do.
  bool isPartial = false;
};

// Without a function: the processor has none.
VectorOp vectorOp(const char* name, DType dtype, const VectorCode& to);
VectorOp vectorCast(DType from, DType to, const VectorCode& code);

// Those whose arguments are whole numbers up to 2^50, or 31 bits of products and of casts to int32:
// remainders by numbers that are not negative, products of int64, casts between float64, int64 and int32;
// remainders of int32 up to 2^24 by positive numbers, or by a constant power of two.
VectorOp boundedOp(std::string_view name, DType from, DType to, const VectorCode& code);
void remainderOfBounded(VectorCode& to, DType dtype, int out, const VectorOperand* args);

// By a constant power of two, a product.
void divideFloats(VectorCode& to, DType dtype, int out, const VectorOperand* args);
// Partial: of infinite numbers, NaN, divisors of 0 and quotients of 2^51 (2^22 of float32) and more.
void remainderOfFloats(VectorCode& to, DType dtype, int out, const VectorOperand* args);
// Of int32 and uint32, in lanes of 64 bits.
void remainderOfNarrow(VectorCode& to, DType dtype, int out, const VectorOperand* args);
// Of int64. Partial: of numbers beyond 2^49 and divisors of 0.
void remainderOfWide(VectorCode& to, DType dtype, int out, const VectorOperand* args);
// Whether one that is partial leaves no lane out for this divisor: of int64 by a power of two.
bool isWholeRemainder(const VectorCode& to, DType dtype, VectorOperand divisor);

}  // namespace weft::cpu::jit
