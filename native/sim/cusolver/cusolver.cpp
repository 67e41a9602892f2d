// The simulated cuSOLVER: checks of arguments, workspaces and streams as the real one documents them, and
// factors of matrices in the handle's stream.
#include <vector>

#include "core/enter-library.h"
#include "cusolver/eigenvalues.h"

using namespace weft::sim;

namespace {

constexpr int kOk = 0, kNoHandle = 1, kInvalid = 3, kExecutionFailed = 6;

struct Handle {
  Context* context = nullptr;
  Stream* stream = nullptr;
};
struct Params {
  int unused = 0;
};

Handles<Handle>& handles() {
  static Handles<Handle>& it = *new Handles<Handle>();
  return it;
}

template <typename Body>
int enterSolver(const char* name, Handle* given, const Body& body) {
  const auto find = [&](Simulator& simulator) {
    return simulator.object(handles(), given, "cuSOLVER handle");
  };
  return enterWithHandle(name, {kNoHandle, kExecutionFailed}, find, body);
}

Address addressOf(const void* pointer) { return reinterpret_cast<Address>(pointer); }

// An array of a call: where it is, its bytes, and what is done with it.
struct Use {
  Address at;
  size_t bytes;
  enum { read, write, both } how;
};

// Queues `compute`, which gets the arrays, once their uses are in order.
template <typename Compute>
int queueUses(Simulator& simulator, Handle& handle, std::vector<Use> uses, const Compute& compute) {
  const auto body = [&simulator, uses, compute](Context& context, Accesses& accesses,
                                                const std::string& what) {
    for (const Use& use : uses) {
      if (use.bytes == 0) continue;
      if (use.how != Use::write && !simulator.read(context, use.at, use.bytes, accesses, what))
        return kIllegalAddress;
      if (use.how != Use::read && !simulator.write(context, use.at, use.bytes, accesses, what))
        return kIllegalAddress;
    }
    compute();
    return static_cast<int>(kSuccess);
  };
  simulator.queue(*handle.context, *handle.stream, {body});
  return kOk;
}

size_t workBytes(int64_t rows, int64_t columns, int type) {
  return static_cast<size_t>(rows * std::min<int64_t>(columns, 32)) * bytesOfType(type) + 64;
}

void writeInfo(Address info, int value) { *reinterpret_cast<int*>(info) = value; }

}  // namespace

#define WEFT_SIM_SOLVER extern "C" __attribute__((visibility("default"))) int

WEFT_SIM_SOLVER cusolverGetProperty(int property, int* value) {
  if (property < 0 || property > 2) return kInvalid;
  return *value = property == 0 ? 12 : 0, kOk;
}

WEFT_SIM_SOLVER cusolverDnCreate(Handle** out) {
  return enterInContext("cusolverDnCreate", kNoHandle, [&](Simulator&, Context& context) {
    Handle* handle = handles().make();
    handle->context = &context;
    handle->stream = context.defaultStream.get();
    context.cusolverHandles++;
    return *out = handle, kOk;
  });
}

WEFT_SIM_SOLVER cusolverDnDestroy(Handle* given) {
  return enterSolver("cusolverDnDestroy", given, [&](Simulator&, Handle& handle) {
    handle.context->cusolverHandles--;
    return handles().destroy(&handle), kOk;
  });
}

WEFT_SIM_SOLVER cusolverDnSetStream(Handle* given, Stream* streamHandle) {
  return enterSolver("cusolverDnSetStream", given, [&](Simulator& simulator, Handle& handle) {
    Stream* stream = streamHandle == nullptr ? handle.context->defaultStream.get()
                                             : simulator.object(simulator.streams, streamHandle, "stream");
    if (stream == nullptr || stream->context != handle.context) return kInvalid;
    handle.stream = stream;
    return kOk;
  });
}

WEFT_SIM_SOLVER cusolverDnCreateParams(Params** out) { return *out = new Params(), kOk; }
WEFT_SIM_SOLVER cusolverDnDestroyParams(Params* params) { return delete params, kOk; }

WEFT_SIM_SOLVER cusolverDnXgetrf_bufferSize(Handle* given, Params*, int64_t m, int64_t n, int type,
                                            const void*, int64_t leading, int compute, size_t* deviceBytes,
                                            size_t* hostBytes) {
  return enterSolver("cusolverDnXgetrf_bufferSize", given, [&](Simulator&, Handle&) {
    if (!isLinearType(type) || compute != type || m < 0 || n < 0 || leading < std::max<int64_t>(1, m))
      return kInvalid;
    *deviceBytes = workBytes(m, n, type);
    return *hostBytes = 0, kOk;
  });
}

