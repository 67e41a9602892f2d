// Casts between dtypes of lanes: integers wrap, floats saturate to integers and NaN becomes 0, anything
// becomes true unless it is 0. Here are those of booleans and of a changed sign.
#include <bit>

#include "cpu/jit/vector-ops.h"

namespace weft::cpu::jit {
namespace {

void same(VectorCode& to, DType, int out, const VectorOperand* args) { to.move(out, args[0]); }

template <DType To>
void fromBoolean(VectorCode& to, DType, int out, const VectorOperand* args) {
  const uint64_t one = To == DType::float64   ? std::bit_cast<uint64_t>(1.0)
                       : To == DType::float32 ? std::bit_cast<uint32_t>(1.0f)
                                              : 1;
  to.bitAnd(out, to.inRegister(args[0], out), to.constant(laneOf(To, one)));
}
void toBoolean(VectorCode& to, DType from, int out, const VectorOperand* args) {
  to.compare(from, Order::notEqual, out, args[0], to.constant(0));
}

Emit fromBooleanTo(DType to) {
  switch (to) {
    case DType::float64:
      return fromBoolean<DType::float64>;
    case DType::float32:
      return fromBoolean<DType::float32>;
    case DType::int64:
    case DType::uint64:
      return fromBoolean<DType::int64>;
    default:
      return fromBoolean<DType::int32>;
  }
}

// The size of integers; 0 of floats.
int integerBytes(DType dtype) { return isFloat(dtype) ? 0 : kElementBytes[static_cast<int>(dtype)]; }

}  // namespace

VectorOp vectorCast(DType from, DType to, const VectorCode& code) {
  if (!isLaneDType(from) || !isLaneDType(to)) return {};
  if (from == to) return {same};
  if (from == DType::boolean) return {fromBooleanTo(to)};
  if (to == DType::boolean) return {toBoolean};
  if (integerBytes(from) != 0 && integerBytes(from) == integerBytes(to)) return {same};
  return {code.castOf(from, to)};
}

}  // namespace weft::cpu::jit
