// The simulated cuTENSOR: descriptors and plans with the same checks of arguments, and contractions as plain
// loops in the stream that is given.
#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <optional>

#include "core/enter-library.h"
#include "cublas/matrix.h"
#include "cutensor/contraction.h"

using namespace weft::sim;

namespace {

constexpr int kOk = 0, kNoHandle = 1, kInvalid = 7, kArchMismatch = 8, kExecutionFailed = 13,
              kNotSupported = 15, kNoWorkspace = 19;
constexpr size_t kVersion = 20801, kCudart = 13000;
constexpr int kIdentity = 1, kConjugate = 9, kDefaultAlgorithm = -1;
// Bytes that plans like to have, and take less of where they are given less.
constexpr uint64_t kUsualWorkspace = 4096;
constexpr uint32_t kMostModes = 64;

struct Handle {
  Context* context = nullptr;
};
struct Desc {
  std::vector<int64_t> extents, strides;
  int type = 0;
  uint32_t alignment = 0;
  bool operator==(const Desc&) const = default;
};
struct OperationDesc {
  Contraction contraction{};
  // Of a, b and d.
  std::array<uint32_t, 3> alignments{};
  // As seen on an H100: a product of a vector wants more workspace than its plan is given.
  bool isOfVector = false;
};
struct Preference {
  int jit = 0;
};
struct Plan {
  Context* context = nullptr;
  OperationDesc operation;
  uint64_t workspaceBytes = 0;
};
// The precision of sums: its address is the descriptor.
struct Compute {
  const char* name;
};
Compute full32{"32F"}, full64{"64F"}, tf32{"TF32"}, tf32x3{"3XTF32"};

template <typename T>
Handles<T>& all() {
  static Handles<T>& it = *new Handles<T>();
  return it;
}

template <typename Body>
int enter(const char* name, Handle* given, const Body& body) {
  const auto contextOf = [&](Simulator& simulator) -> Context* {
    Context* current = currentContext();
    Handle* handle = simulator.object(all<Handle>(), given, "cuTENSOR handle");
    if (handle == nullptr || current == nullptr) return nullptr;
    if (handle->context != current)
      simulator.misuse(simulator.callName + " is in another context than its handle");
    return current;
  };
  return enterLibrary(name, {kNoHandle, kExecutionFailed}, contextOf, body);
}

template <typename T>
int make(T** out, T value) {
  if (out == nullptr) return kInvalid;
  T* made = all<T>().make();
  *made = std::move(value);
  Simulator::get().libraryObjects["cutensorDescriptors"]++;
  return *out = made, kOk;
}

template <typename T>
int drop(const char* name, T* given) {
  return dropDescriptor(name, all<T>(), given, "cuTENSOR descriptor", "cutensorDescriptors") ? kOk : kInvalid;
}

bool isType(int type) {
  constexpr int kTypes[] = {0, 1, 2, 4, 5, 14};
  return std::find(std::begin(kTypes), std::end(kTypes), type) != std::end(kTypes);
}
bool isComplex(int type) { return type == 4 || type == 5; }

// The factors of sums in this precision; none: the library does not have it for the type.
std::optional<Contraction::Factors> factorsOf(int type, const Compute* compute) {
  const bool isWide = type == 1 || type == 5;
  const bool isHalf = type == 2 || type == 14;
  if (compute == (isWide ? &full64 : &full32)) return Contraction::Factors::full;
  if (isWide || isHalf) return {};
  if (compute == &tf32) return Contraction::Factors::tf32;
  if (compute == &tf32x3) return Contraction::Factors::tf32x3;
  return {};
}

// The labels of the modes of an operand, in the order in which they are met. Each has one extent, and no
// operand has a mode twice.
class Labels {
 public:
  int add(const Desc& desc, const int32_t* modes, Tensor& tensor) {
    for (size_t k = 0; k < desc.extents.size(); k++) {
      const auto [at, isNew] = labels_.emplace(modes[k], sizes.size());
      if (isNew) sizes.push_back(desc.extents[k]);
      const size_t label = at->second;
      if (sizes[label] != desc.extents[k]) return kInvalid;
      if (std::find(tensor.labels.begin(), tensor.labels.end(), label) != tensor.labels.end())
        return kNotSupported;
      tensor.labels.push_back(label);
    }
    tensor.strides = desc.strides;
    return kOk;
  }
  std::vector<int64_t> sizes;

 private:
  std::map<int32_t, size_t> labels_;
};

bool has(const Tensor& tensor, size_t label) {
  return std::find(tensor.labels.begin(), tensor.labels.end(), label) != tensor.labels.end();
}

// Every label is in two operands or more: a sum over one operand alone, or a broadcast of the result, is no
// contraction.
bool isContraction(const Contraction& job) {
  for (size_t label = 0; label < job.sizes.size(); label++) {
    const int count = has(job.a, label) + has(job.b, label) + has(job.d, label);
    if (count < 2) return false;
  }
  return true;
}

// Whether an operand has a label that the other lacks.
bool hasOwn(const Contraction& job, const Tensor& one, const Tensor& other) {
  for (size_t label = 0; label < job.sizes.size(); label++)
    if (has(one, label) && !has(other, label)) return true;
  return false;
}

bool overlap(const Contraction& job, const Tensor& one, const Tensor& other) {
  const auto endOf = [&](const Tensor& tensor) {
    int64_t last = 0;
    for (size_t k = 0; k < tensor.labels.size(); k++)
      last += (job.sizes[tensor.labels[k]] - 1) * tensor.strides[k];
    return tensor.address + static_cast<Address>(last + 1) * elementByteLength(job.type);
  };
  return one.address < endOf(other) && other.address < endOf(one);
}

}  // namespace

