#include "core/shared-memory.h"

#include <cstring>

#include "core/memory.h"

namespace weft::sim {

void SharedMemory::place(char* begin, size_t byteLength) {
  begin_ = reinterpret_cast<uintptr_t>(begin);
  byteLength_ = byteLength;
  if (bytes_.size() < byteLength) bytes_.resize(byteLength);
}

void SharedMemory::startBlock() {
  if (byteLength_ == 0) return;
  std::memset(reinterpret_cast<void*>(begin_), kPoison, byteLength_);
  epoch_++;
  blockEpoch_ = epoch_;
}

const char* SharedMemory::touch(Byte& byte, Use use, bool write) const {
  const bool writtenNow = byte.write.epoch == epoch_ && byte.write.thread != use.thread;
  if (!write) {
    if (byte.write.epoch < blockEpoch_) return "reads shared memory that no thread of the block wrote";
    if (writtenNow) return "reads shared memory that another thread wrote since the last barrier";
    if (byte.firstRead.epoch != epoch_) {
      byte.firstRead = use;
    } else if (byte.firstRead.thread != use.thread) {
      byte.otherRead = use;
    }
    return nullptr;
  }
  if (writtenNow) return "writes shared memory that another thread wrote since the last barrier";
  for (const Use& read : {byte.firstRead, byte.otherRead}) {
    if (read.epoch == epoch_ && read.thread != use.thread)
      return "writes shared memory that another thread read since the last barrier";
  }
  byte.write = use;
  return nullptr;
}

const char* SharedMemory::access(uintptr_t address, size_t byteLength, unsigned thread, bool write) {
  const size_t offset = address - begin_;
  if (offset + byteLength > byteLength_) return "reaches beyond the block's shared memory";
  const char* hazard = nullptr;
  for (size_t i = 0; i < byteLength; i++) {
    const char* found = touch(bytes_[offset + i], {epoch_, thread}, write);
    if (found != nullptr) hazard = found;
  }
  return hazard;
}

}  // namespace weft::sim
