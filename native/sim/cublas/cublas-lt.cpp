// The simulated cuBLASLt: descriptors with the same checks of attributes, a heuristic whose algorithms hold
// for the problem that they were found for, and products as plain loops in the stream that is given.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>

#include "core/enter-library.h"
#include "cublas/matrix.h"

using namespace weft::sim;

namespace {

constexpr int kOk = 0, kNoHandle = 1, kInvalid = 7, kExecutionFailed = 13, kNotSupported = 15;
constexpr size_t kVersion = 130000;
constexpr int kCompute32 = 68, kCompute64 = 70, kComputeTf32 = 77;
constexpr unsigned kRelu = 2, kBias = 4, kGelu = 32, kPlain = 1;

struct Handle {
  Context* context = nullptr;
};
struct Desc {
  int compute = 0, scale = 0;
  int32_t transposeA = 0, transposeB = 0;
  uint32_t epilogue = kPlain;
  Address bias = 0;
};
struct Layout {
  int type = 0;
  uint64_t rows = 0, columns = 0;
  int64_t leading = 0, stride = 0;
  int32_t batch = 1;
};
struct Preference {
  uint64_t workspaceBytes = 0;
  uint32_t schemes = 7;
  std::array<uint32_t, 4> alignments{256, 256, 256, 256};
};

// cublasLtMatmulAlgo_t and cublasLtMatmulHeuristicResult_t.
struct Algorithm {
  uint64_t magic, problem, workspaceBytes, alignments;
  // Of how many parts its sums consist.
  uint64_t parts;
  uint64_t unused[3];
};
struct Heuristic {
  Algorithm algorithm;
  size_t workspaceBytes;
  int status;
  float waves;
  int reserved[4];
};
constexpr uint64_t kMagic = 0x7765667463756c74;
// Algorithms that it offers for a problem; the one of i parts, of which the first has one, adds them in
// order.
constexpr int kAlgorithms = 4;
// By which the first of them is slower, as a heuristic's first guess may be.
constexpr std::chrono::microseconds kSlowness(500);

template <typename T>
Handles<T>& all() {
  static Handles<T>& it = *new Handles<T>();
  return it;
}

// A call that needs no handle of the library, with the current context.
template <typename Body>
int enter(const char* name, const Body& body) {
  return enterInContext(name, kNoHandle, body);
}

template <typename Body>
int enterLt(const char* name, Handle* given, const Body& body) {
  return enter(name, [&](Simulator& simulator, Context& current) {
    Handle* handle = simulator.object(all<Handle>(), given, "cuBLASLt handle");
    if (handle == nullptr) return kNoHandle;
    if (handle->context != &current)
      simulator.misuse(simulator.callName + " is in another context than its handle");
    if (handle->context->error != 0) return kExecutionFailed;
    return body(simulator, *handle);
  });
}

template <typename T>
int make(const char* name, T** out, const T& value) {
  return enter(name, [&](Simulator& simulator, Context&) {
    T* made = all<T>().make();
    *made = value;
    simulator.libraryObjects["cublasLtDescriptors"]++;
    return *out = made, kOk;
  });
}

template <typename T>
int drop(const char* name, T* given) {
  return dropDescriptor(name, all<T>(), given, "cuBLASLt descriptor", "cublasLtDescriptors") ? kOk : kInvalid;
}

// Sets an attribute that has the type of `field`.
template <typename T>
int setField(T& field, const void* value, size_t bytes) {
  if (value == nullptr || bytes != sizeof field) return kInvalid;
  std::memcpy(&field, value, bytes);
  return kOk;
}

struct Problem {
  const Desc* desc;
  const Layout *a, *b, *c, *d;
};

bool isEpilogue(uint32_t epilogue) {
  return epilogue == kPlain || epilogue == kBias ||
         ((epilogue & ~kBias) == kRelu || (epilogue & ~kBias) == kGelu);
}

int checkTypes(const Problem& p) {
  const int type = p.a->type, result = p.d->type;
  if (p.b->type != type || p.c->type != result) return kNotSupported;
  const bool isHalf = type == 2 || type == 14;
  if (result != type && !(isHalf && result == 0)) return kNotSupported;
  const bool isWide = type == 1 || type == 5;
  const bool isTf32 = p.desc->compute == kComputeTf32 && (type == 0 || type == 4);
  if (p.desc->compute != (isWide ? kCompute64 : kCompute32) && !isTf32) return kNotSupported;
  if (p.desc->scale != (isHalf ? 0 : type)) return kNotSupported;
  const bool isPlain = p.desc->epilogue == kPlain;
  return isPlain || result == 0 || result == 2 || result == 14 ? kOk : kNotSupported;
}

// The sizes that the layouts describe have to fit; gives those of the product.
int checkShapes(const Problem& p, Product& product) {
  const auto isColumnMajor = [](const Layout& l) {
    return l.rows > 0 && l.columns > 0 && l.leading >= static_cast<int64_t>(l.rows) && l.batch > 0;
  };
  for (const Layout* layout : {p.a, p.b, p.c, p.d})
    if (!isColumnMajor(*layout) || layout->batch != p.d->batch) return kInvalid;
  const auto sizes = [](const Layout& l, int32_t transposed) {
    return transposed != 0 ? std::pair(l.columns, l.rows) : std::pair(l.rows, l.columns);
  };
  const auto [m, k] = sizes(*p.a, p.desc->transposeA);
  const auto [depth, n] = sizes(*p.b, p.desc->transposeB);
  if (k != depth || p.d->rows != m || p.d->columns != n || p.c->rows != m || p.c->columns != n)
    return kInvalid;
  if (p.desc->transposeA > 1 || p.desc->transposeB > 1) return kNotSupported;
  product.m = static_cast<int64_t>(m);
  product.n = static_cast<int64_t>(n);
  product.k = static_cast<int64_t>(k);
  product.batch = p.d->batch;
  return kOk;
}

// Of all that an algorithm needs: it runs with any epilogue.
uint64_t hashOf(const Problem& p) {
  uint64_t hash = 1469598103934665603U;
  const auto add = [&](uint64_t value) { hash = (hash ^ value) * 1099511628211U; };
  for (const int value : {p.desc->compute, p.desc->scale, p.desc->transposeA, p.desc->transposeB})
    add(static_cast<uint64_t>(value));
  for (const Layout* l : {p.a, p.b, p.c, p.d}) {
    for (const uint64_t value :
         {static_cast<uint64_t>(l->type), l->rows, l->columns, static_cast<uint64_t>(l->leading),
          static_cast<uint64_t>(l->stride), static_cast<uint64_t>(l->batch)})
      add(value);
  }
  return hash;
}

int check(const Problem& p, Product& product) {
  for (const Layout* layout : {p.a, p.b, p.c, p.d})
    if (layout == nullptr) return kInvalid;
  if (p.desc == nullptr || !isEpilogue(p.desc->epilogue)) return kInvalid;
  if (const int status = checkShapes(p, product)) return status;
  return checkTypes(p);
}

Matrix matrixOf(const void* address, const Layout& l, bool transposed) {
  return {reinterpret_cast<Address>(address), transposed, static_cast<int64_t>(l.rows),
          static_cast<int64_t>(l.columns),    l.leading,  l.stride};
}

Product::Activation activationOf(uint32_t epilogue) {
  if ((epilogue & kGelu) != 0) return Product::Activation::gelu;
  return (epilogue & kRelu) != 0 ? Product::Activation::relu : Product::Activation::none;
}

}  // namespace

