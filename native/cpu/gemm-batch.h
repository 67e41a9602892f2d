// A batch of matrix products, and what makes it simpler before a way to compute it is chosen: operands turned
// over, rows joined, parts cut out. For gemm.cpp and gemm-vector.cpp.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/gemm.h"
#include "runtime/host-pool.h"
#include "shared/layout.h"

namespace weft::cpu {

inline int64_t ceilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }
inline size_t alignedByteLength(int64_t byteLength) {
  return static_cast<size_t>(ceilDivide(byteLength, kHostAlignment)) * kHostAlignment;
}

// A batch axis: its size, and the elements from one pair of operands and result to the next.
struct BatchAxis {
  int64_t size;
  int64_t aStride, bStride, cStride;
};

// Pairs of operands, `count` of them along one stride, for each index of the outer axes.
struct Batch {
  GemmProblem problem;
  int64_t count;
  int64_t aStride, bStride, cStride;
  std::vector<BatchAxis> outer;
  // Whether parts are ranges of the first outer axis.
  bool isCutOuter = false;

  // Of all axes.
  int64_t total() const {
    int64_t pairs = count;
    for (const BatchAxis& axis : outer) pairs *= axis.size;
    return pairs;
  }

  // Number i of all, the last axis changing fastest.
  GemmProblem at(int64_t i) const {
    GemmProblem one = problem;
    const auto move = [&](int64_t steps, int64_t a, int64_t b, int64_t c) {
      one.a.data += steps * a * problem.elementByteLength;
      one.b.data += steps * b * problem.elementByteLength;
      one.c.data += steps * c * problem.elementByteLength;
    };
    if (outer.empty()) {
      move(i, aStride, bStride, cStride);
      return one;
    }
    move(i % count, aStride, bStride, cStride);
    i /= count;
    for (size_t axis = outer.size(); axis-- > 0; i /= outer[axis].size)
      move(i % outer[axis].size, outer[axis].aStride, outer[axis].bStride, outer[axis].cStride);
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
