// Numbers of distributions that are drawn by rejection, from the C that CUDA C shares, and the portable
// logarithm and power. Compiled once per instruction set.
#include "cpu/random-math.h"

namespace weft::cpu::WEFT_ISA {
namespace {

struct weft_words {
  unsigned int x, y, z, w;
};

inline weft_words weft_philox_block(unsigned long long index, unsigned long long key) {
  const PhiloxBlock block = philoxBlock(index >> 2, key);
  return {block.x[0], block.x[1], block.x[2], block.x[3]};
}
inline double weft_rounded_product(double a, double b) { return a * b; }
inline double weft_log_exactly(double x) { return logOf(x); }
inline double weft_exp_exactly(double x) { return expOf(x); }
inline double weft_infinite() { return __builtin_inf(); }
inline double weft_undefined() { return __builtin_nan(""); }
inline double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
inline double sqrt(double x) { return __builtin_sqrt(x); }
inline double floor(double x) { return __builtin_floor(x); }
inline double fabs(double x) { return __builtin_fabs(x); }

#define WEFT_DEVICE inline
#define WEFT_INLINE inline
#include "shared/random-functions.h"
#undef WEFT_DEVICE
#undef WEFT_INLINE

template <auto Function>
void drawn(Extent n, const Operand& out, const Operand* const* args) {
  eachChunk<double, uint64_t, double>(n, out, args, [](double* d, const uint64_t* seed, const double* a) {
    for (int l = 0; l < kChunk; l++) d[l] = Function(seed[l], a[l]);
  });
}

void drawnBinomial(Extent n, const Operand& out, const Operand* const* args) {
  eachChunk<double, uint64_t, double, double>(
      n, out, args, [](double* d, const uint64_t* seed, const double* count, const double* p) {
        for (int l = 0; l < kChunk; l++) d[l] = weft_drawBinomial(seed[l], count[l], p[l]);
      });
}

void drawnHypergeometric(Extent n, const Operand& out, const Operand* const* args) {
  eachChunk<double, uint64_t, double, double, double>(
      n, out, args,
      [](double* d, const uint64_t* seed, const double* good, const double* bad, const double* count) {
        for (int l = 0; l < kChunk; l++) d[l] = weft_drawHypergeometric(seed[l], good[l], bad[l], count[l]);
      });
}

inline float logExactly(float x) { return -minusLogOf(x); }
inline double logExactly(double x) { return logOf(x); }

struct PortableLog {
  template <typename T>
  static T run(T x) {
    const T most = T(__builtin_inff());
    const bool usual = x > 0 && x < most;
    const T value = logExactly(usual ? x : T(1));
    const T end = x == 0 ? -most : x == most ? x : T(__builtin_nanf(""));
    return usual ? value : end;
  }
};

struct PortableExp {
  template <typename T>
  static T run(T x) {
    const T value = expOf(x == x ? x : T(0));
    return x == x ? value : x;
  }
};

template <typename T>
void addPortable(Registry& registry) {
  registry.addOp("portableLog", kDTypeOf<T>, unary<PortableLog, T, T>);
  registry.addOp("portableExp", kDTypeOf<T>, unary<PortableExp, T, T>);
}

}  // namespace

void addDraws(Registry& registry) {
  registry.addOp("drawGamma", DType::float64, drawn<weft_drawGamma>);
  registry.addOp("drawLogGamma", DType::float64, drawn<weft_drawLogGamma>);
  registry.addOp("drawPoisson", DType::float64, drawn<weft_drawPoisson>);
  registry.addOp("drawVonMises", DType::float64, drawn<weft_drawVonMises>);
  registry.addOp("drawZipf", DType::float64, drawn<weft_drawZipf>);
  registry.addOp("drawBinomial", DType::float64, drawnBinomial);
  registry.addOp("drawHypergeometric", DType::float64, drawnHypergeometric);
  addPortable<float>(registry);
  addPortable<double>(registry);
}

}  // namespace weft::cpu::WEFT_ISA
