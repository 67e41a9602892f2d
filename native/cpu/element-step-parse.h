// Reads the functions of elements in a tape: loops of each element, and monoids of reductions.
#pragma once
#include <memory>
#include <vector>

#include "cpu/tape-words.h"
#include "cpu/tape.h"

namespace weft::cpu {

// A loop with the dtypes of its arguments, of which the first are its states.
struct ReadLoop {
  std::shared_ptr<const ElementLoop> made;
  std::vector<DType> dtypes;
  size_t states;
};

ReadLoop readElementLoop(TapeWords& words, const Registry& registry);
Monoid readMonoid(TapeWords& words, const Registry& registry);

}  // namespace weft::cpu
