// SharedMemory: who touched which byte of a block's shared memory since the last barrier.
//
// A byte that a thread writes and another reads or writes with no barrier between is a hazard, whatever
// values came out; so is a byte that is read before any thread of the block wrote it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace weft::sim {

class SharedMemory {
 public:
  // Names the bytes: a module's static variables, or a launch's dynamic memory.
  void place(char* begin, size_t byteLength);
  // Poisons them for a block that starts.
  void startBlock();
  // All threads met.
  void barrier() { epoch_++; }

  char* begin() const { return reinterpret_cast<char*>(begin_); }
  bool contains(uintptr_t address) const { return address - begin_ < byteLength_; }
  // Why this access is a hazard; null: it is none. Other bytes than the memory's are the caller's mistake.
  const char* access(uintptr_t address, size_t byteLength, unsigned thread, bool write);

 private:
  struct Use {
    uint32_t epoch = 0;
    uint32_t thread = 0;
  };
  struct Byte {
    Use write, firstRead, otherRead;
  };
  const char* touch(Byte& byte, Use use, bool write) const;

  uintptr_t begin_ = 0;
  size_t byteLength_ = 0;
  std::vector<Byte> bytes_;
  // Grows over blocks and launches, so that nothing has to be cleared.
  uint32_t epoch_ = 0;
  uint32_t blockEpoch_ = 0;
};

}  // namespace weft::sim
