// Singular values by cuSOLVER: the polar decomposition and the eigenvalues of its Hermitian factor (gesvdp),
// of 1,000 rows of float64 three times as fast as Jacobi's rotations (gesvdj). It moves matrices that are
// nearly singular, and gives the distance; those are decomposed again by gesvdj.
#include "cuda/solver-job.h"
#include "runtime/failure.h"

namespace weft::cuda {
namespace {

// Vectors are computed also where only values are wanted: without them gesvdp fails on an H100.
constexpr int kVectors = 1, kEconomic = 1;

struct Svd : LinearSizes {
  explicit Svd(const std::vector<int64_t>& numbers)
      : LinearSizes(numbers, 5), n(rest[0]), m(rest[1]), vectors(rest[2] != 0 ? 1 : 0) {
    if (m < n || m > std::numeric_limits<int>::max())
      throw std::invalid_argument("matrices of at least as many rows as columns");
  }
  int64_t n, m;
  int vectors;
  size_t matrixBytes() const { return aligned(each(m, n)); }
  // The matrix, which is written over; and, without vectors among the results, U and V.
  size_t ownBytes() const { return vectors != 0 ? matrixBytes() : 2 * matrixBytes() + aligned(each(n, n)); }
};

// The entry points of gesvdj by dtype.
template <typename Ask>
void askJacobi(DType dtype, const Ask& ask) {
  const Cusolver& api = cusolver();
  switch (dtype) {
    case DType::float32:
      return ask(api.cusolverDnSgesvdj_bufferSize, api.cusolverDnSgesvdj, "cusolverDnSgesvdj");
    case DType::float64:
      return ask(api.cusolverDnDgesvdj_bufferSize, api.cusolverDnDgesvdj, "cusolverDnDgesvdj");
    case DType::complex64:
      return ask(api.cusolverDnCgesvdj_bufferSize, api.cusolverDnCgesvdj, "cusolverDnCgesvdj");
    default:
      return ask(api.cusolverDnZgesvdj_bufferSize, api.cusolverDnZgesvdj, "cusolverDnZgesvdj");
  }
}

// Where the results of a matrix go.
struct Places {
  void *values, *u, *v;
  int* info;
};

Places placesOf(const LibraryJob& job, const Svd& s, int64_t k) {
  const auto at = static_cast<size_t>(k);
  const size_t values = static_cast<size_t>(s.n) * s.realBytes();
  return {
      pointer(job.results[0] + at * values),
      pointer(s.vectors == 0 ? job.workspace + s.matrixBytes() : job.results[2] + at * s.each(s.m, s.n)),
      pointer(s.vectors == 0 ? job.workspace + 2 * s.matrixBytes() : job.results[3] + at * s.each(s.n, s.n)),
      pointer<int>(job.results[1] + at * sizeof(int32_t))};
}

const Solver::Bytes& polarBytes(const LibraryJob& job, const Svd& s) {
  Solver& solver = job.device.solver();
  return solver.workspaceOf({5, s.type(), s.m, s.n}, [&](Solver::Bytes& need) {
    const Places to = placesOf(job, s, 0);
    WEFT_CUSOLVER_CALL(cusolverDnXgesvdp_bufferSize, solver.handle(), solver.params(), kVectors, kEconomic,
                       s.m, s.n, s.type(), pointer(job.workspace), s.m, s.realType(), to.values, s.type(),
                       to.u, s.m, s.type(), to.v, s.n, s.type(), &need.device, &need.host);
  });
}

const Solver::Bytes& jacobiBytes(const LibraryJob& job, const Svd& s) {
  Solver& solver = job.device.solver();
  return solver.workspaceOf({7, s.type(), s.m, s.n}, [&](Solver::Bytes& need) {
    int elements = 0;
    const Places to = placesOf(job, s, 0);
    const int m = static_cast<int>(s.m), n = static_cast<int>(s.n);
    askJacobi(s.dtype, [&](const auto& sizeOf, const auto&, const char* name) {
      const std::string call = std::string(name) + "_bufferSize";
      checkStatus(sizeOf(solver.handle(), kVectors, kEconomic, m, n, pointer(job.workspace), m, to.values,
                         to.u, m, to.v, n, &elements, solver.jacobi()),
                  kCusolverNames, call.c_str());
    });
    need.device = static_cast<size_t>(elements) * s.elementBytes;
  });
}

// Whether the result is exact: nothing was added to the matrix to make its polar decomposition converge.
bool solveByPolar(const LibraryJob& job, const Svd& s, const Places& to) {
  Solver& solver = job.device.solver();
  const Solver::Bytes& need = polarBytes(job, s);
  double error = 0;
  WEFT_CUSOLVER_CALL(cusolverDnXgesvdp, solver.handle(), solver.params(), kVectors, kEconomic, s.m, s.n,
                     s.type(), pointer(job.workspace), s.m, s.realType(), to.values, s.type(), to.u, s.m,
                     s.type(), to.v, s.n, s.type(), pointer(job.workspace + s.ownBytes()), need.device,
                     solver.host(need.host), need.host, to.info, &error);
  return error == 0;
}

void solveByJacobi(const LibraryJob& job, const Svd& s, const Places& to) {
  Solver& solver = job.device.solver();
  const Solver::Bytes& need = jacobiBytes(job, s);
  const int m = static_cast<int>(s.m), n = static_cast<int>(s.n);
  askJacobi(s.dtype, [&](const auto&, const auto& solve, const char* name) {
    checkStatus(solve(solver.handle(), kVectors, kEconomic, m, n, pointer(job.workspace), m, to.values, to.u,
                      m, to.v, n, pointer(job.workspace + s.ownBytes()),
                      static_cast<int>(need.device / s.elementBytes), to.info, solver.jacobi()),
                kCusolverNames, name);
  });
}

// Whether `Xgesvdp` is exact is read on the host, so that no graph can have it.
const LibraryRoutine kSingularValues{
    [](const std::vector<int64_t>& numbers) -> cpu::RoutineNeed {
      const Svd s(numbers);
      std::vector<size_t> results{s.bytesOf(s.n, s.realBytes()), s.bytesOf(1, sizeof(int32_t))};
      if (s.vectors != 0) {
        results.push_back(s.bytes(s.m, s.n));
        results.push_back(s.bytes(s.n, s.n));
      }
      return {{s.bytes(s.m, s.n)}, results, {}, s.matrices};
    },
    [](const LibraryJob& job) -> Kept {
      const Svd s(job.numbers);
      checkWorkspace(polarBytes(job, s), job, s.ownBytes());
      checkWorkspace(jacobiBytes(job, s), job, s.ownBytes());
      return nullptr;
    },
    [](const LibraryJob& job, CUstream stream) {
      const Svd s(job.numbers);
      job.device.solver().enter(stream);
      const size_t each = s.each(s.m, s.n);
      for (int64_t k = job.units.first; k < job.units.last; k++) {
        const CUdeviceptr from = job.operands[0] + static_cast<size_t>(k) * each;
        const Places to = placesOf(job, s, k);
        WEFT_CU(cuMemcpyDtoDAsync, job.workspace, from, each, stream);
        if (solveByPolar(job, s, to)) continue;
        WEFT_CU(cuMemcpyDtoDAsync, job.workspace, from, each, stream);
        solveByJacobi(job, s, to);
      }
    },
    false,
};

}  // namespace

const LibraryRoutine kSvdRoutine = kSingularValues;

}  // namespace weft::cuda
