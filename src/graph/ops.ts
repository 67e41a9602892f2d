/**
 * THE table of elementwise ops: one row per op, read by everything.
 *
 * The fluent methods and free functions, inference, both code generators, the reference docs and the generic
 * op test all come from a row. Adding an op is adding a row, plus its kernel in `native/cpu/` if it is new
 * arithmetic (the CPU kernel has the op's name). A function built from ops is a composite (`composites.ts`)
 * and has no row.
 *
 * float16 and bfloat16 have no entries of their own: every op computes them in float32 and rounds its result,
 * so a fused chain has the same values as an unfused one.
 */
import {
  bitwise,
  byKind,
  CUDA_TYPE,
  call,
  compare,
  infix,
  prelude,
  special,
  unchanged,
} from './cuda-expressions.js';
import { isComplex, isFloat, isInteger, kindOf } from './dtype.js';
import {
  anything,
  bits,
  choice,
  comparison,
  drawn,
  logical,
  magnitude,
  numeric,
  numericOrInt8,
  ordered,
  orderedComparison,
  realOrInt8,
  rounding,
  shift,
  signBit,
  toFloat,
  toFullFloat,
  toQuotient,
  toRealFloat,
  words,
} from './dtype-rules.js';
import type { MapRow, Sample } from './op-row.js';
import { PRODUCT_SUMS } from './product-sums.js';

const exact = (lo: number, hi: number): Sample => ({ domain: [lo, hi], ulp: 0 });
const within = (ulp: number, lo: number, hi: number): Sample => ({ domain: [lo, hi], ulp });

