// A batch of matrix products, and what makes it simpler before a way to compute it is chosen: operands turned
// over, rows joined, parts cut out. For gemm.cpp and gemm-vector.cpp.
#pragma once
#include <cstddef>
#include <cstdint>

#include "cpu/gemm.h"
#include "runtime/host-pool.h"
#include "shared/layout.h"

namespace weft::cpu {

inline int64_t ceilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }
inline size_t alignedByteLength(int64_t byteLength) {
  return static_cast<size_t>(ceilDivide(byteLength, kHostAlignment)) * kHostAlignment;
}

// Pairs of operands, `count` of them.
struct Batch {
  GemmProblem problem;
  int64_t count;
  int64_t aStride, bStride, cStride;

  GemmProblem at(int64_t i) const {
    GemmProblem one = problem;
    one.a.data += i * aStride * problem.elementByteLength;
    one.b.data += i * bStride * problem.elementByteLength;
    one.c.data += i * cStride * problem.elementByteLength;
    return one;
  }
};

// c' = b' a'.
void transpose(Batch& batch);

// Strides along an axis of one element say nothing: makes them those of a dense matrix; and the only row of
// each product of a batch one of many.
void tidyStrides(Batch& batch);

// The simplifications of a batch, which apply to its parts, too.
struct Form {
  enum { apart, joined, joinedTransposed } rows = apart;
  bool transposed = false;
};

Form simplify(Batch& batch);
void simplifyAs(const Form& form, Batch& batch);

// A part of a batch, before it is simplified.
void restrict(Batch& batch, const MatmulPart& part);

}  // namespace weft::cpu
