// The simulated driver: pools, pinned memory, copies and sets.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "driver/enter.h"
#include "driver/queueing.h"

using namespace weft::sim;

namespace {

// CUmemPoolProps, as far as it is read.
struct PoolProperties {
  int allocationType;
  int handleTypes;
  int locationType;
  int locationId;
};

constexpr int kReleaseThreshold = 4, kReservedCurrent = 5, kUsedCurrent = 7;
constexpr size_t kPinnedGuard = 64;
constexpr unsigned char kGuardByte = 0xa7;

unsigned char* at(Address address) { return reinterpret_cast<unsigned char*>(address); }

void trim(Pool& pool, size_t keep) {
  const size_t least = std::max(pool.busy(nullptr), keep);
  if (pool.reserved <= least) return;
  pool.context->used -= pool.reserved - least;
  pool.reserved = least;
}

// Makes room for more bytes in a pool; false where the device has no more.
bool grow(Pool& pool, size_t byteLength, const Stream* stream) {
  const size_t wanted = pool.busy(stream) + byteLength;
  if (wanted <= pool.reserved) return true;
  const size_t more = wanted - pool.reserved;
  if (more > pool.context->free()) return false;
  pool.context->used += more;
  pool.reserved = wanted;
  return true;
}

Operation operation(Simulator& simulator, const char* kind) {
  Operation made;
  made.kind = kind;
  made.what = simulator.callName;
  return made;
}

// A queued copy has used its part of a pinned block, which may have been freed meanwhile.
Range usePinned(Simulator& simulator, const void* start, size_t byteLength) {
  if (Pinned* block = simulator.pinnedAt(start, byteLength)) block->pending--;
  return {reinterpret_cast<Address>(start), reinterpret_cast<Address>(start) + byteLength};
}

// Copies to the device: bytes that were taken when the call was made, or a pinned block that is read late.
int queueUpload(Simulator& simulator, Context* context, Stream& stream, Address to, const void* from,
                size_t byteLength) {
  Pinned* pinned = simulator.pinnedAt(from, byteLength);
  Operation copy = operation(simulator, "copy");
  std::string bytes;
  if (pinned == nullptr) bytes.assign(static_cast<const char*>(from), byteLength);
  if (pinned != nullptr) pinned->pending++;
  const bool late = pinned != nullptr;
  copy.body = [=, &simulator, what = copy.what, bytes = std::move(bytes)](Accesses& accesses) {
    if (!simulator.write(*context, to, byteLength, accesses, what)) return kIllegalAddress;
    std::memcpy(at(to), late ? from : bytes.data(), byteLength);
    if (late) accesses.reads.push_back(usePinned(simulator, from, byteLength));
    return kSuccess;
  };
  simulator.scheduler.issue(stream, std::move(copy));
  return kSuccess;
}

int queueDownload(Simulator& simulator, Context* context, Stream& stream, void* to, Address from,
                  size_t byteLength) {
  Pinned* pinned = simulator.pinnedAt(to, byteLength);
  if (pinned != nullptr) pinned->pending++;
  Operation copy = operation(simulator, "copy");
  const bool late = pinned != nullptr;
  copy.body = [=, &simulator, what = copy.what](Accesses& accesses) {
    if (!simulator.read(*context, from, byteLength, accesses, what)) return kIllegalAddress;
    std::memcpy(to, at(from), byteLength);
    if (late) accesses.writes.push_back(usePinned(simulator, to, byteLength));
    return kSuccess;
  };
  const auto issued = simulator.scheduler.issue(stream, std::move(copy));
  if (late) return kSuccess;
  // Pageable memory has been written when the call returns.
  simulator.scheduler.wait(issued);
  return context->error;
}

}  // namespace

WEFT_SIM_API cuMemGetInfo_v2(size_t* free, size_t* total) {
  return enter("cuMemGetInfo_v2", Needs::context, [&](Simulator&, Context* context) {
    *free = context->free();
    *total = context->config.memory;
    return kSuccess;
  });
}

WEFT_SIM_API cuMemPoolCreate(Pool** out, const PoolProperties* properties) {
  return enter("cuMemPoolCreate", Needs::driver, [&](Simulator& simulator, Context*) {
    constexpr int kPinned = 1, kDevice = 1;
    const int device = properties->locationId;
    if (properties->allocationType != kPinned || properties->locationType != kDevice || device < 0 ||
        static_cast<size_t>(device) >= simulator.contexts.size())
      return kInvalidValue;
    Pool* pool = simulator.pools.make();
    pool->context = simulator.contexts[device].get();
    return *out = pool, kSuccess;
  });
}

