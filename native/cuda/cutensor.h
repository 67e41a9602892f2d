// cuTENSOR 2: our own declarations of its entry points, and contractions of arrays with any strides on a
// stream.
//
// A plan is chosen by the library's heuristic for a problem, its operands' alignment and the run's workspace,
// without measuring and without run-time compilation, and is kept: the same problem is computed in the same
// order of sums.
#pragma once
#include <map>
#include <memory>
#include <vector>

#include "cuda/driver.h"
#include "cuda/library.h"
#include "runtime/program.h"

namespace weft::cuda {

using tensorHandle = struct CutensorContext_st*;
using tensorDesc = struct CutensorTensorDesc_st*;
using tensorOperation = struct CutensorOperation_st*;
using tensorPreference = struct CutensorPreference_st*;
using tensorPlan = struct CutensorPlan_st*;
using tensorCompute = struct CutensorCompute_st*;

// (name, symbol, optional, parameters)
#define WEFT_CUTENSOR(X)                                                                                    \
  X(cutensorCreate, "cutensorCreate", false, tensorHandle* handle)                                          \
  X(cutensorDestroy, "cutensorDestroy", false, tensorHandle handle)                                         \
  X(cutensorCreateTensorDescriptor, "cutensorCreateTensorDescriptor", false, tensorHandle handle,           \
    tensorDesc* desc, uint32_t modes, const int64_t* extents, const int64_t* strides, int type,             \
    uint32_t alignment)                                                                                     \
  X(cutensorDestroyTensorDescriptor, "cutensorDestroyTensorDescriptor", false, tensorDesc desc)             \
  X(cutensorCreateContraction, "cutensorCreateContraction", false, tensorHandle handle,                     \
    tensorOperation* desc, tensorDesc a, const int32_t* modesA, int operatorA, tensorDesc b,                \
    const int32_t* modesB, int operatorB, tensorDesc c, const int32_t* modesC, int operatorC, tensorDesc d, \
    const int32_t* modesD, tensorCompute compute)                                                           \
  X(cutensorDestroyOperationDescriptor, "cutensorDestroyOperationDescriptor", false, tensorOperation desc)  \
  X(cutensorCreatePlanPreference, "cutensorCreatePlanPreference", false, tensorHandle handle,               \
    tensorPreference* preference, int algorithm, int jit)                                                   \
  X(cutensorDestroyPlanPreference, "cutensorDestroyPlanPreference", false, tensorPreference preference)     \
  X(cutensorEstimateWorkspaceSize, "cutensorEstimateWorkspaceSize", false, tensorHandle handle,             \
    tensorOperation desc, tensorPreference preference, int kind, uint64_t* bytes)                           \
  X(cutensorCreatePlan, "cutensorCreatePlan", false, tensorHandle handle, tensorPlan* plan,                 \
    tensorOperation desc, tensorPreference preference, uint64_t workspaceBytes)                             \
  X(cutensorDestroyPlan, "cutensorDestroyPlan", false, tensorPlan plan)                                     \
  X(cutensorContract, "cutensorContract", false, tensorHandle handle, tensorPlan plan, const void* alpha,   \
    const void* a, const void* b, const void* beta, const void* c, void* d, void* workspace,                \
    uint64_t workspaceBytes, CUstream stream)

// Variables of the library that hold what sums are computed in.
#define WEFT_CUTENSOR_COMPUTE(X)               \
  X(compute32, "CUTENSOR_COMPUTE_DESC_32F")    \
  X(compute64, "CUTENSOR_COMPUTE_DESC_64F")    \
  X(computeTf32, "CUTENSOR_COMPUTE_DESC_TF32") \
  X(computeTf32x3, "CUTENSOR_COMPUTE_DESC_3XTF32")

struct Cutensor {
  size_t (*cutensorGetVersion)() = nullptr;
  size_t (*cutensorGetCudartVersion)() = nullptr;
#define WEFT_DECLARE(name, symbol, optional, ...) int (*name)(__VA_ARGS__) = nullptr;
  WEFT_CUTENSOR(WEFT_DECLARE)
#undef WEFT_DECLARE
#define WEFT_DECLARE(name, symbol) tensorCompute* name = nullptr;
  WEFT_CUTENSOR_COMPUTE(WEFT_DECLARE)
#undef WEFT_DECLARE
};

struct CutensorState {
  Cutensor api;
  Library library;
  // 20801 is 2.8.1.
  size_t version = 0;
};
const CutensorState& cutensorState();

std::vector<std::string> cutensorEntryPoints();

// One device's handle and its plans. On one thread at a time: whoever has the device's issuing lock.
class Tensors {
 public:
  Tensors();
  ~Tensors();
  Tensors(const Tensors&) = delete;
  Tensors& operator=(const Tensors&) = delete;

  // Queues result = alpha * Σ left * right + beta * addend; `addresses` are the buffers' by position, and the
  // step's workspace has `workspaceBytes`.
  void contract(const ContractionStep& step, const std::vector<CUdeviceptr>& addresses, size_t workspaceBytes,
                CUstream stream);
  size_t planCount() const { return plans_.size(); }

 private:
  struct DropPlan {
    void operator()(tensorPlan plan) const;
  };
  using Plan = std::unique_ptr<CutensorPlan_st, DropPlan>;
  Plan choosePlan(const ContractionStep& step, const std::vector<uint32_t>& alignments,
                  size_t workspaceBytes);

  tensorHandle handle_ = nullptr;
  // By all that the choice depends on.
  std::map<std::vector<int64_t>, Plan> plans_;
};

}  // namespace weft::cuda
