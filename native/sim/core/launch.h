// Launch: runs a kernel's grid, one block after the other, a block's threads as fibers.
//
// Barriers and shuffles hold threads as on a GPU; one that not every thread reaches is an error. The order of
// blocks, and of threads between barriers, is drawn from the seed: nothing may depend on it. Kernels run on
// one host thread at a time, under the simulator's lock. hooks.cpp has what kernels call.
#pragma once
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "core/memory.h"

namespace weft::sim {

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t{x} * y * z; }
};

// The call of a compiled kernel with pointers to its arguments.
using KernelEntry = void (*)(void** arguments);

struct LaunchSpec {
  std::string name;
  KernelEntry entry;
  Dim3 grid, block;
  // The module's static shared memory.
  char* staticShared;
  size_t staticSharedBytes;
  size_t dynamicSharedBytes;
};

struct LaunchOutcome {
  // A driver status, and what happened where it is not success.
  int status = 0;
  std::string problem;
  // Mistakes that do not stop a GPU: reads of undefined memory, hazards in shared memory.
  std::vector<std::string> mistakes;
};

// Runs it on a device's memory, whose bit maps then say what was read and written.
LaunchOutcome runLaunch(const LaunchSpec& spec, void** arguments, DeviceMemory& memory,
                        std::mt19937_64& random);

}  // namespace weft::sim
