// The CUDA driver: our own declarations of the few entry points in use, resolved at run time.
//
// Values and layouts are those of CUDA's documented, binary-stable driver API; the symbols are the versioned
// ones that libcuda.so.1 exports for every driver since CUDA 11.2. `WEFT_CU` calls one and throws a Failure
// for any status but success.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cuda/library.h"

namespace weft::cuda {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = uint64_t;
using CUcontext = struct CUctx_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUmemoryPool = struct CUmemPoolHandle_st*;
using CUgraph = struct CUgraph_st*;
using CUgraphNode = struct CUgraphNode_st*;
using CUgraphExec = struct CUgraphExec_st*;
using CUgraphConditionalHandle = uint64_t;

// CUmemPoolProps.
struct MemoryPoolProperties {
  int allocationType;
  int handleTypes;
  int locationType;
  int locationId;
  void* win32SecurityAttributes;
  unsigned char reserved[64];
};
static_assert(sizeof(MemoryPoolProperties) == 88);

// CUmemAccessDesc.
struct MemoryAccess {
  int locationType;
  int locationId;
  int flags;
};
static_assert(sizeof(MemoryAccess) == 12);

// CUDA_MEMCPY2D: rows of bytes from one side to the other, each in host or in device memory.
struct RowsCopy {
  struct Side {
    size_t x, y;
    unsigned memoryType;
    const void* host;
    CUdeviceptr device;
    void* array;
    size_t pitch;
  };
  Side from, to;
  size_t byteLength, rows;
};
static_assert(sizeof(RowsCopy) == 128);

// CUDA_KERNEL_NODE_PARAMS_v1.
struct KernelNodeParams {
  CUfunction function;
  unsigned grid[3], block[3];
  unsigned sharedByteLength;
  void** parameters;
  void** extra;
};
static_assert(sizeof(KernelNodeParams) == 56);

// CUDA_MEMSET_NODE_PARAMS_v1.
struct SetNodeParams {
  CUdeviceptr to;
  size_t pitch;
  unsigned value, elementByteLength;
  size_t width, height;
};
static_assert(sizeof(SetNodeParams) == 40);

// CUgraphNodeParams of a conditional node.
struct ConditionalNodeParams {
  int nodeType;
  int reserved0[3];
  CUgraphConditionalHandle handle;
  int conditionalType;
  unsigned bodyCount;
  // Comes back: the body's graph, which the node's graph owns.
  CUgraph* bodies;
  CUcontext context;
  unsigned char reserved1[208];
};
static_assert(sizeof(ConditionalNodeParams) == 256);

inline constexpr CUresult kSuccess = 0;
inline constexpr CUresult kInvalidValue = 1;
inline constexpr CUresult kOutOfMemory = 2;
inline constexpr CUresult kNotReady = 600;
inline constexpr CUresult kGraphUpdateFailed = 910;

inline constexpr int kAllocationPinned = 1;
inline constexpr int kLocationDevice = 1;
inline constexpr int kAccessReadWrite = 3;
inline constexpr int kPoolReleaseThreshold = 4;
inline constexpr int kPoolReservedCurrent = 5;
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr int kCaptureThreadLocal = 1;
inline constexpr unsigned kEventBlockingSync = 1;
inline constexpr unsigned kEventDisableTiming = 2;
inline constexpr unsigned kHostPortable = 1;
inline constexpr int kFunctionMaxDynamicShared = 8;
inline constexpr int kPointerMemoryType = 2;
inline constexpr unsigned kMemoryTypeHost = 1;
inline constexpr unsigned kMemoryTypeDevice = 2;
inline constexpr int kNodeConditional = 13;
inline constexpr int kConditionalWhile = 1;

// CUdevice_attribute.
enum class Attribute : int {
  multiprocessorCount = 16,
  memoryClockKilohertz = 36,
  memoryBusBits = 37,
  l2ByteLength = 38,
  maxThreadsPerMultiprocessor = 39,
  computeCapabilityMajor = 75,
  computeCapabilityMinor = 76,
  sharedMemoryPerMultiprocessor = 81,
  sharedMemoryPerBlockOptin = 97,
  memoryPoolsSupported = 115,
  tensorMapsSupported = 127,
};

enum class FunctionAttribute : int { sharedBytes = 1, localBytes = 3, registers = 4 };

// (name, symbol, parameters): everything the addon calls of every driver.
#define WEFT_CUDA_DRIVER(X)                                                                                  \
  X(cuInit, "cuInit", unsigned flags)                                                                        \
  X(cuDriverGetVersion, "cuDriverGetVersion", int* version)                                                  \
  X(cuGetErrorName, "cuGetErrorName", CUresult status, const char** name)                                    \
  X(cuGetErrorString, "cuGetErrorString", CUresult status, const char** text)                                \
  X(cuDeviceGetCount, "cuDeviceGetCount", int* count)                                                        \
  X(cuDeviceGet, "cuDeviceGet", CUdevice* device, int ordinal)                                               \
  X(cuDeviceGetName, "cuDeviceGetName", char* name, int length, CUdevice device)                             \
  X(cuDeviceTotalMem, "cuDeviceTotalMem_v2", size_t* bytes, CUdevice device)                                 \
  X(cuDeviceGetAttribute, "cuDeviceGetAttribute", int* value, int attribute, CUdevice device)                \
  X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", CUcontext* context, CUdevice device)               \
  X(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", CUdevice device)                              \
  X(cuCtxSetCurrent, "cuCtxSetCurrent", CUcontext context)                                                   \
  X(cuCtxPushCurrent, "cuCtxPushCurrent_v2", CUcontext context)                                              \
  X(cuCtxPopCurrent, "cuCtxPopCurrent_v2", CUcontext* context)                                               \
  X(cuMemGetInfo, "cuMemGetInfo_v2", size_t* free, size_t* total)                                            \
  X(cuStreamCreate, "cuStreamCreate", CUstream* stream, unsigned flags)                                      \
  X(cuStreamSynchronize, "cuStreamSynchronize", CUstream stream)                                             \
  X(cuStreamWaitEvent, "cuStreamWaitEvent", CUstream stream, CUevent event, unsigned flags)                  \
  X(cuStreamBeginCapture, "cuStreamBeginCapture_v2", CUstream stream, int mode)                              \
  X(cuStreamEndCapture, "cuStreamEndCapture", CUstream stream, CUgraph* graph)                               \
  X(cuEventCreate, "cuEventCreate", CUevent* event, unsigned flags)                                          \
  X(cuEventDestroy, "cuEventDestroy_v2", CUevent event)                                                      \
  X(cuEventRecord, "cuEventRecord", CUevent event, CUstream stream)                                          \
  X(cuEventQuery, "cuEventQuery", CUevent event)                                                             \
  X(cuEventSynchronize, "cuEventSynchronize", CUevent event)                                                 \
  X(cuEventElapsedTime, "cuEventElapsedTime", float* milliseconds, CUevent begin, CUevent end)               \
  X(cuModuleLoadData, "cuModuleLoadData", CUmodule* module, const void* image)                               \
  X(cuModuleUnload, "cuModuleUnload", CUmodule module)                                                       \
  X(cuModuleGetFunction, "cuModuleGetFunction", CUfunction* function, CUmodule module, const char* name)     \
  X(cuFuncSetAttribute, "cuFuncSetAttribute", CUfunction function, int attribute, int value)                 \
  X(cuFuncGetAttribute, "cuFuncGetAttribute", int* value, int attribute, CUfunction function)                \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor, "cuOccupancyMaxActiveBlocksPerMultiprocessor", int* blocks, \
    CUfunction function, int threads, size_t sharedByteLength)                                               \
  X(cuLaunchKernel, "cuLaunchKernel", CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ,   \
    unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedByteLength, CUstream stream,           \
    void** parameters, void** extra)                                                                         \
  X(cuGraphCreate, "cuGraphCreate", CUgraph* graph, unsigned flags)                                          \
  X(cuGraphAddKernelNode, "cuGraphAddKernelNode", CUgraphNode* node, CUgraph graph,                          \
    const CUgraphNode* after, size_t afterCount, const KernelNodeParams* params)                             \
  X(cuGraphAddMemsetNode, "cuGraphAddMemsetNode", CUgraphNode* node, CUgraph graph,                          \
    const CUgraphNode* after, size_t afterCount, const SetNodeParams* params, CUcontext context)             \
  X(cuGraphAddChildGraphNode, "cuGraphAddChildGraphNode", CUgraphNode* node, CUgraph graph,                  \
    const CUgraphNode* after, size_t afterCount, CUgraph child)                                              \
  X(cuGraphInstantiate, "cuGraphInstantiate_v2", CUgraphExec* exec, CUgraph graph, CUgraphNode* failed,      \
    char* log, size_t logByteLength)                                                                         \
  X(cuGraphExecKernelNodeSetParams, "cuGraphExecKernelNodeSetParams", CUgraphExec exec, CUgraphNode node,    \
    const KernelNodeParams* params)                                                                          \
  X(cuGraphExecMemsetNodeSetParams, "cuGraphExecMemsetNodeSetParams", CUgraphExec exec, CUgraphNode node,    \
    const SetNodeParams* params, CUcontext context)                                                          \
  X(cuGraphExecChildGraphNodeSetParams, "cuGraphExecChildGraphNodeSetParams", CUgraphExec exec,              \
    CUgraphNode node, CUgraph child)                                                                         \
  X(cuGraphLaunch, "cuGraphLaunch", CUgraphExec exec, CUstream stream)                                       \
  X(cuGraphExecDestroy, "cuGraphExecDestroy", CUgraphExec exec)                                              \
  X(cuGraphDestroy, "cuGraphDestroy", CUgraph graph)                                                         \
  X(cuMemPoolCreate, "cuMemPoolCreate", CUmemoryPool* pool, const MemoryPoolProperties* properties)          \
  X(cuMemPoolSetAttribute, "cuMemPoolSetAttribute", CUmemoryPool pool, int attribute, void* value)           \
  X(cuMemPoolGetAttribute, "cuMemPoolGetAttribute", CUmemoryPool pool, int attribute, void* value)           \
  X(cuMemPoolSetAccess, "cuMemPoolSetAccess", CUmemoryPool pool, const MemoryAccess* accesses, size_t count) \
  X(cuMemPoolTrimTo, "cuMemPoolTrimTo", CUmemoryPool pool, size_t keep)                                      \
  X(cuMemAllocFromPoolAsync, "cuMemAllocFromPoolAsync", CUdeviceptr* address, size_t bytes,                  \
    CUmemoryPool pool, CUstream stream)                                                                      \
  X(cuMemFreeAsync, "cuMemFreeAsync", CUdeviceptr address, CUstream stream)                                  \
  X(cuMemHostAlloc, "cuMemHostAlloc", void** address, size_t bytes, unsigned flags)                          \
  X(cuMemFreeHost, "cuMemFreeHost", void* address)                                                           \
  X(cuMemHostRegister, "cuMemHostRegister_v2", void* address, size_t bytes, unsigned flags)                  \
  X(cuMemHostUnregister, "cuMemHostUnregister", void* address)                                               \
  X(cuPointerGetAttributes, "cuPointerGetAttributes", unsigned count, int* attributes, void** values,        \
    CUdeviceptr address)                                                                                     \
  X(cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", CUdeviceptr to, const void* from, size_t bytes,               \
    CUstream stream)                                                                                         \
  X(cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", void* to, CUdeviceptr from, size_t bytes, CUstream stream)    \
  X(cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", CUdeviceptr to, CUdeviceptr from, size_t bytes,               \
    CUstream stream)                                                                                         \
  X(cuDeviceCanAccessPeer, "cuDeviceCanAccessPeer", int* can, CUdevice device, CUdevice peer)                \
  X(cuMemcpyPeerAsync, "cuMemcpyPeerAsync", CUdeviceptr to, CUcontext toContext, CUdeviceptr from,           \
    CUcontext fromContext, size_t bytes, CUstream stream)                                                    \
  X(cuMemcpy2DAsync, "cuMemcpy2DAsync_v2", const RowsCopy* copy, CUstream stream)                            \
  X(cuMemsetD8Async, "cuMemsetD8Async", CUdeviceptr address, unsigned char value, size_t bytes,              \
    CUstream stream)                                                                                         \
  X(cuMemsetD2D8Async, "cuMemsetD2D8Async", CUdeviceptr address, size_t pitch, unsigned char value,          \
    size_t width, size_t height, CUstream stream)

// The same of drivers since CUDA 12.0 (tensor maps) and 12.4 (loops in graphs); null in others.
#define WEFT_CUDA_DRIVER_LATER(X)                                                                       \
  X(cuTensorMapEncodeTiled, "cuTensorMapEncodeTiled", void* map, int dataType, unsigned rank,           \
    CUdeviceptr address, const uint64_t* sizes, const uint64_t* strides, const unsigned* box,           \
    const unsigned* elementStrides, int interleave, int swizzle, int promotion, int fill)               \
  X(cuGraphConditionalHandleCreate, "cuGraphConditionalHandleCreate", CUgraphConditionalHandle* handle, \
    CUgraph graph, CUcontext context, unsigned initialValue, unsigned flags)                            \
  X(cuGraphAddNode, "cuGraphAddNode", CUgraphNode* node, CUgraph graph, const CUgraphNode* after,       \
    size_t afterCount, ConditionalNodeParams* params)

struct Driver {
#define WEFT_DECLARE(name, symbol, ...) CUresult (*name)(__VA_ARGS__) = nullptr;
  WEFT_CUDA_DRIVER(WEFT_DECLARE)
  WEFT_CUDA_DRIVER_LATER(WEFT_DECLARE)
#undef WEFT_DECLARE
};

// The outcome of the search for the driver, once for the process.
struct DriverState {
  Driver driver;
  Library library;
  // As CUDA counts: 12040 is 12.4. 0 where there is no driver.
  int version = 0;
  // Why there is no usable device although the library was found: what cuInit said. Empty: all well.
  std::string error;
  int deviceCount = 0;

  bool usable() const { return library.found() && error.empty(); }
  bool hasTensorMaps() const { return driver.cuTensorMapEncodeTiled != nullptr; }
  // Whether graphs can have loops whose bodies set memory, too.
  bool hasConditionalNodes() const {
    constexpr int kSince = 12040;
    return version >= kSince && driver.cuGraphAddNode != nullptr &&
           driver.cuGraphConditionalHandleCreate != nullptr;
  }
};
const DriverState& driverState();

// The driver. Throws a device Failure, with what was tried, where there is none that works.
const Driver& driver();

std::string statusName(CUresult status);
// Whether the status means that the context is gone for good.
bool isFatal(CUresult status);
[[noreturn]] void throwStatus(CUresult status, const char* call);
inline void check(CUresult status, const char* call) {
  if (status != kSuccess) throwStatus(status, call);
}

std::vector<std::string> driverEntryPoints();

// "12.4" for 12040.
std::string versionText(int version);

}  // namespace weft::cuda

#define WEFT_CU(name, ...) ::weft::cuda::check(::weft::cuda::driver().name(__VA_ARGS__), #name)
