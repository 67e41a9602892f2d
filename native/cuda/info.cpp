#include "cuda/info.h"

#include <algorithm>

#include "cuda/blas-lt.h"
#include "cuda/blas.h"
#include "cuda/cutensor.h"
#include "cuda/driver.h"
#include "cuda/fft.h"
#include "cuda/named-device.h"
#include "cuda/nvrtc.h"
#include "cuda/resources.h"
#include "cuda/slots.h"
#include "cuda/solver.h"
#include "cuda/sparse-solver.h"
#include "cuda/staging.h"
#include "runtime/environment.h"
#include "runtime/values.h"

namespace weft::cuda {
namespace {

Napi::Array toArray(Napi::Env env, const std::vector<std::string>& texts) {
  Napi::Array array = Napi::Array::New(env, texts.size());
  for (uint32_t i = 0; i < texts.size(); i++) array.Set(i, texts[i]);
  return array;
}

int attribute(CUdevice device, Attribute which) {
  int value = 0;
  WEFT_CU(cuDeviceGetAttribute, &value, static_cast<int>(which), device);
  return value;
}

// By clock and width of the memory's bus, whose both edges move bits; 0 where the driver does not tell.
double memoryRate(CUdevice device) {
  int kilohertz = 0, bits = 0;
  const auto read = [&](Attribute which, int& value) {
    return driver().cuDeviceGetAttribute(&value, static_cast<int>(which), device) == kSuccess;
  };
  if (!read(Attribute::memoryClockKilohertz, kilohertz) || !read(Attribute::memoryBusBits, bits)) return 0;
  constexpr double kHertz = 1000, kEdges = 2, kBitsOfByte = 8;
  return kilohertz * kHertz * kEdges * bits / kBitsOfByte;
}

// Whether a device has what drivers before a version know nothing of.
bool has(CUdevice device, Attribute which) {
  int value = 0;
  const CUresult status = driver().cuDeviceGetAttribute(&value, static_cast<int>(which), device);
  return status == kSuccess && value != 0;
}

void describeDevice(Napi::Object& entry, int ordinal) {
  CUdevice device = 0;
  WEFT_CU(cuDeviceGet, &device, ordinal);
  char name[256] = {};
  WEFT_CU(cuDeviceGetName, name, sizeof name - 1, device);
  entry.Set("name", std::string(name));
  Napi::Array capability = Napi::Array::New(entry.Env(), 2);
  capability.Set(0U, attribute(device, Attribute::computeCapabilityMajor));
  capability.Set(1U, attribute(device, Attribute::computeCapabilityMinor));
  entry.Set("computeCapability", capability);
  size_t total = 0;
  WEFT_CU(cuDeviceTotalMem, &total, device);
  entry.Set("totalBytes", static_cast<double>(total));
  entry.Set("multiprocessorCount", attribute(device, Attribute::multiprocessorCount));
  entry.Set("maxThreadsPerMultiprocessor", attribute(device, Attribute::maxThreadsPerMultiprocessor));
  entry.Set("sharedMemoryPerBlockOptin", attribute(device, Attribute::sharedMemoryPerBlockOptin));
  entry.Set("sharedMemoryPerMultiprocessor", attribute(device, Attribute::sharedMemoryPerMultiprocessor));
  entry.Set("l2ByteLength", attribute(device, Attribute::l2ByteLength));
  entry.Set("memoryBytesPerSecond", memoryRate(device));
  entry.Set("tensorMaps", driverState().hasTensorMaps() && has(device, Attribute::tensorMapsSupported));
  entry.Set("memoryPools", attribute(device, Attribute::memoryPoolsSupported) != 0);
}

Napi::Array describeDevices(Napi::Env env) {
  const DriverState& state = driverState();
  const int count = state.usable() ? state.deviceCount : 0;
  Napi::Array devices = Napi::Array::New(env, count);
  for (int i = 0; i < count; i++) {
    Napi::Object entry = Napi::Object::New(env);
    entry.Set("device", "cuda:" + std::to_string(i));
    try {
      describeDevice(entry, i);
    } catch (const Failure& failure) {
      entry.Set("error", std::string(failure.what()) + " (" + failure.call + ": " + failure.status + ")");
    }
    devices.Set(static_cast<uint32_t>(i), entry);
  }
  return devices;
}

// { path, version, … } of a library that was found, else null.
Napi::Value describeLibrary(Napi::Env env, const Library& library, const std::string& version) {
  if (!library.found()) return env.Null();
  Napi::Object entry = Napi::Object::New(env);
  entry.Set("path", library.path);
  entry.Set("version", version);
  return entry;
}

std::string dotted(int major, int minor) { return std::to_string(major) + "." + std::to_string(minor); }

Napi::Value describeDriver(Napi::Env env) {
  const DriverState& state = driverState();
  const Napi::Value value = describeLibrary(env, state.library, versionText(state.version));
  if (!value.IsObject()) return value;
  Napi::Object entry = value.As<Napi::Object>();
  entry.Set("conditionalNodes", state.hasConditionalNodes());
  if (!state.error.empty()) entry.Set("error", state.error);
  return entry;
}

Napi::Value describeNvrtc(Napi::Env env) {
  const NvrtcState& state = nvrtcState();
  const Napi::Value value = describeLibrary(env, state.library, dotted(state.major, state.minor));
  if (!value.IsObject()) return value;
  Napi::Object entry = value.As<Napi::Object>();
  const std::vector<std::string> builtins = filesBeside(state.library.path, "libnvrtc-builtins.so");
  entry.Set("builtins", builtins.empty() ? env.Null() : Napi::String::New(env, builtins.front()));
  Napi::Array architectures = Napi::Array::New(env, state.architectures.size());
  for (uint32_t i = 0; i < state.architectures.size(); i++) architectures.Set(i, state.architectures[i]);
  entry.Set("architectures", architectures);
  return entry;
}

Napi::Object withTried(Napi::Env env, const Napi::Value& found, const Library& library) {
  Napi::Object result = Napi::Object::New(env);
  result.Set("library", found);
  result.Set("tried", toArray(env, library.tried));
  return result;
}

class ProbeTask : public NativeTask {
 public:
  void run() override {
    if (driverState().usable()) nvrtcState();
  }
  Napi::Value result(Napi::Env env) override { return env.Undefined(); }
};

class CutensorTask : public NativeTask {
 public:
  void run() override {
    if (driverState().usable()) cutensorState();
  }
  Napi::Value result(Napi::Env env) override { return env.Undefined(); }
};

class CudssTask : public NativeTask {
 public:
  void run() override {
    if (driverState().usable()) cudssState();
  }
  Napi::Value result(Napi::Env env) override { return env.Undefined(); }
};

class OpenTask : public NativeTask {
 public:
  explicit OpenTask(CudaDevice& device) : device_(device) {}
  void run() override {
    device_.open();
    freeBytes_ = device_.freeBytes();
    device_.use([&](const Resources& resources) { stream_ = resources.stream; });
  }
  Napi::Value result(Napi::Env env) override {
    Napi::Object result = Napi::Object::New(env);
    result.Set("freeBytes", static_cast<double>(freeBytes_));
    result.Set("stream", Napi::BigInt::New(env, static_cast<uint64_t>(reinterpret_cast<uintptr_t>(stream_))));
    return result;
  }

