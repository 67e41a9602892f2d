// The time of a kernel on the CPU, for what its cost model follows from and for what `explain` says beside
// it.
#pragma once
#include <napi.h>

namespace weft {

// timeTape(tape, milliseconds, isAlone?): Promise<number>, seconds
//
// The least time of a kernel of several runs on memory of its own: inputs of 0.75, of 0 where they are no
// floating-point numbers. It is run three times, and again while that takes no longer than the milliseconds
// in all; once if it takes a second. `isAlone`: by one thread. With one it is time of its processor, which
// other work on the machine does not lengthen. Runs on the CPU's executor, between computes.
Napi::Value timeTape(const Napi::CallbackInfo& info);

}  // namespace weft
