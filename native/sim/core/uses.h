// Uses: which thread of a launch touched which byte last, and whether a barrier lies between two touches.
//
// A byte that one thread writes and another reads or writes is a hazard unless a barrier of their block lies
// between, whatever values came out. Atomic accesses are no hazard to one another, but to all else. Time is
// counted in epochs, which only grow: each block begins one, and each barrier.
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

enum class AccessKind { read, write, atomic };

// Uses that are no hazard to one another: the first two threads of an epoch are kept, and one of an earlier
// block. Another use that collides with some of them collides with one of these.
struct SharedUses {
  Use first, other, foreign;
};

// Of a byte, or of several that are touched alike.
struct Uses {
  Use write;
  SharedUses reads, atomics;
};

enum class Hazard { none, readAfterWrite, writeAfterWrite, writeAfterRead };

// Whether nothing orders an earlier use with one by `thread` now.
inline bool collides(const Use& use, uint32_t thread, const Epochs& epochs) {
  const bool ordered = use.epoch < epochs.first || use.thread == thread ||
                       (use.epoch >= epochs.block && use.epoch < epochs.now);
  return !ordered;
}

inline bool collides(const SharedUses& uses, uint32_t thread, const Epochs& epochs) {
  return collides(uses.first, thread, epochs) || collides(uses.other, thread, epochs) ||
         collides(uses.foreign, thread, epochs);
}

inline void keep(SharedUses& uses, uint32_t thread, const Epochs& epochs) {
  if (uses.first.epoch < epochs.block) uses.foreign = uses.first;
  if (uses.first.epoch < epochs.now) {
    uses.first = {epochs.now, thread};
  } else if (uses.first.thread != thread) {
    uses.other = {epochs.now, thread};
  }
}

inline Hazard note(Uses& byte, uint32_t thread, AccessKind kind, const Epochs& epochs) {
  const bool isRead = kind == AccessKind::read;
  if (collides(byte.write, thread, epochs)) return isRead ? Hazard::readAfterWrite : Hazard::writeAfterWrite;
  if (kind != AccessKind::atomic && collides(byte.atomics, thread, epochs))
    return isRead ? Hazard::readAfterWrite : Hazard::writeAfterWrite;
  if (isRead) {
    keep(byte.reads, thread, epochs);
    return Hazard::none;
  }
  if (collides(byte.reads, thread, epochs)) return Hazard::writeAfterRead;
  if (kind == AccessKind::atomic) {
    keep(byte.atomics, thread, epochs);
  } else {
    byte.write = {epochs.now, thread};
  }
  return Hazard::none;
}

}  // namespace weft::sim