// biome-ignore format: a table, one row a line
export const OPS = {
  // arithmetic
  /**
   * Sum of two arrays; for booleans, their disjunction.
   *
   * @example
   * await lazy([[1, 2], [3, 4]]).add([10, 20]).compute()
   * //=> [[11. 22.]
   * //=>  [13. 24.]]
   */
  add: { arity: 2, dtype: anything, cuda: byKind(([a, b], d) => (d === 'bool' ? `(${a} || ${b})` : infix('+')([a!, b!], d)), infix('+')), sample: exact(-100, 100), cost: 1 },
  /** Difference of two arrays. */
  subtract: { arity: 2, dtype: numeric, cuda: infix('-'), sample: exact(-100, 100), aliases: ['sub'], cost: 1 },
  /** Product of two arrays; for booleans, their conjunction. */
  multiply: { arity: 2, dtype: anything, cuda: byKind(([a, b], d) => (d === 'bool' ? `(${a} && ${b})` : infix('*')([a!, b!], d)), infix('*')), sample: exact(-100, 100), aliases: ['mul'], cost: 1 },
  /** Quotient of two arrays; integers are divided in float64. */
  divide: { arity: 2, dtype: toQuotient, cuda: compare('/'), sample: within(1, -100, 100), aliases: ['div'], cost: 8 },
  /**
   * Largest integer not above the quotient; an integer divided by zero gives 0.
   *
   * @example
   * await lazy([5, -5]).floorDivide(3).compute()
   * //=> [ 1. -2.]
   */
  floorDivide: { arity: 2, dtype: realOrInt8, cuda: prelude('floor_divide'), sample: exact(-100, 100), numpy: 'floor_divide', cost: 16 },
  /**
   * Remainder with the divisor's sign; an integer divided by zero gives 0.
   *
   * @example
   * await lazy([5, -5]).remainder(3).compute()
   * //=> [2. 1.]
   */
  remainder: { arity: 2, dtype: realOrInt8, cuda: prelude('remainder'), sample: exact(-100, 100), cost: 16 },
  /**
   * First array to the power of the second. A negative integer power of an integer is 0, or ±1 for a base of
   * ±1.
   *
   * @example
   * await lazy([1, 2, 3]).pow(2).compute()
   * //=> [1. 4. 9.]
   */
  pow: { arity: 2, dtype: numericOrInt8, cuda: byKind(prelude('ipow'), call('pow')), sample: within(4, 0.1, 8), numpy: 'power', cost: 40 },
  /** Negated values. */
  negative: { arity: 1, dtype: numeric, cuda: ([a], d) => (isInteger(d) ? infix('-')(['0', a!], d) : `(-${a})`), sample: exact(-100, 100), aliases: ['neg'], cost: 1 },
  /** The values themselves. */
  positive: { arity: 1, dtype: numeric, cuda: unchanged, sample: exact(-100, 100), cost: 0 },
  /**
   * Absolute value; for complex numbers their modulus, as a float.
   *
   * @example
   * await lazy([-2, 3]).abs().compute()
   * //=> [2. 3.]
   * await lazy([{ re: 3, im: 4 }]).abs().compute()
   * //=> [5.]
   */
  abs: { arity: 1, dtype: magnitude, cuda: ([a], d) => (isComplex(d) ? `weft_abs(${a})` : isFloat(d) ? call('fabs')([a!], d) : kindOf(d) === 'int' ? `((${CUDA_TYPE[d]})(${a} < 0 ? ${infix('-')(['0', a!], d)} : ${a}))` : a!), sample: within(1, -100, 100), cost: 1 },
  /**
   * -1, 0 or 1 by the sign, NaN for NaN; for complex numbers z / |z|.
   *
   * @example
   * await lazy([-3, 0, 2]).sign().compute()
   * //=> [-1.  0.  1.]
   */
  sign: { arity: 1, dtype: numeric, cuda: prelude('sign'), sample: within(1, -100, 100), cost: 3 },
  /** The square of each element. */
  square: { arity: 1, dtype: numericOrInt8, cuda: ([a], d) => infix('*')([a!, a!], d), sample: exact(-100, 100), cost: 1 },
  /** 1 / x; for integers, 0 but for ±1. */
  reciprocal: { arity: 1, dtype: numericOrInt8, cuda: ([a], d) => (isComplex(d) ? `weft_reciprocal(${a})` : isFloat(d) ? `((${CUDA_TYPE[d]})1 / ${a})` : `((${CUDA_TYPE[d]})(${a} == 0 ? 0 : 1 / ${a}))`), sample: within(1, 0.1, 100), cost: 8 },
  /**
   * Larger of two values; NaN if either is NaN.
   *
   * @example
   * await lazy([1, 5, NaN]).maximum([3, 2, 1]).compute()
   * //=> [ 3.  5. nan]
   */
  maximum: { arity: 2, dtype: ordered, cuda: prelude('maximum'), sample: exact(-100, 100), cost: 2 },
  /**
   * Smaller of two values; NaN if either is NaN.
   *
   * @example
   * await lazy([1, 5, NaN]).minimum([3, 2, 1]).compute()
   * //=> [ 1.  2. nan]
   */
  minimum: { arity: 2, dtype: ordered, cuda: prelude('minimum'), sample: exact(-100, 100), cost: 2 },
  /**
   * Magnitude of the first with the sign of the second.
   *
   * @example
   * await lazy([1, 2, 3]).copysign([-1, 1, -0]).compute()
   * //=> [-1.  2. -3.]
   */
  copysign: { arity: 2, dtype: toRealFloat, cuda: call('copysign'), sample: exact(-100, 100), cost: 2 },
  /**
   * The next value after the first, towards the second; float32 and float64 only.
   *
   * @example
   * (await lazy(1).nextafter(2).compute()).item() > 1
   * //=> true
   */
  nextafter: { arity: 2, dtype: toFullFloat, cuda: call('nextafter'), sample: exact(-100, 100), cost: 6 },
  /**
   * sqrt(x² + y²) without overflow on the way.
   *
   * @example
   * await lazy([3, 5]).hypot([4, 12]).compute()
   * //=> [ 5. 13.]
   */
  hypot: { arity: 2, dtype: toRealFloat, cuda: call('hypot'), sample: within(2, -100, 100), cost: 12 },

  // powers, exponentials, logarithms
  /** Square root. */
  sqrt: { arity: 1, dtype: toFloat, cuda: call('sqrt'), sample: within(1, 0, 100), cost: 8 },
  /** 1 / sqrt(x). */
  rsqrt: { arity: 1, dtype: toRealFloat, cuda: call('rsqrt'), sample: within(2, 0.01, 100), numpy: null, cost: 6 },
  /** Cube root. */
  cbrt: { arity: 1, dtype: toRealFloat, cuda: call('cbrt'), sample: within(2, -100, 100), cost: 20 },
  /** e raised to each element. */
  exp: { arity: 1, dtype: toFloat, cuda: call('exp'), sample: within(4, -10, 10), cost: 10 },
  /** 2 raised to each element. */
  exp2: { arity: 1, dtype: toRealFloat, cuda: call('exp2'), sample: within(4, -10, 10), cost: 8 },
  /** exp(x) - 1, accurate near zero. */
  expm1: { arity: 1, dtype: toFloat, cuda: call('expm1'), sample: within(4, -5, 5), cost: 14 },
  /** Natural logarithm. */
  log: { arity: 1, dtype: toFloat, cuda: call('log'), sample: within(4, 0.01, 100), cost: 10 },
  /** log(1 + x), accurate near zero. */
  log1p: { arity: 1, dtype: toFloat, cuda: call('log1p'), sample: within(4, -0.9, 10), cost: 14 },
  /** Base-2 logarithm. */
  log2: { arity: 1, dtype: toFloat, cuda: call('log2'), sample: within(4, 0.01, 100), cost: 10 },
  /** Base-10 logarithm. */
  log10: { arity: 1, dtype: toFloat, cuda: call('log10'), sample: within(4, 0.01, 100), cost: 10 },
  /** log(exp(x) + exp(y)) without overflow. */
  logaddexp: { arity: 2, dtype: toRealFloat, cuda: prelude('logaddexp'), sample: within(4, -20, 20), cost: 24 },

  // trigonometry
  /** Sine of an angle in radians. */
  sin: { arity: 1, dtype: toFloat, cuda: prelude('sin'), sample: within(4, -10, 10), cost: 16 },
  /** Cosine of an angle in radians. */
  cos: { arity: 1, dtype: toFloat, cuda: prelude('cos'), sample: within(4, -10, 10), cost: 16 },
  /** Tangent of an angle in radians. */
  tan: { arity: 1, dtype: toFloat, cuda: prelude('tan'), sample: within(5, -1.5, 1.5), cost: 24 },
  /** Inverse sine, in radians. */
  asin: { arity: 1, dtype: toFloat, cuda: call('asin'), sample: within(4, -1, 1), numpy: 'arcsin', cost: 16 },
  /** Inverse cosine, in radians. */
  acos: { arity: 1, dtype: toFloat, cuda: call('acos'), sample: within(4, -1, 1), numpy: 'arccos', cost: 16 },
  /** Inverse tangent, in radians. */
  atan: { arity: 1, dtype: toFloat, cuda: call('atan'), sample: within(4, -10, 10), numpy: 'arctan', cost: 16 },
  /**
   * Angle of the point (second, first) in radians, in all four quadrants.
   *
   * @example
   * await lazy([1, 1]).atan2([1, -1]).compute()
   * //=> [0.78539816 2.35619449]
   */
  atan2: { arity: 2, dtype: toRealFloat, cuda: call('atan2'), sample: within(4, -10, 10), numpy: 'arctan2', cost: 24 },
  /** Hyperbolic sine. */
  sinh: { arity: 1, dtype: toFloat, cuda: call('sinh'), sample: within(4, -5, 5), cost: 20 },
  /** Hyperbolic cosine. */
  cosh: { arity: 1, dtype: toFloat, cuda: call('cosh'), sample: within(4, -5, 5), cost: 20 },
  /** Hyperbolic tangent. */
  tanh: { arity: 1, dtype: toFloat, cuda: call('tanh'), sample: within(4, -5, 5), cost: 16 },
  /** Inverse hyperbolic sine. */
  asinh: { arity: 1, dtype: toFloat, cuda: call('asinh'), sample: within(4, -10, 10), numpy: 'arcsinh', cost: 24 },
  /** Inverse hyperbolic cosine. */
  acosh: { arity: 1, dtype: toFloat, cuda: call('acosh'), sample: within(4, 1, 10), numpy: 'arccosh', cost: 24 },
  /** Inverse hyperbolic tangent. */
  atanh: { arity: 1, dtype: toFloat, cuda: call('atanh'), sample: within(4, -0.95, 0.95), numpy: 'arctanh', cost: 24 },

  // special functions
  /** Error function. */
  erf: { arity: 1, dtype: toRealFloat, cuda: call('erf'), sample: within(4, -3, 3), numpy: null, cost: 16 },
  /** 1 - erf(x), accurate where erf is near 1. */
  erfc: { arity: 1, dtype: toRealFloat, cuda: call('erfc'), sample: within(8, -3, 3), numpy: null, cost: 20 },
  /** Logarithm of the absolute value of the gamma function. */
  lgamma: { arity: 1, dtype: toRealFloat, cuda: prelude('lgamma'), sample: within(8, 2.5, 50), numpy: null, cost: 40, isIterated: true },

  /** The inverse of the error function. */
  erfinv: { arity: 1, dtype: toRealFloat, cuda: prelude('erfinv'), sample: within(8, -1, 1), numpy: null, cost: 40 },
  /** The quantile of the standard normal distribution, infinite at 0 and 1. */
  ndtri: { arity: 1, dtype: toRealFloat, cuda: prelude('ndtri'), sample: within(8, 0, 1), numpy: null, cost: 40 },

  /** The gamma function; NaN at negative integers. */
  gamma: { arity: 1, dtype: toRealFloat, cuda: call('tgamma'), sample: within(16, 0.5, 30), numpy: null, cost: 40, isIterated: true },
  /** The derivative of `lgamma`, infinite at 0 and NaN at negative integers. */
  digamma: { arity: 1, dtype: toRealFloat, cuda: special('digamma'), sample: within(16, 2.5, 50), numpy: null, cost: 60, isIterated: true },
  /** The modified Bessel function of the first kind of order 0, as NumPy's and SciPy's `i0`. */
  i0: { arity: 1, dtype: toRealFloat, cuda: special('i0'), sample: within(16, -20, 20), numpy: null, cost: 60, isIterated: true },
  /** `i0(x) exp(-|x|)`, which stays finite. */
  i0e: { arity: 1, dtype: toRealFloat, cuda: special('i0e'), sample: within(16, -20, 20), numpy: null, cost: 60, isIterated: true },
  /** The modified Bessel function of the first kind of order 1, as SciPy's `i1`. */
  i1: { arity: 1, dtype: toRealFloat, cuda: special('i1'), sample: within(16, -20, 20), numpy: null, cost: 60, isIterated: true },
  /** `i1(x) exp(-|x|)`, which stays finite. */
  i1e: { arity: 1, dtype: toRealFloat, cuda: special('i1e'), sample: within(16, -20, 20), numpy: null, cost: 60, isIterated: true },
  /** log(x / (1 - x)), accurate around 1/2; the inverse of `sigmoid`. */
  logit: { arity: 1, dtype: toRealFloat, cuda: special('logit'), sample: within(8, 0, 1), numpy: null, cost: 40 },
  /** The regularized lower incomplete gamma function P(a, x), as SciPy's: `a.gammainc(x)`. NaN where a or x is negative. */
  gammainc: { arity: 2, dtype: toRealFloat, cuda: special('gammainc'), sample: within(2000, 0.1, 20), numpy: null, cost: 400, isIterated: true },
  /** 1 - `gammainc`, accurate where that is near 1. */
  gammaincc: { arity: 2, dtype: toRealFloat, cuda: special('gammaincc'), sample: within(2000, 0.1, 20), numpy: null, cost: 400, isIterated: true },
  /** The x of which `gammainc(a, x)` is the second argument, from 0 to 1, as SciPy's: `a.gammaincinv(p)`. */
  gammaincinv: { arity: 2, dtype: toRealFloat, cuda: special('gammaincinv'), sample: within(2000, 0.05, 1), numpy: null, cost: 2000, isIterated: true },
  /** The regularized incomplete beta function I(x; a, b), as SciPy's: `a.betainc(b, x)`. NaN where a or b is negative or x outside of 0 to 1. */
  betainc: { arity: 3, dtype: toRealFloat, cuda: special('betainc'), sample: within(2000, 0.05, 1), numpy: null, cost: 400, isIterated: true },
  /** The x of which `betainc(a, b, x)` is the third argument, from 0 to 1, as SciPy's: `a.betaincinv(b, p)`. */
  betaincinv: { arity: 3, dtype: toRealFloat, cuda: special('betaincinv'), sample: within(2000, 0.05, 1), numpy: null, cost: 2000, isIterated: true },
  /** The distribution function of Student's t, as SciPy's: `df.stdtr(t)` for df > 0 degrees of freedom. */
  stdtr: { arity: 2, dtype: toRealFloat, cuda: special('stdtr'), sample: within(2000, 0.5, 10), numpy: null, cost: 400, isIterated: true },
  /** The quantile of Student's t at the second argument, from 0 to 1, as SciPy's: `df.stdtrit(p)`. */
  stdtrit: { arity: 2, dtype: toRealFloat, cuda: special('stdtrit'), sample: within(2000, 0.05, 1), numpy: null, cost: 2000, isIterated: true },

  // random words
  /**
   * The uint32 word at a place of the stream of a key, both uint64: word `index % 4` of the block `index / 4` of
   * Philox 4x32-10 (Salmon et al., 2011).
   *
   * @example
   * const key = lazy([7n], { dtype: 'uint64' })
   * await arange(3, 'uint64').philox4x32(key).compute()
   * //=> [4099963437 3221879260  490388034]
   */
  philox4x32: { arity: 2, dtype: words('uint32'), cuda: prelude('philox4x32'), sample: exact(0, 100), numpy: null, cost: 20, isShared: true },
  /**
   * The standard normal number at a place of the stream of a key, as float32: Box and Muller's of the words
   * `index` and its neighbour `index ^ 1` of `philox4x32`.
   *
   * @example
   * const key = lazy([7n], { dtype: 'uint64' })
   * await arange(2, 'uint64').philoxNormal(key).compute()
   * //=> [-1.5496216 -1.5481404]
   */
  philoxNormal: { arity: 2, dtype: words('float32'), cuda: prelude('philoxNormal'), sample: within(8, 0, 100), numpy: null, cost: 30, isShared: true },
  /**
   * The block of a counter and a key, both uint64, by Threefry 2x32-20 (Salmon et al., 2011), as a uint64.
   *
   * @example
   * const key = lazy([7n], { dtype: 'uint64' })
   * await arange(2, 'uint64').threefry2x32(key).compute()
   * //=> [15571024786774969728   837714335556982463]
   */
  threefry2x32: { arity: 2, dtype: words('uint64'), cuda: prelude('threefry2x32'), sample: exact(0, 100), numpy: null, cost: 60 },
  /**
   * A gamma distributed number by a seed, the key of a stream that belongs to it alone, as a uint64: `seed.drawGamma(a)`.
   * Marsaglia and Tsang (2000). 0 where the shape a is 0, NaN where it is negative.
   *
   * @example
   * const seeds = lazy([7n, 8n], { dtype: 'uint64' })
   * await seeds.drawGamma(2.5).compute()
   * //=> [3.07227713 3.12447057]
   */
  drawGamma: { arity: 2, dtype: drawn, first: 'uint64', cuda: prelude('drawGamma'), sample: within(64, 0.2, 40), numpy: null, cost: 300, isIterated: true },
  /**
   * The logarithm of `drawGamma`, which is finite where a small shape makes the number 0.
   *
   * @example
   * const seeds = lazy([7n, 8n], { dtype: 'uint64' })
   * await seeds.drawLogGamma(1e-5).compute()
   * //=> [ -4646.39109664 -67235.23563949]
   */
  drawLogGamma: { arity: 2, dtype: drawn, first: 'uint64', cuda: prelude('drawLogGamma'), sample: within(256, 0.2, 40), numpy: null, cost: 300, isIterated: true },
  /**
   * A Poisson distributed number of a mean, by a seed: inversion, from 10 on Hörmann's PTRS (1993). -1 of no mean.
   *
   * @example
   * const seeds = lazy([7n, 8n], { dtype: 'uint64' })
   * await seeds.drawPoisson(40.5).compute()
   * //=> [39. 40.]
   */
  drawPoisson: { arity: 2, dtype: drawn, first: 'uint64', cuda: prelude('drawPoisson'), sample: within(0, 0.2, 40), numpy: null, cost: 300, isIterated: true },
  /**
   * A binomial number of n and p, by a seed: inversion, from n p = 10 on Hörmann's BTRS (1993). -1 of no n and p.
   *
   * @example
   * const seeds = lazy([7n, 8n], { dtype: 'uint64' })
   * await seeds.drawBinomial(lazy([100, 50]), 0.4).compute()
   * //=> [39. 20.]
   */
  drawBinomial: { arity: 3, dtype: drawn, first: 'uint64', cuda: prelude('drawBinomial'), sample: within(0, 0, 1), numpy: null, cost: 300, isIterated: true },
  /**
   * How many of n elements drawn without replacement are good, of so many good and bad ones, by a seed: one by one where n or
   * the rest is at most 10, else Stadlober's HRUA (1989). -1 of no such numbers.
   *
   * @example
   * const seeds = lazy([7n, 8n], { dtype: 'uint64' })
   * await seeds.drawHypergeometric(lazy([100, 50]), 60, 40).compute()
   * //=> [30. 15.]
   */
  drawHypergeometric: { arity: 4, dtype: drawn, first: 'uint64', cuda: prelude('drawHypergeometric'), sample: within(0, 0, 1), numpy: null, cost: 300, isIterated: true },
  /**
   * An angle of von Mises' distribution around 0, of a concentration, by a seed: Best and Fisher (1979). NaN of no
   * concentration.
   *
   * @example
   * const seeds = lazy([7n, 8n], { dtype: 'uint64' })
   * await seeds.drawVonMises(2.5).compute()
   * //=> [0.3139796 1.5738658]
   */
  drawVonMises: { arity: 2, dtype: drawn, first: 'uint64', cuda: prelude('drawVonMises'), sample: within(2 ** 20, 0.2, 40), numpy: null, cost: 300, isIterated: true },
  /**
   * A number of Zipf's distribution by a seed: Devroye's rejection (1986). -1 of a parameter that is not above 1.
   *
   * @example
   * const seeds = lazy([7n, 8n], { dtype: 'uint64' })
   * await seeds.drawZipf(1.5).compute()
   * //=> [2. 3.]
   */
  drawZipf: { arity: 2, dtype: drawn, first: 'uint64', cuda: prelude('drawZipf'), sample: within(0, 1.2, 40), numpy: null, cost: 300, isIterated: true },
  /** The natural logarithm with the same bits on every device: what random numbers are made with. */
  portableLog: { arity: 1, dtype: toRealFloat, cuda: prelude('portableLog'), sample: within(8, 0.1, 10), numpy: 'log', cost: 16 },
  /** e raised to each element, with the same bits on every device. */
  portableExp: { arity: 1, dtype: toRealFloat, cuda: prelude('portableExp'), sample: within(4, -10, 10), numpy: 'exp', cost: 16 },

  // rounding
  /**
   * Nearest integer, halves to even; of complex numbers both parts.
   *
   * @example
   * await lazy([0.5, 1.5, -1.2]).round().compute()
   * //=> [ 0.  2. -1.]
   */
  round: { arity: 1, dtype: rounding, cuda: byKind(unchanged, call('rint')), sample: exact(-100, 100), cost: 2 },
  /** Largest integer not above. */
  floor: { arity: 1, dtype: ordered, cuda: byKind(unchanged, call('floor')), sample: exact(-100, 100), cost: 2 },
  /** Smallest integer not below. */
  ceil: { arity: 1, dtype: ordered, cuda: byKind(unchanged, call('ceil')), sample: exact(-100, 100), cost: 2 },
  /** Integer part, towards zero. */
  trunc: { arity: 1, dtype: ordered, cuda: byKind(unchanged, call('trunc')), sample: exact(-100, 100), cost: 2 },

  // complex numbers
  /**
   * Complex conjugate.
   *
   * @example
   * await lazy([{ re: 1, im: 2 }]).conj().compute()
   * //=> [1.-2.j]
   */
  conj: { arity: 1, dtype: numericOrInt8, cuda: ([a], d) => (isComplex(d) ? `weft_conj(${a})` : a!), sample: exact(-100, 100), cost: 1 },
  /**
   * Real part.
   *
   * @example
   * await lazy([{ re: 1, im: 2 }]).real().compute()
   * //=> [1.]
   */
  real: { arity: 1, dtype: magnitude, cuda: ([a], d) => (isComplex(d) ? `${a}.re` : a!), sample: exact(-100, 100), cost: 0 },
  /**
   * Imaginary part; 0 for real arrays.
   *
   * @example
   * await lazy([{ re: 1, im: 2 }]).imag().compute()
   * //=> [2.]
   */
  imag: { arity: 1, dtype: magnitude, cuda: ([a], d) => (isComplex(d) ? `${a}.im` : `((${CUDA_TYPE[d]})0)`), sample: exact(-100, 100), cost: 0 },

  // comparison
  /**
   * Whether two values are equal.
   *
   * @example
   * await lazy([1, 2, 3]).equal([1, 0, 3]).compute()
   * //=> [ True False  True]
   */
  equal: { arity: 2, dtype: comparison, cuda: compare('=='), sample: exact(-3, 3), cost: 1 },
  /** Whether two values differ. */
  notEqual: { arity: 2, dtype: comparison, cuda: compare('!='), sample: exact(-3, 3), numpy: 'not_equal', cost: 1 },
  /** Whether the first is below the second. */
  less: { arity: 2, dtype: orderedComparison, cuda: compare('<'), sample: exact(-3, 3), cost: 1 },
  /** Whether the first is below or equal to the second. */
  lessEqual: { arity: 2, dtype: orderedComparison, cuda: compare('<='), sample: exact(-3, 3), numpy: 'less_equal', cost: 1 },
  /** Whether the first is above the second. */
  greater: { arity: 2, dtype: orderedComparison, cuda: compare('>'), sample: exact(-3, 3), cost: 1 },
  /** Whether the first is above or equal to the second. */
  greaterEqual: { arity: 2, dtype: orderedComparison, cuda: compare('>='), sample: exact(-3, 3), numpy: 'greater_equal', cost: 1 },
  /**
   * Whether a value is NaN.
   *
   * @example
   * await lazy([1, NaN, Infinity]).isnan().compute()
   * //=> [False  True False]
   */
  isnan: { arity: 1, dtype: comparison, cuda: byKind(() => 'false', prelude('isnan')), sample: exact(-3, 3), cost: 1 },
  /**
   * Whether a value is an infinity.
   *
   * @example
   * await lazy([1, NaN, -Infinity]).isinf().compute()
   * //=> [False False  True]
   */
  isinf: { arity: 1, dtype: comparison, cuda: byKind(() => 'false', prelude('isinf')), sample: exact(-3, 3), cost: 1 },
  /**
   * Whether a value is neither NaN nor an infinity.
   *
   * @example
   * await lazy([1, NaN, Infinity]).isfinite().compute()
   * //=> [ True False False]
   */
  isfinite: { arity: 1, dtype: comparison, cuda: byKind(() => 'true', prelude('isfinite')), sample: exact(-3, 3), cost: 1 },
  /**
   * Whether the sign bit is set: true for -0 and for negative NaNs.
   *
   * @example
   * await lazy([1, -0, -2]).signbit().compute()
   * //=> [False  True  True]
   */
  signbit: { arity: 1, dtype: signBit, cuda: prelude('signbit'), sample: exact(-3, 3), cost: 1 },

  // logic and bits
  /** Conjunction; numbers count as true unless they are 0. */
  logicalAnd: { arity: 2, dtype: logical, cuda: compare('&&'), sample: exact(0, 1), numpy: 'logical_and', cost: 1 },
  /** Disjunction; numbers count as true unless they are 0. */
  logicalOr: { arity: 2, dtype: logical, cuda: compare('||'), sample: exact(0, 1), numpy: 'logical_or', cost: 1 },
  /** Exclusive or; numbers count as true unless they are 0. */
  logicalXor: { arity: 2, dtype: logical, cuda: compare('!='), sample: exact(0, 1), numpy: 'logical_xor', cost: 1 },
  /** Negation; numbers count as true unless they are 0. */
  logicalNot: { arity: 1, dtype: logical, cuda: ([a]) => `(!${a})`, sample: exact(0, 1), numpy: 'logical_not', cost: 1 },
  /** Bitwise and. */
  bitwiseAnd: { arity: 2, dtype: bits, cuda: bitwise('&'), sample: exact(-100, 100), numpy: 'bitwise_and', cost: 1 },
  /** Bitwise or. */
  bitwiseOr: { arity: 2, dtype: bits, cuda: bitwise('|'), sample: exact(-100, 100), numpy: 'bitwise_or', cost: 1 },
  /** Bitwise exclusive or. */
  bitwiseXor: { arity: 2, dtype: bits, cuda: bitwise('^'), sample: exact(-100, 100), numpy: 'bitwise_xor', cost: 1 },
  /** All bits flipped; for booleans, negation. */
  bitwiseInvert: { arity: 1, dtype: bits, cuda: ([a], d) => (d === 'bool' ? `(!${a})` : `((${CUDA_TYPE[d]})~${a})`), sample: exact(-100, 100), numpy: 'invert', cost: 1 },
  /** Bits of the first moved left by the second; 0 once the shift reaches the width (or is negative). */
  bitwiseLeftShift: { arity: 2, dtype: shift, cuda: prelude('shift_left'), sample: exact(0, 6), numpy: 'left_shift', cost: 2 },
  /**
   * Bits of the first moved right by the second, keeping the sign; 0 or -1 once the shift reaches the width.
   */
  bitwiseRightShift: { arity: 2, dtype: shift, cuda: prelude('shift_right'), sample: exact(0, 6), numpy: 'right_shift', cost: 2 },

  // choice
  /**
   * The second where the first is true, else the third.
   *
   * @example
   * const x = lazy([1, -2, 3])
   * await where(x.greater(0), x, 0).compute()
   * //=> [1. 0. 3.]
   */
  where: { arity: 3, dtype: choice, first: 'bool', cuda: ([c, a, b]) => `(${c} ? ${a} : ${b})`, sample: exact(-100, 100), cost: 1 },
  ...PRODUCT_SUMS,
} as const satisfies Record<string, MapRow>;

/** The name of an elementwise op: a row of the table. */
export type OpName = keyof typeof OPS;

/** A row by name, with the row's general type. */
export const opRow = (op: OpName): MapRow => OPS[op];
export const OP_NAMES = (Object.keys(OPS) as readonly OpName[]).filter((op) => opRow(op).isInternal !== true);