#define WEFT_SIM_LT extern "C" __attribute__((visibility("default")))

WEFT_SIM_LT size_t cublasLtGetVersion() { return kVersion; }

WEFT_SIM_LT int cublasLtCreate(Handle** out) {
  return enter("cublasLtCreate", [&](Simulator&, Context& context) {
    Handle* handle = all<Handle>().make();
    handle->context = &context;
    context.cublasLtHandles++;
    return *out = handle, kOk;
  });
}

WEFT_SIM_LT int cublasLtDestroy(Handle* given) {
  return enterLt("cublasLtDestroy", given, [&](Simulator&, Handle& handle) {
    handle.context->cublasLtHandles--;
    return all<Handle>().destroy(&handle), kOk;
  });
}

WEFT_SIM_LT int cublasLtMatmulDescCreate(Desc** out, int compute, int scale) {
  Desc desc;
  desc.compute = compute;
  desc.scale = scale;
  return make("cublasLtMatmulDescCreate", out, desc);
}
WEFT_SIM_LT int cublasLtMatmulDescDestroy(Desc* given) { return drop("cublasLtMatmulDescDestroy", given); }

WEFT_SIM_LT int cublasLtMatmulDescSetAttribute(Desc* given, int attribute, const void* value, size_t bytes) {
  return enter("cublasLtMatmulDescSetAttribute", [&](Simulator& simulator, Context&) {
    Desc* desc = simulator.object(all<Desc>(), given, "cuBLASLt descriptor");
    if (desc == nullptr) return kInvalid;
    switch (attribute) {
      case 3:
        return setField(desc->transposeA, value, bytes);
      case 4:
        return setField(desc->transposeB, value, bytes);
      case 7:
        return setField(desc->epilogue, value, bytes);
      case 8:
        return setField(desc->bias, value, bytes);
      default:
        return kNotSupported;
    }
  });
}

