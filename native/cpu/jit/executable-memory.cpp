#include "cpu/jit/executable-memory.h"

#include <sys/mman.h>

#include <cstring>

#if defined(__APPLE__) && defined(__aarch64__)
#include <libkern/OSCacheControl.h>
#include <pthread.h>
#define WEFT_HAS_WRITE_PROTECT 1
#endif

namespace weft::cpu::jit {

ExecutableMemory::ExecutableMemory(const std::vector<uint8_t>& code) : byteLength_(code.size()) {
#ifdef WEFT_HAS_WRITE_PROTECT
  // Apple's processors have pages for code, which a thread may either write or run.
  constexpr int kProtection = PROT_READ | PROT_WRITE | PROT_EXEC, kFlags = MAP_PRIVATE | MAP_ANON | MAP_JIT;
  void* const memory = mmap(nullptr, byteLength_, kProtection, kFlags, -1, 0);
  if (memory == MAP_FAILED) return;
  pthread_jit_write_protect_np(0);
  std::memcpy(memory, code.data(), byteLength_);
  pthread_jit_write_protect_np(1);
  sys_icache_invalidate(memory, byteLength_);
#else
  void* const memory = mmap(nullptr, byteLength_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  std::memcpy(memory, code.data(), byteLength_);
  if (mprotect(memory, byteLength_, PROT_READ | PROT_EXEC) != 0) {
    munmap(memory, byteLength_);
    return;
  }
  // Processors other than x86-64 may still have other bytes as instructions.
  char* const first = static_cast<char*>(memory);
  __builtin___clear_cache(first, first + byteLength_);
#endif
  data_ = memory;
}

ExecutableMemory::~ExecutableMemory() {
  if (data_ != nullptr) munmap(data_, byteLength_);
}

bool hasExecutableMemory() {
  // A byte that is not run.
  static const bool has = ExecutableMemory({0xc3}).entry() != nullptr;
  return has;
}

}  // namespace weft::cpu::jit
