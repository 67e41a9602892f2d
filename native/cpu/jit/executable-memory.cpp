#include "cpu/jit/executable-memory.h"

#include <sys/mman.h>

#include <cstring>

namespace weft::cpu::jit {

ExecutableMemory::ExecutableMemory(const std::vector<uint8_t>& code) : byteLength_(code.size()) {
  void* const memory = mmap(nullptr, byteLength_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  std::memcpy(memory, code.data(), byteLength_);
  if (mprotect(memory, byteLength_, PROT_READ | PROT_EXEC) != 0) {
    munmap(memory, byteLength_);
    return;
  }
  data_ = memory;
}

ExecutableMemory::~ExecutableMemory() {
  if (data_ != nullptr) munmap(data_, byteLength_);
}

bool hasExecutableMemory() {
  // A single instruction: ret.
  static const bool has = ExecutableMemory({0xc3}).entry() != nullptr;
  return has;
}

}  // namespace weft::cpu::jit
