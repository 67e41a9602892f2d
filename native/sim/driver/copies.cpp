// The simulated driver: copies on a device, and of rectangles to, from and on it.
#include <algorithm>
#include <cstring>

#include "driver/enter.h"

using namespace weft::sim;

namespace {

enum MemoryType : int { kHost = 1, kDevice = 2 };

// CUDA_MEMCPY2D.
struct Side {
  size_t x, y;
  int type;
  const void* host;
  Address device;
  void* array;
  size_t pitch;
};
struct Rectangle {
  Side from, to;
  size_t width, height;
};

// Where a side's rows begin, or 0 for a memory that is not simulated.
Address startOf(const Side& side) {
  const Address base = side.type == kHost     ? reinterpret_cast<Address>(side.host)
                       : side.type == kDevice ? side.device
                                              : 0;
  return base == 0 ? 0 : base + side.y * side.pitch + side.x;
}

// Bytes from the first of the first row to the last of the last.
size_t extentOf(const Rectangle& rectangle, size_t pitch) {
  return (rectangle.height - 1) * pitch + rectangle.width;
}

// Notes a row's use; false, with a report, where it may not be.
bool touch(Simulator& simulator, Context& context, const Side& side, bool write, Address row, size_t width,
           Accesses& accesses, const std::string& what) {
  if (side.type == kDevice)
    return write ? simulator.write(context, row, width, accesses, what)
                 : simulator.read(context, row, width, accesses, what);
  (write ? accesses.writes : accesses.reads).push_back({row, row + width});
  return true;
}

}  // namespace

WEFT_SIM_API cuMemcpyDtoDAsync_v2(Address to, Address from, size_t byteLength, Stream* handle) {
  return enter("cuMemcpyDtoDAsync_v2", Needs::context, [&](Simulator& simulator, Context* context) {
    Stream* stream = simulator.stream(handle);
    if (stream == nullptr) return kInvalidHandle;
    const LibraryWork work{[=, &simulator](Context& where, Accesses& accesses, const std::string& what) {
      if (!simulator.read(where, from, byteLength, accesses, what) ||
          !simulator.write(where, to, byteLength, accesses, what))
        return kIllegalAddress;
      std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), byteLength);
      return kSuccess;
    }};
    // A copy that is captured runs each time that its graph does.
    if (simulator.capture(*stream, work)) return kSuccess;
    Operation copy;
    copy.kind = "copy";
    copy.what = simulator.callName;
    copy.body = [=, body = work.body, what = copy.what](Accesses& accesses) {
      return body(*context, accesses, what);
    };
    simulator.scheduler.issue(*stream, std::move(copy));
    return kSuccess;
  });
}

WEFT_SIM_API cuMemcpy2DAsync_v2(const Rectangle* given, Stream* handle) {
  return enter("cuMemcpy2DAsync_v2", Needs::context, [&](Simulator& simulator, Context* context) {
    Stream* stream = simulator.stream(handle);
    if (stream == nullptr) return kInvalidHandle;
    const Rectangle copied = *given;
    const Address from = startOf(copied.from);
    const Address to = startOf(copied.to);
    const bool several = copied.height > 1;
    if (from == 0 || to == 0 || (several && std::min(copied.from.pitch, copied.to.pitch) < copied.width))
      return kInvalidValue;
    if (copied.width == 0 || copied.height == 0) return kSuccess;
    // Pinned memory is used when the copy runs; other host memory only within the call.
    std::vector<Pinned*> pinned;
    bool late = true;
    for (const Side* side : {&copied.from, &copied.to}) {
      if (side->type != kHost) continue;
      Pinned* block =
          simulator.pinnedAt(reinterpret_cast<const void*>(startOf(*side)), extentOf(copied, side->pitch));
      if (block == nullptr) late = false;
      if (block != nullptr) pinned.push_back(block);
    }
    for (Pinned* block : pinned) block->pending++;
    Operation copy;
    copy.kind = "copy";
    copy.what = simulator.callName;
    copy.body = [=, &simulator, what = copy.what](Accesses& accesses) {
      for (Pinned* block : pinned) block->pending--;
      for (size_t row = 0; row < copied.height; row++) {
        const Address source = from + row * copied.from.pitch;
        const Address target = to + row * copied.to.pitch;
        if (!touch(simulator, *context, copied.from, false, source, copied.width, accesses, what) ||
            !touch(simulator, *context, copied.to, true, target, copied.width, accesses, what))
          return kIllegalAddress;
        std::memmove(reinterpret_cast<void*>(target), reinterpret_cast<const void*>(source), copied.width);
      }
      return kSuccess;
    };
    const auto issued = simulator.scheduler.issue(*stream, std::move(copy));
    if (late) return kSuccess;
    simulator.scheduler.wait(issued);
    return context->error;
  });
}
