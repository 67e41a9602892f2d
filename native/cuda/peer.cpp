#include "cuda/peer.h"

#include <algorithm>
#include <string>

#include "cuda/device-memory.h"
#include "cuda/device.h"
#include "cuda/stream-span.h"

namespace weft::cuda {
namespace {

// Throws for a device that is lost, as another's loss.
void checkPeer(const CudaDevice& owner) {
  try {
    owner.checkNotLost();
  } catch (const Failure& failure) {
    throw PeerLost(failure.code, failure.what(), failure.status, failure.call);
  }
}

// Waits for work of another device. Its failure is the other's loss.
void awaitPeer(CudaDevice& owner, const Memory& memory, const CancelFlag& cancel) {
  const auto* const own = dynamic_cast<const DeviceMemory*>(&memory);
  if (own == nullptr) return;
  try {
    own->await(cancel);
  } catch (const Failure& failure) {
    if (failure.code != FailureCode::lost) throw;
    owner.lose(failure.status);
  }
}

}  // namespace

void queuePeerCopy(CudaDevice& device, CUdeviceptr to, const Memory& source, CUdeviceptr from,
                   size_t byteLength, CUstream stream, const CancelFlag& cancel) {
  if (byteLength == 0) return;
  auto& owner = dynamic_cast<CudaDevice&>(source.device);
  if (&owner == &device) {
    const StreamSpan span(stream, recorder::Kind::copyWithin, byteLength);
    WEFT_CU(cuMemcpyDtoDAsync, to, from, byteLength, stream);
    return;
  }
  awaitPeer(owner, source, cancel);
  checkPeer(owner);
  owner.letIn(device);
  device.letIn(owner);
  const StreamSpan span(
      stream, recorder::Kind::copyPeer, [&] { return "from " + owner.name(); }, byteLength);
  const CUresult status =
      driver().cuMemcpyPeerAsync(to, device.context(), from, owner.context(), byteLength, stream);
  // Of the two devices one is lost: this one, if its own work fails as well.
  if (isFatal(status) && driver().cuStreamSynchronize(stream) == kSuccess) {
    owner.lose(statusName(status));
    checkPeer(owner);
  }
  check(status, "cuMemcpyPeerAsync");
}

void queueGather(CudaDevice& device, CUdeviceptr to, const std::vector<MemoryPiece>& pieces, ByteRange range,
                 CUstream stream, const CancelFlag& cancel) {
  const size_t end = range.first + range.byteLength;
  size_t at = range.first;
  while (at < end) {
    // Of the pieces that have the next byte, the one on this device, else the one that reaches furthest.
    const MemoryPiece* best = nullptr;
    for (const MemoryPiece& piece : pieces) {
      if (piece.first > at || piece.last() <= at) continue;
      const bool isHere = &piece.memory->device == &device;
      const bool bestIsHere = best != nullptr && &best->memory->device == &device;
      if (best == nullptr || isHere > bestIsHere || (isHere == bestIsHere && piece.last() > best->last()))
        best = &piece;
    }
    if (best == nullptr) {
      throw Failure(FailureCode::internal, "byte " + std::to_string(at) + " of a buffer lies on no device");
    }
    const size_t stop = std::min(end, best->last());
    queuePeerCopy(device, to + (at - range.first), *best->memory, best->memory->address + (at - best->first),
                  stop - at, stream, cancel);
    at = stop;
  }
}

}  // namespace weft::cuda
