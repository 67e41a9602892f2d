#include "cuda/lt-problem.h"

#include <algorithm>
#include <complex>

#include "cuda/blas.h"
#include "cuda/library-status.h"
#include "runtime/failure.h"
#include "shared/layout.h"

namespace weft::cuda {
namespace {

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
constexpr int kPlain = 1;
int codeOf(const Epilogue& epilogue) {
  const int bias = epilogue.bias >= 0 ? 4 : 0;
  switch (epilogue.activation) {
    case Epilogue::Activation::relu:
      return 2 | bias;
    case Epilogue::Activation::gelu:
      return 32 | bias;
    default:
      return bias == 0 ? kPlain : bias;
  }
}

// CUBLAS_STATUS_NOT_SUPPORTED: the heuristic has nothing for a problem.
constexpr int kNotSupported = 15;

struct DropPreference {
  void operator()(ltPreference it) const { cublasLt().cublasLtMatmulPreferenceDestroy(it); }
};
using Preference = std::unique_ptr<CublasLtMatmulPreference_st, DropPreference>;

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

}  // namespace

int64_t LtProblem::Stored::alignmentOf(uint64_t address) {
  const uint64_t bits = address | kMostAlignment;
  return static_cast<int64_t>(bits & (~bits + 1));
}

// A (rows, columns) operand by its transpose, which is what a row-major matrix is in columns.
LtProblem::Stored LtProblem::stored(const MatrixOperand& operand, int64_t rows, int64_t columns,
                                    DType dtype) const {
  const Layout layout = layoutOf(rows, columns, operand.rowStride, operand.columnStride);
  const int64_t offset = operand.offset * int64_t{kElementBytes[static_cast<int>(dtype)]};
  return {addresses_[operand.buffer] + offset,
          typesOf(dtype, false).data,
          layout.transposed ? columns : rows,
          layout.transposed ? rows : columns,
          layout.leading,
          operand.batchStride,
          step_.batch,
          !layout.transposed,
          offset};
}

LtProblem::LtProblem(const MatmulStep& step, const std::vector<CUdeviceptr>& addresses)
    : step_(step),
      addresses_(addresses),
      left_(stored(step.b, step.k, step.n, step.dtype)),
      right_(stored(step.a, step.m, step.k, step.dtype)),
      addend_(stored(step.epilogue->addend.value_or(step.c), step.m, step.n, step.epilogue->dtype)),
      result_(stored(step.c, step.m, step.n, step.epilogue->dtype)),
      compute_(typesOf(step.dtype, step.allowsTf32).compute),
      scale_(scaleTypeOf(step.dtype)),
      epilogue_(codeOf(*step.epilogue)) {
  if (addend_.transposed || result_.transposed)
    throw Failure(FailureCode::internal, "a result in columns reached cuBLASLt");
  const Epilogue& after = *step.epilogue;
  if (after.bias >= 0) {
    const int64_t offset = after.biasOffset * int64_t{kElementBytes[static_cast<int>(after.dtype)]};
    bias_ = addresses[after.bias] + offset;
  }
  describe();
}

void LtProblem::describe() {
  ltDesc made = nullptr;
  WEFT_LT_CALL(cublasLtMatmulDescCreate, &made, compute_, scale_);
  desc_.reset(made);
  const auto set = [&](int attribute, const auto& value) {
    WEFT_LT_CALL(cublasLtMatmulDescSetAttribute, made, attribute, &value, sizeof value);
  };
  set(kTransposeA, int32_t{left_.transposed});
  set(kTransposeB, int32_t{right_.transposed});
  set(kEpilogue, static_cast<uint32_t>(epilogue_));
  if (bias_ != 0) set(kBiasPointer, bias_);
  for (size_t i = 0; i < layouts_.size(); i++) {
    const Stored& matrix = *matrices()[i];
    ltLayout layout = nullptr;
    WEFT_LT_CALL(cublasLtMatrixLayoutCreate, &layout, matrix.type, static_cast<uint64_t>(matrix.rows),
                 static_cast<uint64_t>(matrix.columns), matrix.leading);
    layouts_[i].reset(layout);
    const auto count = static_cast<int32_t>(matrix.batch);
    WEFT_LT_CALL(cublasLtMatrixLayoutSetAttribute, layout, kBatchCount, &count, sizeof count);
    WEFT_LT_CALL(cublasLtMatrixLayoutSetAttribute, layout, kBatchStride, &matrix.stride,
                 sizeof matrix.stride);
  }
}

std::vector<int64_t> LtProblem::key(size_t workspaceBytes) const {
  std::vector<int64_t> key{
      compute_,   scale_, epilogue_, static_cast<int64_t>(workspaceBytes), step_.epilogue->addend.has_value(),
      step_.batch};
  for (const Stored* matrix : matrices()) {
    key.insert(key.end(), {matrix->type, matrix->rows, matrix->columns, matrix->leading, matrix->stride,
                           matrix->transposed, matrix->alignment()});
  }
  if (step_.algorithm)
    for (const uint64_t word : *step_.algorithm) key.push_back(static_cast<int64_t>(word));
  return key;
}

std::vector<LtAlgorithm> LtProblem::algorithms(ltHandle handle, size_t workspaceBytes, size_t most) const {
  std::vector<LtAlgorithm> usable;
  if (!isBare()) {
    MatmulStep bare = step_;
    bare.epilogue = Epilogue{step_.dtype, 1, 0, {}};
    usable = LtProblem(bare, addresses_).heuristic(handle, workspaceBytes, 1, alignments());
    if (!usable.empty() && !isRun(handle, usable.front(), workspaceBytes)) usable.clear();
  }
  if (usable.size() == most) return usable;
  for (const LtAlgorithm& other : heuristic(handle, workspaceBytes, most, alignments())) {
    const bool isFirst = !usable.empty() && other.data == usable.front().data;
    if (usable.size() < most && !isFirst) usable.push_back(other);
  }
  if (usable.empty()) checkStatus(kNotSupported, kCublasLtNames, "cublasLtMatmulAlgoGetHeuristic");
  return usable;
}

bool LtProblem::isBare() const {
  const Epilogue& after = *step_.epilogue;
  return epilogue_ == kPlain && !after.addend && after.dtype == step_.dtype;
}

LtProblem::Alignments LtProblem::alignments() const {
  return {left_.alignment(), right_.alignment(), addend_.alignment(), result_.alignment()};
}

std::vector<LtAlgorithm> LtProblem::heuristic(ltHandle handle, size_t workspaceBytes, size_t most,
                                              const Alignments& alignments) const {
  ltPreference made = nullptr;
  WEFT_LT_CALL(cublasLtMatmulPreferenceCreate, &made);
  const Preference preference(made);
  const auto set = [&](int attribute, const auto& value) {
    WEFT_LT_CALL(cublasLtMatmulPreferenceSetAttribute, made, attribute, &value, sizeof value);
  };
  set(kWorkspaceBytes, uint64_t{workspaceBytes});
  const DType result = step_.resultDType();
  if (result == DType::float16 || result == DType::bfloat16) set(kReductionSchemes, kInComputeType);
  int attribute = kAlignmentA;
  for (const int64_t alignment : alignments) set(attribute++, static_cast<uint32_t>(alignment));
  std::vector<LtHeuristic> found(most);
  int count = 0;
  const int status = cublasLt().cublasLtMatmulAlgoGetHeuristic(
      handle, desc_.get(), layouts_[0].get(), layouts_[1].get(), layouts_[2].get(), layouts_[3].get(), made,
      static_cast<int>(most), found.data(), &count);
  if (status == kNotSupported) return {};
  checkStatus(status, kCublasLtNames, "cublasLtMatmulAlgoGetHeuristic");
  std::vector<LtAlgorithm> usable;
  for (int i = 0; i < count; i++)
    if (found[i].status == 0) usable.push_back(found[i].algorithm);
  return usable;
}

bool LtProblem::isRun(ltHandle handle, const LtAlgorithm& algorithm, size_t workspaceBytes) const {
  for (const Stored* matrix : matrices())
    if (matrix->alignment() < Stored::alignmentOf(static_cast<uint64_t>(matrix->offset))) return false;
  LtHeuristic needed{};
  const int status =
      cublasLt().cublasLtMatmulAlgoCheck(handle, desc_.get(), layouts_[0].get(), layouts_[1].get(),
                                         layouts_[2].get(), layouts_[3].get(), &algorithm, &needed);
  return status == 0 && needed.workspaceBytes <= workspaceBytes;
}

void LtProblem::queue(ltHandle handle, const LtAlgorithm& algorithm, size_t workspaceBytes,
                      CUstream stream) const {
  const auto pointer = [](CUdeviceptr address) { return reinterpret_cast<void*>(address); };
  const Factor alpha = factorOf(step_.epilogue->alpha), beta = factorOf(step_.epilogue->beta);
  void* const workspace = step_.workspace < 0 ? nullptr : pointer(addresses_[step_.workspace]);
  WEFT_LT_CALL(cublasLtMatmul, handle, desc_.get(), alpha.in(step_.dtype), pointer(left_.address),
               layouts_[0].get(), pointer(right_.address), layouts_[1].get(), beta.in(step_.dtype),
               pointer(addend_.address), layouts_[2].get(), pointer(result_.address), layouts_[3].get(),
               &algorithm, workspace, workspaceBytes, stream);
}

}  // namespace weft::cuda
