// cuFFT: our own declarations of its entry points, and transforms on a device's streams.
//
// Plans belong to the device's context and are made before a stream is captured. The latest are kept; a graph
// keeps those whose memory it refers to. Their work area is the run's workspace, as planned, so that cuFFT
// allocates none.
#pragma once
#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "cpu/fft-numbers.h"
#include "cuda/event.h"
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

  // Plans that exist.
  size_t planCount() const { return dropped_->planCount; }
  // Of the stream beside those of jobs, and its events.
  size_t streamCount() const { return side_ ? 1 : 0; }
  size_t eventCount() const { return side_ ? 2 : 0; }
  // The plans of a job, as LibraryRoutine::prepare says.
  std::shared_ptr<const void> prepare(const FftNumbers& fft, size_t workspaceBytes, cpu::Range units);
  // Whether the plans of a whole job are kept, and none is to be destroyed.
  bool isPrepared(const FftNumbers& fft, size_t workspaceBytes);
  void queue(const FftNumbers& fft, const LibraryJob& job, CUstream stream);

 private:
  // Handles of plans that nobody uses any more: graphs end on any thread, handles under the device's issuing
  // lock.
  struct Dropped {
    std::mutex mutex;
    std::vector<cufftHandle> handles;
    std::atomic<size_t> planCount{0};
    bool isEmpty();
    void destroy();
  };
  struct Plan {
    cufftHandle handle = 0;
    size_t workBytes = 0;
    std::shared_ptr<Dropped> dropped;
    Plan(std::shared_ptr<Dropped> to);
    ~Plan();
    Plan(const Plan&) = delete;
    Plan& operator=(const Plan&) = delete;
  };
  using PlanPointer = std::shared_ptr<const Plan>;
  // Kind, precision, batch, inner, dims.
  using Key = std::vector<int64_t>;
  struct Kept {
    Key key;
    PlanPointer plan;
    size_t tableBytes;
  };
  // A stream of the context beside that of a job: the last blocks of one call run with the first ones of the
  // next.
  struct Side {
    CUstream stream = nullptr;
    Event forked, joined;
    Side();
  };
  class Fork;

  // Plans that are kept beside those of graphs: those of a job, whose calls have two sizes; else at most so
  // many, whose twiddles are about so many bytes of device memory, which no budget counts.
  static constexpr size_t kLeastPlans = 2, kMostPlans = 64;
  static constexpr size_t kMostTableBytes = size_t{64} << 20;

  static Key keyOf(const FftNumbers& fft, int64_t batch);
  std::list<Kept>::iterator find(const Key& key);
  PlanPointer planOf(const FftNumbers& fft, int64_t batch);
  PlanPointer makePlan(const FftNumbers& fft, int64_t batch);
  // Transforms of one call at most: a unit's, or fewer where the workspace is too small for the plan's area.
  int64_t batchOf(const FftNumbers& fft, size_t workspaceBytes);
  // Calls `work(plan, first, count)` for the transforms of each call.
  template <typename Work>
  void eachBatch(const FftNumbers& fft, size_t workspaceBytes, cpu::Range units, const Work& work);
  // Whether the calls of a job share no memory, so that two of them may run at a time.
  bool areApart(const FftNumbers& fft, size_t workspaceBytes, cpu::Range units);
  void execute(const Plan& plan, const FftNumbers& fft, const LibraryJob& job, int64_t first, int64_t count,
               CUstream stream);

  const std::shared_ptr<Dropped> dropped_ = std::make_shared<Dropped>();
  // Latest use first.
  std::list<Kept> plans_;
  size_t tableBytes_ = 0;
  std::optional<Side> side_;
};

extern const LibraryRoutine kFftRoutine;

}  // namespace weft::cuda