WEFT_SIM_API cuMemPoolSetAttribute(Pool* handle, int attribute, void* value) {
  return enter("cuMemPoolSetAttribute", Needs::driver, [&](Simulator& simulator, Context*) {
    Pool* pool = simulator.object(simulator.pools, handle, "pool");
    if (pool == nullptr || attribute != kReleaseThreshold) return kInvalidValue;
    std::memcpy(&pool->releaseThreshold, value, sizeof pool->releaseThreshold);
    return kSuccess;
  });
}

WEFT_SIM_API cuMemPoolGetAttribute(Pool* handle, int attribute, void* value) {
  return enter("cuMemPoolGetAttribute", Needs::driver, [&](Simulator& simulator, Context*) {
    Pool* pool = simulator.object(simulator.pools, handle, "pool");
    if (pool == nullptr) return kInvalidValue;
    uint64_t bytes = 0;
    if (attribute == kReservedCurrent) {
      bytes = pool->reserved;
    } else if (attribute == kUsedCurrent) {
      bytes = pool->live;
    } else {
      return kInvalidValue;
    }
    return std::memcpy(value, &bytes, sizeof bytes), kSuccess;
  });
}

WEFT_SIM_API cuMemPoolTrimTo(Pool* handle, size_t keep) {
  return enter("cuMemPoolTrimTo", Needs::driver, [&](Simulator& simulator, Context*) {
    Pool* pool = simulator.object(simulator.pools, handle, "pool");
    if (pool == nullptr) return kInvalidValue;
    return trim(*pool, keep), kSuccess;
  });
}

WEFT_SIM_API cuMemAllocFromPoolAsync(Address* address, size_t byteLength, Pool* handle,
                                     Stream* streamHandle) {
  return enter("cuMemAllocFromPoolAsync", Needs::context, [&](Simulator& simulator, Context* context) {
    Pool* pool = simulator.object(simulator.pools, handle, "pool");
    Stream* stream = simulator.stream(streamHandle);
    if (pool == nullptr || stream == nullptr || byteLength == 0) return kInvalidValue;
    if (!grow(*pool, byteLength, stream)) return kOutOfMemory;
    const Block& block = context->memory->allocate(byteLength, simulator.callName);
    if (block.start == 0) return kOutOfMemory;
    pool->live += byteLength;
    context->inUse += byteLength;
    context->peak = std::max(context->peak, context->inUse);
    context->poolOf[block.start] = pool;
    *address = block.start;
    // The memory is there for what is after this in the stream.
    Operation made = operation(simulator, "memory");
    made.body = [range = Range{block.start, block.start + byteLength}](Accesses& accesses) {
      accesses.writes.push_back(range);
      return kSuccess;
    };
    simulator.scheduler.issue(*stream, std::move(made));
    return kSuccess;
  });
}

WEFT_SIM_API cuMemFreeAsync(Address address, Stream* streamHandle) {
  return enter("cuMemFreeAsync", Needs::context, [&](Simulator& simulator, Context* context) {
    Stream* stream = simulator.stream(streamHandle);
    if (stream == nullptr) return kInvalidHandle;
    const Block* block = context->memory->find(address);
    const auto owner = context->poolOf.find(address);
    if (block == nullptr || owner == context->poolOf.end()) {
      simulator.misuse(simulator.callName + " of what is not allocated, or was freed before: " +
                       context->memory->describe(address));
      return kInvalidValue;
    }
    Pool* pool = owner->second;
    context->poolOf.erase(owner);
    pool->live -= block->byteLength;
    context->inUse -= block->byteLength;
    Operation freed = operation(simulator, "memory");
    freed.body = [&simulator, context, address, byteLength = block->byteLength](Accesses& accesses) {
      accesses.writes.push_back({address, address + byteLength});
      const std::string problem = context->memory->release(address);
      if (!problem.empty()) simulator.report.add("guard", problem);
      return kSuccess;
    };
    const size_t byteLength = block->byteLength;
    pool->pending.push_back({byteLength, simulator.scheduler.issue(*stream, std::move(freed))});
    return kSuccess;
  });
}

WEFT_SIM_API cuMemHostAlloc(void** out, size_t byteLength, unsigned) {
  return enter("cuMemHostAlloc", Needs::context, [&](Simulator& simulator, Context*) {
    auto* memory = static_cast<unsigned char*>(
        std::aligned_alloc(4096, (byteLength + kPinnedGuard + 4095) / 4096 * 4096));
    if (memory == nullptr) return kOutOfMemory;
    std::memset(memory, kPoison, byteLength);
    std::memset(memory + byteLength, kGuardByte, kPinnedGuard);
    simulator.pinned[reinterpret_cast<uintptr_t>(memory)] = {byteLength, 0};
    return *out = memory, kSuccess;
  });
}

