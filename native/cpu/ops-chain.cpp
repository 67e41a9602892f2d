// Enters the steps of chains into the registry, but for those that are functions of the vector math library
// (ops-math.cpp). Compiled once per instruction set.
//
// A binary op's name is followed by the place of the group among its arguments.
#include "cpu/chain-arithmetic.h"

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
// As Min and Max of reduce.cpp.
struct TakeMin {
  template <typename V>
  static V combine(V a, V b) {
    return smallerOf(a, b);
  }
};
struct TakeMax {
  template <typename V>
  static V combine(V a, V b) {
    return largerOf(a, b);
  }
};

template <typename T>
void addSteps(Registry& registry) {
  addDrive<T>(registry);
  addArithmeticRuns<T>(registry);
  addStep<T, End>(registry, "end");
  addStep<T, Load>(registry, "load");
  addStep<T, PrefetchGroup>(registry, "prefetch");
  addStep<T, Save>(registry, "save");
  addStep<T, Stream>(registry, "stream");
  addStep<T, FunctionOfLanes>(registry, "function");

  addStep<T, UnaryOf<VectorAbs>>(registry, "abs");
  addStep<T, UnaryOf<VectorNegative>>(registry, "negative");
  addStep<T, UnaryOf<Square>>(registry, "square");
  addStep<T, UnaryOf<VectorSqrt>>(registry, "sqrt");
  addStep<T, UnaryOf<VectorReciprocalSqrt>>(registry, "rsqrt");
  addStep<T, UnaryOf<VectorReciprocal>>(registry, "reciprocal");
  addStep<T, LanesOf<Sign>>(registry, "sign");
  addStep<T, LanesOf<Round>>(registry, "round");
  addStep<T, LanesOf<Floor>>(registry, "floor");
  addStep<T, LanesOf<Ceil>>(registry, "ceil");
  addStep<T, LanesOf<Trunc>>(registry, "trunc");

  addStep<T, BinaryOf<Add, 0>>(registry, "add.0");
  addStep<T, BinaryOf<Add, 1>>(registry, "add.1");
  addStep<T, BinaryOf<Subtract, 0>>(registry, "subtract.0");
  addStep<T, BinaryOf<Subtract, 1>>(registry, "subtract.1");
  addStep<T, BinaryOf<Multiply, 0>>(registry, "multiply.0");
  addStep<T, BinaryOf<Multiply, 1>>(registry, "multiply.1");
  addStep<T, BinaryOf<Divide, 0>>(registry, "divide.0");
  addStep<T, BinaryOf<Divide, 1>>(registry, "divide.1");
  addStep<T, BinaryOf<VectorMaximum, 0>>(registry, "maximum.0");
  addStep<T, BinaryOf<VectorMaximum, 1>>(registry, "maximum.1");
  addStep<T, BinaryOf<VectorMinimum, 0>>(registry, "minimum.0");
  addStep<T, BinaryOf<VectorMinimum, 1>>(registry, "minimum.1");

  addStep<T, Choose<VectorEqual>>(registry, "where.equal");
  addStep<T, Choose<VectorNotEqual>>(registry, "where.notEqual");
  addStep<T, Choose<VectorLess>>(registry, "where.less");
  addStep<T, Choose<VectorLessEqual>>(registry, "where.lessEqual");
  addStep<T, Choose<VectorGreater>>(registry, "where.greater");
  addStep<T, Choose<VectorGreaterEqual>>(registry, "where.greaterEqual");

  addStep<T, Take<TakeSum>>(registry, "reduce.sum");
  addStep<T, Take<TakeMin>>(registry, "reduce.min");
  addStep<T, Take<TakeMax>>(registry, "reduce.max");
}

}  // namespace

void addChains(Registry& registry) {
  addSteps<float>(registry);
  addSteps<double>(registry);
}

}  // namespace weft::cpu::WEFT_ISA
