// Fourier transforms of arrays: which sequences threads transform, and in which order axes follow one
// another. How one sequence is transformed its length alone says (fft.h), so bits depend on neither.
#include "cpu/fft.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

#include "cpu/cpu.h"
#include "cpu/fft-library.h"
#include "cpu/fft-numbers.h"
#include "cpu/isa.h"
#include "cpu/math-library.h"
#include "cpu/ops.h"
#include "cpu/routines.h"
#include "cpu/threads.h"

namespace weft::cpu {

#define WEFT_DECLARE_FFT(isa)                  \
  namespace isa {                              \
  const FftKernels& fftKernels(bool isDouble); \
  }
WEFT_DECLARE_FFT(baseline)
#ifdef WEFT_HAS_AVX
WEFT_DECLARE_FFT(avx2)
WEFT_DECLARE_FFT(avx512)
#endif
#undef WEFT_DECLARE_FFT

const FftKernels& fftKernels(bool isDouble) {
#ifdef WEFT_HAS_AVX
  if (currentIsa() == Isa::avx512) return avx512::fftKernels(isDouble);
  if (currentIsa() == Isa::avx2) return avx2::fftKernels(isDouble);
#endif
  return baseline::fftKernels(isDouble);
}

const FftKernels& fftKernels(const FftPlan& plan, bool isDouble) {
  return plan.kind == FftPlan::Kind::library ? libraryKernels(isDouble) : fftKernels(isDouble);
}

namespace {

using Fft = FftNumbers;

size_t aligned(size_t bytes) { return (bytes + kHostAlignment - 1) / kHostAlignment * kHostAlignment; }

// One axis of all that are transformed: `groups` of each of `outer`, `after` elements behind each of its own.
struct Axis {
  FftPlanPointer plan;
  int64_t groups, after;
};

std::vector<Axis> axesOf(const Fft& fft) {
  std::vector<Axis> axes;
  int64_t after = fft.inner, before = fft.elements() / fft.inner;
  for (size_t k = fft.dims.size(); k-- > 0;) {
    before /= fft.dims[k];
    axes.push_back({fftPlan(fft.dims[k], fft.isDouble), before, after});
    after *= fft.dims[k];
  }
  return axes;
}

// The complex transform that a real one is made of: of half the length where that is even.
FftPlanPointer planOfReal(const Fft& fft) {
  const int64_t n = fft.length();
  return fftPlan(n % 2 == 0 ? n / 2 : n, fft.isDouble);
}

// A long sequence, whose steps several threads share.
bool isShared(const FftPlan& plan) {
  constexpr int64_t kLeast = 1 << 15;
  return plan.kind == FftPlan::Kind::steps && plan.length >= kLeast;
}

class Job {
 public:
  Job(const Fft& fft, ThreadPool& pool, const std::atomic<bool>* cancel, Workspace workspace)
      : fft_(fft),
        kernels_(fftKernels(fft.isDouble)),
        pool_(pool),
        workers_(pool.workers()),
        cancel_(cancel),
        workspace_(workspace) {
    if (fft.kind == FftKind::complex) {
      axes_ = axesOf(fft);
    } else {
      plan_ = planOfReal(fft);
      if (fft.length() % 2 == 0) table_ = realTable(fft.length(), fft.isDouble);
    }
    // Tables are kept beside the workspace, which has as many bytes more for them.
    if (workspace_.data != nullptr) workspace_.byteLength -= std::min(workspace_.byteLength, tableBytes());
  }

  size_t tableBytes() const {
    size_t bytes = table_ ? table_->tableBytes : 0;
    for (const Axis& axis : axes_) bytes += axis.plan->tableBytes;
    return aligned(bytes + (plan_ ? plan_->tableBytes : 0));
  }