WEFT_SIM_SOLVER cusolverDnXgetrf(Handle* given, Params*, int64_t m, int64_t n, int type, void* a,
                                 int64_t leading, int64_t* pivots, int compute, void* work, size_t bytes,
                                 void*, size_t, int* info) {
  return enterSolver("cusolverDnXgetrf", given, [&](Simulator& simulator, Handle& handle) {
    if (!isLinearType(type) || compute != type || m < 1 || n < 1 || leading != m ||
        bytes < workBytes(m, n, type))
      return kInvalid;
    const std::vector<Use> uses{
        {addressOf(a), static_cast<size_t>(m * n) * bytesOfType(type), Use::both},
        {addressOf(pivots), static_cast<size_t>(std::min(m, n)) * sizeof(int64_t), Use::write},
        {addressOf(info), sizeof(int), Use::write},
        {addressOf(work), bytes, Use::write}};
    return queueUses(simulator, handle, uses, [=] {
      Dense matrix = readMatrix(a, type, m, n);
      std::vector<int64_t> found;
      writeInfo(addressOf(info), factorLu(matrix, found));
      writeMatrix(a, type, matrix);
      std::copy(found.begin(), found.end(), pivots);
    });
  });
}

WEFT_SIM_SOLVER cusolverDnXgetrs(Handle* given, Params*, int form, int64_t n, int64_t sides, int type,
                                 const void* a, int64_t leadingA, const int64_t* pivots, int typeB, void* b,
                                 int64_t leadingB, int* info) {
  return enterSolver("cusolverDnXgetrs", given, [&](Simulator& simulator, Handle& handle) {
    if (!isLinearType(type) || typeB != type || form < 0 || form > 2 || n < 1 || sides < 1 || leadingA != n ||
        leadingB != n)
      return kInvalid;
    const size_t size = bytesOfType(type);
    const std::vector<Use> uses{{addressOf(a), static_cast<size_t>(n * n) * size, Use::read},
                                {addressOf(pivots), static_cast<size_t>(n) * sizeof(int64_t), Use::read},
                                {addressOf(b), static_cast<size_t>(n * sides) * size, Use::both},
                                {addressOf(info), sizeof(int), Use::write}};
    return queueUses(simulator, handle, uses, [=] {
      Dense lu = readMatrix(a, type, n, n), right = readMatrix(b, type, n, sides);
      solveLu(lu, std::vector<int64_t>(pivots, pivots + n), form, right);
      writeMatrix(b, type, right);
      writeInfo(addressOf(info), 0);
    });
  });
}

WEFT_SIM_SOLVER cusolverDnXpotrf_bufferSize(Handle* given, Params*, int triangle, int64_t n, int type,
                                            const void*, int64_t leading, int compute, size_t* deviceBytes,
                                            size_t* hostBytes) {
  return enterSolver("cusolverDnXpotrf_bufferSize", given, [&](Simulator&, Handle&) {
    if (!isLinearType(type) || compute != type || triangle < 0 || triangle > 1 || n < 0 ||
        leading < std::max<int64_t>(1, n))
      return kInvalid;
    *deviceBytes = workBytes(n, n, type);
    return *hostBytes = 0, kOk;
  });
}

WEFT_SIM_SOLVER cusolverDnXpotrf(Handle* given, Params*, int triangle, int64_t n, int type, void* a,
                                 int64_t leading, int compute, void* work, size_t bytes, void*, size_t,
                                 int* info) {
  return enterSolver("cusolverDnXpotrf", given, [&](Simulator& simulator, Handle& handle) {
    if (!isLinearType(type) || compute != type || triangle < 0 || triangle > 1 || n < 1 || leading != n ||
        bytes < workBytes(n, n, type))
      return kInvalid;
    const std::vector<Use> uses{{addressOf(a), static_cast<size_t>(n * n) * bytesOfType(type), Use::both},
                                {addressOf(info), sizeof(int), Use::write},
                                {addressOf(work), bytes, Use::write}};
    return queueUses(simulator, handle, uses, [=] {
      Dense matrix = readMatrix(a, type, n, n);
      writeInfo(addressOf(info), factorCholesky(matrix, triangle == 1));
      writeMatrix(a, type, matrix);
    });
  });
}

