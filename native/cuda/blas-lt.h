// cuBLASLt: our own declarations of its entry points, and matrix products with epilogues on a stream.
//
// An algorithm is the step's, which was measured (lt-tuning.h), where the library runs it with these
// operands; else the first that its heuristic gives for a problem, its operands' alignment and the run's
// workspace. It is kept. Sums that are split meet in the precision of the sums, in an order of their own.
#pragma once
#include <array>
#include <map>
#include <vector>

#include "cuda/driver.h"
#include "cuda/library.h"
#include "runtime/program.h"

namespace weft::cuda {

using ltHandle = struct CublasLtContext_st*;
using ltDesc = struct CublasLtMatmulDesc_st*;
using ltLayout = struct CublasLtMatrixLayout_st*;
using ltPreference = struct CublasLtMatmulPreference_st*;

// cublasLtMatmulAlgo_t and cublasLtMatmulHeuristicResult_t.
struct LtAlgorithm {
  std::array<uint64_t, 8> data;
};
struct LtHeuristic {
  LtAlgorithm algorithm;
  size_t workspaceBytes;
  int status;
  float waves;
  int reserved[4];
};
static_assert(sizeof(LtHeuristic) == 96);

// (name, symbol, optional, parameters)
#define WEFT_CUBLASLT(X)                                                                                     \
  X(cublasLtCreate, "cublasLtCreate", false, ltHandle* handle)                                               \
  X(cublasLtDestroy, "cublasLtDestroy", false, ltHandle handle)                                              \
  X(cublasLtMatmulDescCreate, "cublasLtMatmulDescCreate", false, ltDesc* desc, int computeType,              \
    int scaleType)                                                                                           \
  X(cublasLtMatmulDescDestroy, "cublasLtMatmulDescDestroy", false, ltDesc desc)                              \
  X(cublasLtMatmulDescSetAttribute, "cublasLtMatmulDescSetAttribute", false, ltDesc desc, int attribute,     \
    const void* value, size_t bytes)                                                                         \
  X(cublasLtMatrixLayoutCreate, "cublasLtMatrixLayoutCreate", false, ltLayout* layout, int type,             \
    uint64_t rows, uint64_t columns, int64_t leading)                                                        \
  X(cublasLtMatrixLayoutDestroy, "cublasLtMatrixLayoutDestroy", false, ltLayout layout)                      \
  X(cublasLtMatrixLayoutSetAttribute, "cublasLtMatrixLayoutSetAttribute", false, ltLayout layout,            \
    int attribute, const void* value, size_t bytes)                                                          \
  X(cublasLtMatmulPreferenceCreate, "cublasLtMatmulPreferenceCreate", false, ltPreference* preference)       \
  X(cublasLtMatmulPreferenceDestroy, "cublasLtMatmulPreferenceDestroy", false, ltPreference preference)      \
  X(cublasLtMatmulPreferenceSetAttribute, "cublasLtMatmulPreferenceSetAttribute", false,                     \
    ltPreference preference, int attribute, const void* value, size_t bytes)                                 \
  X(cublasLtMatmulAlgoGetHeuristic, "cublasLtMatmulAlgoGetHeuristic", false, ltHandle handle, ltDesc desc,   \
    ltLayout a, ltLayout b, ltLayout c, ltLayout d, ltPreference preference, int most, LtHeuristic* results, \
    int* count)                                                                                              \
  X(cublasLtMatmulAlgoCheck, "cublasLtMatmulAlgoCheck", false, ltHandle handle, ltDesc desc, ltLayout a,     \
    ltLayout b, ltLayout c, ltLayout d, const LtAlgorithm* algorithm, LtHeuristic* result)                   \
  X(cublasLtMatmul, "cublasLtMatmul", false, ltHandle handle, ltDesc desc, const void* alpha, const void* a, \
    ltLayout layoutA, const void* b, ltLayout layoutB, const void* beta, const void* c, ltLayout layoutC,    \
    void* d, ltLayout layoutD, const LtAlgorithm* algorithm, void* workspace, size_t workspaceBytes,         \
    CUstream stream)

struct CublasLt {
  size_t (*cublasLtGetVersion)() = nullptr;
#define WEFT_DECLARE(name, symbol, optional, ...) int (*name)(__VA_ARGS__) = nullptr;
  WEFT_CUBLASLT(WEFT_DECLARE)
#undef WEFT_DECLARE
};

struct CublasLtState {
  CublasLt api;
  Library library;
  // 130200 is 13.2.0.
  size_t version = 0;
};
const CublasLtState& cublasLtState();
// Throws where the library was not found.
const CublasLt& cublasLt();
#define WEFT_LT_CALL(name, ...) checkStatus(cublasLt().name(__VA_ARGS__), kCublasLtNames, #name)

std::vector<std::string> cublasLtEntryPoints();

class LtProblem;

// One device's handle. On one thread at a time: whoever has the device's issuing lock.
class BlasLt {
 public:
  BlasLt();
  ~BlasLt();
  BlasLt(const BlasLt&) = delete;
  BlasLt& operator=(const BlasLt&) = delete;

  // Queues c = activation(alpha * a * b + beta * addend + bias); `addresses` are the buffers' by position,
  // and the step's workspace has `workspaceBytes`. Throws where the library has no algorithm for it.
  void multiply(const MatmulStep& step, const std::vector<CUdeviceptr>& addresses, size_t workspaceBytes,
                CUstream stream);
  ltHandle handle() const { return handle_; }

 private:
  LtAlgorithm choose(const MatmulStep& step, const LtProblem& problem, size_t workspaceBytes);

  ltHandle handle_ = nullptr;
  // By all that the choice depends on.
  std::map<std::vector<int64_t>, LtAlgorithm> algorithms_;
};

}  // namespace weft::cuda
