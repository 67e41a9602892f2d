#include "cuda/cutensor.h"

#include <algorithm>
#include <complex>

#include "cuda/blas-lt.h"
#include "cuda/blas.h"
#include "cuda/library-status.h"
#include "runtime/failure.h"
#include "shared/layout.h"

namespace weft::cuda {
namespace {

// Problems whose plan is kept.
constexpr size_t kMostPlans = 1024;
// The alignment from which on more says nothing.
constexpr uint64_t kMostAlignment = 128;

// cutensorOperator_t
constexpr int kIdentity = 1, kConjugate = 9;
// CUTENSOR_ALGO_DEFAULT, CUTENSOR_JIT_MODE_NONE
constexpr int kDefaultAlgorithm = -1, kNoJit = 0;
// CUTENSOR_WORKSPACE_DEFAULT
constexpr int kUsualWorkspace = 2;

std::string versionOf(size_t version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100);
}

CutensorState* findCutensor() {
  // It links to cuBLASLt by its name alone, which the loader knows of a library that is loaded.
  cublasLtState();
  auto* state = new CutensorState();
  Cutensor& api = state->api;
#define WEFT_ENTRY(name, symbol, ...) {reinterpret_cast<void**>(&api.name), symbol, false},
  const std::vector<EntryPoint> entryPoints = {
      {reinterpret_cast<void**>(&api.cutensorGetVersion), "cutensorGetVersion", false},
      {reinterpret_cast<void**>(&api.cutensorGetCudartVersion), "cutensorGetCudartVersion", false},
      WEFT_CUTENSOR(WEFT_ENTRY) WEFT_CUTENSOR_COMPUTE(WEFT_ENTRY)};
#undef WEFT_ENTRY
  const auto accept = [&]() -> std::string {
    constexpr size_t kMajor = 2;
    state->version = api.cutensorGetVersion();
    if (state->version / 10000 != kMajor) return "it is cuTENSOR " + versionOf(state->version) + ", not 2";
    const int driverVersion = driverState().version;
    const size_t major = api.cutensorGetCudartVersion() / 1000;
    if (driverVersion == 0 || major <= static_cast<size_t>(driverVersion / 1000)) return {};
    return "it is of CUDA " + std::to_string(major) + ", the driver of " + versionText(driverVersion);
  };
  state->library = openLibrary(candidates().cutensor, entryPoints, {}, accept);
  return state;
}

const Cutensor& cutensor() {
  const CutensorState& state = cutensorState();
  if (!state.library.found()) {
    throw Failure(FailureCode::device, "[cuda] expected cuTENSOR (libcutensor), for a contraction: " +
                                           describeTried(state.library));
  }
  return state.api;
}
#define WEFT_TENSOR_CALL(name, ...) checkStatus(cutensor().name(__VA_ARGS__), kCutensorNames, #name)

struct DropDesc {
  void operator()(tensorDesc it) const { cutensor().cutensorDestroyTensorDescriptor(it); }
};
struct DropOperation {
  void operator()(tensorOperation it) const { cutensor().cutensorDestroyOperationDescriptor(it); }
};
struct DropPreference {
  void operator()(tensorPreference it) const { cutensor().cutensorDestroyPlanPreference(it); }
};
using Desc = std::unique_ptr<CutensorTensorDesc_st, DropDesc>;
using Operation = std::unique_ptr<CutensorOperation_st, DropOperation>;
using Preference = std::unique_ptr<CutensorPreference_st, DropPreference>;

CUdeviceptr addressOf(const TensorOperand& operand, DType dtype, const std::vector<CUdeviceptr>& addresses) {
  return addresses[operand.buffer] + operand.offset * int64_t{kElementBytes[static_cast<int>(dtype)]};
}

uint32_t alignmentOf(CUdeviceptr address) {
  const uint64_t bits = address | kMostAlignment;
  return static_cast<uint32_t>(bits & (~bits + 1));
}

Desc descOf(tensorHandle handle, const ContractionStep& step, const TensorOperand& operand,
            uint32_t alignment) {
  std::vector<int64_t> extents;
  for (const int32_t label : operand.labels) extents.push_back(step.sizes[label]);
  tensorDesc made = nullptr;
  WEFT_TENSOR_CALL(cutensorCreateTensorDescriptor, handle, &made, static_cast<uint32_t>(extents.size()),
                   extents.data(), operand.strides.data(), typesOf(step.dtype, false).data, alignment);
  return Desc(made);
}

tensorCompute computeOf(const ContractionStep& step) {
  using Precision = ContractionStep::Precision;
  const Cutensor& api = cutensor();
  if (step.precision == Precision::tf32) return *api.computeTf32;
  if (step.precision == Precision::tf32x3) return *api.computeTf32x3;
  const bool isWide = step.dtype == DType::float64 || step.dtype == DType::complex128;
  return isWide ? *api.compute64 : *api.compute32;
}

int operatorOf(const TensorOperand& operand) { return operand.isConjugated ? kConjugate : kIdentity; }

std::vector<int64_t> keyOf(const ContractionStep& step, const std::vector<uint32_t>& alignments,
                           size_t workspaceBytes) {
  std::vector<int64_t> key{static_cast<int64_t>(step.dtype), static_cast<int64_t>(step.precision),
                           static_cast<int64_t>(workspaceBytes)};
  key.insert(key.end(), step.sizes.begin(), step.sizes.end());
  key.insert(key.end(), alignments.begin(), alignments.end());
  for (const TensorOperand* operand : {&step.left, &step.right, &step.result}) {
    key.push_back(static_cast<int64_t>(operand->labels.size()));
    key.push_back(operand->isConjugated);
    key.insert(key.end(), operand->labels.begin(), operand->labels.end());
    key.insert(key.end(), operand->strides.begin(), operand->strides.end());
  }
  return key;
}

// A factor in the type of the sums: a complex number begins with its real part.
struct Factor {
  std::complex<float> single;
  std::complex<double> wide;
  explicit Factor(double value) : single(static_cast<float>(value)), wide(value) {}
  const void* in(DType dtype) const {
    const bool isWide = dtype == DType::float64 || dtype == DType::complex128;
    return isWide ? static_cast<const void*>(&wide) : &single;
  }
};

}  // namespace