#define WEFT_SIM_TENSOR extern "C" __attribute__((visibility("default")))

extern "C" {
#define WEFT_SIM_COMPUTE __attribute__((visibility("default"))) Compute*
WEFT_SIM_COMPUTE CUTENSOR_COMPUTE_DESC_32F = &full32;
WEFT_SIM_COMPUTE CUTENSOR_COMPUTE_DESC_64F = &full64;
WEFT_SIM_COMPUTE CUTENSOR_COMPUTE_DESC_TF32 = &tf32;
WEFT_SIM_COMPUTE CUTENSOR_COMPUTE_DESC_3XTF32 = &tf32x3;
}

WEFT_SIM_TENSOR size_t cutensorGetVersion() { return kVersion; }
WEFT_SIM_TENSOR size_t cutensorGetCudartVersion() { return kCudart; }

WEFT_SIM_TENSOR int cutensorCreate(Handle** out) {
  return enterInContext("cutensorCreate", kNoHandle, [&](Simulator&, Context& context) {
    Handle* handle = all<Handle>().make();
    handle->context = &context;
    context.cutensorHandles++;
    return *out = handle, kOk;
  });
}

WEFT_SIM_TENSOR int cutensorDestroy(Handle* given) {
  return enter("cutensorDestroy", given, [&](Simulator&, Context& context) {
    context.cutensorHandles--;
    return all<Handle>().destroy(given), kOk;
  });
}

WEFT_SIM_TENSOR int cutensorCreateTensorDescriptor(Handle* handle, Desc** out, uint32_t modes,
                                                   const int64_t* extents, const int64_t* strides, int type,
                                                   uint32_t alignment) {
  return enter("cutensorCreateTensorDescriptor", handle, [&](Simulator&, Context&) {
    if (!isType(type)) return kNotSupported;
    if (modes > kMostModes) return kNotSupported;
    const auto isLess = [](int64_t n) { return n < 1; };
    if (modes > 0 && (extents == nullptr || strides == nullptr)) return kInvalid;
    if (std::any_of(extents, extents + modes, isLess) || std::any_of(strides, strides + modes, isLess))
      return kInvalid;
    if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > 256) return kInvalid;
    return make(out, Desc{{extents, extents + modes}, {strides, strides + modes}, type, alignment});
  });
}
WEFT_SIM_TENSOR int cutensorDestroyTensorDescriptor(Desc* given) {
  return drop("cutensorDestroyTensorDescriptor", given);
}

WEFT_SIM_TENSOR int cutensorCreateContraction(Handle* handle, OperationDesc** out, Desc* descA,
                                              const int32_t* modesA, int operatorA, Desc* descB,
                                              const int32_t* modesB, int operatorB, Desc* descC,
                                              const int32_t* modesC, int operatorC, Desc* descD,
                                              const int32_t* modesD, Compute* compute) {
  return enter("cutensorCreateContraction", handle, [&](Simulator& simulator, Context&) {
    const auto find = [&](Desc* desc) { return simulator.object(all<Desc>(), desc, "cuTENSOR descriptor"); };
    const Desc *a = find(descA), *b = find(descB), *c = find(descC), *d = find(descD);
    if (a == nullptr || b == nullptr || c == nullptr || d == nullptr) return kInvalid;
    if (a->type != b->type || a->type != c->type || a->type != d->type) return kNotSupported;
    if (!(*c == *d) || operatorC != kIdentity) return kNotSupported;
    if (!std::equal(modesC, modesC + c->extents.size(), modesD)) return kNotSupported;
    for (const int op : {operatorA, operatorB})
      if (op != kIdentity && !(op == kConjugate && isComplex(a->type))) return kNotSupported;
    const std::optional<Contraction::Factors> factors = factorsOf(a->type, compute);
    if (!factors) return kNotSupported;
    OperationDesc operation;
    Contraction& job = operation.contraction;
    job.type = a->type;
    job.factors = *factors;
    Labels labels;
    if (const int status = labels.add(*a, modesA, job.a)) return status;
    if (const int status = labels.add(*b, modesB, job.b)) return status;
    if (const int status = labels.add(*d, modesD, job.d)) return status;
    job.c = job.d;
    job.a.isConjugated = operatorA == kConjugate;
    job.b.isConjugated = operatorB == kConjugate;
    job.sizes = labels.sizes;
    if (!isContraction(job)) return kNotSupported;
    operation.isOfVector = !hasOwn(job, job.a, job.b) || !hasOwn(job, job.b, job.a);
    operation.alignments = {a->alignment, b->alignment, d->alignment};
    return make(out, std::move(operation));
  });
}
WEFT_SIM_TENSOR int cutensorDestroyOperationDescriptor(OperationDesc* given) {
  return drop("cutensorDestroyOperationDescriptor", given);
}

