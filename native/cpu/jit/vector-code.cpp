#include "cpu/jit/vector-code.h"

namespace weft::cpu::jit {

bool isLaneDType(DType dtype) {
  switch (dtype) {
    case DType::boolean:
    case DType::int32:
    case DType::uint32:
    case DType::int64:
    case DType::uint64:
    case DType::float32:
    case DType::float64:
      return true;
    default:
      return false;
  }
}

uint64_t laneOf(DType dtype, uint64_t bits) {
  if (dtype == DType::boolean) return (bits & 0xff) != 0 ? ~uint64_t{0} : 0;
  if (kElementBytes[static_cast<int>(dtype)] == 8) return bits;
  return (bits & 0xffffffff) | bits << 32;
}

int VectorCode::inRegister(VectorOperand from, int spare) {
  if (from.isRegister()) return from.value;
  move(spare, from);
  return spare;
}

}  // namespace weft::cpu::jit
