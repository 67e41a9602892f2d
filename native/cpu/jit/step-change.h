// How far a step moves a state: sums and differences with numbers that have ranges, and choices between them.
//
//     count + 1 where p is prime, else count      from 0 to 1
//     (sum + i * j) - k                           from least (i * j) - most k, by way of sum + i * j
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "cpu/element-loop.h"
#include "cpu/jit/range.h"

namespace weft::cpu::jit {

// Bounds of a value minus the state at the begin of the step.
struct Change {
  int64_t least = 0, most = 0;
  // Of all values on the way there, and 0.
  int64_t lowest = 0, highest = 0;
};

// The change of a loop's result by all of its steps; none: it is not bounded.
using ChangeOfLoop = std::function<std::optional<Change>(const StepValue& value)>;

// Of the next one of a state, whose numbers are whole; none: it is not made so. `ranges`: of all positions in
// the step.
std::optional<Change> stepChange(const ElementLoop& loop, int state, const std::vector<Range>& ranges,
                                 const ChangeOfLoop& changeOfLoop);

}  // namespace weft::cpu::jit
