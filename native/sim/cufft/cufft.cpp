// The simulated cuFFT: the checks of arguments, plans and work areas that the real one's documentation names,
// and transforms in the plan's stream. Transforms to real numbers write over what they read, as the real ones
// may.
#include <algorithm>
#include <limits>
#include <map>
#include <vector>

#include "core/enter-library.h"
#include "cufft/transform.h"

using namespace weft::sim;

namespace {

constexpr int kOk = 0, kNoPlan = 1, kBadType = 3, kBadValue = 4, kExecFailed = 6, kBadSize = 8,
              kUnaligned = 9, kNoWorkspace = 13;
constexpr int kReal32 = 0, kReal64 = 1, kComplex32 = 4, kComplex64 = 5;

struct Plan {
  Context* context = nullptr;
  Stream* stream = nullptr;
  bool allocates = true;
  bool made = false;
  bool isDouble = false;
  int inType = 0, outType = 0;
  std::vector<int64_t> sizes;
  // Columns behind the axes; 1: transforms follow one another.
  int64_t inner = 1, batch = 0;
  size_t workBytes = 0;
  Address area = 0;

  size_t realBytes() const { return isDouble ? 8 : 4; }
  int64_t elements(int type, bool isHalf) const {
    int64_t product = 1;
    for (const int64_t n : sizes) product *= n;
    const bool isReal = type == kReal32 || type == kReal64;
    return isHalf && !isReal ? sizes[0] / 2 + 1 : product;
  }
  // Of one transform, in and out.
  int64_t inElements() const { return elements(inType, isReal(outType)); }
  int64_t outElements() const { return elements(outType, isReal(inType)); }
  static bool isReal(int type) { return type == kReal32 || type == kReal64; }
  size_t bytesOf(int type) const { return isReal(type) ? realBytes() : 2 * realBytes(); }
};

std::map<int, Plan>& plans() {
  static std::map<int, Plan>& it = *new std::map<int, Plan>();
  return it;
}

template <typename Body>
int enterFft(const char* name, int handle, const Body& body) {
  const auto find = [&](Simulator& simulator) -> Plan* {
    const auto found = plans().find(handle);
    if (found == plans().end()) {
      simulator.misuse(simulator.callName + " uses a plan that is not there");
      return nullptr;
    }
    Plan& plan = found->second;
    if (plan.context != currentContext())
      simulator.misuse(simulator.callName + " uses a plan of another context");
    return &plan;
  };
  return enterWithHandle(name, {kNoPlan, kExecFailed}, find, body);
}

bool isCapturing(Simulator& simulator, const Context& context) {
  for (const auto& [handle, stream] : simulator.streams.live())
    if (stream->context == &context && stream->capture != nullptr) return true;
  return false;
}

size_t workBytesOf(const Plan& plan) {
  size_t bytes = 2 * plan.realBytes() * static_cast<size_t>(plan.batch);
  bool isSmooth = true;
  for (const int64_t n : plan.sizes) {
    bytes *= static_cast<size_t>(n);
    int64_t rest = n;
    for (const int p : {2, 3, 5, 7})
      while (rest % p == 0) rest /= p;
    isSmooth = isSmooth && rest == 1;
  }
  // As of the library, whose kernels hold rows of some lengths in shared memory.
  const bool isHeld = plan.sizes.size() == 1 && plan.inner == 1 && !plan.isDouble &&
                      (plan.sizes[0] & (plan.sizes[0] - 1)) == 0;
  if (isHeld) return 0;
  return isSmooth ? bytes : 4 * bytes;
}

using Line = std::vector<std::complex<double>>;

// One transform after the other, all axes of each.
template <typename T>
void compute(const Plan& plan, Address in, Address out, int sign) {
  auto* const from = reinterpret_cast<T*>(in);
  T* const to = reinterpret_cast<T*>(out);
  const int64_t step = plan.inner, all = plan.elements(kReal32, false);
  const auto inNext = plan.inner > 1 ? 1 : plan.inElements(),
             outNext = plan.inner > 1 ? 1 : plan.outElements();
  std::vector<Transform> transforms;
  for (const int64_t n : plan.sizes) transforms.emplace_back(static_cast<size_t>(n), sign);
  for (int64_t item = 0; item < plan.batch; item++) {
    Line line(static_cast<size_t>(all));
    for (int64_t i = 0; i < all; i++) {
      const bool isMirrored = i >= plan.inElements();
      const int64_t at = item * inNext + (isMirrored ? all - i : i) * step;
      if (Plan::isReal(plan.inType)) {
        line[static_cast<size_t>(i)] = static_cast<double>(from[at]);
      } else {
        const std::complex<double> value(static_cast<double>(from[2 * at]),
                                         static_cast<double>(from[2 * at + 1]));
        line[static_cast<size_t>(i)] = isMirrored ? std::conj(value) : value;
      }
    }
    int64_t after = 1;
    for (size_t axis = plan.sizes.size(); axis-- > 0;) {
      const int64_t n = plan.sizes[axis];
      for (int64_t first = 0; first < all; first++) {
        if (first / after % n != 0) continue;
        Line own;
        for (int64_t i = 0; i < n; i++) own.push_back(line[static_cast<size_t>(first + i * after)]);
        own = transforms[axis].of(own);
        for (int64_t i = 0; i < n; i++)
          line[static_cast<size_t>(first + i * after)] = own[static_cast<size_t>(i)];
      }
      after *= n;
    }
    for (int64_t i = 0; i < plan.outElements(); i++) {
      const int64_t at = item * outNext + i * step;
      if (Plan::isReal(plan.outType)) {
        to[at] = static_cast<T>(line[static_cast<size_t>(i)].real());
      } else {
        to[2 * at] = static_cast<T>(line[static_cast<size_t>(i)].real());
        to[2 * at + 1] = static_cast<T>(line[static_cast<size_t>(i)].imag());
      }
    }
  }
  if (!Plan::isReal(plan.outType)) return;
  for (int64_t i = 0; i < 2 * plan.batch * plan.inElements(); i++)
    from[i] = std::numeric_limits<T>::quiet_NaN();
}

int run(Simulator& simulator, Context& context, const Plan& plan, Address in, Address out, int sign,
        Accesses& accesses, const std::string& what) {
  const size_t inBytes = static_cast<size_t>(plan.batch * plan.inElements()) * plan.bytesOf(plan.inType);
  const size_t outBytes = static_cast<size_t>(plan.batch * plan.outElements()) * plan.bytesOf(plan.outType);
  if (plan.workBytes > 0) {
    const std::string problem = context.memory->checkRead(plan.area, plan.workBytes);
    if (!problem.empty()) {
      simulator.report.add("out-of-bounds", what + " " + problem + " (its work area)");
      return kIllegalAddress;
    }
    accesses.writes.push_back({plan.area, plan.area + plan.workBytes});
  }
  if (!simulator.read(context, in, inBytes, accesses, what) ||
      !simulator.write(context, out, outBytes, accesses, what))
    return kIllegalAddress;
  if (Plan::isReal(plan.outType) && !simulator.write(context, in, inBytes, accesses, what))
    return kIllegalAddress;
  plan.isDouble ? compute<double>(plan, in, out, sign) : compute<float>(plan, in, out, sign);
  return kSuccess;
}

}  // namespace

