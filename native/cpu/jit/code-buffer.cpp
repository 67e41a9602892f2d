#include "cpu/jit/code-buffer.h"

namespace weft::cpu::jit {

void CodeBuffer::word(int32_t value) {
  for (int k = 0; k < 4; k++) byte(value >> 8 * k);
}

void CodeBuffer::quad(uint64_t value) {
  for (int k = 0; k < 8; k++) byte(static_cast<int>(value >> 8 * k & 0xff));
}

Label CodeBuffer::label() {
  labels_.push_back(-1);
  return static_cast<Label>(labels_.size() - 1);
}

VectorOperand CodeBuffer::constant(uint64_t element) {
  const auto [found, isNew] = constantIndex_.try_emplace(element, static_cast<int32_t>(constants_.size()));
  if (isNew) constants_.push_back(element);
  return {VectorOperand::Kind::constant, found->second};
}

std::optional<uint64_t> CodeBuffer::elementOf(VectorOperand operand) const {
  if (operand.kind != VectorOperand::Kind::constant) return std::nullopt;
  return constants_[operand.value];
}

size_t CodeBuffer::placeConstants(size_t vectorBytes) {
  while (code_.size() % vectorBytes != 0) byte(0xcc);
  const size_t first = code_.size();
  for (const uint64_t element : constants_)
    for (size_t k = 0; k < vectorBytes; k += 8) quad(element);
  return first;
}

}  // namespace weft::cpu::jit
