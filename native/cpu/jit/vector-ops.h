// The ops and casts of a step that are vector instructions, with the bits of the functions of lanes
// (`ops-arithmetic.cpp`, `ops-comparison.cpp`, `casts.cpp`). Others are called.
#pragma once
#include "cpu/jit/vector-code.h"

namespace weft::cpu::jit {

// An op of so many arguments: out = op(args), in a register that is none of theirs. `dtype` is that of the
// last argument.
struct VectorOp {
  void (*emit)(VectorCode& to, DType dtype, int out, const VectorOperand* args) = nullptr;
};

// Whether lanes may hold numbers of a dtype.
bool isLaneDType(DType dtype);

// Without a function: there is none. `wide`: with AVX-512.
VectorOp vectorOp(const char* name, DType dtype, bool wide);
VectorOp vectorCast(DType from, DType to, bool wide);

}  // namespace weft::cpu::jit
