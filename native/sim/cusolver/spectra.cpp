// Eigenvalues and singular values by the simulated cuSOLVER.
#include "cusolver/eigenvalues.h"
#include "cusolver/solver.h"

using namespace weft::sim;
using namespace weft::sim::solver;

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
    waitOnHost(simulator, handle);
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
    waitOnHost(simulator, handle);
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
    waitOnHost(simulator, handle);
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
