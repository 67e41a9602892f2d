// The special functions that CUDA C shares, one lane at a time; float32 goes through float64.
#include <math.h>

#include "cpu/scalar-calls.h"

namespace weft::cpu {
namespace {

#define WEFT_DEVICE inline
#include "shared/special-functions.h"
#include "shared/tail-functions.h"
#undef WEFT_DEVICE

template <typename T, auto Function, typename... Doubles>
void call(double (*)(Doubles...), Extent n, const Operand& out, const Operand* const* args) {
  eachLane<T>(n, out, args, std::index_sequence_for<Doubles...>(),
              [](auto... values) { return static_cast<T>(Function(static_cast<double>(values)...)); });
}

template <typename T, auto Function>
void callSpecial(Extent n, const Operand& out, const Operand* const* args) {
  call<T, Function>(Function, n, out, args);
}

template <auto Function>
void add(Registry& registry, const char* name) {
  registry.addOp(name, DType::float32, callSpecial<float, Function>);
  registry.addOp(name, DType::float64, callSpecial<double, Function>);
}

double gamma(double x) { return x < 0 && floor(x) == x ? weft_undefined() : tgamma(x); }

}  // namespace

void addSpecial(Registry& registry) {
  add<gamma>(registry, "gamma");
#define WEFT_SPECIAL(name) add<weft_##name>(registry, #name);
  WEFT_SPECIAL(digamma)
  WEFT_SPECIAL(i0)
  WEFT_SPECIAL(i0e)
  WEFT_SPECIAL(i1)
  WEFT_SPECIAL(i1e)
  WEFT_SPECIAL(logit)
  WEFT_SPECIAL(gammainc)
  WEFT_SPECIAL(gammaincc)
  WEFT_SPECIAL(gammaincinv)
  WEFT_SPECIAL(betainc)
  WEFT_SPECIAL(betaincinv)
  WEFT_SPECIAL(stdtr)
  WEFT_SPECIAL(stdtrit)
#undef WEFT_SPECIAL
}

}  // namespace weft::cpu
