/**
 * Prelude pieces of random numbers: the counter-based generators of Salmon, Moraes, Dror and Shaw ("Parallel
 * random numbers: as easy as 1, 2, 3", SC 2011), and the quantile of the normal distribution, of float64 by
 * Wichura (Algorithm AS 241, 1988), whose logarithm is FreeBSD's. Products that meet a sum are rounded first or fused
 * by name, so that the bits are those of the CPU (`native/cpu/ops-random.cpp`).
 */
import { type Piece, piece } from './prelude-piece.js';

/** A real type: its name, the letter behind literals and functions of the math library, and a rounded product. */
interface Real {
  readonly type: string;
  readonly suffix: string;
  readonly multiply: string;
  /** The body of its quantile, of `q` and `tail`, of the logarithm that it takes of `x`, and of the power of e. */
  readonly quantile: string;
  readonly logarithm: string;
  readonly power: string;
}

/** A polynomial in `x`, by fused steps from its highest coefficient down. */
const horner = (suffix: string, x: string, coefficients: readonly string[]): string =>
  coefficients
    .map((text) => `${text}${suffix}`)
    .reduce((value, next) => `fma${suffix}(${value}, ${x}, ${next})`);

/**
 * Polynomials of ours in w = -log(4 p (1 - p)), as Giles has them ("Approximating the erfinv function", 2011), and
 * in its root from w = 5 on, which one number in 300 reaches.
 */
const FLOAT: Real = {
  type: 'float',
  suffix: 'f',
  multiply: '__fmul_rn',
  quantile: `
  const float w = -weft_log_exactly(__fmul_rn(4.0f * tail, 1.0f - tail));
  if (w < 5.0f) {
    const float centre = w - 2.5f;
    return __fmul_rn(q, ${horner('f', 'centre', ['-2.4865024e-08', '6.571193e-08', '1.318532e-06', '-9.794009e-06', '-1.4038478e-05', '6.1757135e-04', '-0.0035432891', '-0.011815434', '0.69760406', '4.246627'])});
  }
  const float root = sqrtf(w);
  const float near = root - 3.5675237f;
  const float far = root - 7.53132f;
  return __fmul_rn(q, w < 24.0f ? ${horner('f', 'near', ['-4.5350116e-05', '5.29829e-05', '2.499102e-04', '-6.6395954e-04', '9.010403e-04', '-0.0013822865', '0.0025426354', '-0.0051119686', '0.008160963', '2.8504474', '9.626613'])} : ${horner('f', 'far', ['7.7214247e-07', '-3.6263243e-06', '6.142226e-06', '4.7666337e-05', '-0.0013947804', '2.8512185', '20.943832'])});`,
  logarithm: `
  const bool small = x < 1.17549435e-38f;
  const unsigned int bits = (unsigned int)__float_as_int(small ? x * 33554432.0f : x) + (0x3f800000u - 0x3f3504f3u);
  const float e = (float)((int)(bits >> 23) - 127 - (small ? 25 : 0));
  const float f = __int_as_float((int)((bits & 0x007fffffu) + 0x3f3504f3u)) - 1.0f;
  const float series = ${horner('f', 'f', ['-0.08101559', '0.12712307', '-0.12972239', '0.14202175', '-0.16642247', '0.20001468', '-0.25000298', '0.33333328', '-0.5'])};
  return fmaf(e, 0.69314718f, fmaf(__fmul_rn(f, f), series, f));`,
  power: `
  const float within = x < -104.0f ? -104.0f : x > 89.0f ? 89.0f : x;
  const float turn = fmaf(within, 1.44269502f, 12582912.0f);
  const float k = turn - 12582912.0f;
  const float r = fmaf(-k, 1.42860677e-06f, fmaf(-k, 0.693145752f, within));
  const int n = __float_as_int(turn) - 0x4b400000, half = n >> 1;
  const float value = __fmul_rn(${horner('f', 'r', ['0.00138368376', '0.00837482233', '0.0416682251', '0.166664198', '0.499999911', '1.0', '1.0'])}, __int_as_float((half + 127) << 23));
  return __fmul_rn(value, __int_as_float((n - half + 127) << 23));`,
};

