// Calls of libraries that do not wait for others, of threads that must not (math-library.cpp).
#pragma once
#include <mutex>

namespace weft::cpu {

// While it is held, calls of one thread each wait for none (LibraryThreads): those of several threads wait.
// Not held: such a call is under way.
std::unique_lock<std::mutex> tryLibraryPermit();

}  // namespace weft::cpu
