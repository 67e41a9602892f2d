#include "cpu/jit/vector-code.h"

namespace weft::cpu::jit {

int VectorCode::inRegister(VectorOperand from, int spare) {
  if (from.isRegister()) return from.value;
  move(spare, from);
  return spare;
}

}  // namespace weft::cpu::jit
