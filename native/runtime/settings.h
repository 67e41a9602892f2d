// The CPU backend's settings, which src/host/config.ts read.
#pragma once
#include <napi.h>

namespace weft {

// configureCpu({ threads?: number, isa?: string, blas?: string, lapack?: string, fft?: string,
// scratchFolder?: string, poison: boolean }): void. For the process; what is missing stays.
Napi::Value configureCpu(const Napi::CallbackInfo& info);

}  // namespace weft
