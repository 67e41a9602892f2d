#include "cuda/fft.h"

#include <algorithm>
#include <utility>

#include "cuda/device.h"
#include "cuda/library-status.h"
#include "cuda/pointer.h"
#include "runtime/failure.h"

namespace weft::cuda {
namespace {

constexpr int kForward = -1, kInverse = 1;
// cudaDataType.
constexpr int kReal32 = 0, kReal64 = 1, kComplex32 = 4, kComplex64 = 5;
// Work areas and copies begin at multiples of it.
constexpr size_t kAlignment = 256;
// Transforms of real numbers are given in pairs: cuFFT wants arrays aligned as complex numbers are.
constexpr int64_t kPair = 2;
// About what a call of cuFFT launches, and what copies its operand.
constexpr size_t kLaunches = 2, kCopyLaunches = 3;

CufftState* findCufft() {
  auto* state = new CufftState();
  Cufft& api = state->cufft;
#define WEFT_ENTRY(name, symbol, optional, ...) {reinterpret_cast<void**>(&api.name), symbol, optional},
  const std::vector<EntryPoint> entryPoints = {WEFT_CUFFT(WEFT_ENTRY)};
#undef WEFT_ENTRY
  const auto accept = [&]() -> std::string {
    if (api.cufftGetVersion(&state->version) != 0) return "cufftGetVersion failed";
    // Plans that are used again gave wrong results (CUDA 11.1).
    if (state->version / 100 == 103) return "cuFFT 10.3 gives wrong results with plans that are used again";
    const int driverVersion = driverState().version, toolkit = state->version / 1000 + 1;
    if (driverVersion == 0 || toolkit <= driverVersion / 1000) return {};
    return "it is of CUDA " + std::to_string(toolkit) + ", the driver of " + versionText(driverVersion);
  };
  state->library = openLibrary(candidates().cufft, entryPoints, {}, accept);
  return state;
}

const Cufft& cufft() {
  const CufftState& state = cufftState();
  if (!state.library.found()) {
    throw Failure(FailureCode::device, "[cuda] expected cuFFT (libcufft), for a Fourier transform: " +
                                           describeTried(state.library));
  }
  return state.cufft;
}

#define WEFT_CUFFT_CALL(name, ...) checkStatus(cufft().name(__VA_ARGS__), kCufftNames, #name)

size_t padded(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// Bytes of the copy of what transforms to real numbers read, which cuFFT writes over.
size_t copyBytes(const FftNumbers& fft, int64_t count) {
  return fft.kind == FftKind::toReal ? padded(static_cast<size_t>(count) * fft.inBytes()) : 0;
}

// About the bytes of a plan's tables: twiddles of each axis, of a convolution where a prime factor is large.
size_t tableBytesOf(const FftNumbers& fft) {
  size_t elements = 0;
  for (const int64_t n : fft.dims) {
    int64_t rest = n;
    for (const int64_t p : {2, 3, 5, 7})
      while (rest % p == 0) rest /= p;
    elements += static_cast<size_t>(n) * (rest == 1 ? 1 : 8);
  }
  return elements * 2 * fft.realBytes();
}

}  // namespace

const CufftState& cufftState() {
  static const CufftState& state = *findCufft();
  return state;
}

std::vector<std::string> cufftEntryPoints() {
#define WEFT_SYMBOL(name, symbol, optional, ...) symbol,
  return {WEFT_CUFFT(WEFT_SYMBOL)};
#undef WEFT_SYMBOL
}

bool Fft::Dropped::isEmpty() {
  const std::lock_guard lock(mutex);
  return handles.empty();
}

void Fft::Dropped::destroy() {
  std::vector<cufftHandle> all;
  {
    const std::lock_guard lock(mutex);
    all.swap(handles);
  }
  for (const cufftHandle handle : all) {
    cufft().cufftDestroy(handle);
    planCount--;
  }
}

Fft::Plan::Plan(std::shared_ptr<Dropped> to) : dropped(std::move(to)) {
  WEFT_CUFFT_CALL(cufftCreate, &handle);
  dropped->planCount++;
}

Fft::Plan::~Plan() {
  const std::lock_guard lock(dropped->mutex);
  dropped->handles.push_back(handle);
}

Fft::~Fft() {
  plans_.clear();
  dropped_->destroy();
}

Fft::Side::Side() { WEFT_CU(cuStreamCreate, &stream, kStreamNonBlocking); }

// While it lives, the side stream goes on from where a stream is; afterwards that one from where both are.
class Fft::Fork {
 public:
  Fork(Side& side, CUstream stream) : side_(side), stream_(stream) {
    side.forked.record(stream);
    side.forked.holdBack(side.stream);
  }
  ~Fork() {
    try {
      side_.joined.record(side_.stream);
      side_.joined.holdBack(stream_);
    } catch (const Failure&) {
      // Of a lost device, which the next call on the stream reports.
    }
  }
  Fork(const Fork&) = delete;
  Fork& operator=(const Fork&) = delete;

