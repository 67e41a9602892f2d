// The simulated driver: modules, functions and launches. An image is a shared library that nvrtc.cpp
// compiled.
#include <dlfcn.h>
#include <elf.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "driver/enter.h"

using namespace weft::sim;

namespace {

constexpr size_t kPlainShared = 48 * 1024;

// An image says itself how long it is: its table of sections is at the end. 0: it is no image.
size_t imageByteLength(const void* image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof header.e_ident);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return 0;
  std::memcpy(&header, image, sizeof header);
  return header.e_shoff + size_t{header.e_shnum} * header.e_shentsize;
}

void* openImage(const void* image, size_t byteLength) {
  const char* folder = std::getenv("TMPDIR");
  std::string path = std::string(folder == nullptr ? "/tmp" : folder) + "/weft-sim-XXXXXX";
  const int file = mkstemp(path.data());
  if (file < 0) throw std::runtime_error("no temporary file for a module");
  std::ofstream(path, std::ios::binary)
      .write(static_cast<const char*>(image), static_cast<std::streamsize>(byteLength));
  close(file);
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  unlink(path.c_str());
  return library;
}

void unload(Simulator& simulator, Module* module) {
  std::vector<Function*> functions;
  for (const auto& [handle, function] : simulator.functions.live()) {
    if (function->module == module) functions.push_back(function.get());
  }
  for (Function* function : functions) simulator.functions.destroy(function);
  void* library = module->library;
  // Queued launches still need the code.
  const bool pending = module->pending > 0;
  simulator.modules.destroy(module);
  if (!pending) dlclose(library);
}

struct Launch {
  LaunchSpec spec;
  std::vector<std::vector<char>> values;
};

int checkLaunch(const Function& function, const Launch& launch, const DeviceConfig& device) {
  const Dim3& grid = launch.spec.grid;
  const Dim3& block = launch.spec.block;
  constexpr unsigned kMaxGridX = 2147483647, kMaxGridYZ = 65535, kMaxBlockZ = 64;
  if (grid.count() == 0 || grid.x > kMaxGridX || grid.y > kMaxGridYZ || grid.z > kMaxGridYZ)
    return kInvalidValue;
  if (block.count() == 0 || block.z > kMaxBlockZ || block.count() > 1024) return kInvalidValue;
  if (function.maxThreads > 0 && block.count() > function.maxThreads) return kInvalidValue;
  if (launch.spec.dynamicSharedBytes > function.maxDynamicShared) return kInvalidValue;
  if (launch.spec.dynamicSharedBytes > device.sharedMemoryPerBlock) return kInvalidValue;
  return kSuccess;
}

int execute(Simulator& simulator, Context& context, Launch& launch, const std::string& what,
            Accesses& accesses) {
  std::vector<void*> arguments;
  for (auto& value : launch.values) arguments.push_back(value.data());
  const LaunchOutcome outcome =
      runLaunch(launch.spec, arguments.data(), *context.memory, simulator.scheduler.random());
  accesses = context.memory->takeAccesses();
  if (!outcome.problem.empty()) simulator.report.add("out-of-bounds", what + " " + outcome.problem);
  for (const std::string& mistake : outcome.mistakes) {
    const auto says = [&](const char* words) { return mistake.find(words) != std::string::npos; };
    const char* kind = says("shared memory")   ? "shared-memory"
                       : says("of the launch") ? "race"
                                               : "undefined-read";
    simulator.report.add(kind, what + " " + mistake);
  }
  return outcome.status;
}

}  // namespace

WEFT_SIM_API cuModuleLoadData(Module** out, const void* image) {
  return enter("cuModuleLoadData", Needs::context, [&](Simulator& simulator, Context* context) {
    const size_t byteLength = imageByteLength(image);
    void* library = byteLength == 0 ? nullptr : openImage(image, byteLength);
    if (library == nullptr) return kInvalidImage;
    const auto* architecture = static_cast<const int*>(dlsym(library, "weft_sim_architecture"));
    const int status =
        architecture == nullptr ? kInvalidImage
        // A cubin runs on its major version, from its minor version on.
        : *architecture / 10 != context->config.capability / 10 || *architecture > context->config.capability
            ? kNoBinaryForGpu
            : kSuccess;
    if (status != kSuccess) {
      dlclose(library);
      return status;
    }
    Module* module = simulator.modules.make();
    module->context = context;
    module->library = library;
    return *out = module, kSuccess;
  });
}

