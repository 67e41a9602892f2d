/**
 * The ops on complex values in float64, for the reference interpreter. Inverse functions follow W. Kahan,
 * "Branch Cuts for Complex Elementary Functions" (1987). Exact about cuts and signs of zero; what infinities
 * and NaN give is left to the NumPy fixtures.
 */
import type { Complex } from '../../src/graph/dtype.js';
import type { OpName } from '../../src/graph/ops.js';
import { roundHalfEven } from './scalar.js';

export type ComplexOp = (args: readonly Complex[]) => Complex | number | boolean;

const { atan2, cosh, exp, expm1, hypot, log, log1p, sinh, sqrt } = Math;
const pair = (re: number, im: number): Complex => ({ re, im });
const unary =
  (f: (z: Complex) => Complex | number | boolean): ComplexOp =>
  ([z]) =>
    f(z!);
const scaled = (z: Complex, by: number): Complex => pair(z.re / by, z.im / by);
const conjugate = (z: Complex): Complex => pair(z.re, -z.im);

export const multiply = (a: Complex, b: Complex): Complex =>
  pair(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);

/** Smith's method: no overflow on the way. */
function divide(a: Complex, b: Complex): Complex {
  if (Math.abs(b.re) >= Math.abs(b.im)) {
    const ratio = b.im / b.re;
    const scale = b.re + b.im * ratio;
    if (b.re === 0 && b.im === 0) return pair(a.re / Math.abs(b.re), a.im / Math.abs(b.re));
    return pair((a.re + a.im * ratio) / scale, (a.im - a.re * ratio) / scale);
  }
  const ratio = b.re / b.im;
  const scale = b.re * ratio + b.im;
  return pair((a.re * ratio + a.im) / scale, (a.im * ratio - a.re) / scale);
}

function squareRoot(z: Complex): Complex {
  if (z.re === 0 && z.im === 0) return pair(0, z.im);
  const size = sqrt((Math.abs(z.re) + hypot(z.re, z.im)) / 2);
  const other = z.im / (2 * size);
  if (z.re >= 0) return pair(size, other);
  const negative = z.im < 0 || Object.is(z.im, -0);
  return pair(Math.abs(other), negative ? -size : size);
}

function logarithm(z: Complex): Complex {
  const size = hypot(z.re, z.im);
  // Near the unit circle, the logarithm of the modulus from what it has beyond 1.
  const [large, small] = Math.abs(z.re) > Math.abs(z.im) ? [Math.abs(z.re), z.im] : [Math.abs(z.im), z.re];
  const near = size > 0.5 && size < 2;
  return pair(near ? 0.5 * log1p((large - 1) * (large + 1) + small * small) : log(size), atan2(z.im, z.re));
}

/** With the special values of C99's Annex G. */
function exponential(z: Complex): Complex {
  const size = exp(z.re);
  if (z.im === 0) return pair(size, z.im);
  if (!Number.isFinite(z.im) && infinite(z.re)) return size === 0 ? pair(0, 0) : pair(size, Number.NaN);
  if (Number.isFinite(size) || !Number.isFinite(z.re))
    return pair(size * Math.cos(z.im), size * Math.sin(z.im));
  // In two factors, since exp of the real part alone may overflow where the result does not.
  const half = exp(z.re / 2);
  return pair(half * Math.cos(z.im) * half, half * Math.sin(z.im) * half);
}

function power(a: Complex, b: Complex): Complex {
  if (b.re === 0 && b.im === 0) return pair(1, 0);
  if (a.re === 0 && a.im === 0) return b.re > 0 ? pair(0, 0) : pair(Number.NaN, Number.NaN);
  return exponential(multiply(logarithm(a), b));
}

const hyperbolicSine = (z: Complex): Complex =>
  pair(sinh(z.re) * Math.cos(z.im), cosh(z.re) * Math.sin(z.im));
const hyperbolicCosine = (z: Complex): Complex =>
  pair(cosh(z.re) * Math.cos(z.im), sinh(z.re) * Math.sin(z.im));

function hyperbolicTangent(z: Complex): Complex {
  if (Math.abs(z.re) > 20)
    return pair(Math.sign(z.re), 4 * Math.sin(z.im) * Math.cos(z.im) * exp(-2 * Math.abs(z.re)));
  const t = Math.tan(z.im);
  const s = sinh(z.re);
  const beta = 1 + t * t;
  const rho = sqrt(1 + s * s);
  const below = 1 + beta * s * s;
  return pair((beta * rho * s) / below, t / below);
}

function asin(z: Complex): Complex {
  const minus = squareRoot(pair(1 - z.re, -z.im));
  const plus = squareRoot(pair(1 + z.re, z.im));
  return pair(atan2(z.re, multiply(minus, plus).re), Math.asinh(multiply(conjugate(minus), plus).im));
}

