// What there is of CUDA: the driver, its devices, NVRTC and cuBLAS, and for what is missing, what was tried.
#pragma once
#include <napi.h>

namespace weft::cuda {

// configureCuda(candidates: { driver: string[], nvrtc: string[], cublas: string[] }): void
Napi::Value configureCuda(const Napi::CallbackInfo& info);

// cudaInfo(): CudaInfo. Loads what was not loaded yet; never throws for what is missing.
Napi::Value cudaInfo(const Napi::CallbackInfo& info);

// probeCuda(): Promise<CudaDeviceInfo[]>. Loads driver and NVRTC on a native thread.
Napi::Value probeCuda(const Napi::CallbackInfo& info);

// nvrtcVersion(): string. Throws where there is no NVRTC.
Napi::Value nvrtcVersion(const Napi::CallbackInfo& info);

// openDevice(device: string): Promise<{ freeBytes: number }>. Rejects where the device cannot be used.
Napi::Value openDevice(const Napi::CallbackInfo& info);

// cudaEntryPoints(): { driver: string[], nvrtc: string[], cublas: string[] }
Napi::Value cudaEntryPoints(const Napi::CallbackInfo& info);

}  // namespace weft::cuda
