#include "core/shared-memory.h"

#include <cstring>

#include "core/memory.h"

namespace weft::sim {

void SharedMemory::place(char* begin, size_t byteLength) {
  begin_ = reinterpret_cast<uintptr_t>(begin);
  byteLength_ = byteLength;
  if (bytes_.size() < byteLength) bytes_.resize(byteLength);
}

void SharedMemory::poison() {
  if (byteLength_ > 0) std::memset(reinterpret_cast<void*>(begin_), kPoison, byteLength_);
}

namespace {

constexpr uint32_t kLanes = 32;
bool sameWarp(const SharedUser& a, const SharedUser& b) { return a.thread / kLanes == b.thread / kLanes; }

}  // namespace

bool SharedMemory::collides(const Access& earlier, const Access& now, const Epochs& epochs) {
  // Another block's, or before a barrier of this one.
  if (earlier.epoch < epochs.now || earlier.user.thread == now.user.thread) return false;
  return !sameWarp(earlier.user, now.user) || earlier.user.warpBarriers == now.user.warpBarriers;
}

Hazard SharedMemory::note(Accesses& byte, const Access& now, bool write, const Epochs& epochs) {
  if (collides(byte.write, now, epochs)) return write ? Hazard::writeAfterWrite : Hazard::readAfterWrite;
  if (write) {
    if (collides(byte.read, now, epochs) || collides(byte.otherRead, now, epochs))
      return Hazard::writeAfterRead;
    byte.write = now;
    return Hazard::none;
  }
  const auto isPast = [&](const Access& read) {
    return read.epoch < epochs.now || (sameWarp(read.user, now.user) && !collides(read, now, epochs) &&
                                       read.user.thread != now.user.thread);
  };
  if (isPast(byte.read)) {
    byte.read = now;
  } else if (byte.read.user.thread != now.user.thread) {
    const bool keeps = !isPast(byte.otherRead) && !sameWarp(byte.read.user, byte.otherRead.user) &&
                       sameWarp(byte.read.user, now.user);
    if (!keeps) byte.otherRead = now;
  } else {
    byte.read = now;
  }
  return Hazard::none;
}

const char* SharedMemory::access(uintptr_t address, size_t byteLength, bool write, SharedUser user,
                                 const Epochs& epochs) {
  const size_t offset = address - begin_;
  if (offset + byteLength > byteLength_) return "reaches beyond the block's shared memory";
  const Access now{epochs.now, user};
  const char* mistake = nullptr;
  // Some byte of the word: a structure's padding is read with it and never written.
  bool written = false;
  for (size_t i = 0; i < byteLength; i++) {
    Accesses& byte = bytes_[offset + i];
    written |= byte.write.epoch >= epochs.block;
    const bool wordEnds = (address + i + 1) % 8 == 0 || i + 1 == byteLength;
    if (wordEnds && !write && !written) mistake = "reads shared memory that no thread of the block wrote";
    if (wordEnds) written = false;
    switch (note(byte, now, write, epochs)) {
      case Hazard::none:
        break;
      case Hazard::readAfterWrite:
        mistake = "reads shared memory that another thread wrote since the last barrier";
        break;
      case Hazard::writeAfterWrite:
        mistake = "writes shared memory that another thread wrote since the last barrier";
        break;
      case Hazard::writeAfterRead:
        mistake = "writes shared memory that another thread read since the last barrier";
        break;
    }
  }
  return mistake;
}

}  // namespace weft::sim
