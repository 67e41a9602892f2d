// Enters the steps of chains into the registry, but for those that are functions of the vector math library
// (ops-math.cpp). Compiled once per instruction set.
//
// A binary op's name is followed by the place of the group among its arguments.
#include "cpu/chain-steps.h"

namespace weft::cpu::WEFT_ISA {
namespace {

#define WEFT_COMPARISON(name, op) \
  struct Vector##name {           \
    template <typename V>         \
    static auto holds(V a, V b) { \
      return a op b;              \
    }                             \
  };
WEFT_COMPARISON(Equal, ==)
WEFT_COMPARISON(NotEqual, !=)
WEFT_COMPARISON(Less, <)
WEFT_COMPARISON(LessEqual, <=)
WEFT_COMPARISON(Greater, >)
WEFT_COMPARISON(GreaterEqual, >=)
#undef WEFT_COMPARISON

struct TakeSum {
  template <typename V>
  static V combine(V a, V b) {
    return a + b;
  }
};
struct TakeProduct {
  template <typename V>
  static V combine(V a, V b) {
    return a * b;
  }
};
// As Min and Max of reduce.cpp.
struct TakeMin {
  template <typename V>
  static V combine(V a, V b) {
    const V smaller = a < b ? a : b;
    return a == a ? smaller : a;
  }
};
struct TakeMax {
  template <typename V>
  static V combine(V a, V b) {
    const V larger = a > b ? a : b;
    return a == a ? larger : a;
  }
};

template <typename T>
void addSteps(Registry& registry) {
  using S = Steps<T>;
  registry.addDrive(kDTypeOf<T>, {S::drive, kGroupLanes<T>});
  addStep<T>(registry, "end", S::end, 0);
  addStep<T>(registry, "load", S::load, 1);
  addStep<T>(registry, "prefetch", S::prefetch, 1);
  addStep<T>(registry, "save", S::save, 1);
  addStep<T>(registry, "stream", S::stream, 1);
  addStep<T>(registry, "function", S::function, 0);

  addStep<T>(registry, "abs", S::template unary<VectorAbs>, 0);
  addStep<T>(registry, "negative", S::template unary<VectorNegative>, 0);
  addStep<T>(registry, "square", S::template unary<Square>, 0);
  addStep<T>(registry, "sqrt", S::template unary<VectorSqrt>, 0);
  addStep<T>(registry, "rsqrt", S::template unary<VectorReciprocalSqrt>, 0);
  addStep<T>(registry, "reciprocal", S::template unary<VectorReciprocal>, 0);
  addStep<T>(registry, "sign", S::template lanes<Sign>, 0);
  addStep<T>(registry, "round", S::template lanes<Round>, 0);
  addStep<T>(registry, "floor", S::template lanes<Floor>, 0);
  addStep<T>(registry, "ceil", S::template lanes<Ceil>, 0);
  addStep<T>(registry, "trunc", S::template lanes<Trunc>, 0);

  addStep<T>(registry, "add.0", S::template binary<Add, 0>, 1);
  addStep<T>(registry, "add.1", S::template binary<Add, 1>, 1);
  addStep<T>(registry, "subtract.0", S::template binary<Subtract, 0>, 1);
  addStep<T>(registry, "subtract.1", S::template binary<Subtract, 1>, 1);
  addStep<T>(registry, "multiply.0", S::template binary<Multiply, 0>, 1);
  addStep<T>(registry, "multiply.1", S::template binary<Multiply, 1>, 1);
  addStep<T>(registry, "divide.0", S::template binary<Divide, 0>, 1);
  addStep<T>(registry, "divide.1", S::template binary<Divide, 1>, 1);
  addStep<T>(registry, "maximum.0", S::template binary<VectorMaximum, 0>, 1);
  addStep<T>(registry, "maximum.1", S::template binary<VectorMaximum, 1>, 1);
  addStep<T>(registry, "minimum.0", S::template binary<VectorMinimum, 0>, 1);
  addStep<T>(registry, "minimum.1", S::template binary<VectorMinimum, 1>, 1);

  addStep<T>(registry, "where.equal", S::template choose<VectorEqual>, 3);
  addStep<T>(registry, "where.notEqual", S::template choose<VectorNotEqual>, 3);
  addStep<T>(registry, "where.less", S::template choose<VectorLess>, 3);
  addStep<T>(registry, "where.lessEqual", S::template choose<VectorLessEqual>, 3);
  addStep<T>(registry, "where.greater", S::template choose<VectorGreater>, 3);
  addStep<T>(registry, "where.greaterEqual", S::template choose<VectorGreaterEqual>, 3);

  addStep<T>(registry, "reduce.sum", S::template reduce<TakeSum>, 1);
  addStep<T>(registry, "reduce.prod", S::template reduce<TakeProduct>, 1);
  addStep<T>(registry, "reduce.min", S::template reduce<TakeMin>, 1);
  addStep<T>(registry, "reduce.max", S::template reduce<TakeMax>, 1);
}

}  // namespace

void addChains(Registry& registry) {
  addSteps<float>(registry);
  addSteps<double>(registry);
}

}  // namespace weft::cpu::WEFT_ISA
