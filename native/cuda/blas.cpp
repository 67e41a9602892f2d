#include "cuda/blas.h"

#include <algorithm>
#include <complex>
#include <limits>

#include "cuda/library-status.h"
#include "runtime/failure.h"
#include "runtime/product-batches.h"
#include "shared/layout.h"

namespace weft::cuda {
namespace {

// CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION: split sums of halves stay in
// float32.
constexpr int kMathMode = 16;
constexpr int kDefaultGemm = -1;
// Largest batch of one call: that of a grid's z axis.
constexpr int64_t kMaxBatch = 65535;

// 1 and 0 in the type that a product's factors have.
struct Scalars {
  const void* one;
  const void* zero;
};
Scalars scalarsOf(DType dtype) {
  static const std::complex<float> floats[] = {1.0F, 0.0F};
  static const std::complex<double> doubles[] = {1.0, 0.0};
  // A complex number begins with its real part, so that these serve for real types too.
  if (dtype == DType::float64 || dtype == DType::complex128) return {&doubles[0], &doubles[1]};
  return {&floats[0], &floats[1]};
}

CublasState* findCublas() {
  auto* state = new CublasState();
  Cublas& api = state->cublas;
#define WEFT_ENTRY(name, symbol, optional, ...) {reinterpret_cast<void**>(&api.name), symbol, optional},
  const std::vector<EntryPoint> entryPoints = {WEFT_CUBLAS(WEFT_ENTRY)};
#undef WEFT_ENTRY
  const auto accept = [&]() -> std::string {
    if (api.cublasGetProperty(kMajorVersion, &state->major) != 0 ||
        api.cublasGetProperty(kMinorVersion, &state->minor) != 0) {
      return "cublasGetProperty failed";
    }
    const int driverVersion = driverState().version;
    if (driverVersion == 0 || state->major <= driverVersion / 1000) return {};
    return "it is of CUDA " + std::to_string(state->major) + ", the driver of " + versionText(driverVersion);
  };
  state->library = openLibrary(candidates().cublas, entryPoints, {"libcublasLt.so"}, accept);
  return state;
}

const Cublas& cublas() {
  const CublasState& state = cublasState();
  if (!state.library.found()) {
    throw Failure(FailureCode::device, "[cuda] expected cuBLAS (libcublas), for a matrix product: " +
                                           describeTried(state.library));
  }
  return state.cublas;
}

#define WEFT_CUBLAS_CALL(name, ...) checkStatus(cublas().name(__VA_ARGS__), kCublasNames, #name)

// One operand as cuBLAS takes it.
struct Operand {
  CUdeviceptr address;
  Layout layout;
  int64_t stride;
};

// A column-major product c (m, n) = a * b.
struct Product {
  int64_t m, n, k;
  Operand a, b, c;
};

const void* addressOf(const Operand& operand) { return reinterpret_cast<const void*>(operand.address); }

bool fits32(const Product& p) {
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  return std::max({p.m, p.n, p.k, p.a.layout.leading, p.b.layout.leading, p.c.layout.leading}) <= kMax;
}

void multiplyBatch(cublasHandle handle, const Product& p, int64_t batch, const MatmulStep& step, bool adds) {
  const ProductTypes types = typesOf(step.dtype, step.allowsTf32);
  const Scalars scalars = scalarsOf(step.dtype);
  const void* const beta = adds ? scalars.one : scalars.zero;
  const int transposeA = p.a.layout.transposed ? 1 : 0;
  const int transposeB = p.b.layout.transposed ? 1 : 0;
  void* result = reinterpret_cast<void*>(p.c.address);
  if (!fits32(p)) {
    if (cublas().cublasGemmStridedBatchedEx64 == nullptr) {
      throw Failure(
          FailureCode::device,
          "[cuda] expected cuBLAS 12 or newer, for a matrix with more than 2^31 - 1 rows or columns: " +
              std::to_string(cublasState().major));
    }
    WEFT_CUBLAS_CALL(cublasGemmStridedBatchedEx64, handle, transposeA, transposeB, p.m, p.n, p.k, scalars.one,
                     addressOf(p.a), types.data, p.a.layout.leading, p.a.stride, addressOf(p.b), types.data,
                     p.b.layout.leading, p.b.stride, beta, result, types.data, p.c.layout.leading, p.c.stride,
                     batch, types.compute, kDefaultGemm);
    return;
  }
  const int m = static_cast<int>(p.m), n = static_cast<int>(p.n), k = static_cast<int>(p.k);
  const int leadingA = static_cast<int>(p.a.layout.leading);
  const int leadingB = static_cast<int>(p.b.layout.leading);
  const int leadingC = static_cast<int>(p.c.layout.leading);
  if (batch == 1) {
    WEFT_CUBLAS_CALL(cublasGemmEx, handle, transposeA, transposeB, m, n, k, scalars.one, addressOf(p.a),
                     types.data, leadingA, addressOf(p.b), types.data, leadingB, beta, result, types.data,
                     leadingC, types.compute, kDefaultGemm);
    return;
  }
  WEFT_CUBLAS_CALL(cublasGemmStridedBatchedEx, handle, transposeA, transposeB, m, n, k, scalars.one,
                   addressOf(p.a), types.data, leadingA, p.a.stride, addressOf(p.b), types.data, leadingB,
                   p.b.stride, beta, result, types.data, leadingC, p.c.stride, static_cast<int>(batch),
                   types.compute, kDefaultGemm);
}

}  // namespace

const CublasState& cublasState() {
  static const CublasState& state = *findCublas();
  return state;
}

std::vector<std::string> cublasEntryPoints() {
#define WEFT_SYMBOL(name, symbol, optional, ...) symbol,
  return {WEFT_CUBLAS(WEFT_SYMBOL)};
#undef WEFT_SYMBOL
}

ProductTypes typesOf(DType dtype, bool allowsTf32) {
  // CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_64F, CUBLAS_COMPUTE_32F_FAST_TF32
  constexpr int kFull32 = 68, kCompute64 = 70, kTf32 = 77;
  const int compute32 = allowsTf32 ? kTf32 : kFull32;
  switch (dtype) {
    case DType::float16:
      return {2, compute32};  // CUDA_R_16F
    case DType::bfloat16:
      return {14, compute32};  // CUDA_R_16BF
    case DType::float32:
      return {0, compute32};  // CUDA_R_32F
    case DType::float64:
      return {1, kCompute64};  // CUDA_R_64F
    case DType::complex64:
      return {4, compute32};  // CUDA_C_32F
    case DType::complex128:
      return {5, kCompute64};  // CUDA_C_64F
    default:
      throw Failure(FailureCode::internal,
                    "no matrix product for dtype " + std::to_string(static_cast<int>(dtype)));
  }
}

Layout layoutOf(int64_t rows, int64_t columns, int64_t rowStride, int64_t columnStride) {
  // The stride of an axis of one element says nothing.
  if (rows == 1 || rowStride == 1) {
    const int64_t leading = columns == 1 ? rows : columnStride;
    if (leading >= rows) return {false, leading};
  }
  if (columns == 1 || columnStride == 1) {
    const int64_t leading = rows == 1 ? columns : rowStride;
    if (leading >= columns) return {true, leading};
  }
  throw Failure(FailureCode::internal, "a matrix operand with strides " + std::to_string(rowStride) + ", " +
                                           std::to_string(columnStride) + " reached cuBLAS");
}

Blas::Blas(CUstream stream) : stream_(stream) {
  WEFT_CUBLAS_CALL(cublasCreate, &handle_);
  try {
    WEFT_CUBLAS_CALL(cublasSetStream, handle_, stream);
    WEFT_CUBLAS_CALL(cublasSetMathMode, handle_, kMathMode);
  } catch (...) {
    cublas().cublasDestroy(handle_);
    throw;
  }
}

Blas::~Blas() { cublas().cublasDestroy(handle_); }

void Blas::enter(CUstream stream) {
  if (stream == stream_) return;
  WEFT_CUBLAS_CALL(cublasSetStream, handle_, stream);
  stream_ = stream;
}

void Blas::useWorkspace(CUdeviceptr workspace, size_t bytes) {
  // Even without any: else cuBLAS would take memory of its own.
  WEFT_CUBLAS_CALL(cublasSetWorkspace, handle_, reinterpret_cast<void*>(workspace), bytes);
}

void Blas::solveTriangle(const TriangleSystem& s) {
  constexpr int kLeft = 0, kLower = 0, kUpper = 1, kUnit = 1, kNonUnit = 0;
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (std::max(s.n, s.sides) > kMost)
    throw Failure(FailureCode::device, "[cuda] expected a triangle of fewer than 2^31 rows and columns");
  const int n = static_cast<int>(s.n), sides = static_cast<int>(s.sides);
  const void* const a = reinterpret_cast<const void*>(s.a);
  void* const b = reinterpret_cast<void*>(s.b);
  const void* const one = scalarsOf(s.dtype).one;
  const int triangle = s.isUpper ? kUpper : kLower, diagonal = s.hasUnitDiagonal ? kUnit : kNonUnit;
#define WEFT_TRSM(name) \
  WEFT_CUBLAS_CALL(name, handle_, kLeft, triangle, s.transpose, diagonal, n, sides, one, a, n, b, n)
  switch (s.dtype) {
    case DType::float32:
      return WEFT_TRSM(cublasStrsm);
    case DType::float64:
      return WEFT_TRSM(cublasDtrsm);
    case DType::complex64:
      return WEFT_TRSM(cublasCtrsm);
    default:
      return WEFT_TRSM(cublasZtrsm);
  }
#undef WEFT_TRSM
}

void Blas::multiplyInStretches(const MatmulStep& step, const std::vector<CUdeviceptr>& addresses,
                               size_t workspaceBytes, bool adds) {
  for (int64_t first = 0; first < step.k; first += step.stretch) {
    MatmulStep part = step;
    part.k = std::min(step.stretch, step.k - first);
    part.a.offset += first * step.a.columnStride;
    part.b.offset += first * step.b.rowStride;
    multiply(part, addresses, workspaceBytes, adds || first > 0);
  }
}

void Blas::multiply(const MatmulStep& step, const std::vector<CUdeviceptr>& addresses, size_t workspaceBytes,
                    bool adds) {
  if (step.m == 0 || step.n == 0 || step.batch == 0) return;
  if (!step.outer.empty()) {
    const auto inner = [&](const MatmulStep& part) { multiply(part, addresses, workspaceBytes, adds); };
    return eachInner(step, inner);
  }
  if (step.stretch > 0 && step.stretch < step.k)
    return multiplyInStretches(step, addresses, workspaceBytes, adds);
  const auto elementBytes = int64_t{kElementBytes[static_cast<int>(step.dtype)]};
  const auto operand = [&](const MatrixOperand& o, int64_t rows, int64_t columns) -> Operand {
    return {addresses[o.buffer] + o.offset * elementBytes,
            layoutOf(rows, columns, o.rowStride, o.columnStride), o.batchStride};
  };
  Product product{step.m, step.n, step.k, {}, {}, operand(step.c, step.m, step.n)};
  if (step.k == 0) {
    if (adds) return;
    // The empty sum. Rows or columns are contiguous, whichever the layout says.
    const auto width = static_cast<size_t>((product.c.layout.transposed ? step.n : step.m) * elementBytes);
    const auto height = static_cast<size_t>(product.c.layout.transposed ? step.m : step.n);
    const auto pitch = static_cast<size_t>(product.c.layout.leading * elementBytes);
    for (int64_t i = 0; i < step.batch; i++) {
      const CUdeviceptr address = product.c.address + i * product.c.stride * elementBytes;
      WEFT_CU(cuMemsetD2D8Async, address, pitch, 0, width, height, stream_);
    }
    return;
  }
  product.a = operand(step.a, step.m, step.k);
  product.b = operand(step.b, step.k, step.n);
  if (product.c.layout.transposed) {
    // c is row-major, so its transpose is column-major, and that is b's transpose times a's.
    std::swap(product.m, product.n);
    std::swap(product.a, product.b);
    product.a.layout.transposed = !product.a.layout.transposed;
    product.b.layout.transposed = !product.b.layout.transposed;
    product.c.layout.transposed = false;
  }
  useWorkspace(step.workspace < 0 ? 0 : addresses[step.workspace], workspaceBytes);
  for (int64_t first = 0; first < step.batch; first += kMaxBatch) {
    Product part = product;
    part.a.address += first * part.a.stride * elementBytes;
    part.b.address += first * part.b.stride * elementBytes;
    part.c.address += first * part.c.stride * elementBytes;
    multiplyBatch(handle_, part, std::min(kMaxBatch, step.batch - first), step, adds);
  }
}

}  // namespace weft::cuda
