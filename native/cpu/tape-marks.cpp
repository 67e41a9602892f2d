#include "cpu/tape-marks.h"

#include <algorithm>
#include <bit>

#include "cpu/tape-columns.h"

namespace weft::cpu {
namespace {

bool readsValue(const Tape& tape, const Instruction& i, int value) {
  const auto has = [&](const auto& list) { return std::find(list.begin(), list.end(), value) != list.end(); };
  if (i.chain) return has(i.chain->inputs);
  if (i.code == Opcode::store) return i.value == value || tape.windowIndex == value;
  return i.indexValue == value || std::find(i.args, i.args + i.argCount, value) != i.args + i.argCount ||
         has(i.loopArgs);
}

template <typename Is>
bool eachReader(const Tape& tape, int value, const Is& is) {
  return std::all_of(tape.walks.begin(), tape.walks.end(), [&](const Section& section) {
    return std::all_of(section.begin(), section.end(), [&](const Instruction& reader) {
      return !readsValue(tape, reader, value) || is(reader);
    });
  });
}

// Of those of its arguments whose lanes are equal; those of another one differ.
bool readsOneLane(const Tape& tape, const Instruction& i) {
  const auto varies = [&](int arg) { return tape.values[arg].lanes; };
  return i.readsFirstOfEqual && std::any_of(i.args, i.args + i.argCount, varies);
}

// Finds loads of equal lanes of which one lane is enough for all that read them.
void markSingles(const Tape& tape, Section& walk) {
  if (tape.laneKind != LaneKind::parallel) return;
  for (Instruction& i : walk)
    i.isSingle =
        i.code == Opcode::load && i.indexValue < 0 && !tape.values[i.value].lanes &&
        eachReader(tape, i.value, [&](const Instruction& reader) { return readsOneLane(tape, reader); });
}

// Finds loads that sums of their lanes alone read: without it, a vector of a number of elements that is no
// multiple of a chunk's is copied for each row of a matrix that it is multiplied by.
void markEnds(const Tape& tape, Section& walk) {
  if (tape.laneKind != LaneKind::reduced) return;
  for (Instruction& i : walk)
    if (i.code == Opcode::load)
      i.endsWithLanes =
          eachReader(tape, i.value, [](const Instruction& reader) { return reader.endsWithLanes; });
}

void countStates(Tape& tape) {
  const int64_t blocks = tape.walkBlocks();
  const int64_t slotBlocks = tape.slotBlocks;
  tape.slots = std::max<int64_t>(1, blocks / slotBlocks + (blocks % slotBlocks == 0 ? 0 : 1));
  tape.accumulators = tape.laneKind == LaneKind::reduced ? 1 : tape.chunks();
  if (tape.reductions.empty()) return;
  // Steps of a slot, at most: one for each row and chunk of each block.
  const int64_t chunks = tape.accumulators == 1 ? tape.chunks() : 1;
  const int64_t steps = std::min(blocks, slotBlocks) * tape.rows * chunks;
  tape.levels = std::bit_width(static_cast<uint64_t>(std::max(steps, tape.slots))) + 1;
}

}  // namespace

void markTape(Tape& tape) {
  for (Section& walk : tape.walks) {
    markSingles(tape, walk);
    markEnds(tape, walk);
    markColumns(tape, walk);
  }
  countStates(tape);
}

}  // namespace weft::cpu
