// The table of libraries' routines, by the names of src/graph/routines.ts.
#include "cuda/library-routines.h"

#include <map>

#include "cuda/fft.h"
#include "cuda/solver.h"
#include "cuda/sparse-solver.h"

namespace weft::cuda {

const LibraryRoutine* findLibraryRoutine(const std::string& name) {
  static const std::map<std::string, const LibraryRoutine*> table{
      {"fft", &kFftRoutine}, {"rfft", &kFftRoutine},          {"irfft", &kFftRoutine},
      {"lu", &kLuRoutine},   {"cholesky", &kCholeskyRoutine}, {"triangularSolve", &kTriangularSolveRoutine},
      {"qr", &kQrRoutine},   {"qOfQr", &kQOfQrRoutine},       {"eigh", &kEighRoutine},
      {"eig", &kEigRoutine}, {"svd", &kSvdRoutine},           {"sparseSolve", &kSparseSolveRoutine}};
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace weft::cuda
