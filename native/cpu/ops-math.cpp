// Exponentials, trigonometry and the like through glibc's vector math library (libmvec), where it is found.
// Compiled once per instruction set.
//
// Functions that it lacks, or all where it is missing, stay with the C library (`scalar-math.cpp`); what
// `vector-functions.h` has is ours. The library's functions are within 4 units in the last place and handle
// special values; every lane goes through the vector function, so that a value does not depend on its place.
#include "cpu/chain-steps.h"
#include "cpu/vector-functions.h"

namespace weft::cpu::WEFT_ISA {
namespace {

// The letter of the instruction set in the vector ABI's names.
#if defined(__AVX512F__)
constexpr char kLetter = 'e';
#elif defined(__AVX2__)
constexpr char kLetter = 'd';
#elif defined(__aarch64__)
constexpr char kLetter = 'n';
#else
constexpr char kLetter = 'b';
#endif

template <typename T>
using Unary = WEFT_VECTOR_CALL Vector<T> (*)(Vector<T>);
template <typename T>
using Binary = WEFT_VECTOR_CALL Vector<T> (*)(Vector<T>, Vector<T>);

constexpr int kExp = 0;
constexpr int kLog1p = 1;
constexpr int kCbrt = 21;

// Functions found, one for each place; a lane function is compiled for each place.
template <typename T, int ChainOperand>
Unary<T> unaryAt = nullptr;
template <typename T, int ChainOperand>
Binary<T> binaryAt = nullptr;

template <typename T, int ChainOperand>
void callUnary(Extent n, const Operand& out, const Operand* const* args) {
  const Unary<T> function = unaryAt<T, ChainOperand>;
  eachChunk<T, T>(
      n, out, args, [=](T * d, const T* a) __attribute__((always_inline)) {
        for (int l = 0; l < kChunk; l += kLanes<T>) storeVector(d + l, function(loadVector(a + l)));
      });
}

template <typename T, int ChainOperand>
void callBinary(Extent n, const Operand& out, const Operand* const* args) {
  const Binary<T> function = binaryAt<T, ChainOperand>;
  eachChunk<T, T, T>(
      n, out, args, [=](T * d, const T* a, const T* b) __attribute__((always_inline)) {
        for (int l = 0; l < kChunk; l += kLanes<T>)
          storeVector(d + l, function(loadVector(a + l), loadVector(b + l)));
      });
}

// Whether there are functions of our own.
template <typename T>
constexpr bool kHasOwn = kHasVectorFunctions&& std::is_same_v<T, float>;

template <typename T>
inline __attribute__((always_inline)) Vector<T> expOf(Vector<T> v) {
  if constexpr (kHasOwn<T>)
    return VectorExp::run(v);
  else
    return unaryAt<T, kExp>(v);
}

// e raised to what a cheap op makes of its arguments, which is computed on the way.
template <typename T, typename Inner>
void expOfBinary(Extent n, const Operand& out, const Operand* const* args) {
  eachChunk<T, T, T>(
      n, out, args, [](T * d, const T* a, const T* b) __attribute__((always_inline)) {
        for (int l = 0; l < kChunk; l += kLanes<T>)
          storeVector(d + l, expOf<T>(Inner::run(loadVector(a + l), loadVector(b + l))));
      });
}
template <typename T, typename Inner>
void expOfUnary(Extent n, const Operand& out, const Operand* const* args) {
  eachChunk<T, T>(
      n, out, args, [](T * d, const T* a) __attribute__((always_inline)) {
        for (int l = 0; l < kChunk; l += kLanes<T>)
          storeVector(d + l, expOf<T>(Inner::run(loadVector(a + l))));
      });
}

// _ZGV, instruction set, N (no mask), lanes, one v for each argument, name, f for float32.
template <typename T>
void* find(const char* name, int arguments) {
  char symbol[32];
  char* p = symbol;
  for (const char* s = "_ZGV"; *s; s++) *p++ = *s;
  *p++ = kLetter;
  *p++ = 'N';
  constexpr int lanes = kLanes<T>;
  if constexpr (lanes >= 10) *p++ = static_cast<char>('0' + lanes / 10);
  *p++ = static_cast<char>('0' + lanes % 10);
  for (int i = 0; i < arguments; i++) *p++ = 'v';
  *p++ = '_';
  while (*name) *p++ = *name++;
  if constexpr (std::is_same_v<T, float>) *p++ = 'f';
  *p = '\0';
  return vectorMath(symbol);
}

template <typename T, int ChainOperand>
void addUnary(Registry& registry, const char* name) {
  unaryAt<T, ChainOperand> = reinterpret_cast<Unary<T>>(find<T>(name, 1));
  if (!unaryAt<T, ChainOperand>) return;
  registry.addOp(name, kDTypeOf<T>, callUnary<T, ChainOperand>);
  addStep<T, VectorCall>(registry, name, reinterpret_cast<void*>(unaryAt<T, ChainOperand>));
}

template <typename T, typename F>
void callOwn(Extent n, const Operand& out, const Operand* const* args) {
  eachChunk<T, T>(
      n, out, args, [](T * d, const T* a) __attribute__((always_inline)) {
        for (int l = 0; l < kChunk; l += kLanes<T>) storeVector(d + l, F::run(loadVector(a + l)));
      });
}
template <typename T, typename F>
void addOwn(Registry& registry, const char* name) {
  registry.addOp(name, kDTypeOf<T>, callOwn<T, F>);
  addStep<T, UnaryOf<F>>(registry, name);
}

template <typename T, int ChainOperand>
void addBinary(Registry& registry, const char* name) {
  binaryAt<T, ChainOperand> = reinterpret_cast<Binary<T>>(find<T>(name, 2));
  if (binaryAt<T, ChainOperand>) registry.addOp(name, kDTypeOf<T>, callBinary<T, ChainOperand>);
}

// Of float32 by way of float64, for a function that is less exact in float32 than its row says.
template <int ChainOperand>
void callUnaryWide(Extent n, const Operand& out, const Operand* const* args) {
  const Unary<double> function = unaryAt<double, ChainOperand>;
  eachChunk<float, float>(
      n, out, args, [=](float* d, const float* a) __attribute__((always_inline)) {
        alignas(64) double wide[kChunk];
        for (int l = 0; l < kChunk; l++) wide[l] = a[l];
        for (int l = 0; l < kChunk; l += kLanes<double>)
          storeVector(wide + l, function(loadVector(wide + l)));
        for (int l = 0; l < kChunk; l++) d[l] = static_cast<float>(wide[l]);
      });
}

// log(e^a + e^b) = max + log1p(e^-|a - b|), in float64 throughout: the two parts may cancel.
template <typename T>
void logAddExp(Extent n, const Operand& out, const Operand* const* args) {
  eachChunk<T, T, T>(n, out, args, [](T* d, const T* a, const T* b) {
    alignas(64) double rest[kChunk];
    for (int l = 0; l < kChunk; l++)
      rest[l] = -__builtin_fabs(static_cast<double>(a[l]) - static_cast<double>(b[l]));
    for (int l = 0; l < kChunk; l += kLanes<double>) {
      storeVector(rest + l, unaryAt<double, kLog1p>(unaryAt<double, kExp>(loadVector(rest + l))));
    }
    for (int l = 0; l < kChunk; l++) {
      const double x = a[l];
      const double y = b[l];
      const double larger = x > y ? x : y;
      // Equal infinities have no difference; NaNs come out of the sum.
      const double sum = x == y ? x + 0.693147180559945309417 : larger + rest[l];
      d[l] = static_cast<T>(x != x ? x : y != y ? y : sum);
    }
  });
}

template <typename T>
void addVectorMath(Registry& registry) {
  addUnary<T, kExp>(registry, "exp");
  addUnary<T, kLog1p>(registry, "log1p");
  addUnary<T, 2>(registry, "exp2");
  addUnary<T, 3>(registry, "expm1");
  addUnary<T, 4>(registry, "log");
  addUnary<T, 5>(registry, "log2");
  addUnary<T, 6>(registry, "log10");
  addUnary<T, 7>(registry, "sin");
  addUnary<T, 8>(registry, "cos");
  addUnary<T, 9>(registry, "tan");
  addUnary<T, 10>(registry, "asin");
  addUnary<T, 11>(registry, "acos");
  addUnary<T, 12>(registry, "atan");
  addUnary<T, 13>(registry, "sinh");
  addUnary<T, 14>(registry, "cosh");
  addUnary<T, 15>(registry, "tanh");
  addUnary<T, 16>(registry, "asinh");
  addUnary<T, 17>(registry, "acosh");
  addUnary<T, 18>(registry, "atanh");
  addUnary<T, 19>(registry, "erf");
  addUnary<T, 20>(registry, "erfc");
  addUnary<T, kCbrt>(registry, "cbrt");
  if constexpr (kHasOwn<T>) {
    addOwn<T, VectorExp>(registry, "exp");
    addOwn<T, VectorSin>(registry, "sin");
    addOwn<T, VectorCos>(registry, "cos");
    addOwn<T, VectorLog1p>(registry, "log1p");
  }
  if (kHasOwn<T> || unaryAt<T, kExp>) {
    registry.addOp("exp.add", kDTypeOf<T>, expOfBinary<T, Add>);
    registry.addOp("exp.subtract", kDTypeOf<T>, expOfBinary<T, Subtract>);
    registry.addOp("exp.multiply", kDTypeOf<T>, expOfBinary<T, Multiply>);
    registry.addOp("exp.negative", kDTypeOf<T>, expOfUnary<T, Negative>);
  }
  addBinary<T, 0>(registry, "pow");
  addBinary<T, 1>(registry, "atan2");
  addBinary<T, 2>(registry, "hypot");
}

}  // namespace

void addMath(Registry& registry) {
  addVectorMath<float>(registry);
  addVectorMath<double>(registry);
  if (unaryAt<double, kCbrt>) {
    registry.addOp("cbrt", DType::float32, callUnaryWide<kCbrt>);
    registry.addStep("cbrt", DType::float32, {});
  }
  if (unaryAt<double, kExp> && unaryAt<double, kLog1p>) {
    registry.addOp("logaddexp", DType::float32, logAddExp<float>);
    registry.addOp("logaddexp", DType::float64, logAddExp<double>);
  }
}

// ops-divide.cpp
void addDivision(Registry& registry);

void addAll(Registry& registry) {
  addArithmetic(registry);
  addComparisons(registry);
  addIntegers(registry);
  addMath(registry);
  addRandom(registry);
  addDraws(registry);
  addFused(registry);
  addDivision(registry);
  addChains(registry);
  addCasts(registry);
  addReductions(registry);
  addStatistics(registry);
  addMoves(registry);
}

}  // namespace weft::cpu::WEFT_ISA