WEFT_SIM_LT int cublasLtMatrixLayoutCreate(Layout** out, int type, uint64_t rows, uint64_t columns,
                                           int64_t leading) {
  Layout layout;
  layout.type = type;
  layout.rows = rows;
  layout.columns = columns;
  layout.leading = leading;
  return make("cublasLtMatrixLayoutCreate", out, layout);
}
WEFT_SIM_LT int cublasLtMatrixLayoutDestroy(Layout* given) {
  return drop("cublasLtMatrixLayoutDestroy", given);
}

WEFT_SIM_LT int cublasLtMatrixLayoutSetAttribute(Layout* given, int attribute, const void* value,
                                                 size_t bytes) {
  return enter("cublasLtMatrixLayoutSetAttribute", [&](Simulator& simulator, Context&) {
    Layout* layout = simulator.object(all<Layout>(), given, "cuBLASLt layout");
    if (layout == nullptr) return kInvalid;
    if (attribute == 5) return setField(layout->batch, value, bytes);
    return attribute == 6 ? setField(layout->stride, value, bytes) : kNotSupported;
  });
}

WEFT_SIM_LT int cublasLtMatmulPreferenceCreate(Preference** out) {
  return make("cublasLtMatmulPreferenceCreate", out, Preference());
}
WEFT_SIM_LT int cublasLtMatmulPreferenceDestroy(Preference* given) {
  return drop("cublasLtMatmulPreferenceDestroy", given);
}

WEFT_SIM_LT int cublasLtMatmulPreferenceSetAttribute(Preference* given, int attribute, const void* value,
                                                     size_t bytes) {
  return enter("cublasLtMatmulPreferenceSetAttribute", [&](Simulator& simulator, Context&) {
    Preference* preference = simulator.object(all<Preference>(), given, "cuBLASLt preference");
    if (preference == nullptr) return kInvalid;
    if (attribute == 1) return setField(preference->workspaceBytes, value, bytes);
    if (attribute == 3) return setField(preference->schemes, value, bytes);
    if (attribute < 5 || attribute > 8) return kNotSupported;
    return setField(preference->alignments[static_cast<size_t>(attribute - 5)], value, bytes);
  });
}

WEFT_SIM_LT int cublasLtMatmulAlgoGetHeuristic(Handle* given, Desc* desc, Layout* a, Layout* b, Layout* c,
                                               Layout* d, Preference* preference, int most,
                                               Heuristic* results, int* count) {
  return enterLt("cublasLtMatmulAlgoGetHeuristic", given, [&](Simulator&, Handle&) {
    Product product{};
    const Problem problem{all<Desc>().find(desc), all<Layout>().find(a), all<Layout>().find(b),
                          all<Layout>().find(c), all<Layout>().find(d)};
    const Preference* wishes = all<Preference>().find(preference);
    if (wishes == nullptr || most < 1) return kInvalid;
    if (const int status = check(problem, product)) return status;
    const bool isHalf = problem.d->type == 2 || problem.d->type == 14;
    // Parts of a split sum would be added up in halves.
    if (isHalf && (wishes->schemes & ~2U) != 0) return kNotSupported;
    uint64_t alignments = 0;
    for (const uint32_t alignment : wishes->alignments) {
      if (alignment == 0 || (alignment & (alignment - 1)) != 0) return kInvalid;
      alignments = alignments << 16 | alignment;
    }
    const uint64_t needed = std::min<uint64_t>(wishes->workspaceBytes, 4096);
    *count = std::min(most, kAlgorithms);
    // As the real one, it may prefer another order of sums for a product with an epilogue.
    const uint64_t fewest = problem.desc->epilogue == kPlain ? 1 : 2;
    for (int i = 0; i < *count; i++) {
      const uint64_t parts = static_cast<uint64_t>(i) + fewest;
      results[i] = {{kMagic, hashOf(problem), needed, alignments, parts, {}}, needed, kOk, 1.0F, {}};
    }
    return kOk;
  });
}