const CutensorState& cutensorState() {
  static const CutensorState& state = *findCutensor();
  return state;
}

std::vector<std::string> cutensorEntryPoints() {
#define WEFT_SYMBOL(name, symbol, ...) symbol,
  return {"cutensorGetVersion", "cutensorGetCudartVersion",
          WEFT_CUTENSOR(WEFT_SYMBOL) WEFT_CUTENSOR_COMPUTE(WEFT_SYMBOL)};
#undef WEFT_SYMBOL
}

void Tensors::DropPlan::operator()(tensorPlan plan) const { cutensor().cutensorDestroyPlan(plan); }

Tensors::Tensors() { WEFT_TENSOR_CALL(cutensorCreate, &handle_); }

Tensors::~Tensors() {
  plans_.clear();
  cutensor().cutensorDestroy(handle_);
}

Tensors::Plan Tensors::choosePlan(const ContractionStep& step, const std::vector<uint32_t>& alignments,
                                  size_t workspaceBytes) {
  const Desc left = descOf(handle_, step, step.left, alignments[0]);
  const Desc right = descOf(handle_, step, step.right, alignments[1]);
  const Desc result = descOf(handle_, step, step.result, alignments[2]);
  tensorOperation madeOperation = nullptr;
  WEFT_TENSOR_CALL(cutensorCreateContraction, handle_, &madeOperation, left.get(), step.left.labels.data(),
                   operatorOf(step.left), right.get(), step.right.labels.data(), operatorOf(step.right),
                   result.get(), step.result.labels.data(), kIdentity, result.get(),
                   step.result.labels.data(), computeOf(step));
  const Operation operation(madeOperation);
  tensorPreference madePreference = nullptr;
  WEFT_TENSOR_CALL(cutensorCreatePlanPreference, handle_, &madePreference, kDefaultAlgorithm, kNoJit);
  const Preference preference(madePreference);
  uint64_t wanted = 0;
  WEFT_TENSOR_CALL(cutensorEstimateWorkspaceSize, handle_, operation.get(), preference.get(), kUsualWorkspace,
                   &wanted);
  tensorPlan plan = nullptr;
  WEFT_TENSOR_CALL(cutensorCreatePlan, handle_, &plan, operation.get(), preference.get(),
                   std::min<uint64_t>(wanted, workspaceBytes));
  return Plan(plan);
}

void Tensors::contract(const ContractionStep& step, const std::vector<CUdeviceptr>& addresses,
                       size_t workspaceBytes, CUstream stream) {
  const CUdeviceptr left = addressOf(step.left, step.dtype, addresses);
  const CUdeviceptr right = addressOf(step.right, step.dtype, addresses);
  const CUdeviceptr result = addressOf(step.result, step.dtype, addresses);
  const CUdeviceptr addend = step.addend ? addressOf(*step.addend, step.dtype, addresses) : result;
  // The addend is described as the result is.
  const std::vector<uint32_t> alignments{alignmentOf(left), alignmentOf(right),
                                         std::min(alignmentOf(result), alignmentOf(addend))};
  std::vector<int64_t> key = keyOf(step, alignments, workspaceBytes);
  auto found = plans_.find(key);
  if (found == plans_.end()) {
    if (plans_.size() == kMostPlans) plans_.clear();
    found = plans_.emplace(std::move(key), choosePlan(step, alignments, workspaceBytes)).first;
  }
  const Factor alpha(step.alpha), beta(step.beta);
  const auto pointer = [](CUdeviceptr address) { return reinterpret_cast<void*>(address); };
  void* const workspace = step.workspace < 0 ? nullptr : pointer(addresses[step.workspace]);
  WEFT_TENSOR_CALL(cutensorContract, handle_, found->second.get(), alpha.in(step.dtype), pointer(left),
                   pointer(right), beta.in(step.dtype), pointer(addend), pointer(result), workspace,
                   workspaceBytes, stream);
}

}  // namespace weft::cuda
