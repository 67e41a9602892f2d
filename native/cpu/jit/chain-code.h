// Machine code of a chain (tape-chain.h): each vector of lanes goes through all of its steps in registers, as
// a compiler's loop does. By steps, a value that is read again goes through the first-level cache, and so
// does each operand of each step.
//
// Each lane sees the operations of the steps in their order. Chains have it whose steps are instructions of
// `VectorCode`, where that has pointers, and functions of one argument, which are called.
#pragma once
#include <atomic>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "cpu/jit/chain-ops.h"
#include "cpu/jit/executable-memory.h"
#include "cpu/lanes.h"

namespace weft::cpu::jit {

// How a chain's operands go through memory.
struct ChainForm {
  // Of inputs: whether all vectors of a row are one, and whether their next block is asked for.
  std::vector<bool> repeats, asks;
  // Of outputs: whether they go past the caches.
  std::vector<bool> streams;
  // Values for reductions are stored, or taken into leaves: one for each chunk of a row, or one for all.
  enum class Leaves : uint8_t { none, one, each } leaves = Leaves::none;
  // The code walks rows, of kLeastRowBytes at least, to their last lane in vectors of kRowVectorBytes. Of
  // inputs, lanes of a row's first vector and of its last one that are zero and not read.
  bool walksRows = false;
  std::vector<uint8_t> zerosBefore = {}, zerosBehind = {};
  auto operator<=>(const ChainForm&) const = default;
};

constexpr int kMostPointers = 11;
constexpr int kFrameVectorBytes = 64;
constexpr int kRowVectorBytes = 32;
constexpr int kLeastRowBytes = 3 * kRowVectorBytes;

// The argument of the code. Vectors that repeat stand behind it, then masks of the lanes of rows' ends that
// are read, and values that there is no register for.
struct alignas(kFrameVectorBytes) ChainFrame {
  // Of rows, up to the last vector.
  int64_t byteLength = 0;
  char* pointers[kMostPointers] = {};
  // From row to row, and how many there are.
  int64_t rowBytes[kMostPointers] = {};
  int64_t rows = 0;
};

// The code of a piece.
class ChainCode {
 public:
  enum class Source : uint8_t { input, nextBlock, output, reduction, buffer };
  struct Pointer {
    Source source;
    int index;
  };

  // Lanes of a row's end that are zero.
  struct Zeros {
    int lanes;
    bool areBefore;
  };

  ChainCode(std::vector<Pointer> pointers, std::vector<int> vectors, std::vector<Zeros> masks, int spills,
            const std::vector<uint8_t>& code)
      : pointers_(std::move(pointers)),
        vectors_(std::move(vectors)),
        masks_(std::move(masks)),
        spills_(spills),
        memory_(code) {}

  // Where the frame's pointers lead at first, the inputs of its vectors, and its masks.
  const std::vector<Pointer>& pointers() const { return pointers_; }
  const std::vector<int>& vectors() const { return vectors_; }
  const std::vector<Zeros>& masks() const { return masks_; }
  size_t frameByteLength() const {
    return sizeof(ChainFrame) + (vectors_.size() + masks_.size() + spills_) * kFrameVectorBytes;
  }
  bool isThere() const { return memory_.entry() != nullptr; }
  void run(ChainFrame* frame) const {
    reinterpret_cast<void (*)(ChainFrame*)>(const_cast<void*>(memory_.entry()))(frame);
  }

 private:
  const std::vector<Pointer> pointers_;
  const std::vector<int> vectors_;
  const std::vector<Zeros> masks_;
  const size_t spills_;
  const ExecutableMemory memory_;
};

// The codes of all pieces; null: the piece has no instructions.
struct ChainProgram {
  std::vector<std::unique_ptr<ChainCode>> codes;
};

// The programs of a chain, each compiled when first asked for. Threads share them.
class ChainCodes {
 public:
  // `load`: the step that begins calls.
  ChainCodes(DType dtype, int inputs, ChainPieces pieces, const StepFunction& load);

  const ChainPieces& pieces() const { return pieces_; }
  const StepFunction& load() const { return load_; }

  // Counts the lanes of a block. False: the steps of all so far took less time than to compile them would.
  bool areEnough(int64_t lanes) const;
  // Null: there are not enough pointers, or the system refused memory.
  const ChainProgram* of(const ChainForm& form) const;

 private:
  const DType dtype_;
  const int inputs_;
  const ChainPieces pieces_;
  const StepFunction load_;
  int64_t steps_ = 0;
  mutable std::atomic<int64_t> stepLanes_{0};
  mutable std::mutex mutex_;
  mutable std::map<ChainForm, std::optional<ChainProgram>> programs_;
};

// Null: steps of the chain cannot be compiled, or nothing is here.
std::shared_ptr<const ChainCodes> chainCodes(const Chain& chain, const Registry& registry);

}  // namespace weft::cpu::jit
