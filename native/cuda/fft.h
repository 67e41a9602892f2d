// cuFFT: our own declarations of its entry points, and transforms on a device's streams.
//
// Plans belong to the device's context, are made before a stream is captured, and are kept: graphs may refer
// to their memory. Their work area is the run's workspace, as planned, so that cuFFT allocates none.
#pragma once
#include <map>
#include <vector>

#include "cpu/fft-numbers.h"
#include "cuda/library-routines.h"
#include "cuda/library.h"

namespace weft::cuda {

using cufftStatus = int;
using cufftHandle = int;

// (name, symbol, optional, parameters)
#define WEFT_CUFFT(X)                                                                                      \
  X(cufftCreate, "cufftCreate", false, cufftHandle* plan)                                                  \
  X(cufftDestroy, "cufftDestroy", false, cufftHandle plan)                                                 \
  X(cufftGetVersion, "cufftGetVersion", false, int* version)                                               \
  X(cufftSetAutoAllocation, "cufftSetAutoAllocation", false, cufftHandle plan, int allocates)              \
  X(cufftXtMakePlanMany, "cufftXtMakePlanMany", false, cufftHandle plan, int rank, long long* sizes,       \
    long long* inEmbed, long long inStride, long long inDistance, int inType, long long* outEmbed,         \
    long long outStride, long long outDistance, int outType, long long batch, size_t* workBytes, int type) \
  X(cufftSetStream, "cufftSetStream", false, cufftHandle plan, CUstream stream)                            \
  X(cufftSetWorkArea, "cufftSetWorkArea", false, cufftHandle plan, void* area)                             \
  X(cufftXtExec, "cufftXtExec", false, cufftHandle plan, void* in, void* out, int direction)

struct Cufft {
#define WEFT_DECLARE(name, symbol, optional, ...) cufftStatus (*name)(__VA_ARGS__) = nullptr;
  WEFT_CUFFT(WEFT_DECLARE)
#undef WEFT_DECLARE
};

struct CufftState {
  Cufft cufft;
  Library library;
  // 11.2.1 is 11201.
  int version = 0;
};
const CufftState& cufftState();

std::vector<std::string> cufftEntryPoints();

// One device's plans. On one thread at a time: that of the device's issuing lock.
class Fft {
 public:
  Fft() = default;
  ~Fft();
  Fft(const Fft&) = delete;
  Fft& operator=(const Fft&) = delete;

  size_t planCount() const { return plans_.size(); }
  void prepare(const FftNumbers& fft, size_t workspaceBytes, cpu::Range units);
  void queue(const FftNumbers& fft, const LibraryJob& job, CUstream stream);

 private:
  struct Plan {
    cufftHandle handle = 0;
    size_t workBytes = 0;
  };
  // Kind, precision, batch, inner, dims.
  using Key = std::vector<int64_t>;

  const Plan& planOf(const FftNumbers& fft, int64_t batch);
  // Transforms of one call at most: a unit's, or fewer where the workspace is too small for the plan's area.
  int64_t batchOf(const FftNumbers& fft, size_t workspaceBytes);
  // Calls `work(first, count)` for the transforms of each call.
  template <typename Work>
  void eachBatch(const FftNumbers& fft, size_t workspaceBytes, cpu::Range units, const Work& work);
  void execute(const FftNumbers& fft, const LibraryJob& job, int64_t first, int64_t count, CUstream stream);

  std::map<Key, Plan> plans_;
};

extern const LibraryRoutine kFftRoutine;

}  // namespace weft::cuda