WEFT_SIM_SOLVER cusolverDnXgeqrf_bufferSize(Handle* given, Params*, int64_t m, int64_t n, int type,
                                            const void*, int64_t leading, int typeTau, const void*,
                                            int compute, size_t* deviceBytes, size_t* hostBytes) {
  return enterSolver("cusolverDnXgeqrf_bufferSize", given, [&](Simulator&, Handle&) {
    if (!isLinearType(type) || typeTau != type || compute != type || m < 1 || n < 1 || leading < m)
      return kInvalid;
    *deviceBytes = workBytes(m, n, type);
    return *hostBytes = 0, kOk;
  });
}

WEFT_SIM_SOLVER cusolverDnXgeqrf(Handle* given, Params*, int64_t m, int64_t n, int type, void* a,
                                 int64_t leading, int typeTau, void* taus, int compute, void* work,
                                 size_t bytes, void*, size_t, int* info) {
  return enterSolver("cusolverDnXgeqrf", given, [&](Simulator& simulator, Handle& handle) {
    if (!isLinearType(type) || typeTau != type || compute != type || m < 1 || n < 1 || leading != m ||
        bytes < workBytes(m, n, type))
      return kInvalid;
    const size_t size = bytesOfType(type);
    const std::vector<Use> uses{{addressOf(a), static_cast<size_t>(m * n) * size, Use::both},
                                {addressOf(taus), static_cast<size_t>(std::min(m, n)) * size, Use::write},
                                {addressOf(info), sizeof(int), Use::write},
                                {addressOf(work), bytes, Use::write}};
    return queueUses(simulator, handle, uses, [=] {
      Dense matrix = readMatrix(a, type, m, n);
      const std::vector<Number> found = factorQr(matrix);
      writeMatrix(a, type, matrix);
      for (size_t k = 0; k < found.size(); k++) writeNumber(taus, type, static_cast<int64_t>(k), found[k]);
      writeInfo(addressOf(info), 0);
    });
  });
}

namespace {

int sizeOfQ(const char* name, Handle* given, int m, int n, int k, int leading, int* elements) {
  return enterSolver(name, given, [&](Simulator&, Handle&) {
    if (n < 0 || m < n || k < 0 || k > n || leading < m) return kInvalid;
    return *elements = 32 * std::max(1, n), kOk;
  });
}

int makeQ(const char* name, Handle* given, int type, int m, int n, int k, void* a, int leading,
          const void* taus, void* work, int elements, int* info) {
  return enterSolver(name, given, [&](Simulator& simulator, Handle& handle) {
    if (n < 1 || m < n || k < 1 || k > n || leading != m || elements < 32 * n) return kInvalid;
    const size_t size = bytesOfType(type);
    const std::vector<Use> uses{
        {addressOf(a), static_cast<size_t>(m) * static_cast<size_t>(n) * size, Use::both},
        {addressOf(taus), static_cast<size_t>(k) * size, Use::read},
        {addressOf(info), sizeof(int), Use::write},
        {addressOf(work), static_cast<size_t>(elements) * size, Use::write}};
    return queueUses(simulator, handle, uses, [=] {
      Dense matrix = readMatrix(a, type, m, n);
      std::vector<Number> given;
      for (int64_t i = 0; i < k; i++) given.push_back(readNumber(taus, type, i));
      writeMatrix(a, type, columnsOfQ(matrix, given, n));
      writeInfo(addressOf(info), 0);
    });
  });
}

void writeValues(void* values, int type, const std::vector<double>& found) {
  for (size_t k = 0; k < found.size(); k++) writeNumber(values, type, static_cast<int64_t>(k), found[k]);
}

int realTypeOf(int type) { return type == kReal32 || type == kComplex32 ? kReal32 : kReal64; }

}  // namespace

