#include "cuda/driver.h"

#include <algorithm>
#include <array>

#include "runtime/executor.h"
#include "runtime/failure.h"

namespace weft::cuda {
namespace {

// Statuses after which every call in the context fails: faults of a kernel, of the memory or of the device.
constexpr std::array<CUresult, 17> kFatal = {
    4,    // DEINITIALIZED
    46,   // DEVICE_UNAVAILABLE
    214,  // ECC_UNCORRECTABLE
    220,  // NVLINK_UNCORRECTABLE
    700,  // ILLEGAL_ADDRESS
    702,  // LAUNCH_TIMEOUT
    709,  // CONTEXT_IS_DESTROYED
    710,  // ASSERT
    714,  // HARDWARE_STACK_ERROR
    715,  // ILLEGAL_INSTRUCTION
    716,  // MISALIGNED_ADDRESS
    717,  // INVALID_ADDRESS_SPACE
    718,  // INVALID_PC
    719,  // LAUNCH_FAILED
    721,  // CONTAINED
    722,  // TENSOR_MEMORY_LEAK
    911,  // EXTERNAL_DEVICE
};

DriverState* findDriver() {
  auto* state = new DriverState();
  Driver& api = state->driver;
#define WEFT_ENTRY(name, symbol, ...) {reinterpret_cast<void**>(&api.name), symbol, false},
#define WEFT_LATE_ENTRY(name, symbol, ...) {reinterpret_cast<void**>(&api.name), symbol, true},
  const std::vector<EntryPoint> entryPoints = {WEFT_CUDA_DRIVER(WEFT_ENTRY)
                                                   WEFT_CUDA_DRIVER_LATER(WEFT_LATE_ENTRY)};
#undef WEFT_ENTRY
#undef WEFT_LATE_ENTRY
  state->library = openLibrary(candidates().driver, entryPoints, {}, [] { return std::string(); });
  if (!state->library.found()) return state;
  const auto failed = [&](CUresult status, const char* call) {
    if (status == kSuccess) return false;
    const char* name = nullptr;
    const bool named = api.cuGetErrorName(status, &name) == kSuccess && name != nullptr;
    state->error = std::string(call) + ": " + (named ? name : "status " + std::to_string(status));
    return true;
  };
  if (failed(api.cuDriverGetVersion(&state->version), "cuDriverGetVersion")) return state;
  if (failed(api.cuInit(0), "cuInit")) return state;
  // The driver registered its exit handlers; ours must run before them.
  quietAtExit();
  failed(api.cuDeviceGetCount(&state->deviceCount), "cuDeviceGetCount");
  return state;
}

}  // namespace

const DriverState& driverState() {
  static const DriverState& state = *findDriver();
  return state;
}

const Driver& driver() {
  const DriverState& state = driverState();
  if (!state.library.found()) {
    throw Failure(FailureCode::device, "[cuda] expected a CUDA driver: " + describeTried(state.library));
  }
  if (!state.error.empty()) {
    throw Failure(FailureCode::device,
                  "[cuda] expected a usable CUDA driver in " + state.library.path + ": " + state.error);
  }
  return state.driver;
}

std::string statusName(CUresult status) {
  const char* name = nullptr;
  if (driver().cuGetErrorName(status, &name) != kSuccess || name == nullptr) {
    return "CUDA_ERROR_" + std::to_string(status);
  }
  return name;
}

bool isFatal(CUresult status) { return std::find(kFatal.begin(), kFatal.end(), status) != kFatal.end(); }

void throwStatus(CUresult status, const char* call) {
  const char* text = nullptr;
  if (driver().cuGetErrorString(status, &text) != kSuccess || text == nullptr) text = "no description";
  const FailureCode code = status == kOutOfMemory ? FailureCode::memory
                           : isFatal(status)      ? FailureCode::lost
                                                  : FailureCode::device;
  throw Failure(code, std::string("[cuda] ") + text, statusName(status), call);
}

std::vector<std::string> driverEntryPoints() {
#define WEFT_SYMBOL(name, symbol, ...) symbol,
  return {WEFT_CUDA_DRIVER(WEFT_SYMBOL) WEFT_CUDA_DRIVER_LATER(WEFT_SYMBOL)};
#undef WEFT_SYMBOL
}

std::string versionText(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace weft::cuda
