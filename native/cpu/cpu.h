// The CPU backend as the runtime sees it: kernels as tapes, matrix products, a thread pool.
//
// `tape.*` interprets kernels block by block, `gemm.*` multiplies matrices, `threads.*` is the pool. Nothing
// here knows about JavaScript but the parsing of a tape.
#pragma once
#include <napi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "shared/layout.h"

namespace weft::cpu {

class ThreadPool;  // threads.h
class Tape;        // tape.h: one kernel, ready to run; immutable

// Parses what src/codegen/cpu/tape.ts writes. Throws std::invalid_argument for a malformed tape. JavaScript
// thread only.
std::shared_ptr<const Tape> parseTape(const Napi::Object& spec);

// Where bytes are read from that are not in memory. Any thread.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Copies the bytes [offset, offset + byteLength), which lie within the source and are whole elements.
  // Throws where they cannot be read.
  virtual void read(size_t offset, size_t byteLength, void* to) = 0;
  // As `read`; `soon` bytes behind these will be read next.
  virtual void readOn(size_t offset, size_t byteLength, size_t /*soon*/, void* to) {
    read(offset, byteLength, to);
  }
};

// Memory behind a kernel's buffer of which elements [first, last) are there. `data` is where element 0 is, or
// would be. With a source they are there for the taking: whoever computes a block reads its elements.
struct TapeBuffer {
  void* data;
  int64_t first, last;
  ByteSource* source = nullptr;
};
// Whether a buffer of a tape may have a source: one load takes each block's elements.
bool isReadByOneLoad(const Tape& tape, size_t buffer);

struct Range {
  int64_t first, last;
};

// Runs tiles of a kernel, whose bits are those of the whole. Memory that other tiles touch need not be there.
// Of a kernel that takes elements of a window, `window` is the indices that are there: elements with others
// are not stored. Stops between tiles once *cancel is true, and results are then undefined.
void runTape(const Tape& tape, const TapeBuffer* buffers, Range tiles, ThreadPool& pool,
             const std::atomic<bool>* cancel, Range window = {0, INT64_MAX});

// Runs of a kernel without reductions, one after the other: buffers of the first one, then of the others by
// turns. A tile reads values of an earlier run that were stored by tiles at most `reach` before or after it.
struct TapeRuns {
  int64_t count;
  const TapeBuffer* buffers[3];
  int64_t reach;
  // Buffers of one int64, each read as so much more as runs were before: `before` ones ahead of these.
  std::vector<int> counters;
  int64_t before;
  // Counts the runs that are done, if not null.
  std::atomic<int64_t>* done;
};

// Runs a kernel so often, with the bits that follow where each run begins after the one before it.
void runTapeAgain(const Tape& tape, const TapeRuns& runs, ThreadPool& pool, const std::atomic<bool>* cancel);

// Memory of a kernel that runs phase by phase, aligned to a cache line: phaseByteLength(tape) bytes, or more
// for slots that are computed at once.
struct PhaseMemory {
  void* data;
  size_t byteLength;
};

// Runs a kernel phase by phase instead, with the bits of the whole: for each phase ranges of the blocks of
// its reduced axes, each of which begins at or before the end of those so far, then its finish. A range ends
// with a slot, or in one where few lanes are reduced. Between calls `memory` holds the results so far.
size_t phaseByteLength(const Tape& tape);
void runTapePhase(const Tape& tape, const TapeBuffer* buffers, const PhaseMemory& memory, size_t phase,
                  Range blocks, ThreadPool& pool, const std::atomic<bool>* cancel);
void finishTapePhase(const Tape& tape, const TapeBuffer* buffers, const PhaseMemory& memory, size_t phase,
                     ThreadPool& pool, const std::atomic<bool>* cancel);

// A matrix operand: element (b, i, j) is data[b * batchStride + i * rowStride + j * columnStride], in
// elements, and further by `outerStrides` for each index of outer batch axes.
struct Matrix {
  void* data;
  int64_t batchStride, rowStride, columnStride;
  std::vector<int64_t> outerStrides = {};
};

// c = a * b for each of `batch` pairs, and each index of the outer axes: (m, k) x (k, n). The dtype is
// float16 or bfloat16 (accumulated in float32), float32, float64, complex64 or complex128. Any strides are
// right; unit strides are fast. Results do not depend on the number of threads.
struct Matmul {
  DType dtype;
  int64_t m, n, k, batch;
  Matrix a, b, c;
  // Sizes of outer batch axes (runtime/product-batches.h).
  std::vector<int64_t> outer = {};
  // Whether it is left to no BLAS.
  bool ownKernels = false;
};

// Memory that a product packs its operands in, aligned to a cache line. The more, the faster, up to what
// `workspaceOf` says; bits do not depend on it. Without any, a product takes what it wants from the pool of
// host memory. A BLAS library takes its own.
struct Workspace {
  std::byte* data = nullptr;
  size_t byteLength = 0;
};
// The bytes that a product and its parts use on the pool, and the least that they can do with.
struct WorkspaceNeed {
  size_t most, least;
};
WorkspaceNeed workspaceOf(const Matmul& job, const ThreadPool& pool);

void matmul(const Matmul& job, ThreadPool& pool, const std::atomic<bool>* cancel);

// A part of a product: rows [first, last) counted through a batch axis (several matrices whole, or rows of
// one), columns, and contracted indices, whose products are added to what is there unless they begin at 0.
// Its bits are those of the whole with Weft's own kernels, if contracted indices are cut at multiples of
// kMatmulGranule. Halves cannot be cut along those, since their sums are rounded once.
struct MatmulPart {
  Range rows, columns, depth;
};
void matmul(const Matmul& job, const MatmulPart& part, ThreadPool& pool, const std::atomic<bool>* cancel,
            Workspace workspace = {});

// The process's pool (hardware threads or WEFT_THREADS), made on first use.
ThreadPool& sharedPool();

// { isa, threads, vectorMath: path | null, blas: { path, name } | null,
//   lapack: { path, name, missing: names of functions } | null }
Napi::Object describe(Napi::Env env);

}  // namespace weft::cpu