  // The library that transforms, or some axes; none: Weft's own do.
  std::string library() const {
    std::vector<const FftPlan*> plans;
    for (const Axis& axis : axes_) plans.push_back(axis.plan.get());
    if (plan_) plans.push_back(plan_.get());
    const auto count = std::count_if(
        plans.begin(), plans.end(), [](const FftPlan* plan) { return plan->kind == FftPlan::Kind::library; });
    const MathLibrary* const used = count == 0 ? nullptr : fftInUse(fft_.isDouble);
    if (used == nullptr) return {};
    const bool isAll = count == static_cast<std::ptrdiff_t>(plans.size());
    return used->name + " (" + used->path + ")" + (isAll ? "" : " and Weft's own");
  }

  void fill() const {
    for (const Axis& axis : axes_) fillTables(*axis.plan, fft_.isDouble);
    if (plan_) fillTables(*plan_, fft_.isDouble);
    if (table_) fillTables(*table_, fft_.isDouble);
  }

  // Scratch of one thread.
  size_t scratchBytes() const {
    if (fft_.kind != FftKind::complex) {
      const size_t own = aligned(kernelsOf(*plan_).rowsScratch(*plan_));
      const bool isBeside = fft_.length() % 2 != 0 && plan_->kind != FftPlan::Kind::direct;
      return own + (isBeside ? together(*plan_) * rowBytes() : 0);
    }
    size_t most = 0;
    for (const Axis& axis : axes_)
      most = std::max(most, axis.after == 1 ? kernelsOf(*axis.plan).rowsScratch(*axis.plan)
                                            : kernelsOf(*axis.plan).columnsScratch(*axis.plan));
    return aligned(most);
  }

  void complex(const std::byte* in, std::byte* out, int64_t items) {
    const auto bytes = static_cast<size_t>(fft_.elements()) * 2 * fft_.realBytes();
    constexpr size_t kCached = size_t{512} << 10;
    if (axes_.size() > 1 && items >= 2 * workers_ && bytes <= kCached) {
      each(items, [&](int64_t item, std::byte* scratch) {
        const std::byte* from = in + item * static_cast<int64_t>(bytes);
        std::byte* const to = out + item * static_cast<int64_t>(bytes);
        for (const Axis& axis : axes_) {
          for (int64_t block = 0; block < blocksOf(axis, 1); block++) run(axis, 1, block, from, to, scratch);
          from = to;
        }
      });
      return;
    }
    for (const Axis& axis : axes_) {
      if (axis.after == 1 && sharesRows(*axis.plan, items * axis.groups)) {
        for (int64_t k = 0; k < items * axis.groups; k++) {
          const auto at = k * axis.plan->length * static_cast<int64_t>(2 * fft_.realBytes());
          shareRow(*axis.plan, in + at, out + at, fft_.inverse);
        }
      } else {
        each(blocksOf(axis, items),
             [&](int64_t block, std::byte* scratch) { run(axis, items, block, in, out, scratch); });
      }
      in = out;
    }
  }

  void fromReal(const std::byte* in, std::byte* out, int64_t items) {
    const FftPlan& plan = *plan_;
    if (plan.kind == FftPlan::Kind::direct) return directReal(in, out, items, false);
    const int64_t n = fft_.length(), half = n / 2, real = static_cast<int64_t>(fft_.realBytes());
    if (n % 2 == 0) {
      const RealTable& table = *table_;
      eachRows(plan, items, [&](int64_t first, int64_t count, std::byte* scratch) {
        const std::byte* const from = in + first * n * real;
        std::byte* const to = out + first * (half + 1) * 2 * real;
        if (scratch == nullptr) {
          shareRow(plan, from, to, false);
        } else {
          kernelsOf(plan).rows(plan, {from, to, half, half + 1}, count, false, scratch);
        }
        for (int64_t k = 0; k < count; k++) kernels_.splitReal(table, to + k * (half + 1) * 2 * real);
      });
      return;
    }
    fft_.isDouble ? oddFromReal<double>(plan, in, out, items) : oddFromReal<float>(plan, in, out, items);
  }

