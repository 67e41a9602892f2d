// Lapack: a LAPACK library for linear algebra, found at run time.
//
// Unless `setLapack` chose otherwise, it is the BLAS library in use (blas.h), whose functions of LAPACK are
// looked for by their Fortran names. Each is taken where it is there: what a library lacks, and what is small
// (lapack-choice.cpp), is Weft's own.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "cpu/math-library.h"
#include "shared/layout.h"

namespace weft::cpu {

// Of BLAS `trsm`, else of LAPACK; of complex numbers `orgqr` is `ungqr`, `syevd` is `heevd`.
enum class LapackFunction : uint8_t { trsm, getrf, getri, potrf, geqrf, orgqr, syevd, geev, gesdd, gelsd };
inline constexpr size_t kLapackFunctions = 10;

struct Lapack {
  MathLibrary library;
  // For float32, float64, complex64 and complex128; null: the library has no such function.
  std::array<std::array<void*, kLapackFunctions>, 4> functions;
  // Whether integers in arrays are 64-bit. Single ones are right for both: the machine is little-endian, and
  // a library with 32-bit ones reads and writes the low halves.
  bool wideIntegers;

  void* function(DType dtype, LapackFunction which) const;
};

// As Fortran code calls it: `dgetrf`.
std::string lapackName(DType dtype, LapackFunction function);

// `auto`: a library that must be there; `none`: Weft's own routines; else a path or a file name: that
// library. Any thread, but not while programs are made. Throws std::runtime_error when there is no such
// library, or it has none of the functions; what was in use then stays.
void setLapack(const std::string& library);

// Null: Weft's own routines.
const Lapack* lapackInUse();

// The functions that a library lacks, by name.
std::vector<std::string> lapackMissing(const Lapack& lapack);

}  // namespace weft::cpu
