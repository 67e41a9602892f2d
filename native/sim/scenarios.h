// The building blocks of scenarios: the simulated driver's entry points, and a context with streams and
// memory.
//
// The declarations are Weft's own (native/cuda/driver.h), so that this does not link if they disagree in
// name. Entry points that Weft does not use yet are found by name.
#pragma once
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "cuda/driver.h"

namespace weft::sim::scenarios {

using namespace weft::cuda;

inline void* symbol(const char* name) {
  static void* library = dlopen("libweft-sim-cuda-all.so", RTLD_NOW);
  if (library == nullptr) throw std::runtime_error(dlerror());
  return dlsym(library, name);
}

// An entry point by its type: entry<int(CUstream)>("cuStreamQuery").
template <typename Function>
Function* entry(const char* name) {
  void* found = symbol(name);
  if (found == nullptr) throw std::runtime_error(std::string("no ") + name);
  return reinterpret_cast<Function*>(found);
}

inline const Driver& cu() {
  static const Driver driver = [] {
    Driver found;
#define WEFT_FIND(name, symbolName, ...) \
  found.name = reinterpret_cast<decltype(found.name)>(symbol(symbolName));
    WEFT_CUDA_DRIVER(WEFT_FIND)
    WEFT_CUDA_DRIVER_LATER(WEFT_FIND)
#undef WEFT_FIND
    return found;
  }();
  return driver;
}

inline void must(int status) {
  if (status != 0) throw std::runtime_error("status " + std::to_string(status));
}

inline constexpr size_t kBytes = 1000;

// A context, two streams, a pool, a block and pinned memory.
struct Machine {
  CUcontext context = nullptr;
  CUstream one = nullptr, two = nullptr;
  CUmemoryPool pool = nullptr;
  CUdeviceptr block = 0;
  void* pinned = nullptr;

  explicit Machine(unsigned streamFlags = kStreamNonBlocking) {
    must(cu().cuInit(0));
    must(cu().cuDevicePrimaryCtxRetain(&context, 0));
    must(cu().cuCtxSetCurrent(context));
    must(cu().cuStreamCreate(&one, streamFlags));
    must(cu().cuStreamCreate(&two, streamFlags));
    MemoryPoolProperties properties{};
    properties.allocationType = kAllocationPinned;
    properties.locationType = kLocationDevice;
    must(cu().cuMemPoolCreate(&pool, &properties));
    must(cu().cuMemAllocFromPoolAsync(&block, kBytes, pool, one));
    must(cu().cuStreamSynchronize(one));
    must(cu().cuMemHostAlloc(&pinned, kBytes, 0));
  }
  void set(CUstream stream, size_t offset = 0, size_t byteLength = kBytes) const {
    must(cu().cuMemsetD8Async(block + offset, 7, byteLength, stream));
  }
  void read(CUstream stream, size_t offset = 0, size_t byteLength = kBytes) const {
    must(cu().cuMemcpyDtoHAsync(pinned, block + offset, byteLength, stream));
  }
  void finish() const {
    must(cu().cuStreamSynchronize(one));
    must(cu().cuStreamSynchronize(two));
  }
};

using Scenarios = std::map<std::string, void (*)()>;
// Of several streams and devices.
const Scenarios& wideScenarios();
const Scenarios& graphScenarios();

}  // namespace weft::sim::scenarios