  void toReal(const std::byte* in, std::byte* out, int64_t items) {
    const FftPlan& plan = *plan_;
    if (plan.kind == FftPlan::Kind::direct) return directReal(in, out, items, true);
    const int64_t n = fft_.length(), half = n / 2, real = static_cast<int64_t>(fft_.realBytes());
    if (n % 2 == 0) {
      const RealTable& table = *table_;
      eachRows(plan, items, [&](int64_t first, int64_t count, std::byte* scratch) {
        std::byte* const to = out + first * n * real;
        for (int64_t k = 0; k < count; k++)
          kernels_.joinReal(table, in + (first + k) * (half + 1) * 2 * real, to + k * n * real);
        if (scratch == nullptr) {
          shareRow(plan, to, to, true);
        } else {
          kernelsOf(plan).rows(plan, {to, to, half, half}, count, true, scratch);
        }
      });
      return;
    }
    fft_.isDouble ? oddToReal<double>(plan, in, out, items) : oddToReal<float>(plan, in, out, items);
  }

 private:
  static int64_t parts(int64_t all, int64_t size) { return (all + size - 1) / size; }
  const FftKernels& kernelsOf(const FftPlan& plan) const { return fftKernels(plan, fft_.isDouble); }
  // Most sequences that a thread takes at a time: of short ones many, since each time costs as much as some.
  int64_t together(const FftPlan& plan) const {
    if (plan.kind != FftPlan::Kind::direct) return plan.isInLanes() ? kernels_.lanes : 1;
    constexpr int64_t kLeast = 4096;
    return parts(kLeast, plan.length * kernels_.lanes) * kernels_.lanes;
  }
  // Sequences that a thread takes at a time, of so many. All threads have some where that costs nothing.
  int64_t together(const FftPlan& plan, int64_t rows) const {
    const int64_t most = together(plan), least = plan.kind == FftPlan::Kind::direct ? kernels_.lanes : 1;
    return std::min(most, parts(parts(rows, workers_), least) * least);
  }
  bool isStopped() const { return cancel_ != nullptr && cancel_->load(std::memory_order_relaxed); }
  // Of a row of complex numbers beside the scratch.
  size_t rowBytes() const { return aligned(static_cast<size_t>(fft_.length()) * 2 * fft_.realBytes()); }

  // Calls `work(task, scratch)` for each task, with scratch of the thread's own.
  template <typename Work>
  void each(int64_t tasks, const Work& work) {
    const size_t own = scratchBytes();
    const auto fitting = own == 0 ? workers_ : static_cast<int64_t>(workspace_.byteLength / own);
    pool_.parallelFor(
        tasks,
        [&](int64_t task, int worker) {
          if (!isStopped()) work(task, workspace_.data + static_cast<size_t>(worker) * own);
        },
        static_cast<int>(std::min(workers_, fitting)));
  }

  // Calls `work(first, count, scratch)` for rows that are transformed at a time; without scratch all threads
  // are to share its row.
  template <typename Work>
  void eachRows(const FftPlan& plan, int64_t items, const Work& work) {
    if (sharesRows(plan, items)) {
      for (int64_t k = 0; k < items && !isStopped(); k++)
        work(k, int64_t{1}, static_cast<std::byte*>(nullptr));
      return;
    }
    const int64_t size = together(plan, items);
    each(parts(items, size), [&](int64_t part, std::byte* scratch) {
      work(part * size, std::min(size, items - part * size), scratch);
    });
  }

  bool sharesRows(const FftPlan& plan, int64_t rows) const {
    return rows < workers_ && isShared(plan) &&
           workspace_.byteLength >=
               aligned(kernels_.betweenBytes(plan)) + workers_ * aligned(kernels_.stepScratch(plan));
  }

