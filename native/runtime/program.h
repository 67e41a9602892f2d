// Program: steps over numbered buffers, read once from plain data (ProgramSpec of src/exec/native/native.ts)
// and then immutable. Reading it checks everything that running it relies on, so that a malformed spec is an
// error here.
#pragma once
#include <napi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cpu/cpu.h"
#include "shared/layout.h"

namespace weft {

class Device;
namespace cpu {
struct PreparedRoutine;
struct Routine;
}  // namespace cpu
namespace cuda {
struct LibraryRoutine;
struct ProgramCode;
}  // namespace cuda

struct BufferSpec {
  Role role;
  size_t byteLength;
  // In the arena, for temporaries.
  size_t offset;
  // Whether there are never more than windows of it on the device, in the slots of sweeps.
  bool windowed;
  // Of an input that is not in memory: whoever computes a block of a tape reads its elements then.
  bool isReadInBlocks = false;
  // Inputs may be the user's memory, and may be read by turns as a loop's states.
  bool isReadOnly = false;
  // Of a windowed output that stays on its device: the bytes [partFirst, partLast) that are there.
  size_t partFirst = 0, partLast = 0;
};

// Device code; immutable, shared by the programs and devices that use it.
struct Image {
  std::string key;
  std::vector<uint8_t> bytes;
};

struct TapeStep {
  std::shared_ptr<const cpu::Tape> tape;
  std::vector<int> buffers;
  // As `workOf` says.
  double work;
  // Computed sooner than other threads would have woken.
  bool isShort() const { return work <= kShortWork; }
};

// How an array lies in a buffer, axes from the fastest one on, and the box of it that a kernel copies at a
// time.
struct TensorMap {
  int buffer;
  int elementBytes;
  std::vector<uint64_t> sizes;
  // In bytes, of the axes from the second one on.
  std::vector<uint64_t> strides;
  std::vector<unsigned> box;
};

struct LaunchStep {
  struct Argument {
    LaunchArgument kind;
    // A buffer, an axis of the grid (x is 0; 2 and 3: where the window of indices begins and ends), or where
    // a scalar is in `scalars`, a tensor map in `tensorMaps`.
    size_t at = 0;
    // Of a scalar that comes with a run, its position; else -1.
    int64_t number = -1;
  };
  size_t image;
  std::string function;
  std::array<unsigned, 3> grid;
  std::array<unsigned, 3> block;
  unsigned sharedByteLength;
  std::vector<Argument> args;
  std::vector<uint8_t> scalars;
  std::vector<TensorMap> tensorMaps;
  // Whether an argument is another one in every run of a loop's body.
  bool isCounted = false;
  // Whether it takes elements of a window: a range has the indices that are there.
  bool takesWindows() const {
    return std::any_of(args.begin(), args.end(), [](const Argument& argument) {
      return argument.kind == LaunchArgument::block && argument.at >= 2;
    });
  }
};

// In elements, as MatrixOperand of src/exec/calls/call.ts.
struct MatrixOperand {
  int buffer;
  int64_t offset, batchStride, rowStride, columnStride;
  // Along the outer batch axes of its product.
  std::vector<int64_t> outerStrides = {};
};

// Of a product on a GPU, as MatmulEpilogue of src/exec/calls/call.ts.
struct Epilogue {
  // Of the result, the addend and the bias.
  DType dtype;
  double alpha, beta;
  std::optional<MatrixOperand> addend;
  // A row of the result's width: a buffer, and where it begins there in elements. Without one, the buffer
  // is -1.
  int bias = -1;
  int64_t biasOffset = 0;
  enum class Activation { none, relu, gelu } activation = Activation::none;
};

struct MatmulStep {
  DType dtype;
  // Of float32 and complex64: a GPU may multiply in TF32. The CPU has no such units.
  bool allowsTf32 = false;
  // On a GPU, sums of more products are computed in stretches of so many, each of which adds to the result;
  // 0: as a whole.
  int64_t stretch = 0;
  int64_t m, n, k, batch;
  MatrixOperand a, b, c;
  // Sizes of further batch axes, where no single stride describes the batches (product-batches.h).
  std::vector<int64_t> outer;
  std::optional<Epilogue> epilogue;
  // Whether the CPU uses no BLAS.
  bool ownKernels = false;
  // A cublasLtMatmulAlgo_t that was measured for it; for a step with an epilogue.
  std::optional<std::array<uint64_t, 8>> algorithm;
  // The temporary that it may use besides, or -1.
  int workspace = -1;

