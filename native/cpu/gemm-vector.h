// Products of matrices and vectors, which read the matrix once where it lies. For gemm.cpp.
#pragma once
#include <cstddef>

#include "cpu/gemm-batch.h"

namespace weft::cpu {

class ThreadPool;

// How a product is computed. It decides the order of sums, so that parts are computed as their whole would
// be.
enum class Way { small, blocked, dots, rowDots, columnSums };
struct Choice {
  Way way;
  // For a matrix and a vector: whether the vector is the left operand.
  bool transposed;
};

// Whether a batch is of matrices times vectors, one of whose axes has its elements side by side; then says
// how they are computed.
bool isVectorProduct(Batch batch, Choice& choice);

// The bytes of a workspace that it uses.
size_t vectorWorkspace(Batch batch, const Choice& choice);
void vectorProduct(Batch batch, const Choice& choice, ThreadPool& pool, Workspace workspace);

}  // namespace weft::cpu