function acos(z: Complex): Complex {
  const minus = squareRoot(pair(1 - z.re, -z.im));
  const plus = squareRoot(pair(1 + z.re, z.im));
  return pair(2 * atan2(minus.re, plus.re), Math.asinh(multiply(conjugate(plus), minus).im));
}

function acosh(z: Complex): Complex {
  const minus = squareRoot(pair(z.re - 1, z.im));
  const plus = squareRoot(pair(z.re + 1, z.im));
  return pair(Math.asinh(multiply(conjugate(minus), plus).re), 2 * atan2(minus.im, plus.re));
}

function atanh(z: Complex): Complex {
  const below = (1 - z.re) ** 2 + z.im ** 2;
  const re = 0.25 * log1p((4 * z.re) / below);
  return pair(re, 0.5 * atan2(2 * z.im, (1 - z.re) * (1 + z.re) - z.im * z.im));
}

/** f(z) from the hyperbolic function g, by f(z) = -i g(iz). */
const turned =
  (g: (z: Complex) => Complex) =>
  (z: Complex): Complex => {
    const w = g(pair(-z.im, z.re));
    return pair(w.im, -w.re);
  };

function expm1Complex(z: Complex): Complex {
  if (z.im === 0) return pair(expm1(z.re), z.im);
  if (![exp(z.re), z.re, z.im].every(Number.isFinite)) {
    const e = exponential(z);
    return pair(e.re - 1, e.im);
  }
  const half = Math.sin(z.im / 2);
  return pair(expm1(z.re) * Math.cos(z.im) - 2 * half * half, exp(z.re) * Math.sin(z.im));
}

function sign(z: Complex): Complex {
  const size = hypot(z.re, z.im);
  return size === 0 ? pair(0, 0) : scaled(z, size);
}

const some = (test: (x: number) => boolean) => unary((z) => test(z.re) || test(z.im));
const infinite = (x: number): boolean => Math.abs(x) === Number.POSITIVE_INFINITY;

export const COMPLEX_OPS: Readonly<Partial<Record<OpName, ComplexOp>>> = {
  add: ([a, b]) => pair(a!.re + b!.re, a!.im + b!.im),
  subtract: ([a, b]) => pair(a!.re - b!.re, a!.im - b!.im),
  multiply: ([a, b]) => multiply(a!, b!),
  divide: ([a, b]) => divide(a!, b!),
  pow: ([a, b]) => power(a!, b!),
  negative: unary((z) => pair(-z.re, -z.im)),
  positive: unary((z) => z),
  round: unary((z) => pair(roundHalfEven(z.re), roundHalfEven(z.im))),
  abs: unary((z) => hypot(z.re, z.im)),
  sign: unary(sign),
  square: unary((z) => multiply(z, z)),
  reciprocal: unary((z) => divide(pair(1, 0), z)),
  sqrt: unary(squareRoot),
  exp: unary(exponential),
  expm1: unary(expm1Complex),
  log: unary(logarithm),
  log1p: unary((z) =>
    z.im === 0 && z.re > -1
      ? pair(log1p(z.re), z.im)
      : hypot(z.re, z.im) < 0.5
        ? pair(0.5 * log1p(z.re * (2 + z.re) + z.im * z.im), atan2(z.im, 1 + z.re))
        : logarithm(pair(1 + z.re, z.im)),
  ),
  log2: unary((z) => scaled(logarithm(z), Math.LN2)),
  log10: unary((z) => scaled(logarithm(z), Math.LN10)),
  sin: unary((z) => pair(Math.sin(z.re) * cosh(z.im), Math.cos(z.re) * sinh(z.im))),
  cos: unary((z) => pair(Math.cos(z.re) * cosh(z.im), -Math.sin(z.re) * sinh(z.im))),
  tan: unary(turned(hyperbolicTangent)),
  asin: unary(asin),
  acos: unary(acos),
  atan: unary(turned(atanh)),
  sinh: unary(hyperbolicSine),
  cosh: unary(hyperbolicCosine),
  tanh: unary(hyperbolicTangent),
  asinh: unary(turned(asin)),
  acosh: unary(acosh),
  atanh: unary(atanh),
  conj: unary(conjugate),
  real: unary((z) => z.re),
  imag: unary((z) => z.im),
  equal: ([a, b]) => a!.re === b!.re && a!.im === b!.im,
  notEqual: ([a, b]) => a!.re !== b!.re || a!.im !== b!.im,
  isnan: some(Number.isNaN),
  isinf: some(infinite),
  isfinite: unary((z) => Number.isFinite(z.re) && Number.isFinite(z.im)),
};
