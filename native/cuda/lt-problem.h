// LtProblem: a matrix product as cuBLASLt is given it, with its descriptors, and the algorithms for it.
//
// Results are row-major, so that a product is given as the transpose of its result: c^T = b^T * a^T.
#pragma once
#include <array>
#include <memory>
#include <vector>

#include "cuda/blas-lt.h"

namespace weft::cuda {

struct DropDesc {
  void operator()(ltDesc it) const { cublasLt().cublasLtMatmulDescDestroy(it); }
};
struct DropLayout {
  void operator()(ltLayout it) const { cublasLt().cublasLtMatrixLayoutDestroy(it); }
};

class LtProblem {
 public:
  // Of a step with an epilogue, which may be plain; `addresses` are the buffers' by position.
  LtProblem(const MatmulStep& step, const std::vector<CUdeviceptr>& addresses);

  // All that the choice of an algorithm depends on.
  std::vector<int64_t> key(size_t workspaceBytes) const;
  // The heuristic's algorithms, at most `most`. First is its choice for the product without an epilogue,
  // stored in the dtype of its factors, where the library runs it with this one: sums have the order then
  // that they have bare. Throws where there is none.
  std::vector<LtAlgorithm> algorithms(ltHandle handle, size_t workspaceBytes, size_t most) const;
  // Whether the library runs an algorithm, which may have been chosen for buffers that begin on boundaries of
  // 256 bytes, with these.
  bool isRun(ltHandle handle, const LtAlgorithm& algorithm, size_t workspaceBytes) const;
  void queue(ltHandle handle, const LtAlgorithm& algorithm, size_t workspaceBytes, CUstream stream) const;

 private:
  // A column-major matrix as it lies in memory.
  struct Stored {
    CUdeviceptr address;
    int type;
    int64_t rows, columns, leading, stride, batch;
    bool transposed;
    // Bytes from the beginning of its buffer.
    int64_t offset;

    int64_t alignment() const { return alignmentOf(address); }
    static int64_t alignmentOf(uint64_t address);
  };

  Stored stored(const MatrixOperand& operand, int64_t rows, int64_t columns, DType dtype) const;
  std::array<const Stored*, 4> matrices() const { return {&left_, &right_, &addend_, &result_}; }
  void describe();
  // Whether it is the problem of the product without its epilogue, whatever the factors.
  bool isBare() const;
  // Of the operands and the result, in the order of `matrices`.
  using Alignments = std::array<int64_t, 4>;
  Alignments alignments() const;
  // The heuristic's algorithms for this problem where its matrices have such alignments, as those of another
  // one that they are for; its first choice first, none where it has none.
  std::vector<LtAlgorithm> heuristic(ltHandle handle, size_t workspaceBytes, size_t most,
                                     const Alignments& alignments) const;

  const MatmulStep& step_;
  const std::vector<CUdeviceptr>& addresses_;
  Stored left_, right_, addend_, result_;
  int compute_, scale_, epilogue_;
  CUdeviceptr bias_ = 0;
  std::unique_ptr<CublasLtMatmulDesc_st, DropDesc> desc_;
  std::array<std::unique_ptr<CublasLtMatrixLayout_st, DropLayout>, 4> layouts_;
};

}  // namespace weft::cuda
