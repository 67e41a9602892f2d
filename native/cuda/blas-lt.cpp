#include "cuda/blas-lt.h"

#include "cuda/blas.h"
#include "cuda/library-status.h"
#include "cuda/lt-problem.h"
#include "runtime/failure.h"
#include "runtime/product-batches.h"

namespace weft::cuda {
namespace {

// Problems whose algorithm is kept.
constexpr size_t kMostAlgorithms = 1024;

CublasLtState* findCublasLt() {
  auto* state = new CublasLtState();
  CublasLt& api = state->api;
#define WEFT_ENTRY(name, symbol, optional, ...) {reinterpret_cast<void**>(&api.name), symbol, optional},
  const std::vector<EntryPoint> entryPoints = {
      {reinterpret_cast<void**>(&api.cublasLtGetVersion), "cublasLtGetVersion", false},
      WEFT_CUBLASLT(WEFT_ENTRY)};
#undef WEFT_ENTRY
  const auto accept = [&]() -> std::string {
    state->version = api.cublasLtGetVersion();
    const int driverVersion = driverState().version;
    const size_t major = state->version / 10000;
    if (driverVersion == 0 || major <= static_cast<size_t>(driverVersion / 1000)) return {};
    return "it is of CUDA " + std::to_string(major) + ", the driver of " + versionText(driverVersion);
  };
  state->library = openLibrary(candidates().cublasLt, entryPoints, {}, accept);
  return state;
}

}  // namespace

const CublasLtState& cublasLtState() {
  static const CublasLtState& state = *findCublasLt();
  return state;
}

const CublasLt& cublasLt() {
  const CublasLtState& state = cublasLtState();
  if (!state.library.found()) {
    throw Failure(FailureCode::device,
                  "[cuda] expected cuBLASLt (libcublasLt), for a matrix product with an epilogue: " +
                      describeTried(state.library));
  }
  return state.api;
}
std::vector<std::string> cublasLtEntryPoints() {
#define WEFT_SYMBOL(name, symbol, optional, ...) symbol,
  return {"cublasLtGetVersion", WEFT_CUBLASLT(WEFT_SYMBOL)};
#undef WEFT_SYMBOL
}

BlasLt::BlasLt() { WEFT_LT_CALL(cublasLtCreate, &handle_); }

BlasLt::~BlasLt() { cublasLt().cublasLtDestroy(handle_); }

LtAlgorithm BlasLt::choose(const MatmulStep& step, const LtProblem& problem, size_t workspaceBytes) {
  if (step.algorithm && problem.isRun(handle_, {*step.algorithm}, workspaceBytes)) return {*step.algorithm};
  return problem.algorithms(handle_, workspaceBytes, 1).front();
}

void BlasLt::multiply(const MatmulStep& step, const std::vector<CUdeviceptr>& addresses,
                      size_t workspaceBytes, CUstream stream) {
  if (step.m == 0 || step.n == 0 || step.batch == 0) return;
  if (!step.outer.empty()) {
    const auto inner = [&](const MatmulStep& part) { multiply(part, addresses, workspaceBytes, stream); };
    return eachInner(step, inner);
  }
  const LtProblem problem(step, addresses);
  std::vector<int64_t> key = problem.key(workspaceBytes);
  auto found = algorithms_.find(key);
  if (found == algorithms_.end()) {
    if (algorithms_.size() == kMostAlgorithms) algorithms_.clear();
    found = algorithms_.emplace(std::move(key), choose(step, problem, workspaceBytes)).first;
  }
  problem.queue(handle_, found->second, workspaceBytes, stream);
}

}  // namespace weft::cuda
