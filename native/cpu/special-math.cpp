// The special functions that CUDA C shares, one lane at a time; float32 goes through float64.
#include <math.h>

#include "cpu/ops.h"

namespace weft::cpu {
namespace {

#define WEFT_DEVICE inline
#include "shared/special-functions.h"
#include "shared/tail-functions.h"
#undef WEFT_DEVICE

template <auto Function, typename... Doubles>
constexpr int arityOf(double (*)(Doubles...)) {
  return sizeof...(Doubles);
}

template <typename T, auto Function>
void call(Extent n, const Operand& out, const Operand* const* args) {
  constexpr int kArity = arityOf<Function>(Function);
  for (int64_t row = 0; row < n.rows; row++) {
    for (int64_t c = 0; c < n.chunks; c++) {
      const T* from[kArity];
      for (int k = 0; k < kArity; k++)
        from[k] = reinterpret_cast<const T*>(args[k]->data) + row * args[k]->rowStep + c * args[k]->chunkStep;
      T* to = reinterpret_cast<T*>(out.data) + row * out.rowStep + c * out.chunkStep;
      for (int64_t l = 0; l < kChunk; l++) {
        if constexpr (kArity == 1) to[l] = static_cast<T>(Function(from[0][l]));
        if constexpr (kArity == 2) to[l] = static_cast<T>(Function(from[0][l], from[1][l]));
        if constexpr (kArity == 3) to[l] = static_cast<T>(Function(from[0][l], from[1][l], from[2][l]));
      }
    }
  }
}

template <auto Function>
void add(Registry& registry, const char* name) {
  registry.addOp(name, DType::float32, call<float, Function>);
  registry.addOp(name, DType::float64, call<double, Function>);
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