/** Numerators and denominators of Wichura's quotients, their highest coefficients first. */
const QUOTIENTS = {
  central: [
    [
      '2.5090809287301226727e+3',
      '3.3430575583588128105e+4',
      '6.7265770927008700853e+4',
      '4.5921953931549871457e+4',
      '1.3731693765509461125e+4',
      '1.9715909503065514427e+3',
      '1.3314166789178437745e+2',
      '3.3871328727963666080e+0',
    ],
    [
      '5.2264952788528545610e+3',
      '2.8729085735721942674e+4',
      '3.9307895800092710610e+4',
      '2.1213794301586595867e+4',
      '5.3941960214247511077e+3',
      '6.8718700749205790830e+2',
      '4.2313330701600911252e+1',
      '1.0',
    ],
  ],
  middle: [
    [
      '7.74545014278341407640e-4',
      '2.27238449892691845833e-2',
      '2.41780725177450611770e-1',
      '1.27045825245236838258e+0',
      '3.64784832476320460504e+0',
      '5.76949722146069140550e+0',
      '4.63033784615654529590e+0',
      '1.42343711074968357734e+0',
    ],
    [
      '1.05075007164441684324e-9',
      '5.47593808499534494600e-4',
      '1.51986665636164571966e-2',
      '1.48103976427480074590e-1',
      '6.89767334985100004550e-1',
      '1.67638483018380384940e+0',
      '2.05319162663775882187e+0',
      '1.0',
    ],
  ],
  outer: [
    [
      '2.01033439929228813265e-7',
      '2.71155556874348757815e-5',
      '1.24266094738807843860e-3',
      '2.65321895265761230930e-2',
      '2.96560571828504891230e-1',
      '1.78482653991729133580e+0',
      '5.46378491116411436990e+0',
      '6.65790464350110377720e+0',
    ],
    [
      '2.04426310338993978564e-15',
      '1.42151175831644588870e-7',
      '1.84631831751005468180e-5',
      '7.86869131145613259100e-4',
      '1.48753612908506148525e-2',
      '1.36929880922735805310e-1',
      '5.99832206555887937690e-1',
      '1.0',
    ],
  ],
} as const;

const quotient = (x: string, [top, bottom]: readonly [readonly string[], readonly string[]]): string =>
  `${horner('', x, top)} / ${horner('', x, bottom)}`;

const DOUBLE: Real = {
  type: 'double',
  suffix: '',
  multiply: '__dmul_rn',
  quantile: `
  if (q >= -0.425 && q <= 0.425) {
    const double r = fma(-q, q, 0.180625);
    return __dmul_rn(q, ${horner('', 'r', QUOTIENTS.central[0])}) / ${horner('', 'r', QUOTIENTS.central[1])};
  }
  const double t = sqrt(-weft_log_exactly(tail));
  const double near = t - 1.6;
  const double far = t - 5.0;
  const double side = t <= 5.0 ? ${quotient('near', QUOTIENTS.middle)} : ${quotient('far', QUOTIENTS.outer)};
  return q < 0 ? -side : side;`,
  logarithm: `
  const bool small = x < 2.2250738585072014e-308;
  const unsigned long long bits = (unsigned long long)__double_as_longlong(small ? x * 18014398509481984.0 : x) + ((0x3ff00000ull - 0x3fe6a09eull) << 32);
  const double e = (double)((int)(bits >> 52) - 1023 - (small ? 54 : 0));
  const double f = __longlong_as_double((long long)((bits & 0x000fffffffffffffull) + (0x3fe6a09eull << 32))) - 1.0;
  const double s = f / (2.0 + f);
  const double z = __dmul_rn(s, s);
  const double half = __dmul_rn(__dmul_rn(0.5, f), f);
  const double low = __dmul_rn(e, 1.90821492927058770002e-10);
  const double series = fma(z, fma(fma(fma(fma(fma(fma(1.479819860511658591e-01, z, 1.531383769920937332e-01), z, 1.818357216161805012e-01), z, 2.222219843214978396e-01), z, 2.857142874366239149e-01), z, 3.999999999940941908e-01), z, 6.666666666666735130e-01), half);
  return fma(e, 6.93147180369123816490e-01, fma(s, series, low) - half + f);`,
  power: `
  const double within = x < -746.0 ? -746.0 : x > 710.0 ? 710.0 : x;
  const double turn = fma(within, 1.4426950408889634, 6755399441055744.0);
  const double k = turn - 6755399441055744.0;
  const double r = fma(-k, 1.90821492927058770002e-10, fma(-k, 6.93147180369123816490e-01, within));
  const int n = (int)__double_as_longlong(turn), half = n >> 1;
  const double value = __dmul_rn(${horner('', 'r', ['1.6059043836821613e-10', '2.08767569878681e-09', '2.505210838544172e-08', '2.755731922398589e-07', '2.7557319223985893e-06', '2.48015873015873e-05', '0.0001984126984126984', '0.001388888888888889', '0.008333333333333333', '0.041666666666666664', '0.16666666666666666', '0.5', '1.0', '1.0'])}, __longlong_as_double((long long)(half + 1023) << 52));
  return __dmul_rn(value, __longlong_as_double((long long)(n - half + 1023) << 52));`,
};

