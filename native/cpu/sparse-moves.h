// Routines that make sparse matrices of stored elements in one pass: sparse-combine.cpp, sparse-elements.cpp,
// sparse-gather.cpp, sparse-kept.cpp, sparse-kron.cpp and sparse-transpose.cpp.
#pragma once
#include "cpu/routines.h"

namespace weft::cpu {

extern const Routine kSparseCombine;
extern const Routine kSparseGather;
extern const Routine kSparseKept;
extern const Routine kSparseKron;
extern const Routine kSparseTranspose;
extern const Routine kSparseElements;

}  // namespace weft::cpu
