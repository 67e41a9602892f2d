// The CUDA installation: the driver, its devices, NVRTC and cuBLAS, and the paths tried for missing ones.
#pragma once
#include <napi.h>

namespace weft::cuda {

// configureCuda(candidates: { driver: string[], nvrtc: string[], cublas: string[], cublasLt: string[],
//   cutensor: string[], cufft: string[], cusolver: string[], cudss: string[] }):
// void
Napi::Value configureCuda(const Napi::CallbackInfo& info);

// Each loads its library if it was not loaded yet, and does not throw where there is none; `tried` says why.
// driverInfo(): { library, tried, devices }
Napi::Value driverInfo(const Napi::CallbackInfo& info);
// nvrtcInfo(): { library, tried }
Napi::Value nvrtcInfo(const Napi::CallbackInfo& info);
// cublasInfo(): { library, tried }, and the same of cuBLASLt, cuTENSOR, cuFFT, cuSOLVER and cuDSS
Napi::Value cublasInfo(const Napi::CallbackInfo& info);
Napi::Value cublasLtInfo(const Napi::CallbackInfo& info);
Napi::Value cutensorInfo(const Napi::CallbackInfo& info);
Napi::Value cufftInfo(const Napi::CallbackInfo& info);
Napi::Value cusolverInfo(const Napi::CallbackInfo& info);
Napi::Value cudssInfo(const Napi::CallbackInfo& info);

// probeCuda(): Promise<undefined>. Loads driver and NVRTC on a native thread, so that the above do not wait.
Napi::Value probeCuda(const Napi::CallbackInfo& info);
// probeCutensor(): Promise<undefined>. The same of cuTENSOR, which is large.
Napi::Value probeCutensor(const Napi::CallbackInfo& info);
// probeCudss(): Promise<undefined>. The same of cuDSS.
Napi::Value probeCudss(const Napi::CallbackInfo& info);

// openDevice(device: string): Promise<{ freeBytes: number }>. Rejects where the device cannot be used.
Napi::Value openDevice(const Napi::CallbackInfo& info);

// keptObjects(device: string): Promise<KeptObjects>. The objects that the device keeps while no run is under
// way.
Napi::Value keptObjects(const Napi::CallbackInfo& info);

// refusesLoops(device: string): boolean. Whether the driver refused a graph with a loop on the device,
// although it has them. False where the device was never opened.
Napi::Value refusesLoops(const Napi::CallbackInfo& info);

// stagingLimits(): { packed: number, copies: number, leastCopies: number }. The most bytes of pinned memory
// that the small inputs and results of a run go through, and that copies of larger ones in a direction do;
// the least that these can do with.
Napi::Value stagingLimits(const Napi::CallbackInfo& info);

// cudaEntryPoints(): { driver: string[], nvrtc: string[], cublas: string[], cublasLt: string[],
//   cutensor: string[], cufft: string[], cusolver: string[], cudss: string[] }
Napi::Value cudaEntryPoints(const Napi::CallbackInfo& info);

}  // namespace weft::cuda
