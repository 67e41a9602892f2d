// Routines that move the stored elements of sparse matrices: sparse-gather.cpp, sparse-transpose.cpp and
// sparse-elements.cpp.
#pragma once
#include "cpu/routines.h"

namespace weft::cpu {

extern const Routine kSparseGather;
extern const Routine kSparseTranspose;
extern const Routine kSparseElements;

}  // namespace weft::cpu
