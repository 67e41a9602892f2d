// Arithmetic on integers and floats, rounding, and choice. Compiled once per instruction set.
#include "cpu/scalar-ops.h"

namespace weft::cpu::WEFT_ISA {
namespace {

template <typename T>
void choose(Extent n, const Operand& out, const Operand* const* args) {
  eachChunk<T, uint8_t, T, T>(
      n, out, args, [](T * d, const uint8_t* c, const T* a, const T* b) __attribute__((always_inline)) {
#pragma GCC ivdep
        for (int l = 0; l < kChunk; l++) d[l] = c[l] != 0 ? a[l] : b[l];
      });
}

// Element types of 16 bytes are chosen as two halves.
void chooseWide(Extent n, const Operand& out, const Operand* const* args) {
  struct Wide {
    uint64_t low, high;
  };
  eachChunk<Wide, uint8_t, Wide, Wide>(
      n, out, args,
      [](Wide * d, const uint8_t* c, const Wide* a, const Wide* b) __attribute__((always_inline)) {
        for (int l = 0; l < kChunk; l++) d[l] = c[l] != 0 ? a[l] : b[l];
      });
}

// Two's complement makes these the same for signed and unsigned: compiled for U only.
template <typename U, typename S>
void addModular(Registry& registry) {
  for (const DType dtype : {kDTypeOf<S>, kDTypeOf<U>}) {
    registry.addOp("add", dtype, binary<Add, U, U>);
    registry.addOp("subtract", dtype, binary<Subtract, U, U>);
    registry.addOp("multiply", dtype, binary<Multiply, U, U>);
    registry.addOp("negative", dtype, unary<Negative, U, U>);
    registry.addOp("square", dtype, unary<Square, U, U>);
    for (const char* name : {"positive", "conj", "real", "round", "floor", "ceil", "trunc"}) {
      registry.addOp(name, dtype, unary<Same, U, U>);
    }
    registry.addOp("imag", dtype, unary<Zero, U, U>);
    registry.addOp("where", dtype, choose<U>);
  }
  registry.addOp("abs", kDTypeOf<U>, unary<Same, U, U>);
  registry.addOp("abs", kDTypeOf<S>, unary<Abs, S, S>);
}

template <typename T>
void addOrdered(Registry& registry) {
  const DType dtype = kDTypeOf<T>;
  registry.addOp("sign", dtype, unary<Sign, T, T>);
  registry.addOp("reciprocal", dtype, unary<Reciprocal, T, T>);
  registry.addOp("maximum", dtype, binary<Maximum, T, T>);
  registry.addOp("minimum", dtype, binary<Minimum, T, T>);
}

template <typename T>
void addFloat(Registry& registry) {
  const DType dtype = kDTypeOf<T>;
  addOrdered<T>(registry);
  registry.addOp("add", dtype, binary<Add, T, T>);
  registry.addOp("subtract", dtype, binary<Subtract, T, T>);
  registry.addOp("multiply", dtype, binary<Multiply, T, T>);
  registry.addOp("divide", dtype, binary<Divide, T, T>);
  registry.addOp("negative", dtype, unary<Negative, T, T>);
  registry.addOp("square", dtype, unary<Square, T, T>);
  registry.addOp("abs", dtype, unary<Abs, T, T>);
  registry.addOp("copysign", dtype, binary<CopySign, T, T>);
  registry.addOp("sqrt", dtype, unary<Sqrt, T, T>);
  registry.addOp("rsqrt", dtype, unary<ReciprocalSqrt, T, T>);
  registry.addOp("round", dtype, unary<Round, T, T>);
  registry.addOp("floor", dtype, unary<Floor, T, T>);
  registry.addOp("ceil", dtype, unary<Ceil, T, T>);
  registry.addOp("trunc", dtype, unary<Trunc, T, T>);
  for (const char* name : {"positive", "conj", "real"}) registry.addOp(name, dtype, unary<Same, T, T>);
  registry.addOp("imag", dtype, unary<Zero, T, T>);
  registry.addOp("where", dtype, choose<T>);
}

}  // namespace

void addArithmetic(Registry& registry) {
  addModular<uint8_t, int8_t>(registry);
  addModular<uint16_t, int16_t>(registry);
  addModular<uint32_t, int32_t>(registry);
  addModular<uint64_t, int64_t>(registry);
  addOrdered<int8_t>(registry);
  addOrdered<int16_t>(registry);
  addOrdered<int32_t>(registry);
  addOrdered<int64_t>(registry);
  addOrdered<uint8_t>(registry);
  addOrdered<uint16_t>(registry);
  addOrdered<uint32_t>(registry);
  addOrdered<uint64_t>(registry);
  addFloat<float>(registry);
  addFloat<double>(registry);
  for (const char* name : {"abs", "real", "floor", "ceil", "trunc"}) {
    registry.addOp(name, DType::boolean, unary<Same, uint8_t, uint8_t>);
  }
  registry.addOp("imag", DType::boolean, unary<Zero, uint8_t, uint8_t>);
  registry.addOp("where", DType::boolean, choose<uint8_t>);
  registry.addOp("where", DType::float16, choose<uint16_t>);
  registry.addOp("where", DType::bfloat16, choose<uint16_t>);
  registry.addOp("where", DType::complex64, choose<uint64_t>);
  registry.addOp("where", DType::complex128, chooseWide);
}

}  // namespace weft::cpu::WEFT_ISA
