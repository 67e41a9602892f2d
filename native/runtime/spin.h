// How long the runtime's threads look for something before they sleep.
#pragma once
#include <chrono>

#include "cpu/spin.h"

namespace weft {

// How long a thread may spin: nothing where it would keep the only processor from the thread it waits for.
std::chrono::nanoseconds spinLimit(std::chrono::nanoseconds wanted);

}  // namespace weft