#define WEFT_SIM_Q(name, type)                                                                       \
  WEFT_SIM_SOLVER cusolverDn##name##_bufferSize(Handle* handle, int m, int n, int k, const void*,    \
                                                int leading, const void*, int* elements) {           \
    return sizeOfQ("cusolverDn" #name "_bufferSize", handle, m, n, k, leading, elements);            \
  }                                                                                                  \
  WEFT_SIM_SOLVER cusolverDn##name(Handle* handle, int m, int n, int k, void* a, int leading,        \
                                   const void* taus, void* work, int elements, int* info) {          \
    return makeQ("cusolverDn" #name, handle, type, m, n, k, a, leading, taus, work, elements, info); \
  }
WEFT_SIM_Q(Sorgqr, kReal32)
WEFT_SIM_Q(Dorgqr, kReal64)
WEFT_SIM_Q(Cungqr, kComplex32)
WEFT_SIM_Q(Zungqr, kComplex64)

WEFT_SIM_SOLVER cusolverDnXsyevd_bufferSize(Handle* given, Params*, int vectors, int triangle, int64_t n,
                                            int type, const void*, int64_t leading, int typeW, const void*,
                                            int compute, size_t* deviceBytes, size_t* hostBytes) {
  return enterSolver("cusolverDnXsyevd_bufferSize", given, [&](Simulator&, Handle&) {
    if (!isLinearType(type) || typeW != realTypeOf(type) || compute != type || vectors < 0 || vectors > 1 ||
        triangle < 0 || triangle > 1 || n < 1 || leading < n)
      return kInvalid;
    *deviceBytes = workBytes(n, n, type);
    return *hostBytes = 0, kOk;
  });
}

WEFT_SIM_SOLVER cusolverDnXsyevd(Handle* given, Params*, int vectors, int triangle, int64_t n, int type,
                                 void* a, int64_t leading, int typeW, void* values, int compute, void* work,
                                 size_t bytes, void*, size_t, int* info) {
  return enterSolver("cusolverDnXsyevd", given, [&](Simulator& simulator, Handle& handle) {
    if (!isLinearType(type) || typeW != realTypeOf(type) || compute != type || vectors < 0 || vectors > 1 ||
        triangle < 0 || triangle > 1 || n < 1 || leading != n || bytes < workBytes(n, n, type))
      return kInvalid;
    const std::vector<Use> uses{{addressOf(a), static_cast<size_t>(n * n) * bytesOfType(type), Use::both},
                                {addressOf(values), static_cast<size_t>(n) * bytesOfType(typeW), Use::write},
                                {addressOf(info), sizeof(int), Use::write},
                                {addressOf(work), bytes, Use::write}};
    return queueUses(simulator, handle, uses, [=] {
      Dense matrix = readMatrix(a, type, n, n);
      for (int64_t j = 0; j < n; j++) {
        matrix.at(j, j) = matrix.at(j, j).real();
        for (int64_t i = 0; i < j; i++) {
          if (triangle == 1)
            matrix.at(j, i) = std::conj(matrix.at(i, j));
          else
            matrix.at(i, j) = std::conj(matrix.at(j, i));
        }
      }
      writeValues(values, typeW, decomposeHermitian(matrix));
      // Without vectors the matrix is destroyed.
      writeMatrix(a, type, matrix);
      writeInfo(addressOf(info), 0);
    });
  });
}

namespace {

struct SvdCall {
  int vectors, economic;
  int64_t m, n;
  int type;
  void* a;
  int64_t leadingA;
  void *values, *u;
  int64_t leadingU;
  void* v;
  int64_t leadingV;
  bool isRight() const {
    return isLinearType(type) && (vectors == 0 || vectors == 1) && economic == 1 && n >= 1 && m >= n &&
           leadingA == m && leadingU == m && leadingV == n &&
           (vectors == 0 || (u != nullptr && v != nullptr));
  }
};

int queueSvd(Simulator& simulator, Handle& handle, const SvdCall& call, void* work, size_t bytes, int* info) {
  const size_t size = bytesOfType(call.type);
  const int typeS = realTypeOf(call.type);
  const auto [m, n] = std::pair(call.m, call.n);
  const std::vector<Use> uses{
      {addressOf(call.a), static_cast<size_t>(m * n) * size, Use::both},
      {addressOf(call.values), static_cast<size_t>(n) * bytesOfType(typeS), Use::write},
      {addressOf(call.u), call.vectors == 0 ? 0 : static_cast<size_t>(m * n) * size, Use::write},
      {addressOf(call.v), call.vectors == 0 ? 0 : static_cast<size_t>(n * n) * size, Use::write},
      {addressOf(info), sizeof(int), Use::write},
      {addressOf(work), bytes, Use::write}};
  return queueUses(simulator, handle, uses, [=] {
    SingularValues found =
        decompose(readMatrix(call.a, call.type, call.m, call.n), call.vectors == 0 ? 0 : call.n);
    writeValues(call.values, typeS, found.values);
    writeInfo(addressOf(info), found.converged ? 0 : 1);
    if (call.vectors == 0) return;
    writeMatrix(call.u, call.type, found.u);
    writeMatrix(call.v, call.type, found.v);
  });
}

int sizeOfJacobi(const char* name, Handle* given, const SvdCall& call, int* elements) {
  return enterSolver(name, given, [&](Simulator&, Handle&) {
    if (!call.isRight()) return kInvalid;
    return *elements = static_cast<int>(32 * call.n + 64), kOk;
  });
}

int jacobi(const char* name, Handle* given, const SvdCall& call, void* work, int elements, int* info) {
  return enterSolver(name, given, [&](Simulator& simulator, Handle& handle) {
    if (!call.isRight() || elements < 32 * call.n + 64) return kInvalid;
    return queueSvd(simulator, handle, call, work, static_cast<size_t>(elements) * bytesOfType(call.type),
                    info);
  });
}

}  // namespace

WEFT_SIM_SOLVER cusolverDnXgesvdp_bufferSize(Handle* given, Params*, int vectors, int economic, int64_t m,
                                             int64_t n, int type, void* a, int64_t leading, int typeS,
                                             void* values, int typeU, void* u, int64_t leadingU, int typeV,
                                             void* v, int64_t leadingV, int compute, size_t* deviceBytes,
                                             size_t* hostBytes) {
  return enterSolver("cusolverDnXgesvdp_bufferSize", given, [&](Simulator&, Handle&) {
    const SvdCall call{vectors, economic, m, n, type, a, leading, values, u, leadingU, v, leadingV};
    if (!call.isRight() || typeS != realTypeOf(type) || typeU != type || typeV != type || compute != type)
      return kInvalid;
    *deviceBytes = workBytes(m, n, type);
    return *hostBytes = 0, kOk;
  });
}

// Every second matrix counts as nearly singular, as sizes have it, so that both ways are gone.
WEFT_SIM_SOLVER cusolverDnXgesvdp(Handle* given, Params*, int vectors, int economic, int64_t m, int64_t n,
                                  int type, void* a, int64_t leading, int typeS, void* values, int typeU,
                                  void* u, int64_t leadingU, int typeV, void* v, int64_t leadingV,
                                  int compute, void* work, size_t bytes, void*, size_t, int* info,
                                  double* error) {
  return enterSolver("cusolverDnXgesvdp", given, [&](Simulator& simulator, Handle& handle) {
    const SvdCall call{vectors, economic, m, n, type, a, leading, values, u, leadingU, v, leadingV};
    if (!call.isRight() || typeS != realTypeOf(type) || typeU != type || typeV != type || compute != type ||
        bytes < workBytes(m, n, type))
      return kInvalid;
    *error = (m + n) % 2 == 0 ? 0 : 1e-3;
    return queueSvd(simulator, handle, call, work, bytes, info);
  });
}

WEFT_SIM_SOLVER cusolverDnCreateGesvdjInfo(Params** out) { return *out = new Params(), kOk; }
WEFT_SIM_SOLVER cusolverDnDestroyGesvdjInfo(Params* info) { return delete info, kOk; }

#define WEFT_SIM_JACOBI(letter, type)                                                                       \
  WEFT_SIM_SOLVER cusolverDn##letter##gesvdj_bufferSize(                                                    \
      Handle* handle, int vectors, int economic, int m, int n, void* a, int leading, void* values, void* u, \
      int leadingU, void* v, int leadingV, int* elements, Params*) {                                        \
    return sizeOfJacobi("cusolverDn" #letter "gesvdj_bufferSize", handle,                                   \
                        {vectors, economic, m, n, type, a, leading, values, u, leadingU, v, leadingV},      \
                        elements);                                                                          \
  }                                                                                                         \
  WEFT_SIM_SOLVER cusolverDn##letter##gesvdj(                                                               \
      Handle* handle, int vectors, int economic, int m, int n, void* a, int leading, void* values, void* u, \
      int leadingU, void* v, int leadingV, void* work, int elements, int* info, Params*) {                  \
    return jacobi("cusolverDn" #letter "gesvdj", handle,                                                    \
                  {vectors, economic, m, n, type, a, leading, values, u, leadingU, v, leadingV}, work,      \
                  elements, info);                                                                          \
  }
