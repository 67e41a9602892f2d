#include "cuda/blas-lt.h"

#include <algorithm>
#include <complex>
#include <memory>

#include "cuda/blas.h"
#include "cuda/library-status.h"
#include "runtime/failure.h"
#include "shared/layout.h"

namespace weft::cuda {
namespace {

// Problems whose algorithm is kept.
constexpr size_t kMostAlgorithms = 1024;
// The alignment from which on more says nothing.
constexpr uint64_t kMostAlignment = 256;

// cublasLtMatmulDescAttributes_t
constexpr int kTransposeA = 3, kTransposeB = 4, kEpilogue = 7, kBiasPointer = 8;
// cublasLtMatrixLayoutAttribute_t
constexpr int kBatchCount = 5, kBatchStride = 6;
// cublasLtMatmulPreferenceAttributes_t
constexpr int kWorkspaceBytes = 1, kReductionSchemes = 3, kAlignmentA = 5;
// CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE: parts of a split sum meet in the precision of the sums.
constexpr uint32_t kInComputeType = 2;

// cublasLtEpilogue_t.
int codeOf(const Epilogue& epilogue) {
  const int bias = epilogue.bias >= 0 ? 4 : 0;
  switch (epilogue.activation) {
    case Epilogue::Activation::relu:
      return 2 | bias;
    case Epilogue::Activation::gelu:
      return 32 | bias;
    default:
      return bias == 0 ? 1 : bias;
  }
}

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

const CublasLt& cublasLt() {
  const CublasLtState& state = cublasLtState();
  if (!state.library.found()) {
    throw Failure(FailureCode::device,
                  "[cuda] expected cuBLASLt (libcublasLt), for a matrix product with an epilogue: " +
                      describeTried(state.library));
  }
  return state.api;
}
#define WEFT_LT_CALL(name, ...) checkStatus(cublasLt().name(__VA_ARGS__), kCublasLtNames, #name)

struct DropDesc {
  void operator()(ltDesc it) const { cublasLt().cublasLtMatmulDescDestroy(it); }
};
struct DropLayout {
  void operator()(ltLayout it) const { cublasLt().cublasLtMatrixLayoutDestroy(it); }
};
struct DropPreference {
  void operator()(ltPreference it) const { cublasLt().cublasLtMatmulPreferenceDestroy(it); }
};
using Desc = std::unique_ptr<CublasLtMatmulDesc_st, DropDesc>;
using MatrixLayout = std::unique_ptr<CublasLtMatrixLayout_st, DropLayout>;
using Preference = std::unique_ptr<CublasLtMatmulPreference_st, DropPreference>;

// A column-major matrix as it lies in memory.
struct Stored {
  CUdeviceptr address;
  int type;
  int64_t rows, columns, leading, stride, batch;
  bool transposed;

  int64_t alignment() const {
    const uint64_t bits = address | kMostAlignment;
    return static_cast<int64_t>(bits & (~bits + 1));
  }
  void describe(std::vector<int64_t>& key) const {
    key.insert(key.end(), {type, rows, columns, leading, stride, transposed, alignment()});
  }
};

// A (rows, columns) operand by its transpose, which is what a row-major matrix is in columns.
Stored storedTransposed(const MatrixOperand& o, int64_t rows, int64_t columns, int64_t batch, DType dtype,
                        const std::vector<CUdeviceptr>& addresses) {
  const Layout layout = layoutOf(rows, columns, o.rowStride, o.columnStride);
  const auto elementBytes = int64_t{kElementBytes[static_cast<int>(dtype)]};
  return {addresses[o.buffer] + o.offset * elementBytes,
          typesOf(dtype, false).data,
          layout.transposed ? columns : rows,
          layout.transposed ? rows : columns,
          layout.leading,
          o.batchStride,
          batch,
          !layout.transposed};
}

MatrixLayout layoutOf(const Stored& matrix) {
  ltLayout made = nullptr;
  WEFT_LT_CALL(cublasLtMatrixLayoutCreate, &made, matrix.type, static_cast<uint64_t>(matrix.rows),
               static_cast<uint64_t>(matrix.columns), matrix.leading);
  MatrixLayout layout(made);
  const auto count = static_cast<int32_t>(matrix.batch);
  WEFT_LT_CALL(cublasLtMatrixLayoutSetAttribute, made, kBatchCount, &count, sizeof count);
  WEFT_LT_CALL(cublasLtMatrixLayoutSetAttribute, made, kBatchStride, &matrix.stride, sizeof matrix.stride);
  return layout;
}

// A factor in the type of the sums: a complex number begins with its real part.
struct Factor {
  std::complex<float> single;
  std::complex<double> wide;
  const void* in(DType dtype) const {
    const bool isWide = dtype == DType::float64 || dtype == DType::complex128;
    return isWide ? static_cast<const void*>(&wide) : &single;
  }
};
Factor factorOf(double value) { return {static_cast<float>(value), value}; }

// The cudaDataType of factors.
int scaleTypeOf(DType dtype) {
  const bool isSingle = dtype == DType::float16 || dtype == DType::bfloat16;
  return typesOf(isSingle ? DType::float32 : dtype, false).data;
}

// The product of a step as the transpose of its result, which is column-major: c^T = b^T * a^T.
struct Problem {
  Stored left, right, addend, result;
  int compute, scale, epilogue;
  CUdeviceptr bias;
  bool isHalf;

