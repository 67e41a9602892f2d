// Decompositions by cuSOLVER: QR factors, and eigenvalues of Hermitian matrices.
#include "cuda/solver-job.h"

namespace weft::cuda {
namespace {

// ---------------------------------------------------------------- QR

struct Qr : LinearSizes {
  explicit Qr(const std::vector<int64_t>& numbers)
      : LinearSizes(numbers, 4), columns(rest[0]), rows(rest[1]) {}
  int64_t columns, rows;
  int64_t least() const { return std::min(columns, rows); }
};

const Solver::Bytes& qrBytes(const LibraryJob& job, const Qr& qr) {
  Solver& solver = job.device.solver();
  return solver.workspaceOf({2, qr.type(), qr.rows, qr.columns}, [&](Solver::Bytes& need) {
    WEFT_CUSOLVER_CALL(cusolverDnXgeqrf_bufferSize, solver.handle(), solver.params(), qr.rows, qr.columns,
                       qr.type(), pointer(job.results[0]), qr.rows, qr.type(), pointer(job.results[1]),
                       qr.type(), &need.device, &need.host);
  });
}

const LibraryRoutine kGeqrf{
    [](const std::vector<int64_t>& numbers) -> cpu::RoutineNeed {
      const Qr qr(numbers);
      const size_t bytes = qr.bytes(qr.rows, qr.columns);
      return {{bytes}, {bytes, qr.bytes(qr.least(), 1)}, {}, qr.matrices};
    },
    [](const LibraryJob& job) -> Kept {
      checkWorkspace(qrBytes(job, Qr(job.numbers)), job);
      return nullptr;
    },
    [](const LibraryJob& job, CUstream stream) {
      const Qr qr(job.numbers);
      Solver& solver = job.device.solver();
      const Solver::Bytes& need = qrBytes(job, qr);
      const size_t each = qr.each(qr.rows, qr.columns), taus = qr.each(qr.least(), 1);
      copyMatrices(job, 0, 0, each, stream);
      solver.enter(stream);
      for (int64_t k = job.units.first; k < job.units.last; k++) {
        const auto at = static_cast<size_t>(k);
        WEFT_CUSOLVER_CALL(cusolverDnXgeqrf, solver.handle(), solver.params(), qr.rows, qr.columns, qr.type(),
                           pointer(job.results[0] + at * each), qr.rows, qr.type(),
                           pointer(job.results[1] + at * taus), qr.type(),
                           pointer(job.workspace + kInfoBytes), need.device, solver.host(need.host),
                           need.host, pointer<int>(job.workspace));
      }
    },
};

// Q of factors: its columns.
struct Q : LinearSizes {
  explicit Q(const std::vector<int64_t>& numbers)
      : LinearSizes(numbers, 5), columns(rest[0]), rows(rest[1]), wanted(rest[2]) {
    if (wanted > rows || std::max(columns, rows) > std::numeric_limits<int>::max())
      throw std::invalid_argument("as many columns of Q as it has rows");
  }
  int64_t columns, rows, wanted;
  int64_t least() const { return std::min({columns, rows, wanted}); }
};

// The entry points by dtype, with their arguments.
template <typename Ask>
void askForQ(DType dtype, const Ask& ask) {
  const Cusolver& api = cusolver();
  switch (dtype) {
    case DType::float32:
      return ask(api.cusolverDnSorgqr_bufferSize, api.cusolverDnSorgqr, "cusolverDnSorgqr");
    case DType::float64:
      return ask(api.cusolverDnDorgqr_bufferSize, api.cusolverDnDorgqr, "cusolverDnDorgqr");
    case DType::complex64:
      return ask(api.cusolverDnCungqr_bufferSize, api.cusolverDnCungqr, "cusolverDnCungqr");
    default:
      return ask(api.cusolverDnZungqr_bufferSize, api.cusolverDnZungqr, "cusolverDnZungqr");
  }
}

const Solver::Bytes& qBytes(const LibraryJob& job, const Q& q) {
  Solver& solver = job.device.solver();
  return solver.workspaceOf({3, q.type(), q.rows, q.columns, q.wanted}, [&](Solver::Bytes& need) {
    int elements = 0;
    askForQ(q.dtype, [&](const auto& sizeOf, const auto&, const char* name) {
      const std::string call = std::string(name) + "_bufferSize";
      checkStatus(sizeOf(solver.handle(), static_cast<int>(q.rows), static_cast<int>(q.wanted),
                         static_cast<int>(q.least()), pointer(job.results[0]), static_cast<int>(q.rows),
                         pointer(job.operands[1]), &elements),
                  kCusolverNames, call.c_str());
    });
    need.device = static_cast<size_t>(elements) * q.elementBytes;
  });
}

const LibraryRoutine kOrgqr{
    [](const std::vector<int64_t>& numbers) -> cpu::RoutineNeed {
      const Q q(numbers);
      return {{q.bytes(q.rows, q.columns), q.bytes(std::min(q.rows, q.columns), 1)},
              {q.bytes(q.rows, q.wanted)},
              {},
              q.matrices};
    },
    [](const LibraryJob& job) -> Kept {
      checkWorkspace(qBytes(job, Q(job.numbers)), job);
      return nullptr;
    },
    [](const LibraryJob& job, CUstream stream) {
      const Q q(job.numbers);
      Solver& solver = job.device.solver();
      const Solver::Bytes& need = qBytes(job, q);
      const size_t from = q.each(q.rows, q.columns), to = q.each(q.rows, q.wanted),
                   taus = q.each(std::min(q.rows, q.columns), 1), kept = std::min(from, to);
      solver.enter(stream);
      for (int64_t k = job.units.first; k < job.units.last; k++) {
        const auto at = static_cast<size_t>(k);
        const CUdeviceptr result = job.results[0] + at * to;
        WEFT_CU(cuMemcpyDtoDAsync, result, job.operands[0] + at * from, kept, stream);
        if (to > kept) WEFT_CU(cuMemsetD8Async, result + kept, 0, to - kept, stream);
        askForQ(q.dtype, [&](const auto&, const auto& make, const char* name) {
          checkStatus(make(solver.handle(), static_cast<int>(q.rows), static_cast<int>(q.wanted),
                           static_cast<int>(q.least()), pointer(result), static_cast<int>(q.rows),
                           pointer(job.operands[1] + at * taus), pointer(job.workspace + kInfoBytes),
                           static_cast<int>(need.device / q.elementBytes), pointer<int>(job.workspace)),
                      kCusolverNames, name);
        });
      }
    },
};

// ---------------------------------------------------------------- eigenvalues of Hermitian matrices

struct Hermitian : LinearSizes {
  explicit Hermitian(const std::vector<int64_t>& numbers)
      : LinearSizes(numbers, 5),
        n(rest[0]),
        triangle(rest[1] != 0 ? kUpper : kLower),
        vectors(rest[2] != 0 ? 1 : 0) {}
  int64_t n;
  int triangle, vectors;
  // The matrix is worked on where the vectors are, or in the workspace.
  size_t ownBytes() const { return vectors != 0 ? 0 : aligned(each(n, n)); }
};

const Solver::Bytes& hermitianBytes(const LibraryJob& job, const Hermitian& h) {
  Solver& solver = job.device.solver();
  return solver.workspaceOf({4, h.type(), h.n, h.triangle, h.vectors}, [&](Solver::Bytes& need) {
    WEFT_CUSOLVER_CALL(cusolverDnXsyevd_bufferSize, solver.handle(), solver.params(), h.vectors, h.triangle,
                       h.n, h.type(), pointer(job.operands[0]), h.n, h.realType(), pointer(job.results[0]),
                       h.type(), &need.device, &need.host);
  });
}

// `Xsyevd` computes on the host as well, and a capture that fails leaves cuSOLVER with an error for its next
// call.
const LibraryRoutine kSyevd{
    [](const std::vector<int64_t>& numbers) -> cpu::RoutineNeed {
      const Hermitian h(numbers);
      std::vector<size_t> results{h.bytesOf(h.n, h.realBytes()), h.bytesOf(1, sizeof(int32_t))};
      if (h.vectors != 0) results.push_back(h.bytes(h.n, h.n));
      return {{h.bytes(h.n, h.n)}, results, {}, h.matrices};
    },
    [](const LibraryJob& job) -> Kept {
      const Hermitian h(job.numbers);
      checkWorkspace(hermitianBytes(job, h), job, h.ownBytes());
      return nullptr;
    },
    [](const LibraryJob& job, CUstream stream) {
      const Hermitian h(job.numbers);
      Solver& solver = job.device.solver();
      const Solver::Bytes& need = hermitianBytes(job, h);
      const size_t each = h.each(h.n, h.n), values = static_cast<size_t>(h.n) * h.realBytes();
      if (h.vectors != 0) copyMatrices(job, 0, 2, each, stream);
      solver.enter(stream);
      for (int64_t k = job.units.first; k < job.units.last; k++) {
        const auto at = static_cast<size_t>(k);
        const CUdeviceptr matrix = h.vectors != 0 ? job.results[2] + at * each : job.workspace;
        if (h.vectors == 0) WEFT_CU(cuMemcpyDtoDAsync, matrix, job.operands[0] + at * each, each, stream);
        WEFT_CUSOLVER_CALL(cusolverDnXsyevd, solver.handle(), solver.params(), h.vectors, h.triangle, h.n,
                           h.type(), pointer(matrix), h.n, h.realType(),
                           pointer(job.results[0] + at * values), h.type(),
                           pointer(job.workspace + h.ownBytes()), need.device, solver.host(need.host),
                           need.host, pointer<int>(job.results[1] + at * sizeof(int32_t)));
      }
    },
    false,
};

}  // namespace

const LibraryRoutine kQrRoutine = kGeqrf;
const LibraryRoutine kQOfQrRoutine = kOrgqr;
const LibraryRoutine kEighRoutine = kSyevd;

}  // namespace weft::cuda
