// One thread's call of a chain's code, on the chunks that steps have come to.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "cpu/jit/chain-code.h"

namespace weft::cpu::jit {

class ChainCall {
 public:
  using Places = std::function<char**(ChainCode::Source source, int index)>;

  // `places`: where the steps have the place of an operand, which is read at each call. `moving`: those that
  // go on with the chunks.
  ChainCall(const ChainCode& code, const Places& places, std::vector<char**> moving);

  void run(int64_t byteLength);

 private:
  const ChainCode& code_;
  std::vector<char**> pointers_, vectors_;
  const std::vector<char**> moving_;
  // The vectors that repeat stand behind the first one.
  std::vector<ChainFrame> frame_;
};

}  // namespace weft::cpu::jit
