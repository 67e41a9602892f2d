// Fiber: a stack of its own that is switched to and from: one for each thread of a simulated block.
#pragma once
#include <cstddef>

namespace weft::sim {

// Where a fiber that does not run goes on.
using FiberContext = void*;

// Prepares a fiber on a stack: switched to, it calls `entry`, which must not return.
FiberContext prepareFiber(char* stack, size_t byteLength, void (*entry)());
// Goes on at `to`; what runs now goes on when someone switches to `from`.
#ifdef __x86_64__
extern "C" void weft_sim_switch(FiberContext* from, FiberContext to);
inline void switchFiber(FiberContext& from, FiberContext to) { weft_sim_switch(&from, to); }
#else
void switchFiber(FiberContext& from, FiberContext to);
#endif

}  // namespace weft::sim
