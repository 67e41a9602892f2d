// Compiles a chain: registers by the order of next uses. An input that is read once is an operand in memory,
// others are loaded once; where registers are used up, the value that is read last goes to memory. Vectors
// that repeat stay in registers as far as these go.
#pragma once
#include <optional>

#include "cpu/jit/chain-code.h"

namespace weft::cpu::jit {

// None: there are not enough pointers for a piece, or the system refused memory.
std::optional<ChainProgram> compileChain(DType dtype, int inputs, const ChainPieces& pieces,
                                         const ChainForm& form);

}  // namespace weft::cpu::jit