  Problem(const MatmulStep& step, const std::vector<CUdeviceptr>& addresses)
      : left(storedTransposed(step.b, step.k, step.n, step.batch, step.dtype, addresses)),
        right(storedTransposed(step.a, step.m, step.k, step.batch, step.dtype, addresses)),
        addend(storedTransposed(step.epilogue->addend.value_or(step.c), step.m, step.n, step.batch,
                                step.epilogue->dtype, addresses)),
        result(storedTransposed(step.c, step.m, step.n, step.batch, step.epilogue->dtype, addresses)),
        compute(typesOf(step.dtype, step.allowsTf32).compute),
        scale(scaleTypeOf(step.dtype)),
        epilogue(codeOf(*step.epilogue)),
        bias(step.epilogue->bias < 0
                 ? 0
                 : addresses[step.epilogue->bias] +
                       step.epilogue->biasOffset *
                           int64_t{kElementBytes[static_cast<int>(step.epilogue->dtype)]}),
        isHalf(step.epilogue->dtype == DType::float16 || step.epilogue->dtype == DType::bfloat16) {
    if (addend.transposed || result.transposed)
      throw Failure(FailureCode::internal, "a result in columns reached cuBLASLt");
  }

  Desc desc() const {
    ltDesc made = nullptr;
    WEFT_LT_CALL(cublasLtMatmulDescCreate, &made, compute, scale);
    Desc desc(made);
    const auto set = [&](int attribute, const auto& value) {
      WEFT_LT_CALL(cublasLtMatmulDescSetAttribute, made, attribute, &value, sizeof value);
    };
    set(kTransposeA, int32_t{left.transposed});
    set(kTransposeB, int32_t{right.transposed});
    set(kEpilogue, static_cast<uint32_t>(epilogue));
    if (bias != 0) set(kBiasPointer, bias);
    return desc;
  }

  std::vector<int64_t> key(size_t workspaceBytes, bool hasAddend) const {
    std::vector<int64_t> key{compute,   scale,       epilogue, static_cast<int64_t>(workspaceBytes),
                             hasAddend, result.batch};
    for (const Stored* matrix : {&left, &right, &addend, &result}) matrix->describe(key);
    return key;
  }
};

LtAlgorithm chooseAlgorithm(ltHandle handle, const Problem& problem, ltDesc desc,
                            const std::array<ltLayout, 4>& layouts, size_t workspaceBytes) {
  ltPreference made = nullptr;
  WEFT_LT_CALL(cublasLtMatmulPreferenceCreate, &made);
  const Preference preference(made);
  const auto set = [&](int attribute, const auto& value) {
    WEFT_LT_CALL(cublasLtMatmulPreferenceSetAttribute, made, attribute, &value, sizeof value);
  };
  set(kWorkspaceBytes, uint64_t{workspaceBytes});
  if (problem.isHalf) set(kReductionSchemes, kInComputeType);
  int attribute = kAlignmentA;
  for (const Stored* matrix : {&problem.left, &problem.right, &problem.addend, &problem.result})
    set(attribute++, static_cast<uint32_t>(matrix->alignment()));
  LtHeuristic found{};
  int count = 0;
  WEFT_LT_CALL(cublasLtMatmulAlgoGetHeuristic, handle, desc, layouts[0], layouts[1], layouts[2], layouts[3],
               made, 1, &found, &count);
  if (count == 0) checkStatus(15, kCublasLtNames, "cublasLtMatmulAlgoGetHeuristic");
  checkStatus(found.status, kCublasLtNames, "cublasLtMatmulAlgoGetHeuristic");
  return found.algorithm;
}

const void* pointer(const Stored& matrix) { return reinterpret_cast<const void*>(matrix.address); }

}  // namespace

const CublasLtState& cublasLtState() {
  static const CublasLtState& state = *findCublasLt();
  return state;
}

std::vector<std::string> cublasLtEntryPoints() {
#define WEFT_SYMBOL(name, symbol, optional, ...) symbol,
  return {"cublasLtGetVersion", WEFT_CUBLASLT(WEFT_SYMBOL)};
#undef WEFT_SYMBOL
}

BlasLt::BlasLt() { WEFT_LT_CALL(cublasLtCreate, &handle_); }

BlasLt::~BlasLt() { cublasLt().cublasLtDestroy(handle_); }

void BlasLt::multiply(const MatmulStep& step, const std::vector<CUdeviceptr>& addresses,
                      size_t workspaceBytes, CUstream stream) {
  if (step.m == 0 || step.n == 0 || step.batch == 0) return;
  const Problem problem(step, addresses);
  const Desc desc = problem.desc();
  const MatrixLayout left = layoutOf(problem.left), right = layoutOf(problem.right),
                     addend = layoutOf(problem.addend), result = layoutOf(problem.result);
  std::vector<int64_t> key = problem.key(workspaceBytes, step.epilogue->addend.has_value());
  auto found = algorithms_.find(key);
  if (found == algorithms_.end()) {
    if (algorithms_.size() == kMostAlgorithms) algorithms_.clear();
    const LtAlgorithm chosen = chooseAlgorithm(
        handle_, problem, desc.get(), {left.get(), right.get(), addend.get(), result.get()}, workspaceBytes);
    found = algorithms_.emplace(std::move(key), chosen).first;
  }
  const Factor alpha = factorOf(step.epilogue->alpha), beta = factorOf(step.epilogue->beta);
  void* const workspace = step.workspace < 0 ? nullptr : reinterpret_cast<void*>(addresses[step.workspace]);
  WEFT_LT_CALL(cublasLtMatmul, handle_, desc.get(), alpha.in(step.dtype), pointer(problem.left), left.get(),
               pointer(problem.right), right.get(), beta.in(step.dtype), pointer(problem.addend),
               addend.get(), reinterpret_cast<void*>(problem.result.address), result.get(), &found->second,
               workspace, workspaceBytes, stream);
}

}  // namespace weft::cuda
