// A chain (tape-chain.h) as instructions on values: what goes from step to step, or through a slot, is a
// value. Inputs come first, then results in the order in which they are computed.
#pragma once
#include <cstdint>
#include <vector>

#include "cpu/jit/vector-code.h"

namespace weft::cpu {
struct Chain;
}

namespace weft::cpu::jit {

struct ChainOp {
  // `take`: into the leaf of a reduction. `ask`: for an input's next block.
  enum class Kind : uint8_t { compute, choose, store, take, ask };
  Kind kind;
  // Of an output, a reduction, or an input whose next block is asked for.
  int index = -1;
  std::vector<int> args = {};
  // Of computations, and of what joins a leaf, the first argument then, with a value.
  Emit emit = nullptr;
  bool isCommutative = false;
  Order order = Order::equal;

  bool hasResult() const { return kind == Kind::compute || kind == Kind::choose; }
};

// Empty: a step is no instruction of the processor.
std::vector<ChainOp> readChainOps(const Chain& chain, const VectorCode& code);

}  // namespace weft::cpu::jit
