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

const char* SharedMemory::access(uintptr_t address, size_t byteLength, bool write, uint32_t thread,
                                 const Epochs& epochs) {
  const size_t offset = address - begin_;
  if (offset + byteLength > byteLength_) return "reaches beyond the block's shared memory";
  // Other blocks have shared memory of their own.
  const Epochs own{epochs.block, epochs.block, epochs.now};
  const char* mistake = nullptr;
  // Some byte of the word: a structure's padding is read with it and never written.
  bool written = false;
  for (size_t i = 0; i < byteLength; i++) {
    Uses& byte = bytes_[offset + i];
    written |= byte.write.epoch >= epochs.block;
    const bool wordEnds = (address + i + 1) % 8 == 0 || i + 1 == byteLength;
    if (wordEnds && !write && !written) mistake = "reads shared memory that no thread of the block wrote";
    if (wordEnds) written = false;
    switch (note(byte, thread, write, own)) {
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
