// The simulated driver: modules, functions and launches. An image is a shared library that nvrtc.cpp
// compiled.
#include <dlfcn.h>
#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "core/image-part.h"
#include "core/source-line.h"
#include "driver/enter.h"
#include "driver/queueing.h"

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
  // The loader wants its unused bytes to be 0.
  std::vector<char> plain(static_cast<const char*>(image), static_cast<const char*>(image) + byteLength);
  setPart(plain.data(), 0);
  std::ofstream(path, std::ios::binary).write(plain.data(), static_cast<std::streamsize>(byteLength));
  close(file);
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  unlink(path.c_str());
  if (library != nullptr) keepLines(path, image, byteLength);
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
  if (pending) return;
  forgetLines(library);
  dlclose(library);
}

}  // namespace

WEFT_SIM_API cuModuleLoadData(Module** out, const void* image) {
  return enter("cuModuleLoadData", Needs::context, [&](Simulator& simulator, Context* context) {
    const size_t byteLength = imageByteLength(image);
    void* library = byteLength == 0 ? nullptr : openImage(image, byteLength);
    if (library == nullptr) return kInvalidImage;
    const std::string suffix = partSuffix(partOf(static_cast<const char*>(image)));
    const auto* architecture =
        static_cast<const int*>(dlsym(library, ("weft_sim_architecture" + suffix).c_str()));
    const int status =
        architecture == nullptr ? kInvalidImage
        // A cubin runs on its major version, from its minor version on.
        : *architecture / 10 != context->config.capability / 10 || *architecture > context->config.capability
            ? kNoBinaryForGpu
            : kSuccess;
    if (status != kSuccess) {
      forgetLines(library);
      dlclose(library);
      return status;
    }
    Module* module = simulator.modules.make();
    module->context = context;
    module->library = library;
    module->suffix = suffix;
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
    const auto find = [&](const std::string& text) { return dlsym(library, text.c_str()); };
    // `weft_sim_call_NAME`, or `weft_sim_call_PART_NAME`.
    const std::string& suffix = module->suffix;
    void* entry = find("weft_sim_call" + suffix + "_" + name);
    const auto* facts = static_cast<const unsigned*>(find("weft_sim_facts" + suffix + "_" + name));
    if (entry == nullptr || facts == nullptr) return kNotFound;
    Function* function = simulator.functions.make();
    function->module = module;
    function->name = name;
    function->entry = reinterpret_cast<KernelEntry>(entry);
    function->maxThreads = facts[0];
    function->parameters.assign(facts + 2, facts + 2 + facts[1]);
    using Bounds = void (*)(char** begin, char** end);
    char* end = nullptr;
    reinterpret_cast<Bounds>(find("weft_sim_shared" + suffix))(&function->staticShared, &end);
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

// Registers and memory of threads are those of real code, of which there is none: 0.
WEFT_SIM_API cuFuncGetAttribute(int* value, int attribute, Function* handle) {
  return enter("cuFuncGetAttribute", Needs::context, [&](Simulator& simulator, Context*) {
    Function* function = simulator.object(simulator.functions, handle, "function");
    if (function == nullptr) return kInvalidHandle;
    constexpr int kSharedBytes = 1, kLocalBytes = 3, kRegisters = 4;
    switch (attribute) {
      case kSharedBytes:
        return *value = static_cast<int>(function->staticSharedBytes), kSuccess;
      case kLocalBytes:
      case kRegisters:
        return *value = 0, kSuccess;
      default:
        return kInvalidValue;
    }
  });
}

// By threads, blocks and shared memory, the limits that the simulated device has.
WEFT_SIM_API cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Function* handle, int threads,
                                                         size_t sharedByteLength) {
  return enter("cuOccupancyMaxActiveBlocksPerMultiprocessor", Needs::context,
               [&](Simulator& simulator, Context* context) {
                 Function* function = simulator.object(simulator.functions, handle, "function");
                 if (function == nullptr) return kInvalidHandle;
                 constexpr size_t kMostThreads = 2048, kMostBlocks = 32, kWarp = 32, kReservedShared = 1024;
                 if (threads < 1 || threads > 1024) return kInvalidValue;
                 const size_t warps = (static_cast<size_t>(threads) + kWarp - 1) / kWarp;
                 const size_t shared = function->staticSharedBytes + sharedByteLength + kReservedShared;
                 const size_t most = context->config.sharedMemoryPerMultiprocessor / shared;
                 *blocks = static_cast<int>(std::min({kMostBlocks, kMostThreads / kWarp / warps, most}));
                 return kSuccess;
               });
}

WEFT_SIM_API cuLaunchKernel(Function* handle, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                            unsigned blockY, unsigned blockZ, unsigned sharedByteLength, Stream* streamHandle,
                            void** parameters, void** extra) {
  return enter("cuLaunchKernel", Needs::context, [&](Simulator& simulator, Context* context) {
    Stream* stream = simulator.stream(streamHandle);
    if (stream == nullptr) return kInvalidHandle;
    Launch launch;
    const LaunchCall call{
        handle, {gridX, gridY, gridZ}, {blockX, blockY, blockZ}, sharedByteLength, parameters, extra};
    if (const int status = readLaunch(simulator, *context, call, launch)) return status;
    return queueLaunch(simulator, *context, *stream, std::move(launch));
  });
}