WEFT_SIM_JACOBI(S, kReal32)
WEFT_SIM_JACOBI(D, kReal64)
WEFT_SIM_JACOBI(C, kComplex32)
WEFT_SIM_JACOBI(Z, kComplex64)

namespace {

int complexTypeOf(int type) { return realTypeOf(type) == kReal32 ? kComplex32 : kComplex64; }

bool isGeneralCall(int left, int right, int64_t n, int type, int64_t leading, int typeW, int typeVr,
                   int compute) {
  return isLinearType(type) && typeW == complexTypeOf(type) && typeVr == type && compute == type &&
         left == 0 && (right == 0 || right == 1) && n >= 1 && leading == n;
}

// Eigenvectors as columns; those of a real matrix's pair are the real and the imaginary parts of one.
Dense eigenvectorsOf(const Dense& matrix, const std::vector<Number>& values, bool isReal) {
  Dense vectors(matrix.rows, matrix.rows);
  for (int64_t k = 0; k < matrix.rows; k++) {
    const Number value = values[static_cast<size_t>(k)];
    const std::vector<Number> x = eigenvectorOf(matrix, value, k);
    const bool isPair = isReal && value.imag() != 0;
    for (int64_t i = 0; i < matrix.rows; i++) {
      const Number each = x[static_cast<size_t>(i)];
      vectors.at(i, k) = isPair ? each.real() : each;
      if (isPair) vectors.at(i, k + 1) = each.imag();
    }
    if (isPair) k++;
  }
  return vectors;
}

}  // namespace

