// Chains over rows that end where lanes are zero, or within a chunk, as of stencils: code that walks rows
// from their first lane to their last. By steps, the chunks at rows' ends are copied, and walked by
// themselves.
//
//     row      | first vector | ... | last vector |      which has lanes of the one before it, too
//     read         -xxx         ...       xxx-           masks: of x[k - 1] and x[k + 1], zero outside
//
// Vectors have half of the bytes that there are: neighbours lie in two lines of the cache half as often then.
#pragma once
#include <memory>
#include <vector>

#include "cpu/jit/chain-code.h"
#include "cpu/tape-chain.h"
#include "cpu/tape-memory.h"

namespace weft::cpu {

class ChainRows {
 public:
  // `operands` and `ends`: those of the tape's values, which are read when a block runs. `isAlone`: there is
  // no other chain, which might read the results' last chunks.
  ChainRows(const Chain& chain, const Operand* operands, const RowEnds* ends, bool isAlone);

  // Whether code has computed a block of rows of so many lanes. `areInBuffers`: the results are stored where
  // they belong as they are computed.
  bool run(int64_t rows, int64_t lanes, bool areInBuffers);

 private:
  // How an operand goes through a block, as far as code depends on it.
  struct Way {
    bool repeats = false, asks = false, streams = false;
    uint8_t zerosBefore = 0, zerosBehind = 0;
    bool operator==(const Way&) const = default;
  };
  bool findWays(int64_t rows, int64_t lanes);
  bool isWorthwhile(int64_t lanes) const;
  void compile();
  char* frameVector(size_t k) const;
  const Operand& operandOf(const jit::ChainCode::Pointer& pointer) const;

  const Chain& chain_;
  const Operand* const operands_;
  const RowEnds* const ends_;
  bool isPossible_;
  // Of the inputs, then of the results: of the block at hand, and of what there is code for.
  std::vector<Way> ways_, coded_;
  const jit::ChainCode* code_ = nullptr;
  // The vectors stand behind the first one.
  std::vector<jit::ChainFrame> frame_;
};

}  // namespace weft::cpu
