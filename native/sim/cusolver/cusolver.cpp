// The simulated cuSOLVER: checks of arguments, workspaces and streams as the real one documents them, and
// factors of matrices in the handle's stream.
#include "cusolver/decompositions.h"
#include "cusolver/solver.h"

using namespace weft::sim;
using namespace weft::sim::solver;

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
