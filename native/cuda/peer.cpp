#include "cuda/peer.h"

#include <algorithm>
#include <string>

#include "cuda/device.h"
#include "runtime/failure.h"

namespace weft::cuda {

void queuePeerCopy(CudaDevice& device, CUdeviceptr to, const Memory& source, CUdeviceptr from,
                   size_t byteLength, CUstream stream) {
  if (byteLength == 0) return;
  auto& owner = dynamic_cast<CudaDevice&>(source.device);
  if (&owner == &device) {
    WEFT_CU(cuMemcpyDtoDAsync, to, from, byteLength, stream);
    return;
  }
  owner.letIn(device);
  WEFT_CU(cuMemcpyPeerAsync, to, device.context(), from, owner.context(), byteLength, stream);
}

void queueGather(CudaDevice& device, CUdeviceptr to, const std::vector<MemoryPiece>& pieces, size_t first,
                 size_t byteLength, CUstream stream) {
  const size_t end = first + byteLength;
  size_t at = first;
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
    queuePeerCopy(device, to + (at - first), *best->memory, best->memory->address + (at - best->first),
                  stop - at, stream);
    at = stop;
  }
}

}  // namespace weft::cuda
