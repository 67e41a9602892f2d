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
  struct Copy {
    const MemoryPiece& piece;
    size_t first, last;
  };
  std::vector<Copy> parts;
  const size_t end = range.first + range.byteLength;
  for (size_t at = range.first; at < end; at = parts.back().last) {
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
    parts.push_back({*best, at, std::min(end, best->last())});
  }
  // From its own part on, so that devices which gather at a time do not all copy from the same one.
  const auto own = std::find_if(parts.begin(), parts.end(),
                                [&](const Copy& part) { return &part.piece.memory->device == &device; });
  const auto begin = static_cast<size_t>(own == parts.end() ? 0 : own - parts.begin());
  for (size_t k = 0; k < parts.size(); k++) {
    const auto& [piece, first, last] = parts[(begin + k) % parts.size()];
    queuePeerCopy(device, to + (first - range.first), *piece.memory,
                  piece.memory->address + (first - piece.first), last - first, stream, cancel);
  }
}

}  // namespace weft::cuda
