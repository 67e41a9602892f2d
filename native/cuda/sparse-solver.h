// cuDSS: our own declarations of its entry points, and factors of sparse matrices on a device.
//
// How much memory factors take depends on the matrix, and its analysis is the host's work, so that factors
// are made between runs (factor-sparse.h). cuDSS gets memory from the device's pool, within a bound for each
// matrix. Solves are steps of programs, queued as those of any library, but not recorded in CUDA graphs:
// cuDSS may allocate while it queues.
#pragma once
#include <array>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "cuda/library-routines.h"
#include "cuda/library.h"
#include "cuda/pool.h"

namespace weft::cuda {

struct Resources;

// The memory that a handle of factors stands for.
inline constexpr size_t kFactorsBytes = 256;

using cudssStatus = int;
using cudssHandle = struct CudssContext_st*;
using cudssConfig = struct CudssConfig_st*;
using cudssData = struct CudssData_st*;
using cudssMatrix = struct CudssMatrix_st*;

// cudssDeviceMemHandler_t.
struct CudssMemory {
  void* context;
  int (*allocate)(void* context, void** address, size_t byteLength, CUstream stream);
  int (*free)(void* context, void* address, size_t byteLength, CUstream stream);
  char name[64];
};
static_assert(sizeof(CudssMemory) == 88);

// (name, symbol, optional, parameters)
#define WEFT_CUDSS(X)                                                                                        \
  X(cudssGetProperty, "cudssGetProperty", false, int property, int* value)                                   \
  X(cudssCreate, "cudssCreate", false, cudssHandle* handle)                                                  \
  X(cudssDestroy, "cudssDestroy", false, cudssHandle handle)                                                 \
  X(cudssSetStream, "cudssSetStream", false, cudssHandle handle, CUstream stream)                            \
  X(cudssSetThreadingLayer, "cudssSetThreadingLayer", false, cudssHandle handle, const char* file)           \
  X(cudssSetDeviceMemHandler, "cudssSetDeviceMemHandler", false, cudssHandle handle,                         \
    const CudssMemory* memory)                                                                               \
  X(cudssConfigCreate, "cudssConfigCreate", false, cudssConfig* config)                                      \
  X(cudssConfigDestroy, "cudssConfigDestroy", false, cudssConfig config)                                     \
  X(cudssConfigSet, "cudssConfigSet", false, cudssConfig config, int parameter, const void* value,           \
    size_t byteLength)                                                                                       \
  X(cudssDataCreate, "cudssDataCreate", false, cudssHandle handle, cudssData* data)                          \
  X(cudssDataDestroy, "cudssDataDestroy", false, cudssHandle handle, cudssData data)                         \
  X(cudssDataGet, "cudssDataGet", false, cudssHandle handle, cudssData data, int parameter, void* value,     \
    size_t byteLength, size_t* written)                                                                      \
  X(cudssMatrixCreateCsr, "cudssMatrixCreateCsr", false, cudssMatrix* matrix, int64_t rows, int64_t columns, \
    int64_t stored, const void* starts, const void* ends, const void* indices, const void* values,           \
    int startsType, int indicesType, int valuesType, int kind, int view, int base)                           \
  X(cudssMatrixCreateDn, "cudssMatrixCreateDn", false, cudssMatrix* matrix, int64_t rows, int64_t columns,   \
    int64_t leading, const void* values, int type, int layout)                                               \
  X(cudssMatrixSetValues, "cudssMatrixSetValues", false, cudssMatrix matrix, const void* values)             \
  X(cudssMatrixDestroy, "cudssMatrixDestroy", false, cudssMatrix matrix)                                     \
  X(cudssExecute, "cudssExecute", false, cudssHandle handle, int phase, cudssConfig config, cudssData data,  \
    cudssMatrix matrix, cudssMatrix solution, cudssMatrix right)

struct Cudss {
#define WEFT_DECLARE(name, symbol, optional, ...) cudssStatus (*name)(__VA_ARGS__) = nullptr;
  WEFT_CUDSS(WEFT_DECLARE)
#undef WEFT_DECLARE
};

struct CudssState {
  Cudss cudss;
  Library library;
  // Its layer of threads of the host, for the order of unknowns; without it one thread finds that.
  Library threads;
  int major = 0, minor = 0;
};
const CudssState& cudssState();

std::vector<std::string> cudssEntryPoints();

// A square matrix by rows, each with every column once.
struct SparseProblem {
  DType dtype;
  // Whether starts and columns are int64, else int32.
  bool hasWideStarts, hasWideColumns;
  int64_t n, stored;
  // Whether it is the lower triangle of a Hermitian matrix that is positive definite.
  bool isPositive;
};

// Starts, columns and values on the device.
using SparseArrays = std::array<std::shared_ptr<Memory>, 3>;

class SparseSolver;

// The factors of one matrix. Under the device's issuing lock.
class SparseFactors {
 public:
  // Throws a memory Failure where they take more than `most` bytes.
  SparseFactors(SparseSolver& solver, const SparseProblem& problem, SparseArrays arrays, size_t most);
  ~SparseFactors();
  SparseFactors(const SparseFactors&) = delete;
  SparseFactors& operator=(const SparseFactors&) = delete;

