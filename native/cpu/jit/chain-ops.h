// A chain (tape-chain.h) as instructions on values: what goes from step to step, or through a slot, is a
// value. Inputs come first, then results in the order in which they are computed.
//
// Functions that are no instructions cut a chain into pieces: the code of a piece leaves in buffers what the
// function and later pieces read, and the function's own steps run on these.
#pragma once
#include <cstdint>
#include <vector>

#include "cpu/jit/vector-code.h"

namespace weft::cpu {
struct Chain;
}

namespace weft::cpu::jit {

struct ChainOp {
  // `keep`: in a buffer. `take`: into the leaf of a reduction. `ask`: for an input's next block.
  enum class Kind : uint8_t { compute, choose, call, store, keep, take, ask };
  Kind kind;
  // Of a step that is called, an output, a buffer, a reduction, or an input whose next block is asked for.
  int index = -1;
  std::vector<int> args = {};
  // The value that it computes, or -1.
  int result = -1;
  // Of computations, and of what joins a leaf, the first argument then, with a value.
  Emit emit = nullptr;
  bool isCommutative = false;
  Order order = Order::equal;
};

// Instructions in a row, and the call behind them.
struct ChainPiece {
  std::vector<ChainOp> ops;
  // The step that is called, with a value; -1: of the last piece. The result goes to a buffer.
  int step = -1, from = -1, to = -1;
};

struct ChainPieces {
  std::vector<ChainPiece> list;
  // The buffer of each value; -1: it has none.
  std::vector<int> bufferOf;
  int buffers = 0;
};

// Empty: a step can be neither an instruction nor a call, calls are most of the chain, or too many
// instructions wait for one another.
ChainPieces readChainPieces(const Chain& chain, const VectorCode& code);

}  // namespace weft::cpu::jit
