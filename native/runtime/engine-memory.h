// Host memory that the JavaScript engine allocates, for results larger than an ArrayBuffer over memory of
// ours may be: Node 20 makes none above 4 GiB. JavaScript thread only.
#pragma once
#include <napi.h>

#include <cstddef>
#include <memory>

#include "runtime/device.h"

namespace weft {

// The most bytes of an ArrayBuffer over memory that the engine did not allocate. Where more are asked for,
// Node calls the finalizer and then fails: that must not be tried.
size_t mostExternalByteLength();
void setMostExternalByteLength(size_t byteLength);

// An ArrayBuffer of zeros. Throws a memory Failure where there is no such memory; Node-API's own function
// ends the process then.
Napi::ArrayBuffer newArrayBuffer(Napi::Env env, size_t byteLength);

// Memory of an ArrayBuffer that the engine allocated, for a result of any size. Nothing in it keeps the
// array: what uses the memory holds it.
struct EngineMemory : Memory {
  explicit EngineMemory(Napi::ArrayBuffer array);
};

}  // namespace weft
