// Isa: the instruction set that the CPU kernels run with, chosen once at run time.
//
// Kernels are compiled once for each set; `tape` and `gemm` pick theirs by `currentIsa`. Settings of a set
// for granted is in isa.cpp. Nothing here runs kernels.
#pragma once

// Whether there are kernels for more than the baseline.
#if defined(__x86_64__) && !defined(WEFT_BASELINE_ONLY)
#define WEFT_HAS_AVX 1
#elif defined(__aarch64__) && !defined(WEFT_BASELINE_ONLY)
#define WEFT_HAS_NEON 1
#endif

namespace weft::cpu {

// `baseline` is what every x86-64 processor of the last decade has (SSE4.2); `neon` is every 64-bit ARM.
enum class Isa { baseline, avx2, avx512, neon };

// The widest set that the processor has and `limitIsa` allows. Any thread.
Isa currentIsa();

// Forbids sets wider than `widest`; a limit that the processor does not reach changes nothing. Programs that
// were made before keep what they chose. Throws std::invalid_argument for a set of another architecture.
void limitIsa(Isa widest);

// `baseline`, `avx2`, `avx512`, `neon`.
const char* isaName(Isa isa);

}  // namespace weft::cpu
