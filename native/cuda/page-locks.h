// Page locks: host memory that results were put into more than once is locked, so that a device copies the
// next result straight to where it is read, and no processor copies it there.
//
// The pool of host memory (runtime/host-pool.*) hands such blocks out again and again. To lock one takes the
// driver as long as several results save (25 ms for a GiB, in which it copies next to nothing, where staging
// costs 5; several threads or pieces are no faster), so that is done once, in the background, for blocks that
// came back; it is undone before the system gets the block back. Whether memory is locked is the driver's to
// say: transfer.* asks it. Called by device.cpp.
#pragma once
#include <memory>

#include "runtime/device.h"

namespace weft::cuda {

class CudaDevice;

// Smaller results are not worth the bookkeeping.
inline constexpr size_t kLeastLockedByteLength = size_t{32} << 20;
// Memory that was used a second time is likely to be used often enough for locking to pay.
inline constexpr unsigned kUsesBeforeLock = 2;

// Begins to lock the block of a result, if it is one that is used again, is large, and there is room for it:
// no more than `most` bytes are locked with it, and at most a quarter of the memory that the process may use.
// Counted in the device's pinned memory. Where the driver locks no more, everything goes on without. Any
// thread.
void lockPagesSoon(const std::shared_ptr<Memory>& result, CudaDevice& device, size_t most);

}  // namespace weft::cuda
