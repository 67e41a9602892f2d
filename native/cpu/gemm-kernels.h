// The innermost parts of matrix products, compiled once for each instruction set (gemm-kernels.inc): packing,
// the register tile, matrix-vector products. gemm.cpp puts them together; they know nothing of threads or
// memory.
//
// A product is cut into panels of `rows` rows of a and of `columns` columns of b. A packed panel is, for each
// k in order, its `rows` (or `columns`) elements side by side, zeros where the matrix has ended. The tile
// multiplies a panel of a by one of b over at most `depth` values of k, in registers, and then adds the
// result to what was there. So each element of a result is a sum in the order of k, in blocks of `depth`,
// whichever way a product is cut up.
#pragma once
#include <cstdint>

#include "shared/layout.h"

namespace weft::cpu {

// Strides and sizes are in elements of the arrays they belong to.
struct GemmKernels {
  int rows;
  int columns;
  // Divides kMatmulGranule.
  int depth;
  // Bytes of one element in a packed panel, and in the array that tiles add to (float32 for halves).
  int packedByteLength;
  int sumByteLength;

  // Packs one panel: element (i, k) is from[i * stride + k * kStride], for i < width, k < depth.
  using Pack = void (*)(void* to, const void* from, int64_t stride, int64_t kStride, int64_t width,
                        int64_t depth);
  Pack packA;
  Pack packB;

  // c (height × width, at most rows × columns) = a · b, or += where `add`. Packed panels.
  void (*tile)(int64_t depth, const void* a, const void* b, void* c, int64_t rowStride, int64_t columnStride,
               int64_t height, int64_t width, bool add);

  // Rounds sums to the dtype of the result, where they differ; else null.
  void (*round)(void* to, int64_t rowStride, int64_t columnStride, const void* from, int64_t fromRowStride,
                int64_t height, int64_t width);

  // For float32 and float64; else null. A whole product with b's columns side by side and any a, all on one
  // thread, nothing packed but the edge of b, for which `scratch` has k * columns elements. Unit column
  // stride in c.
  void (*small)(int64_t m, int64_t n, int64_t k, const void* a, int64_t aRowStride, int64_t aColumnStride,
                const void* b, int64_t bRowStride, void* c, int64_t cRowStride, void* scratch);

  // For float32 and float64; else null. y[i * yStride] = sum over k of matrix[i * stride + k] * x[k], or +=
  // where `add`. Sums of blocks of k, whose length divides kMatmulGranule, are added up in order.
  void (*rowDots)(int64_t height, int64_t depth, const void* matrix, int64_t stride, const void* x, void* y,
                  int64_t yStride, bool add);
  // y[j * yStride] = sum over k of matrix[k * stride + j] * x[k], or +=, for width <= kColumnSumWidth.
  void (*columnSums)(int64_t width, int64_t depth, const void* matrix, int64_t stride, const void* x, void* y,
                     int64_t yStride, bool add);
  // *y = the sum of `count` values, which are overwritten.
  void (*pairwiseSum)(int64_t count, void* values, void* y);
};

inline constexpr int kColumnSumWidth = 512;

// The kernels of a dtype, from float16 on.
const GemmKernels& gemmKernelsBaseline(DType dtype);
const GemmKernels& gemmKernelsAvx2(DType dtype);
const GemmKernels& gemmKernelsAvx512(DType dtype);
const GemmKernels& gemmKernelsNeon(DType dtype);

}  // namespace weft::cpu
