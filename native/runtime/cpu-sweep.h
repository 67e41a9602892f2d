// Runs a sweep on the CPU: tile by tile, each on the thread pool. Buffers in host memory are worked on where
// they lie; windows of others go through slots of the arena, read ahead of the tiles by a second thread.
#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include "runtime/cpu-steps.h"
#include "runtime/device.h"
#include "runtime/host-sink.h"
#include "runtime/host-source.h"

namespace weft {

using Sinks = std::vector<std::shared_ptr<HostSink>>;

// Where a buffer lies that is not in memory: what it is read from, and written to. Null where there is none.
struct Outside {
  HostSource* source = nullptr;
  const Sinks* sinks = nullptr;
};

// `steps.views` has the whole buffers, as far as they are in memory, `outside` where the others lie; the
// views of the sweep's buffers are moved. `arena` is where slots lie. Throws the failure of an aborted run
// between tiles.
void runSweep(const Sweep& sweep, CpuSteps& steps, const std::vector<Outside>& outside, std::byte* arena,
              Run& run);

// Copies all of a buffer to `offset` bytes of another, where one of them is not in memory.
void copyOutside(const HostView& from, const Outside& source, const HostView& to, const Outside& target,
                 size_t offset);

}  // namespace weft
