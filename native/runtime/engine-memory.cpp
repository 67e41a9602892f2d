#include "runtime/engine-memory.h"

#include <atomic>
#include <cstdint>
#include <string>

#include "runtime/available-memory.h"
#include "runtime/failure.h"
#include "runtime/host-pool.h"

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace weft {
namespace {

std::atomic<size_t> most{SIZE_MAX};

// From here on it is asked whether the memory is there: many a system promises more than it has.
constexpr size_t kLeastAsked = size_t{64} << 20;

[[noreturn]] void throwOutOfMemory(size_t byteLength) {
  throw Failure(FailureCode::memory, "[compute] expected an ArrayBuffer of " + std::to_string(byteLength) +
                                         " bytes: about " + std::to_string(host::availableMemory()) +
                                         " are available");
}

void makeRoom(size_t byteLength) {
  if (byteLength < kLeastAsked || host::isAvailable(byteLength)) return;
  host::trim();
  if (!host::isAvailable(byteLength)) throwOutOfMemory(byteLength);
}

// Huge pages, where the engine has not touched the memory yet: the system hands out small ones ten times as
// slowly. A hint.
void useHugePages(uintptr_t address, size_t byteLength) {
#ifdef MADV_HUGEPAGE
  constexpr uintptr_t kHugePage = uintptr_t{2} << 20;
  const uintptr_t begin = (address + kHugePage - 1) / kHugePage * kHugePage;
  const uintptr_t end = (address + byteLength) / kHugePage * kHugePage;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#else
  static_cast<void>(address), static_cast<void>(byteLength);
#endif
}

}  // namespace

size_t mostExternalByteLength() { return most.load(std::memory_order_relaxed); }

void setMostExternalByteLength(size_t byteLength) { most.store(byteLength, std::memory_order_relaxed); }

Napi::ArrayBuffer newArrayBuffer(Napi::Env env, size_t byteLength) {
  makeRoom(byteLength);
  try {
    const auto constructor = env.Global().Get("ArrayBuffer").As<Napi::Function>();
    return constructor.New({Napi::Number::New(env, static_cast<double>(byteLength))}).As<Napi::ArrayBuffer>();
  } catch (const Napi::Error&) {
    throwOutOfMemory(byteLength);
  }
}

EngineMemory::EngineMemory(Napi::ArrayBuffer array)
    : Memory(cpuDevice(), reinterpret_cast<uintptr_t>(array.Data()), array.ByteLength()) {
  useHugePages(address, byteLength);
}

}  // namespace weft
