// The table of libraries' routines, by the names of src/graph/routines.ts.
#include "cuda/library-routines.h"

#include "cuda/fft.h"

namespace weft::cuda {

const LibraryRoutine* findLibraryRoutine(const std::string& name) {
  return name == "fft" || name == "rfft" || name == "irfft" ? &kFftRoutine : nullptr;
}

}  // namespace weft::cuda
