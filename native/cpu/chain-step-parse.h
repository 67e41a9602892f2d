// Reads the steps of a chain in a tape, and finds the functions that run them.
#pragma once
#include <string>

#include "cpu/tape-words.h"
#include "cpu/tape.h"

namespace weft::cpu {

// The function of a step; an op of one argument without a step of its own is called.
StepFunction chainFunction(const Registry& registry, const std::string& name, DType type);
Chain::Step readChainStep(TapeWords& words, const Registry& registry, const Chain& chain);
// Has a load do the arithmetic after it where that takes the same operand once more.
void joinArithmetic(const Registry& registry, Chain& chain);

}  // namespace weft::cpu
