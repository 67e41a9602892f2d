// The C library's functions, one lane at a time: for what the vector library lacks, and where there is none.
// macOS declares lgamma_r for threaded programs alone, and its compilers do not say that they are such.
#if defined(__APPLE__) && !defined(_REENTRANT)
#define _REENTRANT
#endif
#include <math.h>

#include "cpu/scalar-calls.h"

namespace weft::cpu {
namespace {

template <typename T>
using Unary = T (*)(T);
template <typename T>
using Binary = T (*)(T, T);

template <typename T, Unary<T> Function>
void callUnary(Extent n, const Operand& out, const Operand* const* args) {
  eachLane<T>(n, out, args, std::make_index_sequence<1>(), [](T a) { return Function(a); });
}

template <typename T, Binary<T> Function>
void callBinary(Extent n, const Operand& out, const Operand* const* args) {
  eachLane<T>(n, out, args, std::make_index_sequence<2>(), [](T a, T b) { return Function(a, b); });
}

// lgamma itself writes the sign to a global.
float logGammaF(float x) {
  int sign;
  return lgammaf_r(x, &sign);
}
double logGamma(double x) {
  int sign;
  return lgamma_r(x, &sign);
}
double logAddExp(double a, double b) {
  if (a == b) return a + 0.693147180559945309417;
  const double difference = a - b;
  if (difference > 0) return a + log1p(exp(-difference));
  return difference <= 0 ? b + log1p(exp(difference)) : difference;
}
float logAddExpF(float a, float b) { return static_cast<float>(logAddExp(static_cast<double>(a), b)); }

template <typename T>
T expOf(T a) {
  if constexpr (sizeof(T) == 4) return expf(a);
  return exp(a);
}
template <typename T>
T expOfSum(T a, T b) {
  return expOf(a + b);
}
template <typename T>
T expOfDifference(T a, T b) {
  return expOf(a - b);
}
template <typename T>
T expOfProduct(T a, T b) {
  return expOf(a * b);
}
template <typename T>
T expOfNegative(T a) {
  return expOf(-a);
}

// The pairs of tape-fuse.ts.
template <typename T>
void addExpPairs(Registry& registry, DType dtype) {
  registry.addOp("exp.add", dtype, callBinary<T, expOfSum<T>>);
  registry.addOp("exp.subtract", dtype, callBinary<T, expOfDifference<T>>);
  registry.addOp("exp.multiply", dtype, callBinary<T, expOfProduct<T>>);
  registry.addOp("exp.negative", dtype, callUnary<T, expOfNegative<T>>);
}

}  // namespace

void addScalarMath(Registry& registry) {
#define WEFT_UNARY(name)                                              \
  registry.addOp(#name, DType::float32, callUnary<float, ::name##f>); \
  registry.addOp(#name, DType::float64, callUnary<double, ::name>);
  WEFT_UNARY(exp)
  WEFT_UNARY(exp2)
  WEFT_UNARY(expm1)
  WEFT_UNARY(log)
  WEFT_UNARY(log1p)
  WEFT_UNARY(log2)
  WEFT_UNARY(log10)
  WEFT_UNARY(sin)
  WEFT_UNARY(cos)
  WEFT_UNARY(tan)
  WEFT_UNARY(asin)
  WEFT_UNARY(acos)
  WEFT_UNARY(atan)
  WEFT_UNARY(sinh)
  WEFT_UNARY(cosh)
  WEFT_UNARY(tanh)
  WEFT_UNARY(asinh)
  WEFT_UNARY(acosh)
  WEFT_UNARY(atanh)
  WEFT_UNARY(erf)
  WEFT_UNARY(erfc)
  WEFT_UNARY(cbrt)
#undef WEFT_UNARY
#define WEFT_BINARY(name)                                              \
  registry.addOp(#name, DType::float32, callBinary<float, ::name##f>); \
  registry.addOp(#name, DType::float64, callBinary<double, ::name>);
  WEFT_BINARY(pow)
  WEFT_BINARY(atan2)
  WEFT_BINARY(hypot)
  WEFT_BINARY(nextafter)
#undef WEFT_BINARY
  addExpPairs<float>(registry, DType::float32);
  addExpPairs<double>(registry, DType::float64);
  registry.addOp("lgamma", DType::float32, callUnary<float, logGammaF>);
  registry.addOp("lgamma", DType::float64, callUnary<double, logGamma>);
  registry.addOp("logaddexp", DType::float32, callBinary<float, logAddExpF>);
  registry.addOp("logaddexp", DType::float64, callBinary<double, logAddExp>);
}

}  // namespace weft::cpu
