// Pairs of cheap float ops in one pass over a block, as src/codegen/cpu/tape-fuse.ts joins them:
// "outer.inner", with the inner one's place among the outer one's arguments if that has two. Compiled once
// per instruction set.
//
// Arguments: the inner op's, then what is left of the outer op's.
#include "cpu/scalar-ops.h"

namespace weft::cpu::WEFT_ISA {
namespace {

template <typename Outer, typename Inner>
struct UnaryOfUnary {
  template <typename T>
  static T run(T a) {
    return Outer::run(Inner::run(a));
  }
};
template <typename Outer, typename Inner>
struct UnaryOfBinary {
  template <typename T>
  static T run(T a, T b) {
    return Outer::run(Inner::run(a, b));
  }
};
template <typename Outer, typename Inner, int ChainOperand>
struct BinaryOfUnary {
  template <typename T>
  static T run(T a, T b) {
    return ChainOperand == 0 ? Outer::run(Inner::run(a), b) : Outer::run(b, Inner::run(a));
  }
};
template <typename Outer, typename Inner, int ChainOperand, typename T>
void binaryOfBinary(Extent n, const Operand& out, const Operand* const* args) {
  eachChunk<T, T, T, T>(
      n, out, args, [](T * d, const T* a, const T* b, const T* c) __attribute__((always_inline)) {
#pragma GCC ivdep
        for (int l = 0; l < kChunk; l++) {
          const T inner = Inner::run(a[l], b[l]);
          d[l] = ChainOperand == 0 ? Outer::run(inner, c[l]) : Outer::run(c[l], inner);
        }
      });
}

// c < d ? a : b, with the comparison's arguments first.
template <typename Comparison, typename T>
void whereCompared(Extent n, const Operand& out, const Operand* const* args) {
  eachChunk<T, T, T, T, T>(
      n, out, args, [](T * d, const T* x, const T* y, const T* a, const T* b) __attribute__((always_inline)) {
#pragma GCC ivdep
        for (int l = 0; l < kChunk; l++) d[l] = Comparison::run(x[l], y[l]) ? a[l] : b[l];
      });
}

// A place along an axis, counted from the end where it is negative, and clipped.
void placeWithin(Extent n, const Operand& out, const Operand* const* args) {
  eachChunk<int64_t, int64_t, int64_t, int64_t>(
      n, out, args,
      [](int64_t * d, const int64_t* x, const int64_t* size, const int64_t* last)
          __attribute__((always_inline)) {
#pragma GCC ivdep
            for (int l = 0; l < kChunk; l++) {
              const int64_t at = x[l] < 0 ? x[l] + size[l] : x[l];
              const int64_t least = at < 0 ? 0 : at;
              d[l] = least < last[l] ? least : last[l];
            }
          });
}

// outer, ".", inner and, for places 0 and 1, its digit.
class Name {
 public:
  // Not inlined into each of the entries.
  __attribute__((noinline)) Name(const char* outer, const char* inner, int place = -1) {
    char* p = text_;
    while (*outer) *p++ = *outer++;
    *p++ = '.';
    while (*inner) *p++ = *inner++;
    if (place >= 0) {
      *p++ = '.';
      *p++ = static_cast<char>('0' + place);
    }
    *p = '\0';
  }
  operator const char*() const { return text_; }

