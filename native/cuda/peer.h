// Peer: copies between devices. Where a device reaches the other's memory they go directly (NVLink, PCIe),
// else the driver takes them through host memory. Which of the two devices' engines copies is the driver's
// choice, so that each lets the other in: with four H200s, copies faulted where only the source did.
#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include "cuda/driver.h"
#include "runtime/device.h"
#include "runtime/failure.h"

namespace weft::cuda {

class CudaDevice;

// The device that a run was to copy from is lost; the run's own is well.
struct PeerLost : Failure {
  using Failure::Failure;
};

// Queues the copy of `byteLength` bytes at `from`, which lie in the memory of a device, to `to` in memory of
// `device`, on a stream of `device`. On a thread that has the device's context, which waits until another
// device has written the bytes; on the same one, that is earlier in the stream. The source stays until the
// copy ended. Throws PeerLost, too.
void queuePeerCopy(CudaDevice& device, CUdeviceptr to, const Memory& source, CUdeviceptr from,
                   size_t byteLength, CUstream stream, const CancelFlag& cancel);

struct ByteRange {
  size_t first, byteLength;
};

// Queues the copy of some bytes of a buffer that lies in pieces. Throws an internal Failure where no piece
// has some of them.
void queueGather(CudaDevice& device, CUdeviceptr to, const std::vector<MemoryPiece>& pieces, ByteRange range,
                 CUstream stream, const CancelFlag& cancel);

}  // namespace weft::cuda
