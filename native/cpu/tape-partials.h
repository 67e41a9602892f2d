// The partial results of a tape's reductions, as one worker has them: of the slot at hand, and of the tile's
// slots so far. tape-worker.cpp says when they begin, take blocks and end; tape-slots.cpp moves them between
// workers.
#pragma once
#include <vector>

#include "cpu/tape-job.h"
#include "cpu/tape-memory.h"

namespace weft::cpu {

class TapePartials {
 public:
  explicit TapePartials(const Tape& tape)
      : tape_(tape), slot_(tape.reductions.size()), tile_(tape.reductions.size()) {}

  // Bytes of a worker's states.
  static int64_t byteLength(const Tape& tape);
  // `memory` holds the states, `loops` what monoids of the user's own need while they run.
  void bind(char* memory, char* loops);

  // Of the slot at hand: its place stays.
  ReduceState& state(int reduction) { return slot_[reduction]; }

  void resetSlot(size_t phase);
  void resetTile(size_t phase);
  // Takes a block's values: `args`, or of a monoid its parts among `operands`.
  void take(const Instruction& i, const Position& at, bool isTail, const Operand* const* args,
            const Operand& out);
  void takeByMonoid(const Instruction& i, const Position& at, const Operand* operands);
  void closeSlot(size_t phase);
  void pushSlot(size_t phase);
  // Writes the phase's results, of the slot at hand or of all of the tile's.
  void finish(size_t phase, bool fromSlots, const Operand* operands);

  // Copies a closed slot's nodes out and in, for slots that other threads computed.
  static int64_t nodesByteLength(const Tape& tape);
  void saveSlot(size_t phase, char* nodes) { copyNodes(phase, nodes, true); }
  void loadSlot(size_t phase, char* nodes) { copyNodes(phase, nodes, false); }

  // Copies the cascade of a tile's first slots out and in, for a worker that goes on with the next ones.
  static int64_t levelsByteLength(const Tape& tape, int64_t slots);
  void saveLevels(size_t phase, char* levels, int64_t slots) { copyLevels(phase, levels, slots, true); }
  void loadLevels(size_t phase, char* levels, int64_t slots) { copyLevels(phase, levels, slots, false); }

  // Copies what a slot has so far out and in.
  static int64_t openByteLength(const Tape& tape);
  void saveOpenSlot(size_t phase, char* memory) { copyOpenSlot(phase, memory, true); }
  void loadOpenSlot(size_t phase, char* memory) { copyOpenSlot(phase, memory, false); }

  Fold fold() const { return {static_cast<int>(tape_.laneKind), tape_.take, tape_.inner}; }
  template <typename F>
  void eachReduction(size_t phase, F body) {
    for (const Instruction& instruction : tape_.walks[phase]) {
      if (instruction.code == Opcode::reduce && !instruction.isFollower) body(instruction);
      if (instruction.code != Opcode::chain) continue;
      for (const Instruction& reduction : instruction.chain->reductions) body(reduction);
    }
  }

 private:
  void reset(const Instruction& i, ReduceState& state);
  void close(const Instruction& i, ReduceState& state);
  // Writes the results of a closed state, for one row of a block where each has its own.
  void finishMonoid(const Instruction& i, const ReduceState& state, const Operand* operands, int64_t row = 0);
  void copyNodes(size_t phase, char* nodes, bool out);
  void copyLevels(size_t phase, char* levels, int64_t slots, bool out);
  void copyOpenSlot(size_t phase, char* memory, bool out);

  const Tape& tape_;
  char* loops_ = nullptr;
  std::vector<ReduceState> slot_;
  std::vector<ReduceState> tile_;
};

}  // namespace weft::cpu
