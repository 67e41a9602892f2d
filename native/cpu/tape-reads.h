// A worker's windows of buffers that are not in memory: one of each, as large as stays in the
// second-level cache while it is computed on. The next one is read when a block asks for it.
#pragma once
#include <optional>
#include <vector>

#include "cpu/cpu.h"
#include "cpu/scratch.h"
#include "cpu/tape-memory.h"

namespace weft::cpu {

class TapeReads {
 public:
  TapeReads(const Tape& tape, const TapeBuffer* buffers);

  // The buffers, of which all that the load takes at a position is there.
  const TapeBuffer* with(const Instruction& load, const Position& at);

 private:
  struct Window {
    std::optional<Scratch> memory;
    int64_t capacity = 0;
  };

  void fill(int buffer, int64_t first, int64_t last);

  const Tape& tape_;
  // As large as they are.
  const TapeBuffer* whole_;
  // As far as they are there.
  std::vector<TapeBuffer> buffers_;
  std::vector<Window> windows_;
};

// Whether any of a tape's buffers is not in memory.
bool hasReads(const Tape& tape, const TapeBuffer* buffers);

}  // namespace weft::cpu
