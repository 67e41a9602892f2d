// The values of loops whose numbers are all whole and of 31 bits, as int32: lanes of 32 bits hold twice as
// many elements as those of float64 and int64.
#pragma once
#include <vector>

#include "cpu/element-step.h"
#include "cpu/jit/range.h"

namespace weft::cpu::jit {

// Whether int32 holds the numbers of a dtype that have a range.
bool isNarrow(DType dtype, Range range);

// Whether all values of a loop are of such ops, whatever their ranges.
bool mayBeNarrow(const ElementLoop& loop);

// Makes the op, cast or constant one of int32, with the same numbers; false where they are not. `own`: the
// range of the result.
bool makeNarrow(StepValue& value, Range own, const std::vector<Range>& args);

StepValue narrowConstant(int32_t number);

// Of each argument of a loop, whether numbers are divided by it.
std::vector<bool> divisorsOf(const ElementLoop& loop);

}  // namespace weft::cpu::jit
