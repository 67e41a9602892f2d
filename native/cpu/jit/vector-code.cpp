#include "cpu/jit/vector-code.h"

namespace weft::cpu::jit {

int VectorCode::inRegister(VectorOperand from, int spare) {
  if (from.isRegister()) return from.value;
  move(spare, from);
  return spare;
}

void VectorCode::choose(DType dtype, Order order, int out, const VectorOperand* xyab) {
  compare(dtype, order, kSecondScratch, xyab[0], xyab[1]);
  select(out, kSecond, xyab[2], xyab[3]);
}

}  // namespace weft::cpu::jit
