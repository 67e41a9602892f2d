#include "cpu/isa.h"

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>

#ifdef WEFT_HAS_AVX
#include <cpuid.h>
#endif

namespace weft::cpu {
namespace {

#ifdef WEFT_HAS_AVX
// The states of registers that the system saves (XCR0): bits 1 and 2 are those of AVX, 5 to 7 of AVX-512.
uint64_t savedStates() {
  uint32_t low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

// By CPUID itself: __builtin_cpu_supports is always false in what Zig links.
Isa widestIsa() {
  constexpr uint32_t kAvx512 = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;
  constexpr uint64_t kAvxStates = 0x06, kAvx512States = 0xe6;
  constexpr uint32_t kBasic = bit_OSXSAVE | bit_FMA | bit_F16C;
  uint32_t eax, ebx, ecx, edx;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || (ecx & kBasic) != kBasic) return Isa::baseline;
  if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) || !(ebx & bit_AVX2)) return Isa::baseline;
  const uint64_t states = savedStates();
  if ((states & kAvxStates) != kAvxStates) return Isa::baseline;
  const bool avx512 = (ebx & kAvx512) == kAvx512 && (states & kAvx512States) == kAvx512States;
  return avx512 ? Isa::avx512 : Isa::avx2;
}
bool belongsHere(Isa isa) { return isa != Isa::neon; }
#elif defined(WEFT_HAS_NEON)
Isa widestIsa() { return Isa::neon; }
bool belongsHere(Isa isa) { return isa == Isa::neon; }
#else
Isa widestIsa() { return Isa::baseline; }
bool belongsHere(Isa isa) { return isa == Isa::baseline; }
#endif

std::atomic<Isa>& current() {
  static std::atomic<Isa> isa{widestIsa()};
  return isa;
}

}  // namespace

Isa currentIsa() { return current().load(std::memory_order_relaxed); }

void limitIsa(Isa widest) {
  if (!belongsHere(widest)) {
    throw std::invalid_argument("[weft] expected WEFT_ISA to be an instruction set of this processor: " +
                                std::string(isaName(widest)));
  }
  const Isa possible = widestIsa();
  // The sets of one architecture are declared from narrow to wide.
  current().store(widest < possible ? widest : possible, std::memory_order_relaxed);
}

const char* isaName(Isa isa) {
  switch (isa) {
    case Isa::baseline:
      return "baseline";
    case Isa::avx2:
      return "avx2";
    case Isa::avx512:
      return "avx512";
    case Isa::neon:
      return "neon";
  }
  return "unknown";
}

}  // namespace weft::cpu