#define WEFT_SIM_FFT extern "C" __attribute__((visibility("default"))) int

WEFT_SIM_FFT cufftGetVersion(int* version) { return *version = 12000, kOk; }

WEFT_SIM_FFT cufftCreate(int* out) {
  static int made = 0;
  return enterInContext("cufftCreate", kNoPlan, [&](Simulator&, Context& context) {
    Plan plan;
    plan.context = &context;
    plan.stream = context.defaultStream.get();
    plans()[++made] = plan;
    context.cufftPlans++;
    return *out = made, kOk;
  });
}

WEFT_SIM_FFT cufftDestroy(int handle) {
  return enterFft("cufftDestroy", handle, [&](Simulator&, Plan& plan) {
    plan.context->cufftPlans--;
    plans().erase(handle);
    return kOk;
  });
}

WEFT_SIM_FFT cufftSetAutoAllocation(int handle, int allocates) {
  return enterFft("cufftSetAutoAllocation", handle, [&](Simulator& simulator, Plan& plan) {
    if (plan.made) simulator.misuse(simulator.callName + " comes after the plan was made");
    plan.allocates = allocates != 0;
    return kOk;
  });
}

WEFT_SIM_FFT cufftXtMakePlanMany(int handle, int rank, long long* sizes, long long* inEmbed,
                                 long long inStride, long long inDistance, int inType, long long* outEmbed,
                                 long long outStride, long long outDistance, int outType, long long batch,
                                 size_t* workBytes, int type) {
  return enterFft("cufftXtMakePlanMany", handle, [&](Simulator& simulator, Plan& plan) {
    if (plan.made) return kNoPlan;
    if (isCapturing(simulator, *plan.context))
      simulator.misuse(simulator.callName + " makes a plan while a stream is captured");
    if (plan.allocates) simulator.misuse(simulator.callName + " takes memory of its own");
    if (rank < 1 || rank > 3 || batch < 1 || workBytes == nullptr) return kBadSize;
    plan.sizes.assign(sizes, sizes + rank);
    if (std::any_of(sizes, sizes + rank, [](long long n) { return n < 1; })) return kBadSize;
    if (type != kComplex32 && type != kComplex64) return kBadType;
    plan.isDouble = type == kComplex64;
    const int real = plan.isDouble ? kReal64 : kReal32;
    const bool isReal = inType == real || outType == real;
    if ((inType != type && inType != real) || (outType != type && outType != real) ||
        inType + outType == 2 * real)
      return kBadType;
    plan.inType = inType;
    plan.outType = outType;
    plan.batch = batch;
    plan.inner = inStride;
    const auto isLaid = [&](const long long* embed, long long stride, long long distance, int64_t elements) {
      if (embed == nullptr || stride != plan.inner) return false;
      return plan.inner == 1 ? distance == elements : distance == 1 && batch == stride && !isReal;
    };
    // Layouts that Weft asks for; real ones have one axis.
    if ((isReal && rank != 1) || !isLaid(inEmbed, inStride, inDistance, plan.inElements()) ||
        !isLaid(outEmbed, outStride, outDistance, plan.outElements())) {
      simulator.misuse(simulator.callName + " has a layout that is not simulated");
      return kBadValue;
    }
    plan.made = true;
    plan.workBytes = *workBytes = workBytesOf(plan);
    return kOk;
  });
}

