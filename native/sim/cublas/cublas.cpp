// The simulated cuBLAS: the same checks of arguments, and products as plain loops in the handle's stream.
#include <algorithm>

#include "core/enter-library.h"
#include "cublas/matrix.h"
#include "cusolver/matrix.h"

using namespace weft::sim;

namespace {

constexpr int kOk = 0, kNoHandle = 1, kAllocationFailed = 3, kInvalid = 7, kExecutionFailed = 13,
              kNotSupported = 15;
// Bytes that cuBLAS takes for itself on Hopper where it is given no workspace.
constexpr size_t kOwnWorkspace = size_t{32} << 20;

struct Handle {
  Context* context = nullptr;
  Stream* stream = nullptr;
  Address workspace = 0;
  size_t workspaceBytes = 0;
  bool ownWorkspace = false;
  // Whether it was given one, of any size.
  bool given = false;
};

Handles<Handle>& handles() {
  static Handles<Handle>& it = *new Handles<Handle>();
  return it;
}

template <typename Body>
int enterBlas(const char* name, Handle* given, const Body& body) {
  const auto find = [&](Simulator& simulator) { return simulator.object(handles(), given, "cuBLAS handle"); };
  return enterWithHandle(name, {kNoHandle, kExecutionFailed}, find, body);
}

void dropOwnWorkspace(Handle& handle) {
  if (!handle.ownWorkspace) return;
  handle.context->used -= kOwnWorkspace;
  handle.ownWorkspace = false;
}

constexpr int kCompute32 = 68, kCompute64 = 70, kComputeTf32 = 77;

// float32 accumulation for halves, float32 and complex64, of which the last two have TF32; float64 for the
// others.
bool isSupported(int type, int compute) {
  switch (type) {
    case 0:
    case 4:
      return compute == kCompute32 || compute == kComputeTf32;
    case 2:
    case 14:
      return compute == kCompute32;
    case 1:
    case 5:
      return compute == kCompute64;
    default:
      return false;
  }
}

// cublasGemmStridedBatchedEx_64's arguments, which every other form has.
struct Gemm {
  int transposeA, transposeB;
  int64_t m, n, k;
  const void* alpha;
  const void* a;
  int typeA;
  int64_t leadingA;
  long long strideA;
  const void* b;
  int typeB;
  int64_t leadingB;
  long long strideB;
  const void* beta;
  void* c;
  int typeC;
  int64_t leadingC;
  long long strideC;
  int64_t batch;
  int compute;
};

bool isValid(const Gemm& g) {
  const int64_t rowsA = g.transposeA != 0 ? g.k : g.m;
  const int64_t rowsB = g.transposeB != 0 ? g.n : g.k;
  const auto isTranspose = [](int operation) { return operation >= 0 && operation <= 2; };
  return g.m >= 0 && g.n >= 0 && g.k >= 0 && g.batch >= 0 && isTranspose(g.transposeA) &&
         isTranspose(g.transposeB) && g.leadingA >= std::max<int64_t>(1, rowsA) &&
         g.leadingB >= std::max<int64_t>(1, rowsB) && g.leadingC >= std::max<int64_t>(1, g.m) &&
         g.alpha != nullptr && g.beta != nullptr;
}

Matrix matrix(const void* address, int transpose, int64_t rows, int64_t columns, int64_t leading,
              long long stride) {
  const bool transposed = transpose != 0;
  return {reinterpret_cast<Address>(address), transposed, transposed ? columns : rows,
          transposed ? rows : columns,        leading,    stride};
}

int multiply(Simulator& simulator, Handle& handle, const Gemm& g) {
  if (!isValid(g)) return kInvalid;
  constexpr int kConjugate = 2;
  if (g.typeA != g.typeB || g.typeA != g.typeC || !isSupported(g.typeA, g.compute) ||
      g.transposeA == kConjugate || g.transposeB == kConjugate)
    return kNotSupported;
  if (g.m == 0 || g.n == 0 || g.batch == 0) return kOk;
  if (!handle.given && handle.stream->capture != nullptr)
    simulator.misuse(simulator.callName + " takes memory of its own while it is captured");
  if (!handle.given && !handle.ownWorkspace) {
    if (handle.context->free() < kOwnWorkspace) return kAllocationFailed;
    handle.context->used += kOwnWorkspace;
    handle.ownWorkspace = true;
  }
  Product product{};
  product.m = g.m;
  product.n = g.n;
  product.k = g.k;
  product.batch = g.batch;
  product.type = product.resultType = g.typeA;
  product.tf32 = g.compute == kComputeTf32;
  product.a = matrix(g.a, g.transposeA, g.m, g.k, g.leadingA, g.strideA);
  product.b = matrix(g.b, g.transposeB, g.k, g.n, g.leadingB, g.strideB);
  product.c = product.d = matrix(g.c, 0, g.m, g.n, g.leadingC, g.strideC);
  readScalar(g.alpha, g.typeA, product.alpha);
  readScalar(g.beta, g.typeA, product.beta);
  const Range workspace{handle.workspace, handle.workspace + handle.workspaceBytes};
  const auto body = [&simulator, product, workspace](Context& context, Accesses& accesses,
                                                     const std::string& what) {
    if (!useWorkspace(simulator, context, workspace, accesses, what)) return kIllegalAddress;
    return multiply(simulator, context, product, accesses, what);
  };
  simulator.queue(*handle.context, *handle.stream, {body});
  return kOk;
}

// b = op(a)⁻¹ b for a triangle on the left, alpha 1.
struct Triangle {
  int side, triangle, form, diagonal, n, sides;
  const void* a;
  int leadingA;
  void* b;
  int leadingB, type;
};

int solveTriangle(const char* name, Handle* given, const Triangle& t) {
  return enterBlas(name, given, [&](Simulator& simulator, Handle& handle) {
    if (t.side != 0 || t.n < 1 || t.sides < 1 || t.leadingA != t.n || t.leadingB != t.n || t.form < 0 ||
        t.form > 2)
      return kInvalid;
    if (!handle.given) simulator.misuse(simulator.callName + " takes memory of its own");
    const size_t size = bytesOfType(t.type);
    const auto body = [&simulator, t, size](Context& context, Accesses& accesses, const std::string& what) {
      const auto from = reinterpret_cast<Address>(t.a), to = reinterpret_cast<Address>(t.b);
      const size_t bytes = static_cast<size_t>(t.n) * static_cast<size_t>(t.sides) * size;
      if (!simulator.read(context, from, static_cast<size_t>(t.n) * static_cast<size_t>(t.n) * size, accesses,
                          what) ||
          !simulator.read(context, to, bytes, accesses, what) ||
          !simulator.write(context, to, bytes, accesses, what))
        return static_cast<int>(kIllegalAddress);
      Dense a = readMatrix(t.a, t.type, t.n, t.n), b = readMatrix(t.b, t.type, t.n, t.sides);
      weft::sim::solveTriangle(a, t.form, (t.triangle == 1) == (t.form == 0), t.diagonal == 1, b);
      writeMatrix(t.b, t.type, b);
      return static_cast<int>(kSuccess);
    };
    simulator.queue(*handle.context, *handle.stream, {body});
    return kOk;
  });
}

}  // namespace

