// Ranges of the numbers in a loop: of what is before it, joined with what each step makes of it while its
// condition holds. Numbers with small bounds need fewer instructions.
//
//     while (d * d <= p) d += p % d == 0 ? 0 : 1      p from 0 to 2^24, d from 2
//     →   d from 2 to 4097, which is no divisor of 0; of d * d <= p, d at most 4096 in the step
#pragma once
#include <memory>
#include <vector>

#include "cpu/element-loop.h"
#include "cpu/jit/range.h"

namespace weft::cpu::jit {

struct BoundedLoop {
  // The loop, whose values say where their arguments are bounded, and have others in the place of those that
  // are equal.
  std::shared_ptr<const ElementLoop> loop;
  // How many values are so, in it and in loops within.
  int changes = 0;
};

// By the ranges of the loop's arguments, states first. Without a loop: it has too many loops within.
// `isNarrowed`: all of its numbers as int32 (narrow-value.h); without a loop where one may be another.
BoundedLoop boundedLoop(const ElementLoop& loop, const std::vector<Range>& arguments, bool isNarrowed);

}  // namespace weft::cpu::jit
