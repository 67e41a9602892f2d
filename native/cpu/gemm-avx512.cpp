// Matrix kernels for the `avx512` instruction set: see gemm-kernels.inc, and gemm-sources.cmake for the
// flags.
#include <immintrin.h>

#include "cpu/gemm-kernels.inc"

namespace weft::cpu {

const GemmKernels& gemmKernelsAvx512(DType dtype) { return kernelsOf(dtype); }

}  // namespace weft::cpu