#define WEFT_SIM_BLAS extern "C" __attribute__((visibility("default"))) int

WEFT_SIM_BLAS cublasCreate_v2(Handle** out) {
  return enterInContext("cublasCreate_v2", kNoHandle, [&](Simulator&, Context& context) {
    Handle* handle = handles().make();
    handle->context = &context;
    handle->stream = context.defaultStream.get();
    context.cublasHandles++;
    return *out = handle, kOk;
  });
}

WEFT_SIM_BLAS cublasDestroy_v2(Handle* given) {
  return enterBlas("cublasDestroy_v2", given, [&](Simulator&, Handle& handle) {
    dropOwnWorkspace(handle);
    handle.context->cublasHandles--;
    return handles().destroy(&handle), kOk;
  });
}

WEFT_SIM_BLAS cublasGetProperty(int property, int* value) {
  if (property < 0 || property > 2) return kInvalid;
  return *value = property == 0 ? 13 : 0, kOk;
}

WEFT_SIM_BLAS cublasSetStream_v2(Handle* given, Stream* streamHandle) {
  return enterBlas("cublasSetStream_v2", given, [&](Simulator& simulator, Handle& handle) {
    Stream* stream = streamHandle == nullptr ? handle.context->defaultStream.get()
                                             : simulator.object(simulator.streams, streamHandle, "stream");
    if (stream == nullptr || stream->context != handle.context) return kInvalid;
    handle.stream = stream;
    // As NVIDIA documents: the workspace is cuBLAS's own again.
    handle.workspace = 0;
    handle.workspaceBytes = 0;
    handle.given = false;
    return kOk;
  });
}

