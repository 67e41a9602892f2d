// Running: the launch under way, for launch.cpp, which drives it, and hooks.cpp, which its kernel calls.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/fiber.h"
#include "core/launch-uses.h"
#include "core/launch.h"
#include "core/memory.h"
#include "core/shared-memory.h"
#include "core/status.h"

namespace weft::sim {

inline constexpr unsigned kWarp = 32;

// The state of a thread: running, waiting for its warp or block, asleep until the others have gone on, or
// done.
enum class Wait { none, warp, block, asleep, done };

struct Thread {
  FiberContext place = nullptr;
  char* stack = nullptr;
  Wait wait = Wait::none;
  // A value for the lanes of its warp that the mask names, which it waits for.
  uint64_t given = 0;
  unsigned mask = 0;
  // The lanes that were there when the warp went on, those that gave something but 0, and what this one gave
  // them.
  unsigned present = 0;
  unsigned nonzero = 0;
  uint64_t exchanged = 0;
};

struct Running {
  KernelEntry entry;
  void** arguments;
  Dim3 gridDim, blockDim, blockIndex, threadIndex;
  unsigned threadCount = 0;
  unsigned current = 0;
  FiberContext scheduler = nullptr;
  std::vector<Thread> threads;
  // Of each thread of a block.
  std::vector<Dim3> threadIndices;
  // Passes over the threads in a row in which all that ran slept.
  unsigned sleeps = 0;
  // Barriers of its warp that each thread has passed.
  std::vector<uint32_t> warpBarriers;

  DeviceMemory* memory = nullptr;
  // The memory's, at hand for each access.
  Address base = 0;
  size_t span = 0;
  Byte* shadow = nullptr;
  uint64_t* readBits = nullptr;
  uint64_t* writeBits = nullptr;
  uint8_t* pageFlags = nullptr;
  uintptr_t stacks = 0;
  size_t stackBytes = 0;
  SharedMemory staticShared, dynamicShared;
  LaunchUses uses;
  Epochs epochs;
  // Number of the block's first thread in the grid.
  uint32_t firstThread = 0;
  std::vector<char> dynamicBytes;

  int status = 0;
  std::string problem;
  // With the address in the kernel that each was found at.
  struct Mistake {
    std::string text;
    const void* at;
  };
  std::vector<Mistake> mistakes;
  // Where the access that is looked at returns to in the kernel.
  const void* place = nullptr;
  const void* problemPlace = nullptr;

  // On a fiber: goes back to the scheduler, and on when what it waits for has come.
  void wait(Wait reason);
  // On a fiber: gives a value to the lanes of a mask, and waits for theirs.
  void exchange(unsigned mask, uint64_t value);
  // On a fiber: ends the launch.
  void stop(int stopStatus, std::string what);
  void mistake(const std::string& what);
  uint32_t thread() const { return firstThread + current; }
  // " (block 1,0,0, thread 3,0,0)".
  std::string where() const;
};

// Hidden: found without a table of the library's.
[[gnu::visibility("hidden")]] extern Running running;

// Inline, as returns are what a processor does not foresee on another stack.
inline void Running::wait(Wait reason) {
  Thread& thread = threads[current];
  thread.wait = reason;
  switchFiber(thread.place, scheduler);
}

inline void Running::exchange(unsigned mask, uint64_t value) {
  Thread& thread = threads[current];
  if ((mask >> (current % kWarp) & 1) == 0)
    stop(kLaunchFailed, "a warp function whose mask leaves out the lane that calls it");
  thread.given = value;
  thread.mask = mask;
  wait(Wait::warp);
}

}  // namespace weft::sim
