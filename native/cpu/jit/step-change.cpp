#include "cpu/jit/step-change.h"

#include <algorithm>

namespace weft::cpu::jit {
namespace {

// No sum of two such bounds overflows.
constexpr int64_t kMostChange = int64_t{1} << 60;

std::optional<Change> moved(Change change, int64_t least, int64_t most) {
  if (least < -kMostChange || most > kMostChange) return std::nullopt;
  change.least += least;
  change.most += most;
  change.lowest = std::min(change.lowest, change.least);
  change.highest = std::max(change.highest, change.most);
  if (change.lowest < -kMostChange || change.highest > kMostChange) return std::nullopt;
  return change;
}

std::optional<Change> joined(const std::optional<Change>& a, const std::optional<Change>& b) {
  if (!a || !b) return std::nullopt;
  return Change{std::min(a->least, b->least), std::max(a->most, b->most), std::min(a->lowest, b->lowest),
                std::max(a->highest, b->highest)};
}

}  // namespace

std::optional<Change> stepChange(const ElementLoop& loop, int state, const std::vector<Range>& ranges,
                                 const ChangeOfLoop& changeOfLoop) {
  const auto arguments = loop.argumentBytes.size();
  std::vector<std::optional<Change>> changes(ranges.size());
  changes[state] = Change{};
  const auto changed = [&](const StepValue& value) -> std::optional<Change> {
    const auto& args = value.args;
    const auto by = [&](int from, int other, int sign) -> std::optional<Change> {
      const Range& range = ranges[args[other]];
      if (!changes[args[from]] || changes[args[other]] || !range.isWhole) return std::nullopt;
      if (range.least < -kMostChange || range.most > kMostChange) return std::nullopt;
      return sign > 0 ? moved(*changes[args[from]], range.least, range.most)
                      : moved(*changes[args[from]], -range.most, -range.least);
    };
    const auto ofCommonBits = [&](const std::vector<int>& both) -> std::optional<Change> {
      std::optional<Change> change;
      for (const int arg : both)
        if (changes[arg] && (!change || changes[arg]->most < change->most)) change = changes[arg];
      if (!change || !ranges[state].isWholeWithin(0, kMostChange)) return std::nullopt;
      return moved(*change, -ranges[state].most - change->least, 0);
    };
    if (value.loop) {
      const std::optional<Change>& before = changes[args[value.result]];
      const std::optional<Change> inner = before ? changeOfLoop(value) : std::nullopt;
      return inner ? moved(*before, inner->lowest, inner->highest) : std::nullopt;
    }
    if (value.dtype != loop.dtypes[state]) return std::nullopt;
    if (value.op == "where") return joined(changes[args[1]], changes[args[2]]);
    // At least one less; no more than either.
    const auto isAbove = [&](int arg, int64_t least) {
      return ranges[args[arg]].isWholeWithin(least, kMostChange);
    };
    if (value.op == "bitwiseRightShift" && changes[args[0]] && isAbove(0, 1) && isAbove(1, 1))
      return moved(*changes[args[0]], -ranges[args[0]].most, -1);
    if (value.op == "bitwiseAnd" && isAbove(0, 0) && isAbove(1, 0)) return ofCommonBits(args);
    if (value.op == "subtract") return by(0, 1, -1);
    if (value.op != "add") return std::nullopt;
    return changes[args[0]] ? by(0, 1, 1) : by(1, 0, 1);
  };
  for (size_t k = 0; k < loop.values.size(); k++)
    if (loop.values[k].constant.empty()) changes[arguments + k] = changed(loop.values[k]);
  return changes[loop.next[state]];
}

}  // namespace weft::cpu::jit
