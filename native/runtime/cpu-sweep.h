// Runs a sweep on the CPU: tile by tile, each on the thread pool. Buffers in host memory are worked on where
// they lie; windows of others go through slots of the arena, read ahead of the tiles by a second thread.
#pragma once
#include <cstddef>

#include "runtime/cpu-steps.h"
#include "runtime/device.h"

namespace weft {

// `steps.views` has the whole buffers, as far as they are in memory; the views of the sweep's buffers are
// moved. `arena` is where slots lie. Throws the failure of an aborted run between tiles.
void runSweep(const Sweep& sweep, CpuSteps& steps, std::byte* arena, Run& run);

}  // namespace weft