/** The logarithm that quantiles take, the power of e, quantiles, and the inverse of the error function, of one type. */
function quantilePieces({ type, suffix, multiply, quantile, logarithm, power }: Real): readonly Piece[] {
  const n = (text: string): string => `${text}${suffix}`;
  return [
    piece(`__device__ __forceinline__ ${type} weft_log_exactly(${type} x) {${logarithm}\n}`),
    piece(`__device__ __forceinline__ ${type} weft_exp_exactly(${type} x) {${power}\n}`),
    piece(`
__device__ __forceinline__ ${type} weft_portableLog(${type} x) {
  const ${type} most = (${type})weft_infinity();
  if (x > 0 && x < most) return weft_log_exactly(x);
  return x == 0 ? -most : x == most ? x : most - most;
}`),
    piece(`
__device__ __forceinline__ ${type} weft_portableExp(${type} x) { return x != x ? x : weft_exp_exactly(x); }`),
    piece(`
/* q is p - 1/2, tail the smaller of p and 1 - p. */
__device__ __forceinline__ ${type} weft_quantile(${type} q, ${type} tail) {${quantile}\n}`),
    piece(`
__device__ __forceinline__ ${type} weft_ndtri(${type} p) {
  const ${type} tail = p < ${n('0.5')} ? p : ${n('1.0')} - p;
  if (tail > 0) return weft_quantile(p - ${n('0.5')}, tail);
  const ${type} most = (${type})weft_infinity();
  return tail < 0 || p != p ? most - most : p < ${n('0.5')} ? -most : most;
}`),
    piece(`
__device__ __forceinline__ ${type} weft_erfinv(${type} x) {
  const ${type} size = x < 0 ? -x : x;
  const ${type} tail = (${n('1.0')} - size) * ${n('0.5')};
  if (tail > 0) return ${multiply}(weft_quantile(x * ${n('0.5')}, tail), ${n('0.70710678118654752440')});
  const ${type} most = (${type})weft_infinity();
  return size == ${n('1.0')} ? x * most : most - most;
}`),
  ];
}

/**
 * ln 2 - log(1 + f / 2) / f, the part of a natural logarithm that a significand f + 2 in [1, 2) has beside ln 2 a power of two, to
 * 1.6e-7 of the logarithm; √2 cos(πt / 2) and √2 sin(πt / 2) / t, in t² as far as 1, to 8e-8.
 */
const LOGARITHM = [
  '0.004666048',
  '0.008587072',
  '0.012472348',
  '-0.0010421915',
  '0.017071374',
  '-0.041472305',
  '0.12500995',
  '0.19314727',
];
const COSINE = ['0.0012147794', '-0.029433252', '0.3587183', '-1.7447133', '1.4142135'];
const SINE = ['0.0002190167', '-0.0066195535', '0.11270465', '-0.913532', '2.2214415'];