WEFT_SIM_LT int cublasLtMatmulAlgoCheck(Handle* given, Desc* desc, Layout* a, Layout* b, Layout* c, Layout* d,
                                        const Algorithm* algorithm, Heuristic* result) {
  return enterLt("cublasLtMatmulAlgoCheck", given, [&](Simulator&, Handle&) {
    Product product{};
    const Problem problem{all<Desc>().find(desc), all<Layout>().find(a), all<Layout>().find(b),
                          all<Layout>().find(c), all<Layout>().find(d)};
    if (const int status = check(problem, product)) return status;
    if (algorithm == nullptr || result == nullptr || algorithm->magic != kMagic) return kInvalid;
    if (algorithm->problem != hashOf(problem)) return kNotSupported;
    *result = {*algorithm, algorithm->workspaceBytes, kOk, 1.0F, {}};
    return kOk;
  });
}

WEFT_SIM_LT int cublasLtMatmul(Handle* given, Desc* desc, const void* alpha, const void* a, Layout* layoutA,
                               const void* b, Layout* layoutB, const void* beta, const void* c,
                               Layout* layoutC, void* d, Layout* layoutD, const Algorithm* algorithm,
                               void* workspace, size_t workspaceBytes, void* streamHandle) {
  return enterLt("cublasLtMatmul", given, [&](Simulator& simulator, Handle& handle) {
    Product product{};
    const Problem problem{all<Desc>().find(desc), all<Layout>().find(layoutA), all<Layout>().find(layoutB),
                          all<Layout>().find(layoutC), all<Layout>().find(layoutD)};
    if (const int status = check(problem, product)) return status;
    if (alpha == nullptr || beta == nullptr || algorithm == nullptr) return kInvalid;
    if (algorithm->magic != kMagic || algorithm->problem != hashOf(problem)) {
      simulator.misuse(simulator.callName + " uses an algorithm of another problem");
      return kInvalid;
    }
    if (workspaceBytes < algorithm->workspaceBytes || reinterpret_cast<Address>(workspace) % 16 != 0)
      return kInvalid;
    const Address addresses[] = {reinterpret_cast<Address>(a), reinterpret_cast<Address>(b),
                                 reinterpret_cast<Address>(c), reinterpret_cast<Address>(d)};
    for (size_t i = 0; i < 4; i++) {
      if (addresses[i] % (algorithm->alignments >> 16 * (3 - i) & 0xffff) == 0) continue;
      simulator.misuse(simulator.callName + " has an operand that is less aligned than was said");
      return kInvalid;
    }
    Stream* stream = simulator.stream(streamHandle);
    if (stream == nullptr) return kInvalid;
    const bool hasBias = problem.desc->epilogue != kPlain && (problem.desc->epilogue & kBias) != 0;
    if (hasBias && problem.desc->bias == 0) return kInvalid;
    product.type = problem.a->type;
    product.resultType = problem.d->type;
    product.tf32 = problem.desc->compute == kComputeTf32;
    product.parts = static_cast<int64_t>(algorithm->parts);
    product.a = matrixOf(a, *problem.a, problem.desc->transposeA != 0);
    product.b = matrixOf(b, *problem.b, problem.desc->transposeB != 0);
    product.c = matrixOf(c, *problem.c, false);
    product.d = matrixOf(d, *problem.d, false);
    product.bias = hasBias ? problem.desc->bias : 0;
    product.activation =
        problem.desc->epilogue == kPlain ? Product::Activation::none : activationOf(problem.desc->epilogue);
    readScalar(alpha, problem.desc->scale, product.alpha);
    readScalar(beta, problem.desc->scale, product.beta);
    const Range scratch{reinterpret_cast<Address>(workspace),
                        reinterpret_cast<Address>(workspace) + algorithm->workspaceBytes};
    const auto body = [&simulator, product, scratch](Context& context, Accesses& accesses,
                                                     const std::string& what) {
      if (product.parts == 1) std::this_thread::sleep_for(kSlowness);
      if (!useWorkspace(simulator, context, scratch, accesses, what)) return kIllegalAddress;
      return multiply(simulator, context, product, accesses, what);
    };
    simulator.queue(*handle.context, *stream, {body});
    simulator.scheduler.advance();
    return kOk;
  });
}
