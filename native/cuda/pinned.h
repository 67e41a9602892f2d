// Pinned arrays: host memory of JavaScript's that a GPU copies from and to directly, without staging.
#pragma once
#include <napi.h>

namespace weft::cuda {

// allocatePinned(device: string, byteLength: number): Promise<ArrayBuffer>
//
// Memory that is pinned for every device, of undefined contents, counted among the staging memory of the one
// named until the collector frees it.
Napi::Value allocatePinned(const Napi::CallbackInfo& info);

}  // namespace weft::cuda