WEFT_SIM_FFT cufftSetStream(int handle, Stream* given) {
  return enterFft("cufftSetStream", handle, [&](Simulator& simulator, Plan& plan) {
    Stream* stream = given == nullptr ? plan.context->defaultStream.get()
                                      : simulator.object(simulator.streams, given, "stream");
    if (stream == nullptr || stream->context != plan.context) return kBadValue;
    plan.stream = stream;
    return kOk;
  });
}

WEFT_SIM_FFT cufftSetWorkArea(int handle, void* area) {
  return enterFft("cufftSetWorkArea", handle, [&](Simulator&, Plan& plan) {
    plan.area = reinterpret_cast<Address>(area);
    return plan.area % 16 == 0 ? kOk : kBadValue;
  });
}

WEFT_SIM_FFT cufftXtExec(int handle, void* in, void* out, int direction) {
  return enterFft("cufftXtExec", handle, [&](Simulator& simulator, Plan& plan) {
    if (!plan.made || (direction != -1 && direction != 1)) return kNoPlan;
    if (plan.workBytes > 0 && plan.area == 0) return kNoWorkspace;
    const auto from = reinterpret_cast<Address>(in), to = reinterpret_cast<Address>(out);
    const size_t alignment = 2 * plan.realBytes();
    if (from % alignment != 0 || to % alignment != 0) {
      simulator.misuse(simulator.callName + " has an array that is less aligned than complex numbers");
      return kUnaligned;
    }
    const int sign = Plan::isReal(plan.inType) ? -1 : Plan::isReal(plan.outType) ? 1 : direction;
    const auto body = [&simulator, plan, from, to, sign](Context& context, Accesses& accesses,
                                                         const std::string& what) {
      return run(simulator, context, plan, from, to, sign, accesses, what);
    };
    simulator.queue(*plan.context, *plan.stream, {body});
    return kOk;
  });
}