  void shareRow(const FftPlan& plan, const std::byte* in, std::byte* out, bool inverse) {
    std::byte* const between = workspace_.data;
    std::byte* const local = between + aligned(kernels_.betweenBytes(plan));
    const size_t own = aligned(kernels_.stepScratch(plan));
    const int64_t wide = 4 * kernels_.lanes;
    const auto columns = [&](int64_t length, const auto& step) {
      pool_.parallelFor(parts(length, wide), [&](int64_t part, int worker) {
        if (isStopped()) return;
        step(part * wide, std::min(length, (part + 1) * wide), local + static_cast<size_t>(worker) * own);
      });
    };
    columns(plan.second->length, [&](int64_t first, int64_t last, std::byte* scratch) {
      kernels_.firstStep(plan, in, between, first, last, inverse, scratch);
    });
    columns(plan.first->length, [&](int64_t first, int64_t last, std::byte* scratch) {
      kernels_.secondStep(plan, between, out, first, last, inverse, scratch);
    });
  }

  // Blocks of an axis: rows, or as many columns as there are lanes.
  int64_t blocksOf(const Axis& axis, int64_t items) const {
    const int64_t all = items * axis.groups;
    return axis.after == 1 ? parts(all, together(*axis.plan, all))
                           : all * parts(axis.after, kernelsOf(*axis.plan).lanes);
  }

  void run(const Axis& axis, int64_t items, int64_t block, const std::byte* in, std::byte* out,
           std::byte* scratch) const {
    const FftPlan& plan = *axis.plan;
    const auto pair = static_cast<int64_t>(2 * fft_.realBytes());
    const int64_t n = plan.length;
    if (axis.after == 1) {
      const int64_t size = together(plan, items * axis.groups), first = block * size;
      const FftRows rows{in + first * n * pair, out + first * n * pair, n, n};
      return kernelsOf(plan).rows(plan, rows, std::min(size, items * axis.groups - first), fft_.inverse,
                                  scratch);
    }
    const int64_t lanes = kernelsOf(plan).lanes, across = parts(axis.after, lanes);
    const int64_t column = block % across * lanes;
    const int64_t at = (block / across * n * axis.after + column) * pair;
    kernelsOf(plan).columns(plan, in + at, out + at, axis.after, std::min(lanes, axis.after - column),
                            fft_.inverse, scratch);
  }

  // Rows of lengths that have direct plans.
  void directReal(const std::byte* in, std::byte* out, int64_t items, bool inverse) {
    const int64_t size = together(*plan_, items);
    const auto inBytes = static_cast<int64_t>(fft_.inBytes()),
               outBytes = static_cast<int64_t>(fft_.outBytes());
    each(parts(items, size), [&](int64_t part, std::byte* scratch) {
      const int64_t first = part * size;
      kernels_.realRows(*plan_, table_.get(), in + first * inBytes, out + first * outBytes,
                        std::min(size, items - first), inverse, scratch);
    });
  }

  // Rows of other odd lengths are transformed as complex ones, beside the scratch: `fill` makes one of a row,
  // `take` makes a row of one. `given` and `taken` are the real numbers of rows before and after.
  template <typename T, typename Fill, typename Take>
  void oddRows(const FftPlan& plan, const std::byte* in, std::byte* out, int64_t items, int64_t given,
               int64_t taken, bool inverse, const Fill& fill, const Take& take) {
    const int64_t size = together(plan, items);
    const auto next = static_cast<int64_t>(rowBytes() / (2 * sizeof(T)));
    each(parts(items, size), [&](int64_t part, std::byte* scratch) {
      const int64_t first = part * size, count = std::min(size, items - first);
      T* const rows = reinterpret_cast<T*>(scratch + aligned(kernelsOf(plan).rowsScratch(plan)));
      const T* const from = reinterpret_cast<const T*>(in) + first * given;
      T* const to = reinterpret_cast<T*>(out) + first * taken;
      for (int64_t k = 0; k < count; k++) fill(from + k * given, rows + 2 * k * next);
      kernelsOf(plan).rows(plan, {rows, rows, next, next}, count, inverse, scratch);
      for (int64_t k = 0; k < count; k++) take(rows + 2 * k * next, to + k * taken);
    });
  }

