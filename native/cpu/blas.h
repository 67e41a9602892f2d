// Blas: a BLAS library of the system for large matrix products, found at run time, if one is asked for.
//
// Matrix products use Weft's own kernels unless `setBlas` names a library. That is the rule because the own
// kernels give the same bits on any number of threads and know every processor that they run on; a library
// may not (OpenBLAS takes slower kernels on processors newer than itself), and which is faster cannot be told
// without timing them, which would make results depend on the moment. With a library, products that it can do
// (float32 to complex128, a unit stride in each operand, not small) go to it, one after the other, on its own
// threads, as many as the pool has; their bits are the library's affair.
#pragma once
#include <optional>
#include <string>

namespace weft::cpu {

struct GemmProblem;

struct BlasInfo {
  std::string name;
  std::string path;
};

// `auto`: the first that is found of OpenBLAS, MKL and BLIS; a path or a file name: that library; empty:
// none. Any thread, but not while products run. Throws std::runtime_error when there is no such library, or
// it lacks the functions of CBLAS; what was in use then stays.
void setBlas(const std::string& library);

std::optional<BlasInfo> blasInUse();

// Does a product with the library in use. Returns false where there is none, or it cannot.
bool blasProduct(const GemmProblem& problem, int dtype, int threads);

}  // namespace weft::cpu
