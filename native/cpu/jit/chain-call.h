// One thread's call of a chain's code, on the chunks that steps have come to.
#pragma once
#include <functional>
#include <vector>

#include "cpu/jit/chain-code.h"
#include "cpu/tape-chain.h"

namespace weft::cpu::jit {

class ChainCall {
 public:
  // Where the steps have the place of an operand, which is read at each call.
  using Places = std::function<char**(ChainCode::Source source, int index)>;

  // `moving`: places that go on with the chunks.
  ChainCall(const Chain& chain, const ChainProgram& program, const ChainForm& form, const Places& places,
            std::vector<char**> moving);

  void run(int64_t byteLength);

 private:
  struct Piece {
    const ChainCode* code = nullptr;
    std::vector<char**> pointers, vectors;
    // The vectors that repeat stand behind the first one.
    std::vector<ChainFrame> frame;
    // The step that is called behind it, or none; its argument's place, and whether that moves.
    const Chain::Step* step = nullptr;
    char** from = nullptr;
    bool moves = true;
    char* to = nullptr;
  };
  struct alignas(kFrameVectorBytes) Line {
    char bytes[kFrameVectorBytes];
  };
  void setVectors(Piece& piece);
  void runCode(Piece& piece, int64_t byteLength);
  void runStep(const Piece& piece, int64_t byteLength);

  const Chain& chain_;
  const std::vector<char**> moving_;
  // Of the values between pieces, and their places.
  std::vector<Line> memory_;
  std::vector<char*> buffers_;
  std::vector<Piece> pieces_;
};

}  // namespace weft::cpu::jit
