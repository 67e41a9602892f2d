// Blas: a BLAS library for large matrix products, found at run time.
//
// Unless `setBlas` chose otherwise, the first that the loader finds of OpenBLAS, MKL and BLIS is used, else
// one of a Python package (but no OpenBLAS without kernels for AVX-512 where the processor has it). It gets
// the products that it can do (float32 to complex128, a unit stride in each operand, not small), one after
// the other, on its own threads, as many as the pool has. Their bits are the library's affair: Weft's own
// kernels, which do all others, give the same ones on any number of threads.
#pragma once
#include <string>
#include <vector>

#include "shared/layout.h"

namespace weft::cpu {

struct GemmProblem;
struct MathLibrary;

// Files to try where the loader finds no library by name; before the first search.
void searchBlas(std::vector<std::string> files);

// `auto`: the system's, which must be there; `none`: Weft's own kernels; else a path or a file name: that
// library. Any thread, but not while products run. Throws std::runtime_error when there is no such library,
// or it lacks the functions of CBLAS; what was in use then stays.
void setBlas(const std::string& library);

// Looks for the system's if nothing was chosen; null: Weft's own kernels.
const MathLibrary* blasInUse();

// Does a product with the library in use. Returns false where there is none, or it cannot.
bool blasProduct(const GemmProblem& problem, DType dtype, int threads);

}  // namespace weft::cpu
