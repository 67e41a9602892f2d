// cuSOLVER: our own declarations of its entry points, and factors of matrices on a device's streams.
//
// A routine is a call for each matrix, whose workspace is the run's, as planned: cuSOLVER is asked for its
// size before a stream is captured. The status of a call (`info`) stays on the device, as a result of the
// routine.
#pragma once
#include <map>
#include <vector>

#include "cuda/library-routines.h"
#include "cuda/library.h"

namespace weft::cuda {

using cusolverStatus = int;
using cusolverHandle = struct CusolverContext_st*;
using cusolverParams = struct CusolverParams_st*;
using gesvdjInfo = struct CusolverGesvdjInfo_st*;

// (name, symbol, optional, parameters)
#define WEFT_CUSOLVER(X)                                                                                     \
  X(cusolverGetProperty, "cusolverGetProperty", false, int property, int* value)                             \
  X(cusolverDnCreate, "cusolverDnCreate", false, cusolverHandle* handle)                                     \
  X(cusolverDnDestroy, "cusolverDnDestroy", false, cusolverHandle handle)                                    \
  X(cusolverDnSetStream, "cusolverDnSetStream", false, cusolverHandle handle, CUstream stream)               \
  X(cusolverDnCreateParams, "cusolverDnCreateParams", false, cusolverParams* params)                         \
  X(cusolverDnDestroyParams, "cusolverDnDestroyParams", false, cusolverParams params)                        \
  X(cusolverDnXgetrf_bufferSize, "cusolverDnXgetrf_bufferSize", false, cusolverHandle handle,                \
    cusolverParams params, int64_t m, int64_t n, int typeA, const void* a, int64_t leadingA, int compute,    \
    size_t* deviceBytes, size_t* hostBytes)                                                                  \
  X(cusolverDnXgetrf, "cusolverDnXgetrf", false, cusolverHandle handle, cusolverParams params, int64_t m,    \
    int64_t n, int typeA, void* a, int64_t leadingA, int64_t* pivots, int compute, void* device,             \
    size_t deviceBytes, void* host, size_t hostBytes, int* info)                                             \
  X(cusolverDnXgeqrf_bufferSize, "cusolverDnXgeqrf_bufferSize", false, cusolverHandle handle,                \
    cusolverParams params, int64_t m, int64_t n, int typeA, const void* a, int64_t leadingA, int typeTau,    \
    const void* taus, int compute, size_t* deviceBytes, size_t* hostBytes)                                   \
  X(cusolverDnXgeqrf, "cusolverDnXgeqrf", false, cusolverHandle handle, cusolverParams params, int64_t m,    \
    int64_t n, int typeA, void* a, int64_t leadingA, int typeTau, void* taus, int compute, void* device,     \
    size_t deviceBytes, void* host, size_t hostBytes, int* info)                                             \
  X(cusolverDnSorgqr_bufferSize, "cusolverDnSorgqr_bufferSize", false, cusolverHandle handle, int m, int n,  \
    int k, const void* a, int leadingA, const void* taus, int* elements)                                     \
  X(cusolverDnSorgqr, "cusolverDnSorgqr", false, cusolverHandle handle, int m, int n, int k, void* a,        \
    int leadingA, const void* taus, void* work, int elements, int* info)                                     \
  X(cusolverDnDorgqr_bufferSize, "cusolverDnDorgqr_bufferSize", false, cusolverHandle handle, int m, int n,  \
    int k, const void* a, int leadingA, const void* taus, int* elements)                                     \
  X(cusolverDnDorgqr, "cusolverDnDorgqr", false, cusolverHandle handle, int m, int n, int k, void* a,        \
    int leadingA, const void* taus, void* work, int elements, int* info)                                     \
  X(cusolverDnCungqr_bufferSize, "cusolverDnCungqr_bufferSize", false, cusolverHandle handle, int m, int n,  \
    int k, const void* a, int leadingA, const void* taus, int* elements)                                     \
  X(cusolverDnCungqr, "cusolverDnCungqr", false, cusolverHandle handle, int m, int n, int k, void* a,        \
    int leadingA, const void* taus, void* work, int elements, int* info)                                     \
  X(cusolverDnZungqr_bufferSize, "cusolverDnZungqr_bufferSize", false, cusolverHandle handle, int m, int n,  \
    int k, const void* a, int leadingA, const void* taus, int* elements)                                     \
  X(cusolverDnZungqr, "cusolverDnZungqr", false, cusolverHandle handle, int m, int n, int k, void* a,        \
    int leadingA, const void* taus, void* work, int elements, int* info)                                     \
  X(cusolverDnXsyevd_bufferSize, "cusolverDnXsyevd_bufferSize", false, cusolverHandle handle,                \
    cusolverParams params, int vectors, int triangle, int64_t n, int typeA, const void* a, int64_t leadingA, \
    int typeW, const void* values, int compute, size_t* deviceBytes, size_t* hostBytes)                      \
  X(cusolverDnXsyevd, "cusolverDnXsyevd", false, cusolverHandle handle, cusolverParams params, int vectors,  \
    int triangle, int64_t n, int typeA, void* a, int64_t leadingA, int typeW, void* values, int compute,     \
    void* device, size_t deviceBytes, void* host, size_t hostBytes, int* info)                               \
  X(cusolverDnXgeev_bufferSize, "cusolverDnXgeev_bufferSize", true, cusolverHandle handle,                   \
    cusolverParams params, int left, int right, int64_t n, int typeA, const void* a, int64_t leadingA,       \
    int typeW, const void* values, int typeVl, const void* vl, int64_t leadingVl, int typeVr,                \
    const void* vr, int64_t leadingVr, int compute, size_t* deviceBytes, size_t* hostBytes)                  \
  X(cusolverDnXgeev, "cusolverDnXgeev", true, cusolverHandle handle, cusolverParams params, int left,        \
    int right, int64_t n, int typeA, void* a, int64_t leadingA, int typeW, void* values, int typeVl,         \
    void* vl, int64_t leadingVl, int typeVr, void* vr, int64_t leadingVr, int compute, void* device,         \
    size_t deviceBytes, void* host, size_t hostBytes, int* info)                                             \
  X(cusolverDnXgesvdp_bufferSize, "cusolverDnXgesvdp_bufferSize", false, cusolverHandle handle,              \
    cusolverParams params, int vectors, int economic, int64_t m, int64_t n, int typeA, const void* a,        \
    int64_t leadingA, int typeS, const void* values, int typeU, const void* u, int64_t leadingU, int typeV,  \
    const void* v, int64_t leadingV, int compute, size_t* deviceBytes, size_t* hostBytes)                    \
  X(cusolverDnXgesvdp, "cusolverDnXgesvdp", false, cusolverHandle handle, cusolverParams params,             \
    int vectors, int economic, int64_t m, int64_t n, int typeA, void* a, int64_t leadingA, int typeS,        \
    void* values, int typeU, void* u, int64_t leadingU, int typeV, void* v, int64_t leadingV, int compute,   \
    void* device, size_t deviceBytes, void* host, size_t hostBytes, int* info, double* error)                \
  X(cusolverDnCreateGesvdjInfo, "cusolverDnCreateGesvdjInfo", false, gesvdjInfo* info)                       \
  X(cusolverDnDestroyGesvdjInfo, "cusolverDnDestroyGesvdjInfo", false, gesvdjInfo info)                      \
  X(cusolverDnSgesvdj_bufferSize, "cusolverDnSgesvdj_bufferSize", false, cusolverHandle handle, int vectors, \
    int economic, int m, int n, const void* a, int leadingA, const void* values, const void* u,              \
    int leadingU, const void* v, int leadingV, int* elements, gesvdjInfo info)                               \
  X(cusolverDnSgesvdj, "cusolverDnSgesvdj", false, cusolverHandle handle, int vectors, int economic, int m,  \
    int n, void* a, int leadingA, void* values, void* u, int leadingU, void* v, int leadingV, void* work,    \
    int elements, int* info, gesvdjInfo jacobi)                                                              \
  X(cusolverDnDgesvdj_bufferSize, "cusolverDnDgesvdj_bufferSize", false, cusolverHandle handle, int vectors, \
    int economic, int m, int n, const void* a, int leadingA, const void* values, const void* u,              \
    int leadingU, const void* v, int leadingV, int* elements, gesvdjInfo info)                               \
  X(cusolverDnDgesvdj, "cusolverDnDgesvdj", false, cusolverHandle handle, int vectors, int economic, int m,  \
    int n, void* a, int leadingA, void* values, void* u, int leadingU, void* v, int leadingV, void* work,    \
    int elements, int* info, gesvdjInfo jacobi)                                                              \
  X(cusolverDnCgesvdj_bufferSize, "cusolverDnCgesvdj_bufferSize", false, cusolverHandle handle, int vectors, \
    int economic, int m, int n, const void* a, int leadingA, const void* values, const void* u,              \
    int leadingU, const void* v, int leadingV, int* elements, gesvdjInfo info)                               \
  X(cusolverDnCgesvdj, "cusolverDnCgesvdj", false, cusolverHandle handle, int vectors, int economic, int m,  \
    int n, void* a, int leadingA, void* values, void* u, int leadingU, void* v, int leadingV, void* work,    \
    int elements, int* info, gesvdjInfo jacobi)                                                              \
  X(cusolverDnZgesvdj_bufferSize, "cusolverDnZgesvdj_bufferSize", false, cusolverHandle handle, int vectors, \
    int economic, int m, int n, const void* a, int leadingA, const void* values, const void* u,              \
    int leadingU, const void* v, int leadingV, int* elements, gesvdjInfo info)                               \
  X(cusolverDnZgesvdj, "cusolverDnZgesvdj", false, cusolverHandle handle, int vectors, int economic, int m,  \
    int n, void* a, int leadingA, void* values, void* u, int leadingU, void* v, int leadingV, void* work,    \
    int elements, int* info, gesvdjInfo jacobi)                                                              \
  X(cusolverDnXpotrf_bufferSize, "cusolverDnXpotrf_bufferSize", false, cusolverHandle handle,                \
    cusolverParams params, int triangle, int64_t n, int typeA, const void* a, int64_t leadingA, int compute, \
    size_t* deviceBytes, size_t* hostBytes)                                                                  \
  X(cusolverDnXpotrf, "cusolverDnXpotrf", false, cusolverHandle handle, cusolverParams params, int triangle, \
    int64_t n, int typeA, void* a, int64_t leadingA, int compute, void* device, size_t deviceBytes,          \
    void* host, size_t hostBytes, int* info)

struct Cusolver {
#define WEFT_DECLARE(name, symbol, optional, ...) cusolverStatus (*name)(__VA_ARGS__) = nullptr;
  WEFT_CUSOLVER(WEFT_DECLARE)
#undef WEFT_DECLARE
};

struct CusolverState {
  Cusolver cusolver;
  Library library;
  int major = 0, minor = 0;
};
const CusolverState& cusolverState();

std::vector<std::string> cusolverEntryPoints();

// One device's handle. On one thread at a time: that of the device's issuing lock.
class Solver {
 public:
  Solver();
  ~Solver();
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  // Bytes on the device and on the host.
  struct Bytes {
    size_t device = 0, host = 0;
  };
  // The workspace of a routine, by its name, its dtype and its sizes; asked for once.
  const Bytes& workspaceOf(const std::vector<int64_t>& key, const std::function<void(Bytes&)>& ask);
  // Host memory that calls work in, which graphs may refer to.
  void* host(size_t bytes);

  void enter(CUstream stream);
  cusolverHandle handle() const { return handle_; }
  cusolverParams params() const { return params_; }
  gesvdjInfo jacobi() const { return jacobi_; }

 private:
  void close();

  cusolverHandle handle_ = nullptr;
  cusolverParams params_ = nullptr;
  gesvdjInfo jacobi_ = nullptr;
  std::map<std::vector<int64_t>, Bytes> bytes_;
  std::map<size_t, std::vector<std::byte>> hosts_;
};

extern const LibraryRoutine kLuRoutine;
extern const LibraryRoutine kCholeskyRoutine;
extern const LibraryRoutine kTriangularSolveRoutine;
// decompositions.cpp
extern const LibraryRoutine kQrRoutine;
extern const LibraryRoutine kQOfQrRoutine;
extern const LibraryRoutine kEighRoutine;
// singular-values.cpp
extern const LibraryRoutine kSvdRoutine;
// eigenvalues.cpp
extern const LibraryRoutine kEigRoutine;

}  // namespace weft::cuda
