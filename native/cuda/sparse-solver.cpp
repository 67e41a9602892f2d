#include "cuda/sparse-solver.h"

#include <atomic>
#include <cstring>

#include "cuda/blas.h"
#include "cuda/device.h"
#include "cuda/library-status.h"
#include "cuda/nvrtc.h"
#include "cuda/pointer.h"
#include "cuda/resources.h"
#include "runtime/failure.h"
#include "shared/layout.h"

namespace weft::cuda {
namespace {

// The version whose numbers these are.
constexpr int kMajor = 1;
// cudssConfigParam_t
constexpr int kDeterministic = 24;
// cudssDataParam_t
constexpr int kInfo = 0, kFactorElements = 1, kReplacedPivots = 2, kMemoryEstimates = 12;
// Among the estimates of a matrix, in bytes.
constexpr size_t kEstimates = 16, kPeakOnDevice = 1;
// cudssPhase_t
constexpr int kAnalysis = 3, kFactorization = 4, kSolution = 1008;
// cudssMatrixType_t, cudssMatrixViewType_t
constexpr int kGeneral = 0, kSymmetricPositive = 3, kHermitianPositive = 4;
constexpr int kWhole = 0, kLowerTriangle = 1;
// cudaDataType
constexpr int kInt32 = 10, kInt64 = 24;
constexpr int kFromZero = 0, kColumnMajor = 0;

CudssState* findCudss() {
  // It links to these by their names alone, which the loader knows of libraries that are loaded.
  cublasState();
  nvrtcState();
  auto* state = new CudssState();
  Cudss& api = state->cudss;
#define WEFT_ENTRY(name, symbol, optional, ...) {reinterpret_cast<void**>(&api.name), symbol, optional},
  const std::vector<EntryPoint> entryPoints = {WEFT_CUDSS(WEFT_ENTRY)};
#undef WEFT_ENTRY
  const auto accept = [&]() -> std::string {
    if (api.cudssGetProperty(kMajorVersion, &state->major) != 0 ||
        api.cudssGetProperty(kMinorVersion, &state->minor) != 0)
      return "cudssGetProperty failed";
    if (state->major == kMajor) return {};
    return "it is cuDSS " + std::to_string(state->major) + "." + std::to_string(state->minor) + ", not " +
           std::to_string(kMajor);
  };
  state->library = openLibrary(candidates().cudss, entryPoints, {}, accept);
  if (!state->library.found()) return state;
  void* interface = nullptr;
  state->threads =
      openLibrary(filesBeside(state->library.path, "libcudss_mtlayer_gomp.so"),
                  {{&interface, "cudssThreadingInterface", false}}, {}, [] { return std::string(); });
  return state;
}

const Cudss& cudss() {
  const CudssState& state = cudssState();
  if (!state.library.found()) {
    throw Failure(FailureCode::device,
                  "[cuda] expected cuDSS (libcudss), for direct solves: " + describeTried(state.library));
  }
  return state.cudss;
}
#define WEFT_CUDSS_CALL(name, ...) checkStatus(cudss().name(__VA_ARGS__), kCudssNames, #name)

}  // namespace

const CudssState& cudssState() {
  static const CudssState& state = *findCudss();
  return state;
}

std::vector<std::string> cudssEntryPoints() {
#define WEFT_SYMBOL(name, symbol, optional, ...) symbol,
  return {WEFT_CUDSS(WEFT_SYMBOL)};
#undef WEFT_SYMBOL
}

// ---------------------------------------------------------------- a matrix

void SparseFactors::DropConfig::operator()(cudssConfig config) const { cudss().cudssConfigDestroy(config); }
void SparseFactors::DropMatrix::operator()(cudssMatrix matrix) const { cudss().cudssMatrixDestroy(matrix); }
void SparseFactors::DropData::operator()(cudssData data) const { cudss().cudssDataDestroy(handle, data); }

SparseFactors::SparseFactors(SparseSolver& solver, const SparseProblem& problem, SparseArrays arrays,
                             size_t most)
    : solver_(solver), problem_(problem), arrays_(std::move(arrays)), most_(most) {
  try {
    solver_.call(*this, solver_.resources_.stream, [&] {
      cudssConfig config = nullptr;
      WEFT_CUDSS_CALL(cudssConfigCreate, &config);
      config_.reset(config);
      // Then it takes one right side at a time, and has no refinement.
      const int isDeterministic = 1;
      WEFT_CUDSS_CALL(cudssConfigSet, config, kDeterministic, &isDeterministic, sizeof isDeterministic);
      cudssData data = nullptr;
      WEFT_CUDSS_CALL(cudssDataCreate, solver_.handle_, &data);
      data_ = Data(data, {solver_.handle_});
      const bool isComplex = problem_.dtype == DType::complex64 || problem_.dtype == DType::complex128;
      const int kind = !problem_.isPositive ? kGeneral : isComplex ? kHermitianPositive : kSymmetricPositive;
      cudssMatrix matrix = nullptr;
      WEFT_CUDSS_CALL(cudssMatrixCreateCsr, &matrix, problem_.n, problem_.n, problem_.stored,
                      pointer(arrays_[0]->address), nullptr, pointer(arrays_[1]->address),
                      pointer(arrays_[2]->address), problem_.hasWideStarts ? kInt64 : kInt32,
                      problem_.hasWideColumns ? kInt64 : kInt32, typesOf(problem_.dtype, false).data, kind,
                      problem_.isPositive ? kLowerTriangle : kWhole, kFromZero);
      matrix_.reset(matrix);
      right_ = column();
      result_ = column();
      factor();
    });
  } catch (...) {
    // Its memory goes back to the pool while it is counted here.
    solver_.current_ = this;
    data_.reset();
    solver_.current_ = nullptr;
    throw;
  }
}

SparseFactors::~SparseFactors() {
  solver_.current_ = this;
  data_.reset();
  solver_.current_ = nullptr;
}

void SparseFactors::factor() {
  execute(kAnalysis);
  const auto get = [&](int parameter, auto& value) {
    size_t written = 0;
    WEFT_CUDSS_CALL(cudssDataGet, solver_.handle_, data_.get(), parameter, &value, sizeof value, &written);
  };
  std::array<int64_t, kEstimates> estimates{};
  get(kMemoryEstimates, estimates);
  const auto peak = static_cast<size_t>(std::max<int64_t>(0, estimates[kPeakOnDevice]));
  if (peak > most_)
    throw Failure(FailureCode::memory, "[cuda] the factors of a sparse matrix take about " +
                                           std::to_string(peak) + " bytes of the device, more than the " +
                                           std::to_string(most_) + " that they may");
  execute(kFactorization);
  int info = 0, replaced = 0;
  get(kInfo, info);
  get(kReplacedPivots, replaced);
  get(kFactorElements, stored_);
  hasFailed_ = info != 0;
  replacedPivots_ = replaced;
}

void SparseFactors::execute(int phase) {
  const int status = cudss().cudssExecute(solver_.handle_, phase, config_.get(), data_.get(), matrix_.get(),
                                          result_.get(), right_.get());
  if (solver_.failure_) std::rethrow_exception(std::exchange(solver_.failure_, nullptr));
  checkStatus(status, kCudssNames, "cudssExecute");
}

SparseFactors::Matrix SparseFactors::column() const {
  cudssMatrix made = nullptr;
  // Values are set by each solve; before it none are read.
  WEFT_CUDSS_CALL(cudssMatrixCreateDn, &made, problem_.n, int64_t{1}, problem_.n,
                  pointer(arrays_[2]->address), typesOf(problem_.dtype, false).data, kColumnMajor);
  return Matrix(made);
}

void SparseFactors::solve(CUdeviceptr right, CUdeviceptr result, int64_t sides, CUstream stream) {
  const size_t each = static_cast<size_t>(problem_.n) * kElementBytes[static_cast<size_t>(problem_.dtype)];
  solver_.call(*this, stream, [&] {
    for (int64_t k = 0; k < sides; k++) {
      const size_t at = static_cast<size_t>(k) * each;
      WEFT_CUDSS_CALL(cudssMatrixSetValues, right_.get(), pointer(right + at));
      WEFT_CUDSS_CALL(cudssMatrixSetValues, result_.get(), pointer(result + at));
      execute(kSolution);
    }
  });
}

// ---------------------------------------------------------------- a device

SparseSolver::SparseSolver(Resources& resources) : resources_(resources) {
  WEFT_CUDSS_CALL(cudssCreate, &handle_);
  CudssMemory memory{this, allocate, free, "weft"};
  try {
    WEFT_CUDSS_CALL(cudssSetDeviceMemHandler, handle_, &memory);
    const Library& threads = cudssState().threads;
    if (threads.found()) WEFT_CUDSS_CALL(cudssSetThreadingLayer, handle_, threads.path.c_str());
  } catch (...) {
    cudss().cudssDestroy(handle_);
    throw;
  }
}

SparseSolver::~SparseSolver() {
  factors_.clear();
  cudss().cudssDestroy(handle_);
}

// The pool's blocks are in the order of its stream.
void SparseSolver::call(SparseFactors& own, CUstream stream, const std::function<void()>& work) {
  const bool isElsewhere = stream != resources_.stream;
  if (isElsewhere) resources_.events.order(resources_.stream, stream);
  WEFT_CUDSS_CALL(cudssSetStream, handle_, stream);
  current_ = &own;
  elsewhere_ = isElsewhere ? stream : nullptr;
  failure_ = nullptr;
  try {
    work();
  } catch (...) {
    current_ = nullptr;
    elsewhere_ = nullptr;
    throw;
  }
  current_ = nullptr;
  elsewhere_ = nullptr;
  if (isElsewhere) resources_.events.order(stream, resources_.stream);
}

int SparseSolver::allocate(void* context, void** address, size_t byteLength, CUstream) {
  auto& solver = *static_cast<SparseSolver*>(context);
  *address = nullptr;
  try {
    SparseFactors* own = solver.current_;
    if (own != nullptr && byteLength > own->most_ - std::min(own->most_, own->used_))
      throw Failure(FailureCode::memory, "[cuda] cuDSS needs " + std::to_string(own->used_ + byteLength) +
                                             " bytes for the factors of a sparse matrix, more than the " +
                                             std::to_string(own->most_) + " that they may take");
    const PoolBlock block = solver.resources_.pool->allocate(byteLength);
    *address = pointer(block.address);
    if (byteLength == 0) return 0;
    solver.blocks_[*address] = block;
    if (own != nullptr) own->used_ += byteLength;
    if (solver.elsewhere_ != nullptr)
      solver.resources_.events.order(solver.resources_.stream, solver.elsewhere_);
    return 0;
  } catch (...) {
    solver.failure_ = std::current_exception();
    free(context, std::exchange(*address, nullptr), byteLength, nullptr);
    return kCudssNames.allocationFailed;
  }
}

int SparseSolver::free(void* context, void* address, size_t, CUstream) {
  auto& solver = *static_cast<SparseSolver*>(context);
  const auto found = solver.blocks_.find(address);
  if (found == solver.blocks_.end()) return address == nullptr ? 0 : 1;
  if (solver.current_ != nullptr) solver.current_->used_ -= found->second.byteLength;
  int status = 0;
  try {
    if (solver.elsewhere_ != nullptr)
      solver.resources_.events.order(solver.elsewhere_, solver.resources_.stream);
  } catch (...) {
    solver.failure_ = std::current_exception();
    status = 1;
  }
  solver.resources_.pool->free(found->second);
  solver.blocks_.erase(found);
  return status;
}

std::pair<int64_t, const SparseFactors*> SparseSolver::add(const SparseProblem& problem, SparseArrays arrays,
                                                           size_t most) {
  static std::atomic<int64_t> numbers{0};
  auto made = std::make_unique<SparseFactors>(*this, problem, std::move(arrays), most);
  const int64_t number = ++numbers;
  return {number, (factors_[number] = std::move(made)).get()};
}

void SparseSolver::remove(int64_t number) {
  const auto found = factors_.find(number);
  if (found == factors_.end()) return;
  WEFT_CU(cuStreamSynchronize, resources_.stream);
  factors_.erase(found);
}

SparseFactors& SparseSolver::at(int64_t number) {
  const auto found = factors_.find(number);
  if (found != factors_.end()) return *found->second;
  throw Failure(FailureCode::device,
                "[sparse] expected a solve on the device that has the factors of the matrix");
}

// ---------------------------------------------------------------- solves in programs

namespace {

// The numbers of a step; see src/exec/calls/sparse-solve.ts.
struct Solve {
  explicit Solve(const std::vector<int64_t>& numbers) {
    if (numbers.size() != 4 || numbers[1] < 1 || numbers[2] < 0)
      throw std::invalid_argument("a dtype, a size, right sides and a number of factors");
    n = numbers[1];
    sides = numbers[2];
    factors = numbers[3];
    bytes = static_cast<size_t>(n * sides) * kElementBytes[static_cast<size_t>(numbers[0])];
  }
  int64_t n, sides, factors;
  size_t bytes;
};

}  // namespace

const LibraryRoutine kSparseSolveRoutine{
    [](const std::vector<int64_t>& numbers) -> cpu::RoutineNeed {
      const Solve solve(numbers);
      return {{solve.bytes, kFactorsBytes}, {solve.bytes}, {}, 1};
    },
    [](const LibraryJob& job) -> std::shared_ptr<const void> {
      job.device.sparseSolver().at(Solve(job.numbers).factors);
      return nullptr;
    },
    [](const LibraryJob& job, CUstream stream) {
      const Solve solve(job.numbers);
      if (solve.sides == 0) return;
      job.device.sparseSolver().at(solve.factors).solve(job.operands[0], job.results[0], solve.sides, stream);
    },
    false,
};

}  // namespace weft::cuda
