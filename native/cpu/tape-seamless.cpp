#include "cpu/tape-seamless.h"

#include <algorithm>

namespace weft::cpu {

bool canBeSeamless(const Tape& tape) {
  const auto isEmpty = [](const Section& section) { return section.empty(); };
  if (tape.loops.size() != 1 || tape.loops[0].role != Role::lanes || tape.tileLoops != 1 || tape.inner != 1 ||
      tape.walks.size() != 1 || tape.windowIndex >= 0 ||
      !std::all_of(tape.rowSections.begin(), tape.rowSections.end(), isEmpty))
    return false;
  const auto isInPlace = [&](const Access& access) {
    const Affine& affine = access.affine;
    return access.bounds.empty() && affine.mode == LaneMode::stride && affine.lane == 1 &&
           affine.offset >= 0 && affine.loops[0] == 1 &&
           affine.offset + tape.loops[0].extent <= tape.buffers[access.buffer].elementCount;
  };
  const auto isDirect = [&](const Instruction& i) { return i.hasDirect && isInPlace(i.access); };
  return std::all_of(tape.walks[0].begin(), tape.walks[0].end(), [&](const Instruction& i) {
    const bool varies = tape.values[i.value].lanes;
    switch (i.code) {
      case Opcode::load:
        return i.indexValue < 0 && (varies ? isInPlace(i.access) : i.access.bounds.empty());
      case Opcode::map:
      case Opcode::cast:
        return !i.loop && (isDirect(i) || !varies);
      case Opcode::chain:
        return varies && i.chain->reductions.empty() &&
               std::all_of(i.chain->outputs.begin(), i.chain->outputs.end(), isDirect);
      case Opcode::store:
        // It finds it there.
        return varies && isInPlace(i.access);
      default:
        return false;
    }
  });
}

}  // namespace weft::cpu
