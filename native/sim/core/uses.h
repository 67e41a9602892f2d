// Uses: which thread of a launch touched which byte last, and whether a barrier lies between two touches.
//
// A byte that one thread writes and another reads or writes is a hazard unless a barrier of their block lies
// between, whatever values came out. Time is counted in epochs, which only grow: each block begins one, and
// each barrier.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace weft::sim {

struct Epochs {
  // The first of what is looked at (a launch, or a block for shared memory), of the block, and now.
  uint32_t first = 0, block = 0, now = 0;
};

struct Use {
  uint32_t epoch = 0;
  uint32_t thread = 0;
};

// Of a byte, or of several that are touched alike. Of reads, the first two threads of an epoch are kept, and
// one of an earlier block: any writer that collides with some read collides with one of them.
struct Uses {
  Use write, firstRead, otherRead, foreignRead;
};

enum class Hazard { none, readAfterWrite, writeAfterWrite, writeAfterRead };

// Whether nothing orders an earlier use with one by `thread` now.
inline bool collides(const Use& use, uint32_t thread, const Epochs& epochs) {
  const bool ordered = use.epoch < epochs.first || use.thread == thread ||
                       (use.epoch >= epochs.block && use.epoch < epochs.now);
  return !ordered;
}

inline Hazard note(Uses& byte, uint32_t thread, bool write, const Epochs& epochs) {
  if (collides(byte.write, thread, epochs)) return write ? Hazard::writeAfterWrite : Hazard::readAfterWrite;
  if (!write) {
    if (byte.firstRead.epoch < epochs.block) byte.foreignRead = byte.firstRead;
    if (byte.firstRead.epoch < epochs.now) {
      byte.firstRead = {epochs.now, thread};
    } else if (byte.firstRead.thread != thread) {
      byte.otherRead = {epochs.now, thread};
    }
    return Hazard::none;
  }
  for (const Use& read : {byte.firstRead, byte.otherRead, byte.foreignRead}) {
    if (collides(read, thread, epochs)) return Hazard::writeAfterRead;
  }
  byte.write = {epochs.now, thread};
  return Hazard::none;
}

}  // namespace weft::sim
