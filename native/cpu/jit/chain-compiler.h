// Compiles a chain: registers by the order of next uses. An input that is read once is an operand in memory,
// others are loaded once; where registers are used up, the value that is read last goes to memory. Vectors
// that repeat stay in registers as far as these go.
#pragma once
#include <memory>
#include <vector>

#include "cpu/jit/chain-code.h"

namespace weft::cpu::jit {

std::unique_ptr<ChainCode> compileChain(DType dtype, int inputs, const std::vector<ChainOp>& ops,
                                        const ChainForm& form);

}  // namespace weft::cpu::jit
