// Memory that another library of the process has: arrays over it, and the addresses of arrays for such
// libraries.
#pragma once
#include <napi.h>

namespace weft {

// bufferAddress(handle): bigint. Of a buffer that was not disposed of.
Napi::Value bufferAddress(const Napi::CallbackInfo& info);
// wrapMemory(device: string, address: bigint, byteLength: number, release: () => void): handle. `release` is
// called once nothing uses the memory any more, on the JavaScript thread.
Napi::Value wrapMemory(const Napi::CallbackInfo& info);

}  // namespace weft
