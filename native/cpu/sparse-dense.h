// The dense array of a sparse matrix (sparse-dense.cpp).
#pragma once
#include "cpu/routines.h"

namespace weft::cpu {

extern const Routine kSparseDense;

}  // namespace weft::cpu
