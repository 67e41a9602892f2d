// Maps of one axis that read and write everything in place: lanes of several of their blocks may be one
// block, as src/codegen/cpu/tape-seamless.ts has it.
#pragma once
#include "cpu/tape.h"

namespace weft::cpu {

// Whether registers of a block hold no more than chunks of equal lanes, where whole chunks are computed.
bool canBeSeamless(const Tape& tape);

}  // namespace weft::cpu