WEFT_SIM_BLAS cublasSetWorkspace_v2(Handle* given, void* workspace, size_t byteLength) {
  return enterBlas("cublasSetWorkspace_v2", given, [&](Simulator&, Handle& handle) {
    const auto address = reinterpret_cast<Address>(workspace);
    if (address % 256 != 0) return kInvalid;
    dropOwnWorkspace(handle);
    handle.workspace = address;
    handle.workspaceBytes = byteLength;
    handle.given = true;
    return kOk;
  });
}

WEFT_SIM_BLAS cublasSetMathMode(Handle* given, int mode) {
  return enterBlas("cublasSetMathMode", given, [&](Simulator& simulator, Handle&) {
    constexpr int kTf32 = 3;
    if ((mode & kTf32) == kTf32) simulator.misuse(simulator.callName + " asks for TF32");
    return kOk;
  });
}

WEFT_SIM_BLAS cublasGemmStridedBatchedEx_64(Handle* handle, int transposeA, int transposeB, int64_t m,
                                            int64_t n, int64_t k, const void* alpha, const void* a, int typeA,
                                            int64_t leadingA, long long strideA, const void* b, int typeB,
                                            int64_t leadingB, long long strideB, const void* beta, void* c,
                                            int typeC, int64_t leadingC, long long strideC, int64_t batch,
                                            int computeType, int) {
  return enterBlas("cublasGemmStridedBatchedEx_64", handle, [&](Simulator& simulator, Handle& live) {
    return multiply(
        simulator, live,
        {transposeA, transposeB, m,       n,    k, alpha, a,        typeA,   leadingA, strideA,    b,
         typeB,      leadingB,   strideB, beta, c, typeC, leadingC, strideC, batch,    computeType});
  });
}

WEFT_SIM_BLAS cublasGemmStridedBatchedEx(Handle* handle, int transposeA, int transposeB, int m, int n, int k,
                                         const void* alpha, const void* a, int typeA, int leadingA,
                                         long long strideA, const void* b, int typeB, int leadingB,
                                         long long strideB, const void* beta, void* c, int typeC,
                                         int leadingC, long long strideC, int batch, int computeType, int) {
  return enterBlas("cublasGemmStridedBatchedEx", handle, [&](Simulator& simulator, Handle& live) {
    return multiply(
        simulator, live,
        {transposeA, transposeB, m,       n,    k, alpha, a,        typeA,   leadingA, strideA,    b,
         typeB,      leadingB,   strideB, beta, c, typeC, leadingC, strideC, batch,    computeType});
  });
}

WEFT_SIM_BLAS cublasGemmEx(Handle* handle, int transposeA, int transposeB, int m, int n, int k,
                           const void* alpha, const void* a, int typeA, int leadingA, const void* b,
                           int typeB, int leadingB, const void* beta, void* c, int typeC, int leadingC,
                           int computeType, int) {
  return enterBlas("cublasGemmEx", handle, [&](Simulator& simulator, Handle& live) {
    return multiply(simulator, live,
                    {transposeA, transposeB, m, n,    k, alpha, a,        typeA, leadingA, 0,          b,
                     typeB,      leadingB,   0, beta, c, typeC, leadingC, 0,     1,        computeType});
  });
}

#define WEFT_SIM_TRSM(letter, type)                                                                          \
  WEFT_SIM_BLAS cublas##letter##trsm_v2(Handle* handle, int side, int triangle, int form, int diagonal,      \
                                        int n, int sides, const void*, const void* a, int leadingA, void* b, \
                                        int leadingB) {                                                      \
    return solveTriangle("cublas" #letter "trsm_v2", handle,                                                 \
                         {side, triangle, form, diagonal, n, sides, a, leadingA, b, leadingB, type});        \
  }
WEFT_SIM_TRSM(S, 0)
WEFT_SIM_TRSM(D, 1)
WEFT_SIM_TRSM(C, 4)
WEFT_SIM_TRSM(Z, 5)