  DType resultDType() const { return epilogue ? epilogue->dtype : dtype; }
};

// In elements: the axes of an operand by their labels, which are positions in the sizes of its contraction.
struct TensorOperand {
  int buffer;
  int64_t offset;
  std::vector<int32_t> labels;
  std::vector<int64_t> strides;
  bool isConjugated = false;
};

// result = alpha * Σ left * right + beta * addend over the labels that the result lacks; on a GPU, by
// cuTENSOR.
struct ContractionStep {
  DType dtype;
  // Of float32 and complex64, in which a GPU may multiply.
  enum class Precision { full, tf32, tf32x3 } precision = Precision::full;
  // Of each label.
  std::vector<int64_t> sizes;
  TensorOperand left, right, result;
  // It lies as the result does.
  std::optional<TensorOperand> addend;
  double alpha = 1, beta = 0;
  // The temporary that it may use besides, or -1.
  int workspace = -1;
};

struct ZeroStep {
  int buffer;
};

// A map of the elements that a routine of the CPU reads or gives. Buffers are -1 where they are in no memory,
// and for a routine's results.
struct RoutineMap {
  std::shared_ptr<const cpu::Tape> tape;
  std::vector<int> buffers;
  // The tape's buffer that the routine's elements are, or -1.
  int given = -1;
  // Those that it writes, and of each the operation by which the routine combines its elements, or -1.
  std::vector<int> results, folds;
};

// A routine over whole buffers: of the CPU (cpu/routines.h), or of a library on a GPU
// (cuda/library-routines.h).
struct RoutineStep {
  // One of the two.
  const cpu::Routine* routine = nullptr;
  const cuda::LibraryRoutine* library = nullptr;
  std::string name;
  std::vector<int64_t> numbers;
  std::shared_ptr<const cpu::PreparedRoutine> prepared;
  std::vector<int> operands, results;
  std::optional<RoutineMap> prologue, weights, epilogue;
  // The temporary that it may use besides, or -1.
  int workspace = -1;
  int64_t units = 0;
};

// A phase of a tape over slots of its reduced axes, or what finishes it.
struct TapePhaseStep {
  std::shared_ptr<const cpu::Tape> tape;
  std::vector<int> buffers;
  // The buffer that holds what is known between phases.
  int scratch;
  size_t phase;
  bool finishes;
};

struct Sweep;  // sweep.h
struct Loop;   // loop.h

using Step = std::variant<TapeStep, LaunchStep, MatmulStep, ContractionStep, ZeroStep, TapePhaseStep,
                          RoutineStep, std::shared_ptr<const Sweep>, std::shared_ptr<const Loop>>;

struct Program {
  Device* device;
  std::vector<BufferSpec> buffers;
  // Positions of the buffers of each role, in order.
  std::vector<int> inputs, outputs;
  size_t arenaByteLength;
  // Pinned host memory that a GPU's copies of each kind may go through.
  size_t copyByteLength = SIZE_MAX;
  // Of results that a GPU computes, the most that may be page-locked in all.
  size_t lockByteLength = SIZE_MAX;
  std::vector<std::shared_ptr<const Image>> images;
  // Those of the CPU's kernels, each once: steps that are written alike share it.
  std::vector<std::shared_ptr<const cpu::Tape>> tapes;
  std::vector<Step> steps;
  // Steps in a row that become one CUDA graph when they are repeated; in order.
  struct Stretch {
    size_t first, count;
  };
  std::vector<Stretch> graphs;
  // Where steps run that several streams of a GPU run; StreamPlan of src/exec/plan/streams.ts.
  struct StreamStep {
    size_t stream;
    // Earlier steps of other streams that it begins after.
    std::vector<size_t> after;
    // Whether another stream waits for it.
    bool isAwaited;
  };
  size_t streams = 1;
  // Of each step; empty: there is one stream.
  std::vector<StreamStep> orders;
  // The last steps of streams that what follows the program has to wait for.
  std::vector<size_t> ends;
  // Of a program with a sweep that several runs share, the parts that they claim; else 0.
  size_t queueLength = 0;
  // How many constants come with each run, at least.
  size_t numberCount = 0;
  // Whether its steps are done (on the CPU) or queued (on a GPU) about as soon as a thread is woken for them.
  bool isSmall = false;
  // The same with its graphs as one step each.
  bool isSmallAsGraphs = false;
  // The code that a GPU loaded for the program on its first run; under its issuing lock.
  mutable std::shared_ptr<cuda::ProgramCode> code;
  // How long the end of its last run on a GPU was waited for; of the thread that waits.
  mutable std::chrono::nanoseconds waited{0};
};

// Bytes of an output that stay on its device.
inline size_t keptByteLength(const BufferSpec& buffer) {
  return buffer.windowed ? buffer.partLast - buffer.partFirst : buffer.byteLength;
}

class SmallRun;  // small-run.h

// The data of a program handle.
struct ProgramHandle {
  static constexpr const char* kWhat = "a program";
  std::shared_ptr<const Program> program;
  // Made by the first call of runSmall(). The handle's thread alone has it.
  std::shared_ptr<SmallRun> small = nullptr;
};

// A program whose steps are being read; none once it is made.
struct ProgramDraft {
  static constexpr const char* kWhat = "a program that is being made";
  std::shared_ptr<Program> program;
};

// Programs are made in parts, between which JavaScript may do other things: a spec without its buffers and
// steps, then some buffers at a time, in order, then some tapes and some steps at a time, then the rest, when
// all are there.
//
// beginProgram(spec: ProgramSpec): ProgramDraft
Napi::Value beginProgram(const Napi::CallbackInfo& info);
// addBuffers(draft: ProgramDraft, spec: ProgramSpec, count: number): void
Napi::Value addBuffers(const Napi::CallbackInfo& info);
// addTapes(draft: ProgramDraft, spec: ProgramSpec, count: number): void
Napi::Value addTapes(const Napi::CallbackInfo& info);
// addSteps(draft: ProgramDraft, spec: ProgramSpec, count: number): void
Napi::Value addSteps(const Napi::CallbackInfo& info);
// endProgram(draft: ProgramDraft, spec: ProgramSpec): NativeProgram
Napi::Value endProgram(const Napi::CallbackInfo& info);

}  // namespace weft
