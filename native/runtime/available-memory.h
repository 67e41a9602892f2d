// How much host memory there is: what the process may use in all, and what the system could give now.
#pragma once
#include <cstddef>

namespace weft::host {

// The memory that this process may use: the machine's, or the limit of its container.
size_t usableMemory();

// Bytes that the system could give now without ending a process for them: free memory, caches that it can
// drop, and swap, within the limit of the container. SIZE_MAX where the system does not say. Asks the system:
// tens of microseconds.
size_t availableMemory();
// Whether it could give so much, with what a virtual machine may still take up.
bool isAvailable(size_t byteLength);

}  // namespace weft::host
