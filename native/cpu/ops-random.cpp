// Counter-based random words and the quantile of the normal distribution. Compiled once per instruction set.
//
// Philox and Threefry: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC
// 2011). The quantile: Wichura, Algorithm AS 241 (Applied Statistics 37, 1988); its logarithm is FreeBSD's.
// Each step is an operation that IEEE 754 rounds, so that the CPU and a GPU (prelude-random.ts) give the same
// bits.
#include "cpu/random-math.h"

namespace weft::cpu::WEFT_ISA {
namespace {

struct Philox {
  static uint32_t run(uint64_t index, uint64_t key) {
    const PhiloxBlock block = philoxBlock(index >> 2, key);
    const uint32_t low = index & 1 ? block.x[1] : block.x[0];
    const uint32_t high = index & 1 ? block.x[3] : block.x[2];
    return index & 2 ? high : low;
  }
};

// Whether the lanes are the elements of whole blocks in order, under one key.
inline bool isRun(const uint64_t* index, const uint64_t* key) {
  uint64_t differs = index[0] & 3;
  for (int l = 0; l < kChunk; l++) {
    differs |= index[l] ^ (index[0] + static_cast<uint64_t>(l));
    differs |= key[l] ^ key[0];
  }
  return differs == 0;
}

constexpr int kBlocks = kChunk / 4;

// The words of a run's blocks, those of one place in the block side by side.
struct RunWords {
  uint32_t words[4][kBlocks];

  RunWords(uint64_t index, uint64_t key) {
#pragma GCC ivdep
    for (int k = 0; k < kBlocks; k++) {
      const PhiloxBlock block = philoxBlock((index >> 2) + static_cast<uint64_t>(k), key);
      for (int w = 0; w < 4; w++) words[w][k] = block.x[w];
    }
  }
};

// A block gives four neighbours their words, where a chunk has them all: four times the speed.
inline void philoxChunk(uint32_t* d, const uint64_t* index, const uint64_t* key) {
  if (!isRun(index, key)) {
#pragma GCC ivdep
    for (int l = 0; l < kChunk; l++) d[l] = Philox::run(index[l], key[l]);
    return;
  }
  const RunWords run(index[0], key[0]);
  for (int k = 0; k < kBlocks; k++)
    for (int w = 0; w < 4; w++) d[4 * k + w] = run.words[w][k];
}

void philox(Extent n, const Operand& out, const Operand* const* args) {
  eachChunk<uint32_t, uint64_t, uint64_t>(
      n, out, args, [](uint32_t * d, const uint64_t* a, const uint64_t* b) __attribute__((always_inline)) {
        philoxChunk(d, a, b);
      });
}

inline uint32_t rotate(uint32_t x, int by) { return (x << by) | (x >> (32 - by)); }

// Twenty rounds in fives of four, a part of the key after each four.
struct Threefry {
  static uint64_t run(uint64_t counter, uint64_t key) {
    const uint32_t k0 = static_cast<uint32_t>(key >> 32), k1 = static_cast<uint32_t>(key);
    const uint32_t k2 = 0x1BD11BDA ^ k0 ^ k1;
    uint32_t x0 = static_cast<uint32_t>(counter >> 32) + k0, x1 = static_cast<uint32_t>(counter) + k1;
    four<13, 15, 26, 6>(x0, x1, k1, k2 + 1);
    four<17, 29, 16, 24>(x0, x1, k2, k0 + 2);
    four<13, 15, 26, 6>(x0, x1, k0, k1 + 3);
    four<17, 29, 16, 24>(x0, x1, k1, k2 + 4);
    four<13, 15, 26, 6>(x0, x1, k2, k0 + 5);
    return (static_cast<uint64_t>(x0) << 32) | x1;
  }

