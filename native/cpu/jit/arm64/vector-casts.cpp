// Casts between dtypes of numbers, but for those of a changed sign. Conversions to integers saturate and give
// 0 for a NaN, as is wanted.
#include "cpu/jit/arm64/instructions.h"
#include "cpu/jit/arm64/vector-code.h"

namespace weft::cpu::jit::arm64 {
namespace {

// Numbers of 32 bits in the low half of a vector, each twice.
void twice(Arm64Code& to, int out) { to.assembler().vector(kZip1, out, out, out); }
// Integers of 32 bits, which stand twice in their lanes, as 64.
void widen(Arm64Code& to, DType from, int out, VectorOperand a) {
  const int first = to.inRegister(a, kFirstLoad);
  to.assembler().shiftRight(isSigned(from) ? kSshr : kUshr, out, first, 32, 64);
}
void floatToDouble(Arm64Code& to, int out, VectorOperand a) {
  to.emit(kXtn, out, a);
  to.assembler().vector(kFcvtl, out, out);
}

void lowHalf(VectorCode& code, DType, int out, const VectorOperand* args) {
  static_cast<Arm64Code&>(code).emit(kTrn1, out, args[0], args[0]);
}
void widenInteger(VectorCode& code, DType from, int out, const VectorOperand* args) {
  widen(static_cast<Arm64Code&>(code), from, out, args[0]);
}
void integerToDouble(VectorCode& code, DType from, int out, const VectorOperand* args) {
  auto& to = static_cast<Arm64Code&>(code);
  const uint32_t convert = (isSigned(from) ? kScvtf : kUcvtf) | kDouble;
  if (isWide(from)) return to.emit(convert, out, args[0]);
  widen(to, from, out, args[0]);
  to.assembler().vector(convert, out, out);
}
void integerToFloat(VectorCode& code, DType from, int out, const VectorOperand* args) {
  static_cast<Arm64Code&>(code).emit(isSigned(from) ? kScvtf : kUcvtf, out, args[0]);
}

void widenFloat(VectorCode& code, DType, int out, const VectorOperand* args) {
  floatToDouble(static_cast<Arm64Code&>(code), out, args[0]);
}
void narrowDouble(VectorCode& code, DType, int out, const VectorOperand* args) {
  auto& to = static_cast<Arm64Code&>(code);
  to.emit(kFcvtn, out, args[0]);
  twice(to, out);
}
template <bool Signed>
void floatToWide(VectorCode& code, DType from, int out, const VectorOperand* args) {
  auto& to = static_cast<Arm64Code&>(code);
  constexpr uint32_t kConvert = (Signed ? kFcvtzs : kFcvtzu) | kDouble;
  if (from == DType::float64) return to.emit(kConvert, out, args[0]);
  floatToDouble(to, out, args[0]);
  to.assembler().vector(kConvert, out, out);
}
template <bool Signed>
void floatToNarrow(VectorCode& code, DType from, int out, const VectorOperand* args) {
  auto& to = static_cast<Arm64Code&>(code);
  if (from == DType::float32) return to.emit(Signed ? kFcvtzs : kFcvtzu, out, args[0]);
  // To 64 bits, then to 32: both saturate.
  floatToWide<Signed>(code, from, out, args);
  to.assembler().vector(Signed ? kSqxtn : kUqxtn, out, out);
  twice(to, out);
}

Emit fromInteger(DType from, DType to) {
  if (to == DType::float64) return integerToDouble;
  // None rounds 64 bits to a float32 once.
  if (to == DType::float32) return isWide(from) ? nullptr : integerToFloat;
  return isWide(to) ? widenInteger : lowHalf;
}

}  // namespace

Emit Arm64Code::castOf(DType from, DType to) const {
  if (from != DType::float32 && from != DType::float64) return fromInteger(from, to);
  switch (to) {
    case DType::float64:
      return widenFloat;
    case DType::float32:
      return narrowDouble;
    case DType::int64:
      return floatToWide<true>;
    case DType::uint64:
      return floatToWide<false>;
    case DType::int32:
      return floatToNarrow<true>;
    default:
      return floatToNarrow<false>;
  }
}

}  // namespace weft::cpu::jit::arm64