WEFT_SIM_API cuModuleUnload(Module* handle) {
  return enter("cuModuleUnload", Needs::context, [&](Simulator& simulator, Context*) {
    Module* module = simulator.object(simulator.modules, handle, "module");
    if (module == nullptr) return kInvalidHandle;
    if (module->pending > 0) simulator.misuse(simulator.callName + " of a module with queued launches");
    return unload(simulator, module), kSuccess;
  });
}

WEFT_SIM_API cuModuleGetFunction(Function** out, Module* handle, const char* name) {
  return enter("cuModuleGetFunction", Needs::context, [&](Simulator& simulator, Context*) {
    Module* module = simulator.object(simulator.modules, handle, "module");
    if (module == nullptr) return kInvalidHandle;
    void* library = module->library;
    void* entry = dlsym(library, (std::string("weft_sim_call_") + name).c_str());
    const auto* facts =
        static_cast<const unsigned*>(dlsym(library, (std::string("weft_sim_facts_") + name).c_str()));
    if (entry == nullptr || facts == nullptr) return kNotFound;
    Function* function = simulator.functions.make();
    function->module = module;
    function->name = name;
    function->entry = reinterpret_cast<KernelEntry>(entry);
    function->maxThreads = facts[0];
    function->parameters.assign(facts + 2, facts + 2 + facts[1]);
    using Bounds = void (*)(char** begin, char** end);
    char* end = nullptr;
    reinterpret_cast<Bounds>(dlsym(library, "weft_sim_shared"))(&function->staticShared, &end);
    function->staticSharedBytes = static_cast<size_t>(end - function->staticShared);
    return *out = function, kSuccess;
  });
}

WEFT_SIM_API cuFuncSetAttribute(Function* handle, int attribute, int value) {
  return enter("cuFuncSetAttribute", Needs::context, [&](Simulator& simulator, Context* context) {
    Function* function = simulator.object(simulator.functions, handle, "function");
    if (function == nullptr) return kInvalidHandle;
    constexpr int kMaxDynamicShared = 8;
    if (attribute != kMaxDynamicShared || value < 0 ||
        static_cast<size_t>(value) > context->config.sharedMemoryPerBlock)
      return kInvalidValue;
    return function->maxDynamicShared = std::max(kPlainShared, static_cast<size_t>(value)), kSuccess;
  });
}

WEFT_SIM_API cuLaunchKernel(Function* handle, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                            unsigned blockY, unsigned blockZ, unsigned sharedByteLength, Stream* streamHandle,
                            void** parameters, void** extra) {
  return enter("cuLaunchKernel", Needs::context, [&](Simulator& simulator, Context* context) {
    Function* function = simulator.object(simulator.functions, handle, "function");
    Stream* stream = simulator.stream(streamHandle);
    if (function == nullptr || stream == nullptr) return kInvalidHandle;
    if (function->module->context != context) {
      simulator.misuse(simulator.callName + " of a function of another context");
      return kInvalidHandle;
    }
    if (extra != nullptr) return kInvalidValue;
    Launch launch;
    launch.spec = {function->name,           function->entry,        {gridX, gridY, gridZ},
                   {blockX, blockY, blockZ}, function->staticShared, function->staticSharedBytes,
                   sharedByteLength};
    if (const int status = checkLaunch(*function, launch, context->config)) return status;
    // Arguments are copied when the call is made.
    for (size_t i = 0; i < function->parameters.size(); i++) {
      const char* value = static_cast<const char*>(parameters[i]);
      launch.values.emplace_back(value, value + function->parameters[i]);
    }
    Module* module = function->module;
    module->pending++;
    Operation operation;
    operation.kind = "launch";
    operation.what = simulator.callName + " (" + function->name + ")";
    operation.body = [&simulator, context, module, what = operation.what,
                      launch = std::move(launch)](Accesses& accesses) mutable {
      module->pending--;
      return execute(simulator, *context, launch, what, accesses);
    };
    simulator.scheduler.issue(*stream, std::move(operation));
    return kSuccess;
  });
}