  template <typename T>
  void oddFromReal(const FftPlan& plan, const std::byte* in, std::byte* out, int64_t items) {
    const int64_t n = fft_.length(), kept = n / 2 + 1;
    const auto fill = [n](const T* from, T* row) {
      for (int64_t i = 0; i < n; i++) {
        row[2 * i] = from[i];
        row[2 * i + 1] = 0;
      }
    };
    const auto take = [kept](const T* row, T* to) {
      std::copy_n(row, 2 * kept, to);
      // Rounding may leave an imaginary part of the first, which has none.
      to[1] = 0;
    };
    oddRows<T>(plan, in, out, items, n, 2 * kept, false, fill, take);
  }

  template <typename T>
  void oddToReal(const FftPlan& plan, const std::byte* in, std::byte* out, int64_t items) {
    const int64_t n = fft_.length(), given = n / 2 + 1;
    const auto fill = [n, given](const T* from, T* row) {
      row[0] = from[0];
      row[1] = 0;
      for (int64_t i = 1; i < given; i++) {
        row[2 * i] = row[2 * (n - i)] = from[2 * i];
        row[2 * i + 1] = from[2 * i + 1];
        row[2 * (n - i) + 1] = -from[2 * i + 1];
      }
    };
    const auto take = [n](const T* row, T* to) {
      for (int64_t i = 0; i < n; i++) to[i] = row[2 * i];
    };
    oddRows<T>(plan, in, out, items, 2 * given, n, true, fill, take);
  }

  const Fft& fft_;
  // Of complex transforms.
  std::vector<Axis> axes_;
  // Of real ones, and of those of even length.
  FftPlanPointer plan_;
  RealTablePointer table_;
  const FftKernels& kernels_;
  ThreadPool& pool_;
  // Of the pool as the job found it: blocks follow from it.
  const int64_t workers_;
  const std::atomic<bool>* cancel_;
  Workspace workspace_;
};

struct Described : PreparedRoutine {
  explicit Described(std::string library) : library_(std::move(library)) {}
  std::string text() const override { return library_; }

 private:
  const std::string library_;
};

RoutineNeed needOf(const std::vector<int64_t>& numbers, const ThreadPool& pool) {
  const Fft fft = readFftNumbers(numbers);
  const Job job(fft, const_cast<ThreadPool&>(pool), nullptr, {});
  const size_t own = job.scratchBytes(), tables = job.tableBytes();
  const auto outer = static_cast<size_t>(fft.outer);
  return {{outer * fft.inBytes()},
          {outer * fft.outBytes()},
          {static_cast<size_t>(pool.workers()) * own + tables, own + tables},
          fft.units(),
          std::make_shared<Described>(job.library())};
}

void runFft(const RoutineJob& job, Range units, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Fft fft = readFftNumbers(job.numbers);
  const int64_t first = units.first * fft.outerPerUnit;
  const int64_t items = std::min(fft.outer, units.last * fft.outerPerUnit) - first;
  Job work(fft, pool, cancel, job.workspace);
  work.fill();
  const std::byte* const in = job.operands[0] + first * static_cast<int64_t>(fft.inBytes());
  std::byte* const out = job.results[0] + first * static_cast<int64_t>(fft.outBytes());
  switch (fft.kind) {
    case FftKind::complex:
      return work.complex(in, out, items);
    case FftKind::fromReal:
      return work.fromReal(in, out, items);
    case FftKind::toReal:
      return work.toReal(in, out, items);
  }
}

}  // namespace

const Routine kFft{needOf, runFft};

}  // namespace weft::cpu