export const RANDOM_PIECES: readonly Piece[] = [
  piece(`
/* A product that is not fused with a sum. */
__device__ __forceinline__ double weft_rounded_product(double a, double b) { return __dmul_rn(a, b); }`),
  piece(`
struct weft_words {
  unsigned int x, y, z, w;
};`),
  piece(`
/*
 * The block index / 4 of Philox 4x32-10. The compiler computes a block once for neighbours of a thread if it sees that
 * theirs is one: NVRTC simplifies (4 i + 1) - popcount, but not (4 i + 1) / 4. It has both halves of a product by one
 * instruction where they stand side by side.
 */
__device__ __forceinline__ weft_words weft_philox_block(unsigned long long index, unsigned long long key) {
  const unsigned int place = (unsigned int)index - __popc((index & 1) | (index & 2) * 3);
  const unsigned int above = (unsigned int)(index >> 32);
  unsigned int x0 = place >> 2 | above << 30, x1 = above >> 2, x2 = 0, x3 = 0;
  unsigned int k0 = (unsigned int)key, k1 = (unsigned int)(key >> 32);
  #pragma unroll
  for (int round = 0; round < 10; ++round) {
    const unsigned int a = __umulhi(0xD2511F53u, x0), low = 0xD2511F53u * x0;
    const unsigned int b = __umulhi(0xCD9E8D57u, x2), other = 0xCD9E8D57u * x2;
    x0 = b ^ x1 ^ k0;
    x1 = other;
    x2 = a ^ x3 ^ k1;
    x3 = low;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {x0, x1, x2, x3};
}`),
  piece(`
/* Word index % 4 of its block. */
__device__ __forceinline__ unsigned int weft_philox4x32(unsigned long long index, unsigned long long key) {
  const weft_words x = weft_philox_block(index, key);
  return index & 2 ? (index & 1 ? x.w : x.z) : index & 1 ? x.y : x.x;
}`),
  piece(`
/*
 * A normal number by Box and Muller, of two neighbouring words: the size of one, as a signed number, gives the radius, the
 * other an angle in half of the circle, the sign of the first the half. The compiler computes them once for a pair.
 */
__device__ __forceinline__ float weft_philoxNormal(unsigned long long index, unsigned long long key) {
  const weft_words x = weft_philox_block(index, key);
  const unsigned int a = index & 2 ? x.z : x.x, b = index & 2 ? x.w : x.y;
  const float u = fmaf(fabsf((float)(int)a), 4.656612e-10f, 1.16415322e-10f);
  const int d = __float_as_int(u) - 0x3f800000;
  const float f = __int_as_float((d & 0x007fffff) | 0x3f800000) - 2.0f;
  const float series = ${horner('f', 'f', LOGARITHM)};
  float unused = 0.0f;
  const float radius = weft_near_sqrt(fmaf((float)d, -8.262958e-08f, __fmul_rn(f, series)), unused);
  const float t = __fmul_rn((float)(int)b, 4.65661287e-10f);
  const float z = __fmul_rn(t, t);
  const float cosine = ${horner('f', 'z', COSINE)};
  const float sine = ${horner('f', 'z', SINE)};
  if (index & 1) return __fmul_rn(__fmul_rn(radius, t), sine);
  return __int_as_float(__float_as_int(__fmul_rn(radius, cosine)) ^ (a & 0x80000000u));
}`),
  piece(`
/* Both words of Threefry 2x32-20, the first above the second. */
__device__ __forceinline__ unsigned long long weft_threefry2x32(unsigned long long counter, unsigned long long key) {
  const unsigned int k0 = (unsigned int)(key >> 32), k1 = (unsigned int)key;
  const unsigned int keys[3] = {k0, k1, 0x1BD11BDAu ^ k0 ^ k1};
  const int turns[8] = {13, 15, 26, 6, 17, 29, 16, 24};
  unsigned int x0 = (unsigned int)(counter >> 32) + k0, x1 = (unsigned int)counter + k1;
  #pragma unroll
  for (int four = 0; four < 5; ++four) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int turn = turns[4 * (four & 1) + k];
      x0 += x1;
      x1 = (x1 << turn | x1 >> (32 - turn)) ^ x0;
    }
    x0 += keys[(four + 1) % 3];
    x1 += keys[(four + 2) % 3] + four + 1;
  }
  return (unsigned long long)x0 << 32 | x1;
}`),
  piece(`
__device__ __forceinline__ float weft_infinity() { return __int_as_float(0x7f800000); }`),
  ...quantilePieces(FLOAT),
  ...quantilePieces(DOUBLE),
];