 private:
  template <int A, int B, int C, int D>
  static void four(uint32_t& x0, uint32_t& x1, uint32_t add0, uint32_t add1) {
    round<A>(x0, x1);
    round<B>(x0, x1);
    round<C>(x0, x1);
    round<D>(x0, x1);
    x0 += add0;
    x1 += add1;
  }
  template <int By>
  static void round(uint32_t& x0, uint32_t& x1) {
    x0 += x1;
    x1 = rotate(x1, By) ^ x0;
  }
};

void threefry(Extent n, const Operand& out, const Operand* const* args) {
  binary<Threefry, uint64_t, uint64_t>(n, out, args);
}

struct NormalPair {
  float first, second;
};

// Two normal numbers by Box and Muller: the size of a word, as a signed number, gives the radius, the other
// word an angle in half of the circle, the sign of the first the half. Both are within 4e-7 of the radius.
inline NormalPair normalPair(uint32_t a, uint32_t b) {
  const float size = __builtin_fabsf(static_cast<float>(static_cast<int32_t>(a)));
  const auto d = bitsAs<int32_t>(fusedOf(size, 4.656612e-10f, 1.16415322e-10f)) - 0x3f800000;
  const float f = bitsAs<float>((d & 0x007fffff) | 0x3f800000) - 2.0f;
  const float series = horner<float>(f, 0.004666048f, 0.008587072f, 0.012472348f, -0.0010421915f,
                                     0.017071374f, -0.041472305f, 0.12500995f, 0.19314727f);
  const float radius = rootOf(fusedOf(static_cast<float>(d), -8.262958e-08f, f * series));
  const float t = static_cast<float>(static_cast<int32_t>(b)) * 4.65661287e-10f, z = t * t;
  const float cosine = horner<float>(z, 0.0012147794f, -0.029433252f, 0.3587183f, -1.7447133f, 1.4142135f);
  const float sine = horner<float>(z, 0.0002190167f, -0.0066195535f, 0.11270465f, -0.913532f, 2.2214415f);
  const float first = radius * cosine;
  return {bitsAs<float>(bitsAs<uint32_t>(first) ^ (a & 0x80000000)), radius * t * sine};
}

inline void normalChunk(float* d, const uint64_t* index, const uint64_t* key) {
  if (!isRun(index, key)) {
#pragma GCC ivdep
    for (int l = 0; l < kChunk; l++) {
      const PhiloxBlock block = philoxBlock(index[l] >> 2, key[l]);
      const bool upper = (index[l] & 2) != 0;
      const NormalPair pair = normalPair(upper ? block.x[2] : block.x[0], upper ? block.x[3] : block.x[1]);
      d[l] = (index[l] & 1) != 0 ? pair.second : pair.first;
    }
    return;
  }
  const RunWords run(index[0], key[0]);
  float numbers[4][kBlocks];
#pragma GCC ivdep
  for (int k = 0; k < kBlocks; k++) {
    const NormalPair low = normalPair(run.words[0][k], run.words[1][k]);
    const NormalPair high = normalPair(run.words[2][k], run.words[3][k]);
    numbers[0][k] = low.first;
    numbers[1][k] = low.second;
    numbers[2][k] = high.first;
    numbers[3][k] = high.second;
  }
  for (int k = 0; k < kBlocks; k++)
    for (int w = 0; w < 4; w++) d[4 * k + w] = numbers[w][k];
}

void normals(Extent n, const Operand& out, const Operand* const* args) {
  eachChunk<float, uint64_t, uint64_t>(
      n, out, args, [](float* d, const uint64_t* a, const uint64_t* b) __attribute__((always_inline)) {
        normalChunk(d, a, b);
      });
}

// `q` is p - 1/2 and `tail` the smaller of p and 1 - p, both exact: q times polynomials of ours in w = -log(4
// p (1 - p)), as Giles has them ("Approximating the erfinv function", 2011), and in its root from w = 5 on,
// which one number in 300 reaches. They are within 4e-8, and reach from the least float32 to the largest
// below 1.
inline float quantileOf(float q, float tail) {
  const float w = minusLogOf(4.0f * tail * (1.0f - tail));
  const float centre = w - 2.5f, root = rootOf(w);
  const float near = root - 3.5675237f, far = root - 7.53132f;
  const float central =
      horner<float>(centre, -2.4865024e-08f, 6.571193e-08f, 1.318532e-06f, -9.794009e-06f, -1.4038478e-05f,
                    6.1757135e-04f, -0.0035432891f, -0.011815434f, 0.69760406f, 4.246627f);
  const float middle =
      horner<float>(near, -4.5350116e-05f, 5.29829e-05f, 2.499102e-04f, -6.6395954e-04f, 9.010403e-04f,
                    -0.0013822865f, 0.0025426354f, -0.0051119686f, 0.008160963f, 2.8504474f, 9.626613f);
  const float outer = horner<float>(far, 7.7214247e-07f, -3.6263243e-06f, 6.142226e-06f, 4.7666337e-05f,
                                    -0.0013947804f, 2.8512185f, 20.943832f);
  return q * (w < 5.0f ? central : w < 24.0f ? middle : outer);
}
// Wichura's quotients, their highest coefficients first.
inline double quantileOf(double q, double tail) {
  const double r = fusedOf(-q, q, 0.180625);
  const double central =
      q *
      horner<double>(r, 2.5090809287301226727e+3, 3.3430575583588128105e+4, 6.7265770927008700853e+4,
                     4.5921953931549871457e+4, 1.3731693765509461125e+4, 1.9715909503065514427e+3,
                     1.3314166789178437745e+2, 3.3871328727963666080e+0) /
      horner<double>(r, 5.2264952788528545610e+3, 2.8729085735721942674e+4, 3.9307895800092710610e+4,
                     2.1213794301586595867e+4, 5.3941960214247511077e+3, 6.8718700749205790830e+2,
                     4.2313330701600911252e+1, 1.0);
  const double t = rootOf(-logOf(tail));
  const double near = t - 1.6, far = t - 5.0;
  const double middle =
      horner<double>(near, 7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1,
                     1.27045825245236838258e+0, 3.64784832476320460504e+0, 5.76949722146069140550e+0,
                     4.63033784615654529590e+0, 1.42343711074968357734e+0) /
      horner<double>(near, 1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2,
                     1.48103976427480074590e-1, 6.89767334985100004550e-1, 1.67638483018380384940e+0,
                     2.05319162663775882187e+0, 1.0);
  const double outer =
      horner<double>(far, 2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3,
                     2.65321895265761230930e-2, 2.96560571828504891230e-1, 1.78482653991729133580e+0,
                     5.46378491116411436990e+0, 6.65790464350110377720e+0) /
      horner<double>(far, 2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5,
                     7.86869131145613259100e-4, 1.48753612908506148525e-2, 1.36929880922735805310e-1,
                     5.99832206555887937690e-1, 1.0);
  const double side = t <= 5.0 ? middle : outer;
  return q >= -0.425 && q <= 0.425 ? central : q < 0 ? -side : side;
}

// The quantile of the standard normal distribution: infinite at 0 and 1, NaN outside of them.
struct NormalQuantile {
  template <typename T>
  static T run(T p) {
    const T tail = p < T(0.5) ? p : T(1) - p;
    const T value = quantileOf(p - T(0.5), tail > 0 ? tail : T(1));
    const T end = tail < 0 || p != p ? T(__builtin_nanf(""))
                  : p < T(0.5)       ? -T(__builtin_inff())
                                     : T(__builtin_inff());
    return tail > 0 ? value : end;
  }
};

// Half of x is the probability beyond 1/2, exactly, and (1 - |x|) / 2 that of the tail.
struct InverseError {
  template <typename T>
  static T run(T x) {
    const T size = x < 0 ? -x : x;
    const T tail = (T(1) - size) * T(0.5);
    const T value = quantileOf(x * T(0.5), tail > 0 ? tail : T(1)) * T(0.70710678118654752440);
    const T end = size == T(1) ? x * T(__builtin_inff()) : T(__builtin_nanf(""));
    return tail > 0 ? value : end;
  }
};

template <typename T>
void addQuantiles(Registry& registry) {
  registry.addOp("ndtri", kDTypeOf<T>, unary<NormalQuantile, T, T>);
  registry.addOp("erfinv", kDTypeOf<T>, unary<InverseError, T, T>);
}

}  // namespace

void addRandom(Registry& registry) {
  registry.addOp("philox4x32", DType::uint64, philox);
  registry.addOp("philoxNormal", DType::uint64, normals);
  registry.addOp("threefry2x32", DType::uint64, threefry);
  addQuantiles<float>(registry);
  addQuantiles<double>(registry);
}

}  // namespace weft::cpu::WEFT_ISA
