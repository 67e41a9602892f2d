#include "runtime/spin.h"

#include "cpu/threads.h"

namespace weft {

std::chrono::nanoseconds spinLimit(std::chrono::nanoseconds wanted) {
  static const bool alone = cpu::availableThreads() < 2;
  return alone ? std::chrono::nanoseconds(0) : wanted;
}

}  // namespace weft
