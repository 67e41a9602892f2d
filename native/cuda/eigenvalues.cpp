// Eigenvalues and eigenvectors of general matrices by cuSOLVER's Xgeev, which CUDA has from 12.6 on.
#include "cuda/solver-job.h"
#include "runtime/failure.h"

namespace weft::cuda {
namespace {

struct General : LinearSizes {
  explicit General(const std::vector<int64_t>& numbers)
      : LinearSizes(numbers, 4), n(rest[0]), vectors(rest[1] != 0 ? 1 : 0) {}
  int64_t n;
  int vectors;
  // The cudaDataType of complex numbers of the dtype.
  int complexType() const { return realBytes() == 4 ? 4 : 5; }
  // The matrix is written over.
  size_t ownBytes() const { return aligned(each(n, n)); }
};

void checkIsThere() {
  if (cusolver().cusolverDnXgeev != nullptr && cusolver().cusolverDnXgeev_bufferSize != nullptr) return;
  const CusolverState& state = cusolverState();
  throw Failure(
      FailureCode::device,
      "[cuda] expected cuSOLVER of CUDA 12.6 or later, for eigenvalues of general matrices: it is " +
          std::to_string(state.major) + "." + std::to_string(state.minor));
}

const Solver::Bytes& bytesFor(const LibraryJob& job, const General& g) {
  checkIsThere();
  Solver& solver = job.device.solver();
  return solver.workspaceOf({6, g.type(), g.n, g.vectors}, [&](Solver::Bytes& need) {
    WEFT_CUSOLVER_CALL(cusolverDnXgeev_bufferSize, solver.handle(), solver.params(), 0, g.vectors, g.n,
                       g.type(), pointer(job.workspace), g.n, g.complexType(), pointer(job.results[0]),
                       g.type(), nullptr, g.n, g.type(), g.vectors != 0 ? pointer(job.results[2]) : nullptr,
                       g.n, g.type(), &need.device, &need.host);
  });
}

// `Xgeev` computes on the host as well, and cannot be captured.
const LibraryRoutine kGeev{
    [](const std::vector<int64_t>& numbers) -> cpu::RoutineNeed {
      const General g(numbers);
      std::vector<size_t> results{g.bytesOf(g.n, 2 * g.realBytes()), g.bytesOf(1, sizeof(int32_t))};
      if (g.vectors != 0) results.push_back(g.bytes(g.n, g.n));
      return {{g.bytes(g.n, g.n)}, results, {}, g.matrices};
    },
    [](const LibraryJob& job) -> Kept {
      const General g(job.numbers);
      checkWorkspace(bytesFor(job, g), job, g.ownBytes());
      return nullptr;
    },
    [](const LibraryJob& job, CUstream stream) {
      const General g(job.numbers);
      Solver& solver = job.device.solver();
      const Solver::Bytes& need = bytesFor(job, g);
      const size_t each = g.each(g.n, g.n), values = static_cast<size_t>(g.n) * 2 * g.realBytes();
      solver.enter(stream);
      for (int64_t k = job.units.first; k < job.units.last; k++) {
        const auto at = static_cast<size_t>(k);
        WEFT_CU(cuMemcpyDtoDAsync, job.workspace, job.operands[0] + at * each, each, stream);
        WEFT_CUSOLVER_CALL(cusolverDnXgeev, solver.handle(), solver.params(), 0, g.vectors, g.n, g.type(),
                           pointer(job.workspace), g.n, g.complexType(),
                           pointer(job.results[0] + at * values), g.type(), nullptr, g.n, g.type(),
                           g.vectors != 0 ? pointer(job.results[2] + at * each) : nullptr, g.n, g.type(),
                           pointer(job.workspace + g.ownBytes()), need.device, solver.host(need.host),
                           need.host, pointer<int>(job.results[1] + at * sizeof(int32_t)));
      }
    },
    false,
};

}  // namespace

const LibraryRoutine kEigRoutine = kGeev;

}  // namespace weft::cuda