 private:
  Side& side_;
  CUstream stream_;
};

Fft::Key Fft::keyOf(const FftNumbers& fft, int64_t batch) {
  Key key{static_cast<int64_t>(fft.kind), fft.isDouble ? 1 : 0, batch, fft.inner};
  key.insert(key.end(), fft.dims.begin(), fft.dims.end());
  return key;
}

std::list<Fft::Kept>::iterator Fft::find(const Key& key) {
  return std::find_if(plans_.begin(), plans_.end(), [&](const Kept& kept) { return kept.key == key; });
}

Fft::PlanPointer Fft::planOf(const FftNumbers& fft, int64_t batch) {
  Key key = keyOf(fft, batch);
  const auto found = find(key);
  if (found != plans_.end()) {
    plans_.splice(plans_.begin(), plans_, found);
  } else {
    plans_.push_front({std::move(key), makePlan(fft, batch), tableBytesOf(fft)});
    tableBytes_ += plans_.front().tableBytes;
    while (plans_.size() > kLeastPlans && (plans_.size() > kMostPlans || tableBytes_ > kMostTableBytes)) {
      tableBytes_ -= plans_.back().tableBytes;
      plans_.pop_back();
    }
  }
  return plans_.front().plan;
}

Fft::PlanPointer Fft::makePlan(const FftNumbers& fft, int64_t batch) {
  const auto made = std::make_shared<Plan>(dropped_);
  Plan& plan = *made;
  WEFT_CUFFT_CALL(cufftSetAutoAllocation, plan.handle, 0);
  std::vector<long long> sizes(fft.dims.begin(), fft.dims.end()), in = sizes, out = sizes;
  const long long half = fft.length() / 2 + 1;
  if (fft.kind == FftKind::fromReal) out = {half};
  if (fft.kind == FftKind::toReal) in = {half};
  const auto distance = [&](const std::vector<long long>& embed) {
    long long product = 1;
    for (const long long n : embed) product *= n;
    return fft.inner == 1 ? product : 1LL;
  };
  const int complex = fft.isDouble ? kComplex64 : kComplex32, real = fft.isDouble ? kReal64 : kReal32;
  WEFT_CUFFT_CALL(cufftXtMakePlanMany, plan.handle, static_cast<int>(sizes.size()), sizes.data(), in.data(),
                  fft.inner, distance(in), fft.kind == FftKind::fromReal ? real : complex, out.data(),
                  fft.inner, distance(out), fft.kind == FftKind::toReal ? real : complex, batch,
                  &plan.workBytes, complex);
  return made;
}

// Columns behind the axes are a batch by themselves.
int64_t Fft::batchOf(const FftNumbers& fft, size_t workspaceBytes) {
  if (fft.inner > 1) return 1;
  int64_t batch = std::min(fft.outer, fft.outerPerUnit);
  while (planOf(fft, batch)->workBytes + copyBytes(fft, batch) > workspaceBytes && batch > kPair) {
    batch /= 2;
    batch += batch % kPair;
  }
  return batch;
}

template <typename Work>
void Fft::eachBatch(const FftNumbers& fft, size_t workspaceBytes, cpu::Range units, const Work& work) {
  const int64_t batch = batchOf(fft, workspaceBytes);
  PlanPointer plan;
  int64_t planned = 0;
  for (int64_t unit = units.first; unit < units.last; unit++) {
    const int64_t last = std::min(fft.outer, (unit + 1) * fft.outerPerUnit);
    for (int64_t first = unit * fft.outerPerUnit; first < last; first += batch) {
      const int64_t count = std::min(batch, last - first);
      if (count != planned) plan = planOf(fft, fft.inner > 1 ? fft.inner : count);
      planned = count;
      work(plan, first, count);
    }
  }
}

std::shared_ptr<const void> Fft::prepare(const FftNumbers& fft, size_t workspaceBytes, cpu::Range units) {
  // Of batches of two sizes.
  auto used = std::make_shared<std::vector<PlanPointer>>();
  eachBatch(fft, workspaceBytes, units, [&](const PlanPointer& plan, int64_t, int64_t count) {
    if (std::find(used->begin(), used->end(), plan) != used->end()) return;
    used->push_back(plan);
    if (plan->workBytes + copyBytes(fft, count) <= workspaceBytes) return;
    throw Failure(FailureCode::memory,
                  "[cuda] cuFFT needs " + std::to_string(plan->workBytes) +
                      " bytes of workspace, more than were planned: " + std::to_string(workspaceBytes));
  });
  if (!side_ && areApart(fft, workspaceBytes, units)) side_.emplace();
  dropped_->destroy();
  return used;
}

bool Fft::isPrepared(const FftNumbers& fft, size_t workspaceBytes) {
  if (!dropped_->isEmpty()) return false;
  const auto isKept = [&](int64_t count) {
    const auto found = find(keyOf(fft, fft.inner > 1 ? fft.inner : count));
    return found != plans_.end() && found->plan->workBytes + copyBytes(fft, count) <= workspaceBytes;
  };
  if (fft.inner > 1) return isKept(1);
  const int64_t rest = fft.outer % fft.outerPerUnit;
  return (fft.outer < fft.outerPerUnit || isKept(fft.outerPerUnit)) && (rest == 0 || isKept(rest));
}

bool Fft::areApart(const FftNumbers& fft, size_t workspaceBytes, cpu::Range units) {
  bool areApart = copyBytes(fft, 1) == 0;
  int64_t calls = 0;
  eachBatch(fft, workspaceBytes, units, [&](const PlanPointer& plan, int64_t, int64_t) {
    calls++;
    areApart = areApart && plan->workBytes == 0;
  });
  return areApart && calls > 1;
}

void Fft::queue(const FftNumbers& fft, const LibraryJob& job, CUstream stream) {
  std::optional<Fork> fork;
  if (side_ && areApart(fft, job.workspaceBytes, job.units)) fork.emplace(*side_, stream);
  bool isAside = false;
  eachBatch(fft, job.workspaceBytes, job.units, [&](const PlanPointer& plan, int64_t first, int64_t count) {
    execute(*plan, fft, job, first, count, isAside ? side_->stream : stream);
    isAside = fork.has_value() && !isAside;
  });
}

void Fft::execute(const Plan& plan, const FftNumbers& fft, const LibraryJob& job, int64_t first,
                  int64_t count, CUstream stream) {
  CUdeviceptr in = job.operands[0] + static_cast<size_t>(first) * fft.inBytes();
  const CUdeviceptr out = job.results[0] + static_cast<size_t>(first) * fft.outBytes();
  if (fft.kind == FftKind::toReal) {
    // Imaginary parts that real numbers cannot have are nothing, as NumPy has it.
    const auto rows = static_cast<size_t>(count);
    const size_t rowBytes = fft.inBytes(), part = fft.realBytes();
    WEFT_CU(cuMemcpyDtoDAsync, job.workspace, in, rows * rowBytes, stream);
    WEFT_CU(cuMemsetD2D8Async, job.workspace + part, rowBytes, 0, part, rows, stream);
    if (fft.length() % 2 == 0)
      WEFT_CU(cuMemsetD2D8Async, job.workspace + rowBytes - part, rowBytes, 0, part, rows, stream);
    in = job.workspace;
  }
  WEFT_CUFFT_CALL(cufftSetStream, plan.handle, stream);
  if (plan.workBytes > 0)
    WEFT_CUFFT_CALL(cufftSetWorkArea, plan.handle, pointer(job.workspace + copyBytes(fft, count)));
  WEFT_CUFFT_CALL(cufftXtExec, plan.handle, pointer(in), pointer(out), fft.inverse ? kInverse : kForward);
}

const LibraryRoutine kFftRoutine{
    [](const std::vector<int64_t>& numbers) -> cpu::RoutineNeed {
      const FftNumbers fft = readFftNumbers(numbers);
      const auto outer = static_cast<size_t>(fft.outer);
      return {{outer * fft.inBytes()}, {outer * fft.outBytes()}, {}, fft.units()};
    },
    [](const LibraryJob& job) {
      return job.device.fft().prepare(readFftNumbers(job.numbers), job.workspaceBytes, job.units);
    },
    [](const LibraryJob& job, CUstream stream) {
      job.device.fft().queue(readFftNumbers(job.numbers), job, stream);
    },
    true,
    [](const std::vector<int64_t>& numbers) -> size_t {
      const FftNumbers fft = readFftNumbers(numbers);
      const auto calls = static_cast<size_t>(fft.inner > 1 ? fft.outer : fft.units());
      return calls * (fft.kind == FftKind::toReal ? kLaunches + kCopyLaunches : kLaunches);
    },
    [](const LibraryJob& job) {
      return job.device.fft().isPrepared(readFftNumbers(job.numbers), job.workspaceBytes);
    },
};

}  // namespace weft::cuda