WEFT_SIM_SOLVER cusolverDnXgeev_bufferSize(Handle* given, Params*, int left, int right, int64_t n, int type,
                                           const void*, int64_t leading, int typeW, const void*, int,
                                           const void*, int64_t, int typeVr, const void*, int64_t,
                                           int compute, size_t* deviceBytes, size_t* hostBytes) {
  return enterSolver("cusolverDnXgeev_bufferSize", given, [&](Simulator&, Handle&) {
    if (!isGeneralCall(left, right, n, type, leading, typeW, typeVr, compute)) return kInvalid;
    *deviceBytes = workBytes(n, n, type);
    return *hostBytes = static_cast<size_t>(n) * 64, kOk;
  });
}

WEFT_SIM_SOLVER cusolverDnXgeev(Handle* given, Params*, int left, int right, int64_t n, int type, void* a,
                                int64_t leading, int typeW, void* values, int, void*, int64_t, int typeVr,
                                void* vr, int64_t leadingVr, int compute, void* work, size_t bytes,
                                void* host, size_t hostBytes, int* info) {
  return enterSolver("cusolverDnXgeev", given, [&](Simulator& simulator, Handle& handle) {
    if (!isGeneralCall(left, right, n, type, leading, typeW, typeVr, compute) || leadingVr != n ||
        bytes < workBytes(n, n, type) || host == nullptr || hostBytes < static_cast<size_t>(n) * 64)
      return kInvalid;
    const size_t matrixBytes = static_cast<size_t>(n * n) * bytesOfType(type);
    const std::vector<Use> uses{{addressOf(a), matrixBytes, Use::both},
                                {addressOf(values), static_cast<size_t>(n) * bytesOfType(typeW), Use::write},
                                {addressOf(vr), right == 0 ? 0 : matrixBytes, Use::write},
                                {addressOf(info), sizeof(int), Use::write},
                                {addressOf(work), bytes, Use::write}};
    return queueUses(simulator, handle, uses, [=] {
      const Dense matrix = readMatrix(a, type, n, n);
      const bool isReal = type == kReal32 || type == kReal64;
      std::vector<Number> found;
      const bool converged = eigenvaluesOf(matrix, found);
      writeInfo(addressOf(info), converged ? 0 : 1);
      if (!converged) found.assign(static_cast<size_t>(n), std::nan(""));
      if (converged && isReal) found = inPairs(found);
      for (int64_t k = 0; k < n; k++) writeNumber(values, typeW, k, found[static_cast<size_t>(k)]);
      if (right == 1) writeMatrix(vr, type, converged ? eigenvectorsOf(matrix, found, isReal) : matrix);
      writeMatrix(a, type, Dense(n, n));
    });
  });
}
