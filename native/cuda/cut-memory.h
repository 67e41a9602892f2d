// Copies of the first bytes of memory on a GPU: of results whose size was not known when they were computed.
#pragma once
#include <napi.h>

namespace weft::cuda {

// cutMemory(handle: object, byteLength: number): object | Promise<object>
//
// The handle of a copy of the first bytes, one at least, of memory on a GPU. It is there once the copy is
// queued: at once where nothing is to be waited for.
Napi::Value cutMemory(const Napi::CallbackInfo& info);

}  // namespace weft::cuda
