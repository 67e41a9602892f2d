// GuardBlocks: where memory is poisoned (WEFT_POISON), the memory of one run: a block of its own for every
// buffer and every slot of a sweep, instead of places in one block. An access beyond a buffer then reaches
// beyond a block of the driver's, which tools and the simulated CUDA report.
//
// A temporary has its block from the first step that uses it to the last, so that a run takes no more than it
// is planned for. On the executor's thread.
#pragma once
#include <memory>
#include <vector>

#include "cuda/pool.h"
#include "runtime/program.h"
#include "runtime/sweep.h"

namespace weft::cuda {

class GuardBlocks {
 public:
  // `addresses` are those of the program's buffers, and outlive it. `mayWait`: see DevicePool::allocate.
  GuardBlocks(DevicePool& pool, const Program& program, std::vector<CUdeviceptr>& addresses, bool mayWait);

  // Gives a buffer its block, until the run is queued.
  void take(int buffer);
  // Around the queuing of a step: temporaries come and go.
  void begin(size_t step);
  void end(size_t step);
  // The slots of a sweep's buffer, until they are dropped or the step ends.
  std::vector<CUdeviceptr> takeSlots(const SweepBuffer& buffer);
  void dropSlots() { slots_.clear(); }

 private:
  DevicePool& pool_;
  const Program& program_;
  std::vector<CUdeviceptr>& addresses_;
  const bool mayWait_;
  // By buffer.
  std::vector<std::unique_ptr<ScopedBlock>> blocks_;
  std::vector<std::unique_ptr<ScopedBlock>> slots_;
  // The temporaries that a step is the first or the last to use.
  std::vector<std::vector<int>> firstUsed_, lastUsed_;
};

}  // namespace weft::cuda