  // Queues the solve of columns of right sides, one after the other.
  void solve(CUdeviceptr right, CUdeviceptr result, int64_t sides, CUstream stream);

  const SparseProblem& problem() const { return problem_; }
  // Elements of the factors.
  int64_t stored() const { return stored_; }
  // Pivots that were too small, and so made larger.
  int64_t replacedPivots() const { return replacedPivots_; }
  // Whether the library found no factors.
  bool hasFailed() const { return hasFailed_; }
  // Of device memory.
  size_t byteLength() const { return used_; }

 private:
  struct DropConfig {
    void operator()(cudssConfig config) const;
  };
  struct DropMatrix {
    void operator()(cudssMatrix matrix) const;
  };
  struct DropData {
    cudssHandle handle;
    void operator()(cudssData data) const;
  };
  using Config = std::unique_ptr<CudssConfig_st, DropConfig>;
  using Matrix = std::unique_ptr<CudssMatrix_st, DropMatrix>;
  using Data = std::unique_ptr<CudssData_st, DropData>;
  friend class SparseSolver;

  void factor();
  void execute(int phase);
  // A descriptor of one column.
  Matrix column() const;

  SparseSolver& solver_;
  const SparseProblem problem_;
  const SparseArrays arrays_;
  const size_t most_;
  // By cuDSS for this matrix.
  size_t used_ = 0;
  Config config_;
  Matrix matrix_;
  Data data_;
  Matrix right_, result_;
  int64_t stored_ = 0, replacedPivots_ = 0;
  bool hasFailed_ = false;
};

// A device's handle, and its factors by their numbers. Under the device's issuing lock.
class SparseSolver {
 public:
  explicit SparseSolver(Resources& resources);
  ~SparseSolver();
  SparseSolver(const SparseSolver&) = delete;
  SparseSolver& operator=(const SparseSolver&) = delete;

  // Makes factors; their number is new in this process.
  std::pair<int64_t, const SparseFactors*> add(const SparseProblem& problem, SparseArrays arrays,
                                               size_t most);
  // Once nothing asks for them any more: waits until all that is queued has ended.
  void remove(int64_t number);
  // Throws a device Failure where this device has none of that number.
  SparseFactors& at(int64_t number);
  size_t count() const { return factors_.size(); }

 private:
  friend class SparseFactors;
  static int allocate(void* context, void** address, size_t byteLength, CUstream stream);
  static int free(void* context, void* address, size_t byteLength, CUstream stream);
  // A call of the library for a matrix, whose memory is counted among that matrix's.
  void call(SparseFactors& own, CUstream stream, const std::function<void()>& work);

  Resources& resources_;
  cudssHandle handle_ = nullptr;
  std::map<void*, PoolBlock> blocks_;
  SparseFactors* current_ = nullptr;
  // The stream of the call, where it is not that of the pool: blocks are ordered between the two.
  CUstream elsewhere_ = nullptr;
  // Of an allocation, which the library answers with a status of its own.
  std::exception_ptr failure_;
  std::map<int64_t, std::unique_ptr<SparseFactors>> factors_;
};

extern const LibraryRoutine kSparseSolveRoutine;

}  // namespace weft::cuda
