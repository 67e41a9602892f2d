// The code of a loop of elements as it is.
#pragma once
#include <memory>
#include <vector>

#include "cpu/jit/native-loop.h"

namespace weft::cpu::jit {

// `stored`: the dtypes of the loop's arguments in memory; those of lanes are the same, or int32. Null: the
// system refused memory, or the processor has no instructions for it.
std::shared_ptr<NativeLoop> makeLoopCode(std::shared_ptr<const ElementLoop> loop, int result,
                                         const std::vector<DType>& stored,
                                         const std::vector<const char*>& constants);

}  // namespace weft::cpu::jit
