#include "cpu/isa.h"

#include <atomic>
#include <stdexcept>
#include <string>

namespace weft::cpu {
namespace {

#ifdef WEFT_HAS_AVX
Isa widestIsa() {
  __builtin_cpu_init();
  const bool avx2 =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (avx512) return Isa::avx512;
  return avx2 ? Isa::avx2 : Isa::baseline;
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