WEFT_SIM_TENSOR int cutensorCreatePlanPreference(Handle* handle, Preference** out, int algorithm, int jit) {
  return enter("cutensorCreatePlanPreference", handle, [&](Simulator& simulator, Context&) {
    // Kernels that are measured or compiled in a run have an order of sums of their own.
    if (algorithm != kDefaultAlgorithm || jit != 0)
      simulator.misuse(simulator.callName + " asks for another algorithm than the heuristic's");
    return make(out, Preference{jit});
  });
}
WEFT_SIM_TENSOR int cutensorDestroyPlanPreference(Preference* given) {
  return drop("cutensorDestroyPlanPreference", given);
}

WEFT_SIM_TENSOR int cutensorEstimateWorkspaceSize(Handle* handle, OperationDesc* operation,
                                                  Preference* preference, int kind, uint64_t* bytes) {
  return enter("cutensorEstimateWorkspaceSize", handle, [&](Simulator&, Context&) {
    if (all<OperationDesc>().find(operation) == nullptr || all<Preference>().find(preference) == nullptr)
      return kInvalid;
    if (kind < 1 || kind > 3 || bytes == nullptr) return kInvalid;
    return *bytes = kind == 1 ? 0 : kUsualWorkspace, kOk;
  });
}

WEFT_SIM_TENSOR int cutensorCreatePlan(Handle* handle, Plan** out, OperationDesc* given,
                                       Preference* preference, uint64_t workspaceBytes) {
  return enter("cutensorCreatePlan", handle, [&](Simulator& simulator, Context& context) {
    const OperationDesc* operation = simulator.object(all<OperationDesc>(), given, "cuTENSOR descriptor");
    if (operation == nullptr || (preference != nullptr && all<Preference>().find(preference) == nullptr))
      return kInvalid;
    Plan* plan = all<Plan>().make();
    *plan = {&context, *operation, std::min(workspaceBytes, kUsualWorkspace)};
    context.cutensorPlans++;
    return *out = plan, kOk;
  });
}
WEFT_SIM_TENSOR int cutensorDestroyPlan(Plan* given) {
  Simulator& simulator = Simulator::get();
  const std::lock_guard lock(simulator.mutex);
  simulator.callName = "cutensorDestroyPlan";
  Plan* plan = simulator.object(all<Plan>(), given, "cuTENSOR plan");
  if (plan == nullptr) return kInvalid;
  plan->context->cutensorPlans--;
  return all<Plan>().destroy(plan), kOk;
}

WEFT_SIM_TENSOR int cutensorContract(Handle* handle, Plan* given, const void* alpha, const void* a,
                                     const void* b, const void* beta, const void* c, void* d, void* workspace,
                                     uint64_t workspaceBytes, void* streamHandle) {
  return enter("cutensorContract", handle, [&](Simulator& simulator, Context& context) {
    const Plan* plan = simulator.object(all<Plan>(), given, "cuTENSOR plan");
    if (plan == nullptr || alpha == nullptr || beta == nullptr) return kInvalid;
    if (plan->context != &context) return kArchMismatch;
    if (workspaceBytes < plan->workspaceBytes) return kNoWorkspace;
    if (plan->workspaceBytes > 0 && workspace == nullptr) return kNoWorkspace;
    if (plan->operation.isOfVector) return kNoWorkspace;
    if (reinterpret_cast<Address>(workspace) % 256 != 0) return kInvalid;
    Stream* stream = simulator.stream(streamHandle);
    if (stream == nullptr) return kInvalid;
    Contraction job = plan->operation.contraction;
    readScalar(alpha, job.type, job.alpha);
    readScalar(beta, job.type, job.beta);
    const auto place = [&](Tensor& tensor, const void* address, size_t operand) {
      tensor.address = reinterpret_cast<Address>(address);
      return tensor.address != 0 && tensor.address % plan->operation.alignments[operand] == 0;
    };
    if (!place(job.a, a, 0) || !place(job.b, b, 1) || !place(job.c, c, 2) || !place(job.d, d, 2)) {
      simulator.misuse(simulator.callName + " has an operand that is less aligned than was said");
      return kInvalid;
    }
    if (overlap(job, job.a, job.d) || overlap(job, job.b, job.d))
      simulator.misuse(simulator.callName + " writes over an operand");
    const Range scratch{reinterpret_cast<Address>(workspace),
                        reinterpret_cast<Address>(workspace) + plan->workspaceBytes};
    const auto body = [&simulator, job, scratch](Context& in, Accesses& accesses, const std::string& what) {
      if (!useWorkspace(simulator, in, scratch, accesses, what)) return kIllegalAddress;
      return contract(simulator, in, job, accesses, what);
    };
    simulator.queue(context, *stream, {body});
    simulator.scheduler.advance();
    return kOk;
  });
}