 private:
  CudaDevice& device_;
  size_t freeBytes_ = 0;
  CUstream stream_ = nullptr;
};

class CountTask : public NativeTask {
 public:
  explicit CountTask(CudaDevice& device) : device_(device) {}
  void run() override { kept_ = device_.keptObjects(); }
  Napi::Value result(Napi::Env env) override {
    Napi::Object result = Napi::Object::New(env);
    result.Set("streams", static_cast<double>(kept_.streams));
    result.Set("events", static_cast<double>(kept_.events));
    result.Set("modules", static_cast<double>(kept_.modules));
    result.Set("pools", static_cast<double>(kept_.pools));
    result.Set("cublasHandles", static_cast<double>(kept_.cublasHandles));
    result.Set("cublasLtHandles", static_cast<double>(kept_.cublasLtHandles));
    result.Set("cutensorHandles", static_cast<double>(kept_.cutensorHandles));
    result.Set("cutensorPlans", static_cast<double>(kept_.cutensorPlans));
    result.Set("cusolverHandles", static_cast<double>(kept_.cusolverHandles));
    result.Set("cudssHandles", static_cast<double>(kept_.cudssHandles));
    result.Set("cudssFactors", static_cast<double>(kept_.cudssFactors));
    result.Set("cufftPlans", static_cast<double>(kept_.cufftPlans));
    result.Set("graphs", static_cast<double>(kept_.graphs));
    result.Set("graphExecs", static_cast<double>(kept_.graphExecs));
    return result;
  }

