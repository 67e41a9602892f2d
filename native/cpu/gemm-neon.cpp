// Matrix kernels for the `neon` instruction set: see gemm-kernels.inc, and gemm-sources.cmake for the flags.
#include "cpu/gemm-kernels.inc"

namespace weft::cpu {

const GemmKernels& gemmKernelsNeon(DType dtype) { return kernelsOf(dtype); }

}  // namespace weft::cpu
