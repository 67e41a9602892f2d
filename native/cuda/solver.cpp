#include "cuda/solver.h"

#include "cpu/threads.h"
#include "cuda/blas.h"
#include "cuda/solver-job.h"
#include "runtime/failure.h"

namespace weft::cuda {
namespace {

CusolverState* findCusolver() {
  auto* state = new CusolverState();
  Cusolver& api = state->cusolver;
#define WEFT_ENTRY(name, symbol, optional, ...) {reinterpret_cast<void**>(&api.name), symbol, optional},
  const std::vector<EntryPoint> entryPoints = {WEFT_CUSOLVER(WEFT_ENTRY)};
#undef WEFT_ENTRY
  const auto accept = [&]() -> std::string {
    if (api.cusolverGetProperty(kMajorVersion, &state->major) != 0 ||
        api.cusolverGetProperty(kMinorVersion, &state->minor) != 0)
      return "cusolverGetProperty failed";
    // cuSOLVER 12 is of CUDA 13, 11 of CUDA 11 and 12.
    const int driverVersion = driverState().version, least = state->major >= 12 ? state->major + 1 : 11;
    if (driverVersion == 0 || least <= driverVersion / 1000) return {};
    return "it is of CUDA " + std::to_string(least) + ", the driver of " + versionText(driverVersion);
  };
  // Libraries that cuSOLVER links to, which packages of Python have in folders of their own.
  const std::vector<std::string> companions = {"libnvJitLink.so", "libcusparse.so", "libcublasLt.so",
                                               "libcublas.so"};
  state->library = openLibrary(candidates().cusolver, entryPoints, companions, accept);
  return state;
}

// ---------------------------------------------------------------- LU

struct Lu : LinearSizes {
  explicit Lu(const std::vector<int64_t>& numbers)
      : LinearSizes(numbers, 4), columns(rest[0]), rows(rest[1]) {}
  int64_t columns, rows;
};

const Solver::Bytes& luBytes(const LibraryJob& job, const Lu& lu) {
  Solver& solver = job.device.solver();
  const int type = lu.type();
  return solver.workspaceOf({0, type, lu.rows, lu.columns}, [&](Solver::Bytes& need) {
    WEFT_CUSOLVER_CALL(cusolverDnXgetrf_bufferSize, solver.handle(), solver.params(), lu.rows, lu.columns,
                       type, pointer(job.results[0]), lu.rows, type, &need.device, &need.host);
  });
}

const LibraryRoutine kGetrf{
    [](const std::vector<int64_t>& numbers) -> cpu::RoutineNeed {
      const Lu lu(numbers);
      const size_t bytes = lu.bytes(lu.rows, lu.columns);
      return {{bytes}, {bytes, lu.bytesOf(std::min(lu.rows, lu.columns), sizeof(int64_t))}, {}, lu.matrices};
    },
    [](const LibraryJob& job) -> Kept {
      checkWorkspace(luBytes(job, Lu(job.numbers)), job);
      return nullptr;
    },
    [](const LibraryJob& job, CUstream stream) {
      const Lu lu(job.numbers);
      Solver& solver = job.device.solver();
      const Solver::Bytes& need = luBytes(job, lu);
      const size_t each = static_cast<size_t>(lu.rows * lu.columns) * lu.elementBytes;
      const auto pivotBytes = static_cast<size_t>(std::min(lu.rows, lu.columns)) * sizeof(int64_t);
      const int type = lu.type();
      copyMatrices(job, 0, 0, each, stream);
      solver.enter(stream);
      for (int64_t k = job.units.first; k < job.units.last; k++) {
        const auto at = static_cast<size_t>(k);
        WEFT_CUSOLVER_CALL(cusolverDnXgetrf, solver.handle(), solver.params(), lu.rows, lu.columns, type,
                           pointer(job.results[0] + at * each), lu.rows,
                           pointer<int64_t>(job.results[1] + at * pivotBytes), type,
                           pointer(job.workspace + kInfoBytes), need.device, solver.host(need.host),
                           need.host, pointer<int>(job.workspace));
      }
    },
};

// ---------------------------------------------------------------- Cholesky

struct Squares : LinearSizes {
  explicit Squares(const std::vector<int64_t>& numbers)
      : LinearSizes(numbers, 4), n(rest[0]), triangle(rest[1] != 0 ? kLower : kUpper) {}
  int64_t n;
  // Of the matrix in column-major order, which is the transpose.
  int triangle;
};

const Solver::Bytes& choleskyBytes(const LibraryJob& job, const Squares& s) {
  Solver& solver = job.device.solver();
  const int type = s.type();
  return solver.workspaceOf({1, type, s.n, s.triangle}, [&](Solver::Bytes& need) {
    WEFT_CUSOLVER_CALL(cusolverDnXpotrf_bufferSize, solver.handle(), solver.params(), s.triangle, s.n, type,
                       pointer(job.results[0]), s.n, type, &need.device, &need.host);
  });
}

const LibraryRoutine kPotrf{
    [](const std::vector<int64_t>& numbers) -> cpu::RoutineNeed {
      const Squares s(numbers);
      return {{s.bytes(s.n, s.n)}, {s.bytes(s.n, s.n), s.bytesOf(1, sizeof(int32_t))}, {}, s.matrices};
    },
    [](const LibraryJob& job) -> Kept {
      checkWorkspace(choleskyBytes(job, Squares(job.numbers)), job);
      return nullptr;
    },
    [](const LibraryJob& job, CUstream stream) {
      const Squares s(job.numbers);
      Solver& solver = job.device.solver();
      const Solver::Bytes& need = choleskyBytes(job, s);
      const size_t each = static_cast<size_t>(s.n * s.n) * s.elementBytes;
      const int type = s.type();
      copyMatrices(job, 0, 0, each, stream);
      solver.enter(stream);
      for (int64_t k = job.units.first; k < job.units.last; k++) {
        const auto at = static_cast<size_t>(k);
        WEFT_CUSOLVER_CALL(cusolverDnXpotrf, solver.handle(), solver.params(), s.triangle, s.n, type,
                           pointer(job.results[0] + at * each), s.n, type,
                           pointer(job.workspace + kInfoBytes), need.device, solver.host(need.host),
                           need.host, pointer<int>(job.results[1] + at * sizeof(int32_t)));
      }
    },
};

// ---------------------------------------------------------------- triangles

struct Triangles : LinearSizes {
  explicit Triangles(const std::vector<int64_t>& numbers)
      : LinearSizes(numbers, 7),
        sides(rest[0]),
        n(rest[1]),
        isUpper(rest[2] != 0),
        form(static_cast<int>(rest[3])),
        hasUnitDiagonal(rest[4] != 0) {
    if (rest[3] > 2) throw std::invalid_argument("a form of a matrix");
  }
  int64_t sides, n;
  bool isUpper;
  int form;
  bool hasUnitDiagonal;
};

const LibraryRoutine kTrsm{
    [](const std::vector<int64_t>& numbers) -> cpu::RoutineNeed {
      const Triangles t(numbers);
      const size_t sides = t.bytes(t.sides, t.n);
      return {{sides, t.bytes(t.n, t.n)}, {sides}, {}, t.matrices};
    },
    [](const LibraryJob& job) -> Kept {
      job.device.blas();
      return nullptr;
    },
    [](const LibraryJob& job, CUstream stream) {
      const Triangles t(job.numbers);
      const size_t each = static_cast<size_t>(t.sides * t.n) * t.elementBytes,
                   matrix = static_cast<size_t>(t.n * t.n) * t.elementBytes;
      copyMatrices(job, 0, 0, each, stream);
      Blas& blas = job.device.blas();
      blas.enter(stream);
      blas.useWorkspace(job.workspace, job.workspaceBytes);
      for (int64_t k = job.units.first; k < job.units.last; k++) {
        const auto at = static_cast<size_t>(k);
        blas.solveTriangle({t.dtype, t.n, t.sides, t.isUpper, t.form, t.hasUnitDiagonal,
                            job.operands[1] + at * matrix, job.results[0] + at * each});
      }
    },
};

}  // namespace

const Cusolver& cusolver() {
  const CusolverState& state = cusolverState();
  if (!state.library.found()) {
    throw Failure(FailureCode::device, "[cuda] expected cuSOLVER (libcusolver), for linear algebra: " +
                                           describeTried(state.library));
  }
  return state.cusolver;
}

LinearSizes::LinearSizes(const std::vector<int64_t>& numbers, size_t count) {
  if (numbers.size() != count) throw std::invalid_argument(std::to_string(count) + " numbers");
  for (const int64_t number : numbers)
    if (number < 0) throw std::invalid_argument("numbers that are not negative");
  dtype = static_cast<DType>(numbers[0]);
  if (dtype != DType::float32 && dtype != DType::float64 && dtype != DType::complex64 &&
      dtype != DType::complex128)
    throw std::invalid_argument("a dtype of linear algebra");
  matrices = numbers[1];
  rest.assign(numbers.begin() + 2, numbers.end());
  elementBytes = static_cast<size_t>(kElementBytes[static_cast<int>(dtype)]);
}

int LinearSizes::type() const { return typesOf(dtype, false).data; }

void copyMatrices(const LibraryJob& job, size_t operand, size_t result, size_t each, CUstream stream) {
  const size_t first = static_cast<size_t>(job.units.first) * each,
               bytes = static_cast<size_t>(job.units.last - job.units.first) * each;
  const CUdeviceptr from = job.operands[operand] + first, to = job.results[result] + first;
  if (from != to) WEFT_CU(cuMemcpyDtoDAsync, to, from, bytes, stream);
}

void checkWorkspace(const Solver::Bytes& need, const LibraryJob& job, size_t own) {
  const size_t bytes = need.device + own + kInfoBytes;
  if (bytes <= job.workspaceBytes) return;
  throw Failure(FailureCode::memory,
                "[cuda] cuSOLVER needs " + std::to_string(bytes) +
                    " bytes of workspace, more than were planned: " + std::to_string(job.workspaceBytes));
}

const CusolverState& cusolverState() {
  static const CusolverState& state = *findCusolver();
  return state;
}

std::vector<std::string> cusolverEntryPoints() {
#define WEFT_SYMBOL(name, symbol, optional, ...) symbol,
  return {WEFT_CUSOLVER(WEFT_SYMBOL)};
#undef WEFT_SYMBOL
}

Solver::Solver() {
  WEFT_CUSOLVER_CALL(cusolverDnCreate, &handle_);
  try {
    WEFT_CUSOLVER_CALL(cusolverDnCreateParams, &params_);
    WEFT_CUSOLVER_CALL(cusolverDnCreateGesvdjInfo, &jacobi_);
  } catch (...) {
    close();
    throw;
  }
}

Solver::~Solver() { close(); }

void Solver::close() {
  if (jacobi_ != nullptr) cusolver().cusolverDnDestroyGesvdjInfo(jacobi_);
  if (params_ != nullptr) cusolver().cusolverDnDestroyParams(params_);
  cusolver().cusolverDnDestroy(handle_);
}

const Solver::Bytes& Solver::workspaceOf(const std::vector<int64_t>& key,
                                         const std::function<void(Bytes&)>& ask) {
  const auto found = bytes_.find(key);
  if (found != bytes_.end()) return found->second;
  Bytes need;
  ask(need);
  host(need.host);
  return bytes_.emplace(key, need).first->second;
}

void* Solver::host(size_t bytes) {
  if (bytes == 0) return nullptr;
  std::vector<std::byte>& memory = hosts_[bytes];
  memory.resize(bytes);
  return memory.data();
}

void Solver::enter(CUstream stream) { WEFT_CUSOLVER_CALL(cusolverDnSetStream, handle_, stream); }

const LibraryRoutine kLuRoutine = kGetrf;
const LibraryRoutine kCholeskyRoutine = kPotrf;
const LibraryRoutine kTriangularSolveRoutine = kTrsm;

}  // namespace weft::cuda
