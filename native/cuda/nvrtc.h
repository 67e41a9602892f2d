// NVRTC: our own declarations of its entry points, and compilation of one source to a device image.
//
// Compilations run on a pool of native threads, several at a time; the caches are
// src/exec/run/kernel-cache.ts's.
#pragma once
#include <napi.h>

#include <string>
#include <vector>

#include "cuda/library.h"

namespace weft {
class Executor;
}

namespace weft::cuda {

using nvrtcResult = int;
using nvrtcProgram = struct NvrtcProgram_st*;

// (name, parameters)
#define WEFT_NVRTC(X)                                                                                 \
  X(nvrtcVersion, int* major, int* minor)                                                             \
  X(nvrtcGetNumSupportedArchs, int* count)                                                            \
  X(nvrtcGetSupportedArchs, int* architectures)                                                       \
  X(nvrtcCreateProgram, nvrtcProgram* program, const char* source, const char* name, int headerCount, \
    const char* const* headers, const char* const* includeNames)                                      \
  X(nvrtcDestroyProgram, nvrtcProgram* program)                                                       \
  X(nvrtcCompileProgram, nvrtcProgram program, int optionCount, const char* const* options)           \
  X(nvrtcAddNameExpression, nvrtcProgram program, const char* name)                                   \
  X(nvrtcGetLoweredName, nvrtcProgram program, const char* name, const char** lowered)                \
  X(nvrtcGetProgramLogSize, nvrtcProgram program, size_t* size)                                       \
  X(nvrtcGetProgramLog, nvrtcProgram program, char* log)                                              \
  X(nvrtcGetCUBINSize, nvrtcProgram program, size_t* size)                                            \
  X(nvrtcGetCUBIN, nvrtcProgram program, char* image)                                                 \
  X(nvrtcGetPTXSize, nvrtcProgram program, size_t* size)                                              \
  X(nvrtcGetPTX, nvrtcProgram program, char* image)

struct Nvrtc {
#define WEFT_DECLARE(name, ...) nvrtcResult (*name)(__VA_ARGS__) = nullptr;
  WEFT_NVRTC(WEFT_DECLARE)
#undef WEFT_DECLARE
  const char* (*nvrtcGetErrorString)(nvrtcResult status) = nullptr;
};

struct NvrtcState {
  Nvrtc nvrtc;
  Library library;
  int major = 0, minor = 0;
  // Compute capabilities it compiles for: 90 is 9.0.
  std::vector<int> architectures;
};
const NvrtcState& nvrtcState();

std::vector<std::string> nvrtcEntryPoints();

// Threads for compilation and for looking for libraries.
Executor& compileExecutor();

// compileCuda(source: string, options: string[], entry?: string):
//   Promise<{ image: Uint8Array, log: string, entry?: string }>
Napi::Value compileCuda(const Napi::CallbackInfo& info);

}  // namespace weft::cuda
