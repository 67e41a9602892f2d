#include "runtime/copy-past-caches.h"

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "cpu/isa.h"

namespace weft {
namespace {

// Bytes that a step of a loop copies: a few cache lines.
constexpr size_t kStep = 256;

#if defined(__x86_64__)
__attribute__((target("avx512f"))) void copySteps512(std::byte* to, const std::byte* from, size_t steps) {
  for (; steps > 0; steps--, to += kStep, from += kStep) {
    for (size_t at = 0; at < kStep; at += sizeof(__m512i))
      _mm512_stream_si512(reinterpret_cast<__m512i*>(to + at), _mm512_loadu_si512(from + at));
  }
}

__attribute__((target("avx2"))) void copySteps256(std::byte* to, const std::byte* from, size_t steps) {
  for (; steps > 0; steps--, to += kStep, from += kStep) {
    for (size_t at = 0; at < kStep; at += sizeof(__m256i)) {
      const __m256i value = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at));
      _mm256_stream_si256(reinterpret_cast<__m256i*>(to + at), value);
    }
  }
}
#endif

}  // namespace

void copyPastCaches(void* to, const void* from, size_t byteLength) {
#if defined(__x86_64__)
  const cpu::Isa isa = cpu::currentIsa();
  constexpr size_t kLine = 64;
  // Stores of this kind are aligned.
  const size_t head = (kLine - reinterpret_cast<uintptr_t>(to) % kLine) % kLine;
  if (isa != cpu::Isa::baseline && byteLength >= head + kStep) {
    auto* target = static_cast<std::byte*>(to);
    const auto* source = static_cast<const std::byte*>(from);
    std::memcpy(target, source, head);
    const size_t steps = (byteLength - head) / kStep;
    (isa == cpu::Isa::avx512 ? copySteps512 : copySteps256)(target + head, source + head, steps);
    // Others see them in order with what is stored from now on.
    _mm_sfence();
    const size_t done = head + steps * kStep;
    std::memcpy(target + done, source + done, byteLength - done);
    return;
  }
#endif
  std::memcpy(to, from, byteLength);
}

}  // namespace weft