 private:
  CudaDevice& device_;
  KeptObjects kept_;
};

}  // namespace

Napi::Value configureCuda(const Napi::CallbackInfo& info) {
  const Napi::Object places = values::object(info[0], "candidates");
  setCandidates({values::texts(places.Get("driver"), "candidates.driver"),
                 values::texts(places.Get("nvrtc"), "candidates.nvrtc"),
                 values::texts(places.Get("cublas"), "candidates.cublas"),
                 values::texts(places.Get("cublasLt"), "candidates.cublasLt"),
                 values::texts(places.Get("cutensor"), "candidates.cutensor"),
                 values::texts(places.Get("cufft"), "candidates.cufft"),
                 values::texts(places.Get("cusolver"), "candidates.cusolver"),
                 values::texts(places.Get("cudss"), "candidates.cudss")});
  return info.Env().Undefined();
}

Napi::Value driverInfo(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Napi::Object result = withTried(env, describeDriver(env), driverState().library);
  result.Set("devices", describeDevices(env));
  return result;
}

Napi::Value nvrtcInfo(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return withTried(env, describeNvrtc(env), nvrtcState().library);
}

Napi::Value cublasInfo(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const CublasState& state = cublasState();
  const Napi::Value library = describeLibrary(env, state.library, dotted(state.major, state.minor));
  return withTried(env, library, state.library);
}

Napi::Value cublasLtInfo(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const CublasLtState& state = cublasLtState();
  const auto major = static_cast<int>(state.version / 10000),
             minor = static_cast<int>(state.version / 100 % 100);
  return withTried(env, describeLibrary(env, state.library, dotted(major, minor)), state.library);
}

Napi::Value cutensorInfo(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const CutensorState& state = cutensorState();
  const auto major = static_cast<int>(state.version / 10000),
             minor = static_cast<int>(state.version / 100 % 100);
  return withTried(env, describeLibrary(env, state.library, dotted(major, minor)), state.library);
}

Napi::Value probeCutensor(const Napi::CallbackInfo& info) {
  return Environment::of(info.Env()).start(info.Env(), std::make_shared<CutensorTask>(), compileExecutor());
}

Napi::Value cufftInfo(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const CufftState& state = cufftState();
  const std::string version = dotted(state.version / 1000, state.version / 100 % 10);
  return withTried(env, describeLibrary(env, state.library, version), state.library);
}

Napi::Value cusolverInfo(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const CusolverState& state = cusolverState();
  return withTried(env, describeLibrary(env, state.library, dotted(state.major, state.minor)), state.library);
}

Napi::Value cudssInfo(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const CudssState& state = cudssState();
  const Napi::Value value = describeLibrary(env, state.library, dotted(state.major, state.minor));
  if (value.IsObject()) {
    const Library& threads = state.threads;
    value.As<Napi::Object>().Set("threads",
                                 threads.found() ? Napi::String::New(env, threads.path) : env.Null());
    value.As<Napi::Object>().Set("triedThreads", toArray(env, threads.tried));
  }
  return withTried(env, value, state.library);
}

Napi::Value probeCudss(const Napi::CallbackInfo& info) {
  return Environment::of(info.Env()).start(info.Env(), std::make_shared<CudssTask>(), compileExecutor());
}

Napi::Value probeCuda(const Napi::CallbackInfo& info) {
  return Environment::of(info.Env()).start(info.Env(), std::make_shared<ProbeTask>(), compileExecutor());
}

Napi::Value openDevice(const Napi::CallbackInfo& info) {
  CudaDevice& device = namedCudaDevice(info[0]);
  return Environment::of(info.Env()).start(info.Env(), std::make_shared<OpenTask>(device), device.executor());
}

Napi::Value keptObjects(const Napi::CallbackInfo& info) {
  CudaDevice& device = namedCudaDevice(info[0]);
  return Environment::of(info.Env())
      .start(info.Env(), std::make_shared<CountTask>(device), device.executor());
}

Napi::Value refusesLoops(const Napi::CallbackInfo& info) {
  const std::string name = values::text(info[0], "device");
  const std::vector<Device*> devices = openedCudaDevices();
  const bool refuses = std::any_of(devices.begin(), devices.end(), [&](const Device* device) {
    return device->name() == name && dynamic_cast<const CudaDevice&>(*device).refusesLoops();
  });
  return Napi::Boolean::New(info.Env(), refuses);
}

Napi::Value stagingLimits(const Napi::CallbackInfo& info) {
  Napi::Object result = Napi::Object::New(info.Env());
  result.Set("packed", static_cast<double>(PinnedSlots::kSlotsPerBlock * PinnedSlots::kByteLength));
  result.Set("copies", static_cast<double>(Staging::mostPinnedBytes()));
  result.Set("leastCopies", static_cast<double>(Staging::leastPinnedBytes()));
  return result;
}

Napi::Value cudaEntryPoints(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Napi::Object result = Napi::Object::New(env);
  result.Set("driver", toArray(env, driverEntryPoints()));
  result.Set("nvrtc", toArray(env, nvrtcEntryPoints()));
  result.Set("cublas", toArray(env, cublasEntryPoints()));
  result.Set("cublasLt", toArray(env, cublasLtEntryPoints()));
  result.Set("cutensor", toArray(env, cutensorEntryPoints()));
  result.Set("cufft", toArray(env, cufftEntryPoints()));
  result.Set("cusolver", toArray(env, cusolverEntryPoints()));
  result.Set("cudss", toArray(env, cudssEntryPoints()));
  return result;
}

}  // namespace weft::cuda