WEFT_SIM_API cuMemFreeHost(void* memory) {
  return enter("cuMemFreeHost", Needs::driver, [&](Simulator& simulator, Context*) {
    const auto found = simulator.pinned.find(reinterpret_cast<uintptr_t>(memory));
    if (found == simulator.pinned.end()) {
      simulator.misuse(simulator.callName + " of what is not pinned memory, or was freed before");
      return kInvalidValue;
    }
    const Pinned block = found->second;
    if (block.isRegistered) {
      simulator.misuse(simulator.callName + " of memory that was registered");
      return kInvalidValue;
    }
    if (block.pending > 0) simulator.misuse(simulator.callName + " of memory that a queued copy uses");
    const auto* guard = static_cast<unsigned char*>(memory) + block.byteLength;
    for (size_t i = 0; i < kPinnedGuard; i++) {
      if (guard[i] == kGuardByte) continue;
      simulator.report.add("guard", "pinned memory was written beyond its end");
      break;
    }
    simulator.pinned.erase(found);
    // Memory that a queued copy still uses stays, so that the report comes instead of a crash.
    if (block.pending == 0) std::free(memory);
    return kSuccess;
  });
}

WEFT_SIM_API cuMemHostRegister_v2(void* memory, size_t byteLength, unsigned) {
  return enter("cuMemHostRegister_v2", Needs::context, [&](Simulator& simulator, Context*) {
    const auto start = reinterpret_cast<uintptr_t>(memory);
    const auto after = simulator.pinned.lower_bound(start);
    const bool isOver = after != simulator.pinned.end() && after->first < start + byteLength;
    if (isOver || simulator.pinnedAt(memory, 1) != nullptr) return kAlreadyRegistered;
    simulator.pinned[start] = {byteLength, 0, true};
    return kSuccess;
  });
}

WEFT_SIM_API cuMemHostUnregister(void* memory) {
  return enter("cuMemHostUnregister", Needs::context, [&](Simulator& simulator, Context*) {
    const auto found = simulator.pinned.find(reinterpret_cast<uintptr_t>(memory));
    if (found == simulator.pinned.end() || !found->second.isRegistered) {
      simulator.misuse(simulator.callName + " of what is not registered");
      return kInvalidValue;
    }
    if (found->second.pending > 0)
      simulator.misuse(simulator.callName + " of memory that a queued copy uses");
    simulator.pinned.erase(found);
    return kSuccess;
  });
}

// Of memory that is not the driver's, attributes are 0.
WEFT_SIM_API cuPointerGetAttributes(unsigned count, int* attributes, void** values, Address address) {
  return enter("cuPointerGetAttributes", Needs::context, [&](Simulator& simulator, Context* context) {
    constexpr int kMemoryType = 2;
    if (count != 1 || attributes[0] != kMemoryType) return kInvalidValue;
    unsigned type = 0;
    if (simulator.pinnedAt(reinterpret_cast<void*>(address), 1) != nullptr) {
      type = 1;
    } else if (context->memory->contains(address)) {
      type = 2;
    }
    return std::memcpy(values[0], &type, sizeof type), kSuccess;
  });
}

WEFT_SIM_API cuMemcpyHtoDAsync_v2(Address to, const void* from, size_t byteLength, Stream* handle) {
  return enter("cuMemcpyHtoDAsync_v2", Needs::context, [&](Simulator& simulator, Context* context) {
    Stream* stream = simulator.stream(handle);
    if (stream == nullptr) return kInvalidHandle;
    return queueUpload(simulator, context, *stream, to, from, byteLength);
  });
}

WEFT_SIM_API cuMemcpyDtoHAsync_v2(void* to, Address from, size_t byteLength, Stream* handle) {
  return enter("cuMemcpyDtoHAsync_v2", Needs::context, [&](Simulator& simulator, Context* context) {
    Stream* stream = simulator.stream(handle);
    if (stream == nullptr) return kInvalidHandle;
    return queueDownload(simulator, context, *stream, to, from, byteLength);
  });
}

WEFT_SIM_API cuMemsetD8Async(Address to, unsigned char value, size_t byteLength, Stream* handle) {
  return enter("cuMemsetD8Async", Needs::context, [&](Simulator& simulator, Context* context) {
    Stream* stream = simulator.stream(handle);
    if (stream == nullptr) return kInvalidHandle;
    return queueSet(simulator, *context, *stream, {to, byteLength, value, byteLength, 1});
  });
}

WEFT_SIM_API cuMemsetD2D8Async(Address to, size_t pitch, unsigned char value, size_t width, size_t height,
                               Stream* handle) {
  return enter("cuMemsetD2D8Async", Needs::context, [&](Simulator& simulator, Context* context) {
    Stream* stream = simulator.stream(handle);
    if (stream == nullptr) return kInvalidHandle;
    if (pitch < width) return kInvalidValue;
    return queueSet(simulator, *context, *stream, {to, pitch, value, width, height});
  });
}
