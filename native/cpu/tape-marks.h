// Properties of a tape that follow from all of its instructions.
#pragma once
#include "cpu/tape.h"

namespace weft::cpu {

// Marks loads that need fewer lanes than others, and loads and stores of columns, and counts the room that
// states of reductions take.
void markTape(Tape& tape);

}  // namespace weft::cpu
