// Matrix products on the CPU: how `matmul` (cpu.h) does its work, for those who test or plan it.
//
// gemm.cpp chooses the way from shapes and strides only, once gemm-batch.* has made them simple;
// gemm-blocked.cpp has the packed, blocked product, gemm-vector.cpp those with vectors; the kernels are in
// gemm-kernels.h. Large products go to a BLAS where one is in use (blas.h). How the sum
// over k of each element is taken depends on the shapes and nothing else: not on the number of threads, nor
// on how the work is cut up.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "cpu/cpu.h"
#include "cpu/gemm-kernels.h"

namespace weft::cpu {

class ThreadPool;

// The most bytes of packed panels that one product wants. Besides, each thread has less than 1 MiB, and
// products of halves over a long k have at most 5 MiB of sums.
inline constexpr size_t kPackedByteLimit = size_t{32} << 20;

// One operand: element (i, j) is data + (i * rowStride + j * columnStride) * bytes of an element.
struct GemmOperand {
  std::byte* data;
  int64_t rowStride, columnStride;

  GemmOperand transposed() const { return {data, columnStride, rowStride}; }
};

// c (m × n) = a (m × k) · b (k × n). No size is 0.
struct GemmProblem {
  const GemmKernels* kernels;
  int64_t elementByteLength;
  int64_t m, n, k;
  GemmOperand a, b, c;
  const std::atomic<bool>* cancel;
  // Whether the product is added to c; not for halves.
  bool adds = false;

  bool cancelled() const { return cancel != nullptr && cancel->load(std::memory_order_relaxed); }
};

// Packs and multiplies on at most `threads` threads of the pool; inside one of its tasks, on that task's
// thread, which is 1. Packs as much at a time as the workspace has room for, which is the least at least.
void blockedProduct(const GemmProblem& problem, ThreadPool& pool, int threads, Workspace workspace);
// The bytes of a workspace that it uses, and the most of them alone: the least takes longer to find than a
// small product.
size_t mostBlockedBytes(const GemmProblem& problem, int threads);
WorkspaceNeed blockedWorkspace(const GemmProblem& problem, int threads);

// c += a * b, of floats and complex numbers, with a workspace as `addWorkspace` says, or memory of its own
// where there is less than the least.
void addProduct(const Matmul& job, ThreadPool& pool, const std::atomic<bool>* cancel, Workspace workspace);
WorkspaceNeed addWorkspace(const Matmul& job, const ThreadPool& pool);

}  // namespace weft::cpu
