// SharedMemory: a block's shared memory: poisoned before each block, and each byte's uses watched.
//
// A byte that one thread writes and another reads or writes is a hazard unless a barrier lies between: of the
// block (an epoch, see uses.h), or of their warp; atomic accesses are none to one another. A byte that is
// read before any thread of the block wrote it is a mistake too.
#pragma once
#include <cstdint>
#include <vector>

#include "core/uses.h"

namespace weft::sim {

// A thread of the block now, and the barriers of its warp that it has passed.
struct SharedUser {
  uint32_t thread = 0;
  uint32_t warpBarriers = 0;
};

class SharedMemory {
 public:
  // Names the bytes: a module's static variables, or a launch's dynamic memory.
  void place(char* begin, size_t byteLength);
  // Poisons them for a block that starts.
  void poison();

  char* begin() const { return reinterpret_cast<char*>(begin_); }
  bool contains(uintptr_t address) const { return address - begin_ < byteLength_; }
  // Why this access, which begins inside, is a mistake; null: it is none.
  const char* access(uintptr_t address, size_t byteLength, AccessKind kind, SharedUser user,
                     const Epochs& epochs);

 private:
  struct Access {
    uint32_t epoch = 0;
    SharedUser user;
  };
  // Two accesses since the last write that are no hazard to one another: where warps differ, of two of them,
  // so that every access that collides with some of them collides with one of these.
  struct Pair {
    Access one, other;
  };
  struct Accesses {
    Access write;
    Pair reads, atomics;
  };
  static bool collides(const Access& earlier, const Access& now, const Epochs& epochs);
  static bool collides(const Pair& earlier, const Access& now, const Epochs& epochs);
  static void keep(Pair& pair, const Access& now, const Epochs& epochs);
  static Hazard note(Accesses& place, const Access& now, AccessKind kind, const Epochs& epochs);
  // Follows the bytes of a word one by one until the next block.
  void split(size_t word);

  static constexpr size_t kWord = 4;
  uintptr_t begin_ = 0;
  size_t byteLength_ = 0;
  // Of words whose bytes were touched together only, one entry; of those that were split, one for each byte.
  std::vector<Accesses> words_, bytes_;
  std::vector<bool> isSplit_;
  std::vector<size_t> split_;
};

}  // namespace weft::sim
