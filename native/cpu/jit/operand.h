// An operand of vector instructions: a vector register; memory at an offset from the frame's begin, which may
// move with the vector at hand; the vector at hand of memory that a pointer leads to, or that of a short
// piece of memory that is gone through again and again; a constant.
#pragma once
#include <cstdint>

namespace weft::cpu::jit {

struct VectorOperand {
  enum class Kind : uint8_t { vector, memory, moving, pointed, wrapped, constant };
  Kind kind = Kind::vector;
  int32_t value = 0;

  bool isRegister() const { return kind == Kind::vector; }
  bool operator==(const VectorOperand&) const = default;
};
inline constexpr VectorOperand vectorRegister(int number) { return {VectorOperand::Kind::vector, number}; }
inline constexpr VectorOperand pointedBy(int pointer) { return {VectorOperand::Kind::pointed, pointer}; }
inline constexpr VectorOperand wrappedBy(int pointer) { return {VectorOperand::Kind::wrapped, pointer}; }

// A place in code, which jumps may go to before it is known.
using Label = int32_t;

}  // namespace weft::cpu::jit
