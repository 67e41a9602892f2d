// Routines that select stored elements of a sparse matrix by a mask.
#pragma once

#include "cpu/routines.h"

namespace weft::cpu {

extern const Routine kSparseSelectCounts;
extern const Routine kSparseSelect;

}  // namespace weft::cpu
