// The simulated driver: copies between devices, and which of them reach each other.
#include <algorithm>
#include <cstring>

#include "driver/enter.h"

using namespace weft::sim;

namespace {

// CUmemAccessDesc.
struct PoolAccess {
  int locationType, locationId, flags;
};

constexpr int kPeerAccessUnsupported = 217, kPeerAccessAlreadyEnabled = 704;

bool reaches(const Context& from, const Context& to) {
  const auto& unreachable = from.config.unreachable;
  return from.ordinal != to.ordinal &&
         std::find(unreachable.begin(), unreachable.end(), to.ordinal) == unreachable.end();
}

// Whether a device may use the block that an address of another is in.
bool letsIn(const Context& owner, Address address, const Context& guest) {
  auto found = owner.poolOf.upper_bound(address);
  if (found == owner.poolOf.begin()) return false;
  return std::prev(found)->second->guests.count(guest.ordinal) > 0;
}

bool isLive(const Simulator& simulator, const Context* context) {
  return std::any_of(simulator.contexts.begin(), simulator.contexts.end(),
                     [&](const auto& owned) { return owned.get() == context && context->retained > 0; });
}

}  // namespace

WEFT_SIM_API cuDeviceCanAccessPeer(int* can, int device, int peer) {
  return enter("cuDeviceCanAccessPeer", Needs::driver, [&](Simulator& simulator, Context*) {
    const int count = static_cast<int>(simulator.contexts.size());
    if (device < 0 || device >= count || peer < 0 || peer >= count) return kInvalidDevice;
    return *can = reaches(*simulator.contexts[device], *simulator.contexts[peer]), kSuccess;
  });
}

WEFT_SIM_API cuCtxEnablePeerAccess(Context* peer, unsigned flags) {
  return enter("cuCtxEnablePeerAccess", Needs::context, [&](Simulator& simulator, Context* context) {
    if (flags != 0) return kInvalidValue;
    if (!isLive(simulator, peer)) {
      simulator.misuse(simulator.callName + " of a context that was released");
      return kInvalidContext;
    }
    if (!reaches(*context, *peer)) return kPeerAccessUnsupported;
    if (!context->peers.insert(peer->ordinal).second) return kPeerAccessAlreadyEnabled;
    return kSuccess;
  });
}

// Lets other devices use a pool's memory.
WEFT_SIM_API cuMemPoolSetAccess(Pool* handle, const PoolAccess* accesses, size_t count) {
  return enter("cuMemPoolSetAccess", Needs::driver, [&](Simulator& simulator, Context*) {
    constexpr int kDeviceLocation = 1, kReadWrite = 3;
    Pool* pool = simulator.object(simulator.pools, handle, "pool");
    if (pool == nullptr) return kInvalidValue;
    for (size_t i = 0; i < count; i++) {
      const PoolAccess& access = accesses[i];
      const bool isDevice = access.locationType == kDeviceLocation && access.locationId >= 0 &&
                            access.locationId < static_cast<int>(simulator.contexts.size());
      if (!isDevice || access.flags != kReadWrite) return kInvalidValue;
      const Context& peer = *simulator.contexts[access.locationId];
      if (&peer != pool->context && !reaches(peer, *pool->context)) return kInvalidDevice;
      pool->guests.insert(peer.ordinal);
    }
    return kSuccess;
  });
}

// Works between any two devices: through the host where they do not reach each other. Where they do, the
// engine of either may copy, and faults if only one of them may use the other's memory.
WEFT_SIM_API cuMemcpyPeerAsync(Address to, Context* toContext, Address from, Context* fromContext,
                               size_t byteLength, Stream* handle) {
  return enter("cuMemcpyPeerAsync", Needs::context, [&](Simulator& simulator, Context*) {
    Stream* stream = simulator.stream(handle);
    if (stream == nullptr) return kInvalidHandle;
    if (!isLive(simulator, toContext) || !isLive(simulator, fromContext)) {
      simulator.misuse(simulator.callName + " of a context that was released");
      return kInvalidContext;
    }
    if (toContext->error != 0) return toContext->error;
    if (fromContext->error != 0) return fromContext->error;
    const bool areNear = reaches(*fromContext, *toContext) && reaches(*toContext, *fromContext);
    if (areNear && letsIn(*fromContext, from, *toContext) != letsIn(*toContext, to, *fromContext)) {
      simulator.misuse(simulator.callName +
                       " between two devices of which one may not use the other's memory");
      return kInvalidValue;
    }
    Operation copy;
    copy.kind = "copy";
    copy.what = simulator.callName;
    copy.body = [=, &simulator, what = copy.what](Accesses& accesses) {
      if (!simulator.read(*fromContext, from, byteLength, accesses, what) ||
          !simulator.write(*toContext, to, byteLength, accesses, what))
        return kIllegalAddress;
      std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), byteLength);
      return kSuccess;
    };
    simulator.scheduler.issue(*stream, std::move(copy));
    return kSuccess;
  });
}
