// Bytes of machine code with their labels, and the constants that lie behind them: vectors of equal elements
// of 64 bits.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "cpu/jit/operand.h"

namespace weft::cpu::jit {

class CodeBuffer {
 public:
  Label label();
  void bind(Label label) { labels_[label] = static_cast<int64_t>(code_.size()); }

  VectorOperand constant(uint64_t element);
  // The element of such a vector; none of other operands.
  std::optional<uint64_t> elementOf(VectorOperand operand) const;

 protected:
  void byte(int value) { code_.push_back(static_cast<uint8_t>(value)); }
  void word(int32_t value);
  void quad(uint64_t value);
  int64_t placeOf(Label label) const { return labels_[label]; }
  // Appends the constants, aligned to vectors; the place of the first one.
  size_t placeConstants(size_t vectorBytes);

  std::vector<uint8_t> code_;

 private:
  std::vector<int64_t> labels_;
  std::vector<uint64_t> constants_;
  std::map<uint64_t, int32_t> constantIndex_;
};

}  // namespace weft::cpu::jit
