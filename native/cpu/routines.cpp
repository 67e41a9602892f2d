// The table of routines, by the names of src/graph/routines.ts. An addon of few routines
// (native/cpu/CMakeLists.txt) has those alone that its tests run.
#include "cpu/routines.h"

#include <map>

#include "cpu/linear-exponential.h"
#include "cpu/sparse-dense.h"
#include "cpu/sparse-moves.h"
#include "cpu/sparse-select.h"

namespace weft::cpu {

const Routine* findRoutine(const std::string& name) {
  static const std::map<std::string, const Routine*> table = {
      {"sort", &kSort},
      {"argsort", &kArgsort},
      {"scan", &kScan},
      {"scanTotals", &kScanTotals},
      {"scanBefore", &kScanBefore},
      {"bins", &kBins},
      {"binSums", &kBinSums},
      {"histogram", &kBins},
      {"attention", &kAttention},
#ifndef WEFT_FEW_ROUTINES
      {"ranks", &kRanks},
      {"top", &kTop},
      {"compact", &kCompact},
      {"distinct", &kDistinct},
      {"labels", &kLabels},
      {"members", &kMembers},
      {"runProducts", &kRunProducts},
      {"sparseProduct", &kSparseProduct},
      {"sparseTriangularSolve", &kSparseTriangularSolve},
      {"sparseRows", &kSparseRows},
      {"sparseDense", &kSparseDense},
      {"sparseKept", &kSparseKept},
      {"sparseKron", &kSparseKron},
      {"sparseCombine", &kSparseCombine},
      {"sparseGather", &kSparseGather},
      {"sparseTranspose", &kSparseTranspose},
      {"sparseElements", &kSparseElements},
      {"sparseOrder", &kSparseOrder},
      {"sparseLu", &kSparseLu},
      {"sparseMatmulCounts", &kSparseMatmulCounts},
      {"sparseMatmul", &kSparseMatmul},
      {"sparseSelectCounts", &kSparseSelectCounts},
      {"sparseSelect", &kSparseSelect},
      {"sparseMergeCounts", &kSparseMergeCounts},
      {"sparseMerge", &kSparseMerge},
      {"fft", &kFft},
      {"rfft", &kFft},
      {"irfft", &kFft},
      {"luFactors", &kLuFactors},
      {"luSolve", &kLuSolve},
      {"solve", &kSolve},
      {"luParts", &kLuParts},
      {"inverse", &kInverse},
      {"determinants", &kDeterminants},
      {"cholesky", &kCholesky},
      {"triangularSolve", &kTriangularSolve},
      {"qrParts", &kQrParts},
      {"expm", &kExpm},
      {"eigh", &kEigh},
      {"eig", &kEig},
      {"svd", &kSvd},
      {"leastSquares", &kLeastSquares},
      {"writeRow", &kWriteRow},
      {"kernel", &kUserKernel},
#endif
  };
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace weft::cpu
