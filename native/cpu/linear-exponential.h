// The routine of matrix exponentials (linear-exponential.cpp).
#pragma once
#include "cpu/routines.h"

namespace weft::cpu {

extern const Routine kExpm;

}  // namespace weft::cpu
