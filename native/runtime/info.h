// The process's resources: the CPU's description, and the memory that devices have out.
#pragma once
#include <napi.h>

namespace weft {

// cpuInfo(): { isa, threads, vectorMath, blas, lapack, fft }
Napi::Value cpuInfo(const Napi::CallbackInfo& info);

// hostMemory(): { totalBytes, freeBytes: number }
//
// Host memory that this process may use, and the part of it that the system could give now.
Napi::Value hostMemory(const Napi::CallbackInfo& info);

// memory(): { device: string, inUse, held, peak, workPeak, staging: number }[], bytes
Napi::Value memory(const Napi::CallbackInfo& info);

// lostDevices(): { device, status: string }[]
//
// Those that are of no use any more in this process, and what the driver said.
Napi::Value lostDevices(const Napi::CallbackInfo& info);

// collectGarbage(): void
//
// Has the engine collect garbage now. Device memory that it releases is freed in later turns of the event
// loop.
Napi::Value collectGarbage(const Napi::CallbackInfo& info);

// trim(device: string): Promise<undefined>
Napi::Value trim(const Napi::CallbackInfo& info);

}  // namespace weft
