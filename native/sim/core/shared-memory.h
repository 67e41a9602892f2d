// SharedMemory: a block's shared memory: poisoned before each block, and each byte's uses watched (uses.h).
//
// A byte that is read before any thread of the block wrote it is a mistake too.
#pragma once
#include <cstdint>
#include <vector>

#include "core/uses.h"

namespace weft::sim {

class SharedMemory {
 public:
  // Names the bytes: a module's static variables, or a launch's dynamic memory.
  void place(char* begin, size_t byteLength);
  // Poisons them for a block that starts.
  void poison();

  char* begin() const { return reinterpret_cast<char*>(begin_); }
  bool contains(uintptr_t address) const { return address - begin_ < byteLength_; }
  // Why this access, which begins inside, is a mistake; null: it is none.
  const char* access(uintptr_t address, size_t byteLength, bool write, uint32_t thread, const Epochs& epochs);

 private:
  uintptr_t begin_ = 0;
  size_t byteLength_ = 0;
  std::vector<Uses> bytes_;
};

}  // namespace weft::sim
