// run(): checks a run's inputs, queues it on the program's device and turns its outputs into JavaScript
// values.
#pragma once
#include <napi.h>

#include <memory>

#include "runtime/device.h"

namespace weft {

// What a device buffer's handle owns. Disposing drops the memory early; a run under way keeps it.
struct BufferHandle {
  static constexpr napi_type_tag kTag = {0x1d4f3e4c3a0b4b52, 0x9b0f1c7d8e6a5f03};
  static constexpr const char* kWhat = "a device buffer";

  BufferHandle(Napi::Env env, std::shared_ptr<Memory> memory);
  ~BufferHandle() { dispose(); }
  void dispose();

  const Napi::Env env;
  std::shared_ptr<Memory> memory;
};

// run(program: NativeProgram, inputs: (ArrayBufferView | BufferHandle)[], keep: boolean[], cancel?: object):
//   Promise<{ outputs: (ArrayBuffer | { handle, device, byteLength })[], nanoseconds }>
Napi::Value run(const Napi::CallbackInfo& info);

// disposeBuffer(handle: object): void
Napi::Value disposeBuffer(const Napi::CallbackInfo& info);

}  // namespace weft