 private:
  char text_[64];
};

template <typename Outer, typename Inner, typename T>
void addUnaryOfUnary(Registry& registry, const char* outer, const char* inner) {
  registry.addOp(Name(outer, inner), kDTypeOf<T>, unary<UnaryOfUnary<Outer, Inner>, T, T>);
}
template <typename Outer, typename Inner, typename T>
void addUnaryOfBinary(Registry& registry, const char* outer, const char* inner) {
  registry.addOp(Name(outer, inner), kDTypeOf<T>, binary<UnaryOfBinary<Outer, Inner>, T, T>);
}
template <typename Outer, typename Inner, typename T>
void addBinaryOfUnary(Registry& registry, const char* outer, const char* inner) {
  registry.addOp(Name(outer, inner, 0), kDTypeOf<T>, binary<BinaryOfUnary<Outer, Inner, 0>, T, T>);
  registry.addOp(Name(outer, inner, 1), kDTypeOf<T>, binary<BinaryOfUnary<Outer, Inner, 1>, T, T>);
}
template <typename Outer, typename Inner, typename T>
void addBinaryOfBinary(Registry& registry, const char* outer, const char* inner) {
  registry.addOp(Name(outer, inner, 0), kDTypeOf<T>, binaryOfBinary<Outer, Inner, 0, T>);
  registry.addOp(Name(outer, inner, 1), kDTypeOf<T>, binaryOfBinary<Outer, Inner, 1, T>);
}

template <typename Outer, typename T>
void addOuterUnary(Registry& registry, const char* outer) {
  addUnaryOfUnary<Outer, Abs, T>(registry, outer, "abs");
  addUnaryOfUnary<Outer, Negative, T>(registry, outer, "negative");
  addUnaryOfUnary<Outer, Square, T>(registry, outer, "square");
  addUnaryOfBinary<Outer, Add, T>(registry, outer, "add");
  addUnaryOfBinary<Outer, Subtract, T>(registry, outer, "subtract");
  addUnaryOfBinary<Outer, Multiply, T>(registry, outer, "multiply");
  addUnaryOfBinary<Outer, Maximum, T>(registry, outer, "maximum");
  addUnaryOfBinary<Outer, Minimum, T>(registry, outer, "minimum");
}
template <typename Outer, typename T>
void addOuterBinary(Registry& registry, const char* outer) {
  addBinaryOfUnary<Outer, Abs, T>(registry, outer, "abs");
  addBinaryOfUnary<Outer, Negative, T>(registry, outer, "negative");
  addBinaryOfUnary<Outer, Square, T>(registry, outer, "square");
  addBinaryOfBinary<Outer, Add, T>(registry, outer, "add");
  addBinaryOfBinary<Outer, Subtract, T>(registry, outer, "subtract");
  addBinaryOfBinary<Outer, Multiply, T>(registry, outer, "multiply");
  addBinaryOfBinary<Outer, Maximum, T>(registry, outer, "maximum");
  addBinaryOfBinary<Outer, Minimum, T>(registry, outer, "minimum");
}

template <typename T>
void addPairs(Registry& registry) {
  addOuterUnary<Abs, T>(registry, "abs");
  addOuterUnary<Negative, T>(registry, "negative");
  addOuterUnary<Square, T>(registry, "square");
  addOuterUnary<Sqrt, T>(registry, "sqrt");
  addOuterBinary<Add, T>(registry, "add");
  addOuterBinary<Subtract, T>(registry, "subtract");
  addOuterBinary<Multiply, T>(registry, "multiply");
  addOuterBinary<Divide, T>(registry, "divide");
  addOuterBinary<Maximum, T>(registry, "maximum");
  addOuterBinary<Minimum, T>(registry, "minimum");
  const DType dtype = kDTypeOf<T>;
  registry.addOp("where.equal", dtype, whereCompared<Equal, T>);
  registry.addOp("where.notEqual", dtype, whereCompared<NotEqual, T>);
  registry.addOp("where.less", dtype, whereCompared<Less, T>);
  registry.addOp("where.lessEqual", dtype, whereCompared<LessEqual, T>);
  registry.addOp("where.greater", dtype, whereCompared<Greater, T>);
  registry.addOp("where.greaterEqual", dtype, whereCompared<GreaterEqual, T>);
}

}  // namespace

void addFused(Registry& registry) {
  addPairs<float>(registry);
  addPairs<double>(registry);
  registry.addOp("placeWithin", DType::int64, placeWithin);
}

}  // namespace weft::cpu::WEFT_ISA
