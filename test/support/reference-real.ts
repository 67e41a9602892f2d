/**
 * The ops on floats, for the reference interpreter. Arguments and results are float64; `r` rounds to the
 * dtype the op computes in, where a result depends on the steps in between. The caller rounds what is
 * returned.
 */
import type { OpName } from '../../src/graph/ops.js';
import * as tails from './reference-tails.js';
import { roundHalfEven } from './scalar.js';
import * as special from './special-functions.js';

export type Rounding = (x: number) => number;
export type RealOp = (args: readonly number[], r: Rounding) => number | boolean;

const unary =
  (f: (x: number) => number): RealOp =>
  ([x]) =>
    f(x!);
const binary =
  (f: (a: number, b: number) => number): RealOp =>
  ([a, b]) =>
    f(a!, b!);
const compare =
  (f: (a: number, b: number) => boolean): RealOp =>
  ([a, b]) =>
    f(a!, b!);

const isNegative = (x: number): boolean => x < 0 || Object.is(x, -0);
const withSign = (size: number, sign: number): number =>
  isNegative(sign) ? -Math.abs(size) : Math.abs(size);

/** NumPy's divmod: the remainder by fmod with the divisor's sign, the quotient from the exact difference. */
function divmod(a: number, b: number, r: Rounding): { quotient: number; remainder: number } {
  let remainder = a % b;
  if (b === 0) return { quotient: r(a / b), remainder };
  let quotient = r(r(a - remainder) / b);
  if (remainder === 0) {
    remainder = withSign(0, b);
  } else if (b < 0 !== remainder < 0) {
    remainder = r(remainder + b);
    quotient = r(quotient - 1);
  }
  if (quotient === 0) return { quotient: withSign(0, r(a / b)), remainder };
  const floor = Math.floor(quotient);
  return { quotient: quotient - floor > 0.5 ? floor + 1 : floor, remainder };
}

/** C's pow: 1 wherever the base is 1 or the exponent 0, and for -1 to an infinite power. */
function power(a: number, b: number): number {
  if (a === 1 || b === 0) return 1;
  if (a === -1 && Math.abs(b) === Number.POSITIVE_INFINITY) return 1;
  return a ** b;
}

function logaddexp(a: number, b: number): number {
  if (a === b) return a + Math.LN2;
  const difference = Math.abs(a - b);
  return Number.isNaN(difference) ? Number.NaN : Math.max(a, b) + Math.log1p(Math.exp(-difference));
}

/** The number after `a` towards `b` among those that `r` keeps: float32's or float64's. */
function nextafter(a: number, b: number, r: Rounding): number {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number.NaN;
  if (a === b) return b;
  const single = r(1 + 2 ** -40) === 1;
  if (a === 0) return withSign(single ? 2 ** -149 : Number.MIN_VALUE, b);
  const away = b > a === a > 0;
  if (single) {
    const bits = new Int32Array(Float32Array.of(a).buffer);
    bits[0]! += away ? 1 : -1;
    return new Float32Array(bits.buffer)[0]!;
  }
  const bits = new BigInt64Array(Float64Array.of(a).buffer);
  bits[0]! += away ? 1n : -1n;
  return new Float64Array(bits.buffer)[0]!;
}

/** Ops whose arguments are floats; the others (bits, shifts) have none, and `where` is the interpreter's. */
export const REAL_OPS: Readonly<Partial<Record<OpName, RealOp>>> = {
  add: binary((a, b) => a + b),
  subtract: binary((a, b) => a - b),
  multiply: binary((a, b) => a * b),
  divide: binary((a, b) => a / b),
  floorDivide: ([a, b], r) => divmod(a!, b!, r).quotient,
  remainder: ([a, b], r) => divmod(a!, b!, r).remainder,
  pow: binary(power),
  negative: unary((x) => -x),
  positive: unary((x) => x),
  abs: unary(Math.abs),
  sign: unary((x) => (x === 0 ? 0 : Math.sign(x))),
  square: unary((x) => x * x),
  reciprocal: unary((x) => 1 / x),
  maximum: binary(Math.max),
  minimum: binary(Math.min),
  copysign: binary(withSign),
  nextafter: ([a, b], r) => nextafter(a!, b!, r),
  hypot: binary(Math.hypot),
  sqrt: unary(Math.sqrt),
  rsqrt: unary((x) => 1 / Math.sqrt(x)),
  cbrt: unary(Math.cbrt),
  exp: unary(Math.exp),
  exp2: unary((x) => 2 ** x),
  expm1: unary(Math.expm1),
  log: unary(Math.log),
  log1p: unary(Math.log1p),
  log2: unary(Math.log2),
  log10: unary(Math.log10),
  logaddexp: binary(logaddexp),
  sin: unary(Math.sin),
  cos: unary(Math.cos),
  tan: unary(Math.tan),
  asin: unary(Math.asin),
  acos: unary(Math.acos),
  atan: unary(Math.atan),
  atan2: binary(Math.atan2),
  sinh: unary(Math.sinh),
  cosh: unary(Math.cosh),
  tanh: unary(Math.tanh),
  asinh: unary(Math.asinh),
  acosh: unary(Math.acosh),
  atanh: unary(Math.atanh),
  portableLog: unary(Math.log),
  portableExp: unary(Math.exp),
  erf: unary(special.erf),
  erfc: unary(special.erfc),
  lgamma: unary(special.lgamma),
  erfinv: unary(special.erfinv),
  ndtri: unary(special.ndtri),
  gamma: unary(special.gamma),
  digamma: unary(special.digamma),
  i0: unary(special.i0),
  i0e: unary(special.i0e),
  i1: unary(special.i1),
  i1e: unary(special.i1e),
  logit: unary(special.logit),
  gammainc: binary(tails.gammainc),
  gammaincc: binary(tails.gammaincc),
  gammaincinv: binary(tails.gammaincinv),
  stdtr: binary(tails.stdtr),
  stdtrit: binary(tails.stdtrit),
  betainc: ([a, b, x]) => tails.betainc(a!, b!, x!),
  betaincinv: ([a, b, x]) => tails.betaincinv(a!, b!, x!),
  round: unary(roundHalfEven),
  floor: unary(Math.floor),
  ceil: unary(Math.ceil),
  trunc: unary(Math.trunc),
  conj: unary((x) => x),
  real: unary((x) => x),
  imag: unary(() => 0),
  equal: compare((a, b) => a === b),
  notEqual: compare((a, b) => a !== b),
  less: compare((a, b) => a < b),
  lessEqual: compare((a, b) => a <= b),
  greater: compare((a, b) => a > b),
  greaterEqual: compare((a, b) => a >= b),
  isnan: ([x]) => Number.isNaN(x),
  isinf: ([x]) => Math.abs(x!) === Number.POSITIVE_INFINITY,
  isfinite: ([x]) => Number.isFinite(x),
  signbit: ([x]) => isNegative(x!),
};
