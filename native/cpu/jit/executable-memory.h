// Memory that machine code lies in: written first, then readable and executable, never writable and
// executable at once.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::cpu::jit {

class ExecutableMemory {
 public:
  // A copy of the code; without any where the system refuses executable memory.
  explicit ExecutableMemory(const std::vector<uint8_t>& code);
  ExecutableMemory(const ExecutableMemory&) = delete;
  ExecutableMemory& operator=(const ExecutableMemory&) = delete;
  ~ExecutableMemory();

  // The first byte of the code, aligned to a page, or null.
  const void* entry() const { return data_; }

 private:
  void* data_ = nullptr;
  size_t byteLength_ = 0;
};

// Whether the system gives executable memory. Asked once.
bool hasExecutableMemory();

}  // namespace weft::cpu::jit
