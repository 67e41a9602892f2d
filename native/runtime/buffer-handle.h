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

  // `wholeByteLength`: of the buffer that the memory has all of, or a part. `isResult`: it is watched from
  // now on, and where collections of young objects free results, the collector hears of it once it is an old
  // one.
  BufferHandle(Napi::Env env, std::shared_ptr<Memory> memory, size_t wholeByteLength, bool isResult = false);
  // Of memory that the engine allocated, which knows of it.
  BufferHandle(Napi::Env env, const Napi::ArrayBuffer& array);
  // Of `byteLength` bytes of memory from `first` on; of host memory the collector knows.
  BufferHandle(const BufferHandle& whole, size_t first, size_t byteLength);
  ~BufferHandle();
  void dispose();
  // Notes the value that has this handle, so that `releaseCollected` sees whether the engine has collected
  // it.
  void watch(napi_value value);

  const Napi::Env env;
  std::shared_ptr<Memory> memory;
  // Empty unless the memory is the engine's.
  Napi::ObjectReference array;
  // The bytes reported to the collector.
  const int64_t weight;
  // Whether it has host memory that is not the engine's, all of it.
  const bool isHost;

 private:
  friend Napi::Value releaseCollected(const Napi::CallbackInfo& info);
  void unwatch();
  void count();

  // Whether its bytes are among those that the collector hears of.
  bool isCounted_ = false;
  // Whether `releaseCollected` has seen it alive.
  bool wasSeen_ = false;
  // Weak; null: not watched.
  napi_ref value_ = nullptr;
  // Watched handles of the thread, in a list.
  BufferHandle* previous_ = nullptr;
  BufferHandle* next_ = nullptr;
};

// releaseCollected(): [freed: number, young: number, aged: number]
//
// Frees host memory of watched handles that the engine has collected: it finalizes them in a later turn of
// the event loop, and the run that is about to begin would take other memory. Called after each collection of
// young objects. Gives bytes: of collected results that were freed since it was called last, by it or
// otherwise; of those that it sees alive for the first time, and for the second: old objects by now.
Napi::Value releaseCollected(const Napi::CallbackInfo& info);

// hasCollected(): boolean
//
// Whether the engine has collected young objects since this was called last.
Napi::Value hasCollected(const Napi::CallbackInfo& info);

// Counts a result whose ArrayBuffer was collected. On the thread of its environment.
void noteCollected(const Memory& memory);

}  // namespace weft
