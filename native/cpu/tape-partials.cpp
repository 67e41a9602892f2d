#include "cpu/tape-partials.h"

#include <bit>
#include <cstring>

namespace weft::cpu {
namespace {

void copyBytes(char* state, char* memory, int64_t bytes, bool out) {
  std::memcpy(out ? memory : state, out ? state : memory, static_cast<size_t>(bytes));
}

// Of the steps and leaves of a state.
constexpr int64_t kCountsBytes = 2 * sizeof(int64_t);

// Bytes of the levels that so many leaves reach.
int64_t bytesOfLevels(const Tape& tape, const ReduceInfo& info, int64_t leaves) {
  return std::bit_width(static_cast<uint64_t>(leaves)) * info.nodeByteLength * tape.accumulators;
}

// Of a state: its node, its leaf, its levels.
struct StateBytes {
  int64_t node, leaf, levels;
  int64_t all() const { return node + leaf + levels; }
};

StateBytes bytesOf(const Tape& tape, const ReduceInfo& info) {
  const int64_t node = alignedBytes(info.nodeByteLength * tape.accumulators);
  return {node, alignedBytes(info.leafByteLength * tape.accumulators), node * tape.levels};
}

}  // namespace

int64_t TapePartials::byteLength(const Tape& tape) {
  int64_t bytes = 0;
  for (const ReduceInfo& info : tape.reductions) bytes += 2 * bytesOf(tape, info).all();
  return bytes;
}

int64_t TapePartials::nodesByteLength(const Tape& tape) {
  int64_t bytes = 0;
  for (const ReduceInfo& info : tape.reductions) bytes += bytesOf(tape, info).node;
  return bytes;
}

void TapePartials::bind(char* memory, char* loops) {
  loops_ = loops;
  for (std::vector<ReduceState>* states : {&slot_, &tile_}) {
    for (size_t r = 0; r < states->size(); r++) {
      const StateBytes bytes = bytesOf(tape_, tape_.reductions[r]);
      char* const leaf = memory + bytes.node;
      (*states)[r] = {leaf, leaf + bytes.leaf, memory, tape_.accumulators, 0, 0};
      memory += bytes.all();
    }
  }
}

void TapePartials::resetSlot(size_t phase) {
  eachReduction(phase, [&](const Instruction& i) { reset(i, slot_[i.reduction]); });
}

void TapePartials::resetTile(size_t phase) {
  eachReduction(phase, [&](const Instruction& i) { reset(i, tile_[i.reduction]); });
}

void TapePartials::closeSlot(size_t phase) {
  eachReduction(phase, [&](const Instruction& i) { close(i, slot_[i.reduction]); });
}

void TapePartials::pushSlot(size_t phase) {
  eachReduction(phase, [&](const Instruction& i) {
    if (i.monoid)
      MonoidRun(i.monoid->monoid, loops_).push(tile_[i.reduction], slot_[i.reduction]);
    else
      i.reduce->push(tile_[i.reduction], slot_[i.reduction]);
  });
}

void TapePartials::finish(size_t phase, bool fromSlots, const Operand* operands) {
  eachReduction(phase, [&](const Instruction& i) {
    ReduceState& state = fromSlots ? tile_[i.reduction] : slot_[i.reduction];
    if (fromSlots) close(i, state);
    if (i.monoid)
      finishMonoid(i, state, operands);
    else
      i.reduce->finish(state, fold(), operands[i.value]);
  });
}

int64_t TapePartials::levelsByteLength(const Tape& tape, int64_t slots) {
  int64_t bytes = 0;
  for (const ReduceInfo& info : tape.reductions) bytes += alignedBytes(bytesOfLevels(tape, info, slots));
  return bytes;
}

int64_t TapePartials::openByteLength(const Tape& tape) {
  int64_t bytes = 0;
  for (const ReduceInfo& info : tape.reductions) {
    bytes += alignedBytes(info.nodeByteLength * tape.accumulators) +
             alignedBytes(tape.levels * info.nodeByteLength * tape.accumulators) + alignedBytes(kCountsBytes);
  }
  return bytes;
}

void TapePartials::copyNodes(size_t phase, char* nodes, bool out) {
  eachReduction(phase, [&](const Instruction& i) {
    const int64_t bytes = tape_.reductions[i.reduction].nodeByteLength * tape_.accumulators;
    copyBytes(slot_[i.reduction].node, nodes, bytes, out);
    nodes += alignedBytes(bytes);
  });
}

void TapePartials::copyLevels(size_t phase, char* levels, int64_t slots, bool out) {
  eachReduction(phase, [&](const Instruction& i) {
    const ReduceInfo& info = tape_.reductions[i.reduction];
    ReduceState& state = tile_[i.reduction];
    copyBytes(state.levels, levels, bytesOfLevels(tape_, info, slots), out);
    state.leaves = slots;
    levels += alignedBytes(bytesOfLevels(tape_, info, tape_.slots));
  });
}

void TapePartials::copyOpenSlot(size_t phase, char* memory, bool out) {
  eachReduction(phase, [&](const Instruction& i) {
    const ReduceInfo& info = tape_.reductions[i.reduction];
    ReduceState& state = slot_[i.reduction];
    const auto copied = [&](char* of, int64_t bytes) {
      copyBytes(of, memory, bytes, out);
      memory += alignedBytes(bytes);
    };
    // Larger leaves are complete where ranges end: there they are empty.
    if (info.leafByteLength <= info.nodeByteLength)
      copied(state.leaf, info.leafByteLength * tape_.accumulators);
    copied(state.levels, tape_.levels * info.nodeByteLength * tape_.accumulators);
    int64_t counts[] = {state.steps, state.leaves};
    copied(reinterpret_cast<char*>(counts), kCountsBytes);
    state.steps = counts[0];
    state.leaves = counts[1];
  });
}

void TapePartials::take(const Instruction& i, const Position& at, bool isTail, const Operand* const* args,
                        const Operand& out) {
  const Extent extent{at.rows, at.chunks()};
  if (tape_.isSegmented()) {
    const Value& value = tape_.values[i.value];
    if (!value.lanes) return i.reduce->segments(extent, at.valid, args, out);
    i.reduce->segments(extent, at.valid, args, {out.data, 1, 0});
    // Functions read whole chunks.
    const int64_t rest = (kChunk - at.rows % kChunk) % kChunk;
    std::memset(out.data + at.rows * value.byteLength, 0, static_cast<size_t>(rest * value.byteLength));
  } else if (tape_.laneKind == LaneKind::reduced) {
    i.reduce->lanes(slot_[i.reduction], extent, at.valid, args);
  } else {
    const bool cut = tape_.laneKind == LaneKind::both && isTail;
    i.reduce->columns(slot_[i.reduction], extent, cut ? at.valid : extent.chunks * kChunk, args);
  }
}

void TapePartials::reset(const Instruction& i, ReduceState& state) {
  if (i.monoid)
    MonoidRun(i.monoid->monoid, loops_).reset(state);
  else
    i.reduce->reset(state);
}

void TapePartials::close(const Instruction& i, ReduceState& state) {
  if (i.monoid)
    MonoidRun(i.monoid->monoid, loops_).close(state);
  else
    i.reduce->close(state);
}

void TapePartials::takeByMonoid(const Instruction& i, const Position& at, const Operand* operands) {
  std::vector<Operand> rows;
  std::vector<const Operand*> args;
  for (const int arg : i.loopArgs) rows.push_back(operands[arg]);
  for (const Operand& operand : rows) args.push_back(&operand);
  MonoidRun run(i.monoid->monoid, loops_);
  ReduceState& state = slot_[i.reduction];
  const Extent extent{at.rows, at.chunks()};
  if (tape_.laneKind == LaneKind::parallel) {
    run.columns(state, extent, args.data());
  } else if (!tape_.isSegmented()) {
    run.lanes(state, extent, at.valid, args.data());
  } else {
    for (int64_t row = 0; row < at.rows; row++) {
      run.reset(state);
      run.lanes(state, {1, extent.chunks}, at.valid, args.data());
      run.close(state);
      finishMonoid(i, state, operands, row);
      for (size_t k = 0; k < rows.size(); k++)
        rows[k].data += rows[k].rowStep * i.monoid->monoid.partBytes[k];
    }
  }
}

void TapePartials::finishMonoid(const Instruction& i, const ReduceState& state, const Operand* operands,
                                int64_t row) {
  const MonoidRun run(i.monoid->monoid, loops_);
  for (const auto& [part, value] : i.monoid->results) {
    const Operand& out = operands[value];
    run.finish(state, tape_.laneKind != LaneKind::parallel, part,
               out.data + row * out.rowStep * tape_.values[value].byteLength);
  }
}

}  // namespace weft::cpu
