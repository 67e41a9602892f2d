// cuBLAS: our own declarations of its entry points, and matrix products on a device's stream.
//
// Float32 products are full float32 (TF32 only where a step allows it), halves accumulate in float32
// throughout. The workspace is the run's, as planned, so that cuBLAS allocates nothing.
#pragma once
#include <memory>

#include "cuda/driver.h"
#include "cuda/library.h"
#include "runtime/program.h"

namespace weft::cuda {

using cublasStatus = int;
using cublasHandle = struct CublasContext_st*;

// (name, symbol, optional, parameters)
#define WEFT_CUBLAS(X)                                                                                       \
  X(cublasCreate, "cublasCreate_v2", false, cublasHandle* handle)                                            \
  X(cublasDestroy, "cublasDestroy_v2", false, cublasHandle handle)                                           \
  X(cublasGetProperty, "cublasGetProperty", false, int property, int* value)                                 \
  X(cublasSetStream, "cublasSetStream_v2", false, cublasHandle handle, CUstream stream)                      \
  X(cublasSetWorkspace, "cublasSetWorkspace_v2", false, cublasHandle handle, void* workspace, size_t bytes)  \
  X(cublasSetMathMode, "cublasSetMathMode", false, cublasHandle handle, int mode)                            \
  X(cublasGemmStridedBatchedEx, "cublasGemmStridedBatchedEx", false, cublasHandle handle, int transposeA,    \
    int transposeB, int m, int n, int k, const void* alpha, const void* a, int typeA, int leadingA,          \
    long long strideA, const void* b, int typeB, int leadingB, long long strideB, const void* beta, void* c, \
    int typeC, int leadingC, long long strideC, int batch, int computeType, int algorithm)                   \
  X(cublasGemmStridedBatchedEx64, "cublasGemmStridedBatchedEx_64", true, cublasHandle handle,                \
    int transposeA, int transposeB, int64_t m, int64_t n, int64_t k, const void* alpha, const void* a,       \
    int typeA, int64_t leadingA, long long strideA, const void* b, int typeB, int64_t leadingB,              \
    long long strideB, const void* beta, void* c, int typeC, int64_t leadingC, long long strideC,            \
    int64_t batch, int computeType, int algorithm)                                                           \
  X(cublasStrsm, "cublasStrsm_v2", false, cublasHandle handle, int side, int triangle, int transpose,        \
    int diagonal, int m, int n, const void* alpha, const void* a, int leadingA, void* b, int leadingB)       \
  X(cublasDtrsm, "cublasDtrsm_v2", false, cublasHandle handle, int side, int triangle, int transpose,        \
    int diagonal, int m, int n, const void* alpha, const void* a, int leadingA, void* b, int leadingB)       \
  X(cublasCtrsm, "cublasCtrsm_v2", false, cublasHandle handle, int side, int triangle, int transpose,        \
    int diagonal, int m, int n, const void* alpha, const void* a, int leadingA, void* b, int leadingB)       \
  X(cublasZtrsm, "cublasZtrsm_v2", false, cublasHandle handle, int side, int triangle, int transpose,        \
    int diagonal, int m, int n, const void* alpha, const void* a, int leadingA, void* b, int leadingB)       \
  X(cublasGemmEx, "cublasGemmEx", false, cublasHandle handle, int transposeA, int transposeB, int m, int n,  \
    int k, const void* alpha, const void* a, int typeA, int leadingA, const void* b, int typeB,              \
    int leadingB, const void* beta, void* c, int typeC, int leadingC, int computeType, int algorithm)

struct Cublas {
#define WEFT_DECLARE(name, symbol, optional, ...) cublasStatus (*name)(__VA_ARGS__) = nullptr;
  WEFT_CUBLAS(WEFT_DECLARE)
#undef WEFT_DECLARE
};

struct CublasState {
  Cublas cublas;
  Library library;
  int major = 0, minor = 0;
};
const CublasState& cublasState();

std::vector<std::string> cublasEntryPoints();

// Which triangle a is, which of it and its transposes (0, 1, 2 as op) is solved with, and where both are.
struct TriangleSystem {
  DType dtype;
  int64_t n, sides;
  bool isUpper;
  int transpose;
  bool hasUnitDiagonal;
  CUdeviceptr a, b;
};

// One device's handle. On one thread at a time: whoever has the device's issuing lock.
class Blas {
 public:
  explicit Blas(CUstream stream);
  ~Blas();
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;

  // From now on products are queued there.
  void enter(CUstream stream);
  // Queues c = a * b; `addresses` are the buffers' by position, and the step's workspace has
  // `workspaceBytes`. `adds`: c = c + a * b.
  void multiply(const MatmulStep& step, const std::vector<CUdeviceptr>& addresses, size_t workspaceBytes,
                bool adds = false);
  // The memory that products and systems may use from now on, until the stream changes.
  void useWorkspace(CUdeviceptr workspace, size_t bytes);
  // b = op(a)⁻¹ b for a triangle of a matrix (n, n) and `sides` columns, both in column-major order.
  void solveTriangle(const TriangleSystem& system);

 private:
  void multiplyInStretches(const MatmulStep& step, const std::vector<CUdeviceptr>& addresses,
                           size_t workspaceBytes, bool adds);

  CUstream stream_;
  cublasHandle handle_ = nullptr;
};

// The cudaDataType and the cublasComputeType_t of a product's operands. Throws for dtypes without products.
struct ProductTypes {
  int data;
  int compute;
};
ProductTypes typesOf(DType dtype, bool allowsTf32);

// How a (rows, columns) operand is passed: column-major as it is, or as the transpose of a column-major
// matrix.
struct Layout {
  bool transposed;
  int64_t leading;
};
// Throws for an operand that neither way describes (overlapping or doubly strided).
Layout layoutOf(int64_t rows, int64_t columns, int64_t rowStride, int64_t columnStride);

}  // namespace weft::cuda
