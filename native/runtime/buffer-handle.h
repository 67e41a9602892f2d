// Handles of memory that results lie in, and the sizes reported to the engine's collector. JavaScript thread
// only.
#pragma once
#include <napi.h>

#include <memory>

#include "runtime/device.h"

namespace weft {

// The data of a device buffer's handle. Disposing drops the memory early; a run under way keeps it.
struct BufferHandle {
  static constexpr const char* kWhat = "a device buffer";

  // `wholeByteLength`: of the buffer that the memory has all of, or a part.
  BufferHandle(Napi::Env env, std::shared_ptr<Memory> memory, size_t wholeByteLength);
  // Of memory that the engine allocated, which knows of it.
  BufferHandle(Napi::Env env, const Napi::ArrayBuffer& array);
  // Of `byteLength` bytes of memory from `first` on; of host memory the collector knows.
  BufferHandle(const BufferHandle& whole, size_t first, size_t byteLength);
  ~BufferHandle() { dispose(); }
  void dispose();

  const Napi::Env env;
  std::shared_ptr<Memory> memory;
  // Empty unless the memory is the engine's.
  Napi::ObjectReference array;
  // The bytes reported to the collector.
  const int64_t weight;
  // Whether they are among those of host memory that the collector hears of.
  const bool isCounted;
};

}  // namespace weft
