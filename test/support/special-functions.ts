/**
 * erf, erfc, their inverse, gamma functions and Bessel functions in float64, for the reference interpreter: series and
 * continued fractions, summed until they stop changing, and Newton's method. Sources: NIST Digital Library of
 * Mathematical Functions, 7.6.2, 7.9.1, 5.5.3, 5.7.3, 5.11.1, 5.11.2, 10.25.2 and 10.40.1.
 */

/** exp(-x²), with the square split so that its rounding error is not amplified. */
function gaussian(x: number): number {
  const high = Math.fround(x);
  return Math.exp(-high * high) * Math.exp(-(x - high) * (x + high));
}

/** The series 2/√π · exp(-x²) · Σ 2ⁿ x²ⁿ⁺¹ / (2n+1)!!, whose terms have one sign. */
function erfSeries(x: number): number {
  let term = x;
  let sum = x;
  for (let n = 1; n < 400; n++) {
    term *= (2 * x * x) / (2 * n + 1);
    if (sum + term === sum) break;
    sum += term;
  }
  return (2 / Math.sqrt(Math.PI)) * gaussian(x) * sum;
}

/** The fraction x + (1/2)/(x + (2/2)/(x + …)), from the inside out; erfc(x) is exp(-x²)/√π over it, for x ≥ 1. */
function erfcDivisor(x: number): number {
  let tail = x;
  for (let n = 400; n > 0; n--) tail = x + n / 2 / tail;
  return tail;
}
const erfcFraction = (x: number): number => gaussian(x) / (Math.sqrt(Math.PI) * erfcDivisor(x));

export function erf(x: number): number {
  if (Number.isNaN(x)) return x;
  if (Math.abs(x) < 1e-8) return (x * 2) / Math.sqrt(Math.PI);
  if (Math.abs(x) < 1.5) return erfSeries(x);
  return Math.sign(x) * (1 - (Math.abs(x) > 30 ? 0 : erfcFraction(Math.abs(x))));
}

export function erfc(x: number): number {
  if (Number.isNaN(x)) return x;
  if (x > 30) return 0;
  return x < 1 ? 1 - erf(x) : erfcFraction(x);
}

// Coefficients of Stirling's series: B(2k) / (2k (2k - 1)).
const STIRLING = [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400];

/** ζ(k) - 1 for k = 2 … 60, by the Euler–Maclaurin formula from n = 200 on. */
const ZETA = Array.from({ length: 59 }, (_, i) => {
  const k = i + 2;
  const n = 200;
  const correction = (k * (1 - ((k + 1) * (k + 2)) / (60 * n * n))) / (12 * n);
  let sum = n ** -k * (n / (k - 1) + 0.5 + correction);
  for (let j = n - 1; j >= 2; j--) sum += j ** -k;
  return sum;
});
const EULER = 0.5772156649015329;

/** Newton's step down to the x ≥ 1/2 of which erfc is `tail`: on the logarithm, which no tail is too small for. */
function tailStep(x: number, tail: number): number {
  if (x < 1) return ((tail - erfc(x)) * Math.sqrt(Math.PI)) / (2 * gaussian(x));
  const divisor = erfcDivisor(x);
  return (Math.log(tail) + x * x + Math.log(Math.sqrt(Math.PI) * divisor)) / (2 * divisor);
}

/** The x of which erf is `centre`, and erfc(|x|) is `tail`, by Newton's method. */
function inverseErf(centre: number, tail: number): number {
  const size = Math.abs(centre);
  let x = size < 0.5 ? size : Math.sqrt(Math.max(0.3, -Math.log(tail)));
  for (let n = 0; n < 40; n++) {
    const step = size < 0.5 ? ((erf(x) - size) * Math.sqrt(Math.PI)) / (2 * gaussian(x)) : tailStep(x, tail);
    x -= step;
    if (Math.abs(step) <= 1e-16 * x) break;
  }
  return centre < 0 ? -x : x;
}

export function erfinv(x: number): number {
  if (x === 0) return x;
  if (Math.abs(x) >= 1) return Math.abs(x) === 1 ? x * Number.POSITIVE_INFINITY : Number.NaN;
  return Number.isNaN(x) ? x : inverseErf(x, 1 - Math.abs(x));
}

/** The quantile of the standard normal distribution. */
export function ndtri(p: number): number {
  if (p === 0 || p === 1) return p === 0 ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  if (!(p > 0 && p < 1)) return Number.NaN;
  return p === 0.5 ? 0 : Math.SQRT2 * inverseErf(2 * (p - 0.5), 2 * Math.min(p, 1 - p));
}

/** lgamma(2 + z) for |z| ≤ 1/2, by its Taylor series. */
function nearTwo(z: number): number {
  let sum = 0;
  for (let i = ZETA.length - 1; i >= 0; i--) sum = sum * -z + ZETA[i]! / (i + 2);
  return z * (1 - EULER + z * sum);
}

export function lgamma(x: number): number {
  if (Number.isNaN(x)) return x;
  if (!Number.isFinite(x)) return Number.POSITIVE_INFINITY;
  if (x <= 0) {
    if (Number.isInteger(x)) return Number.POSITIVE_INFINITY;
    if (x > -1e-10) return -Math.log(-x);
    // Reflection, with the sine of the distance to the nearest integer.
    const sine = Math.abs(Math.sin(Math.PI * (x - Math.round(x))));
    return Math.log(Math.PI / sine) - lgamma(1 - x);
  }
  if (x < 1.5) return lgamma(x + 1) - Math.log(x);
  if (x < 12) {
    let shifted = x;
    let factor = 1;
    while (shifted > 2.5) factor *= --shifted;
    return nearTwo(shifted - 2) + Math.log(factor);
  }
  let series = 0;
  for (let k = STIRLING.length - 1; k >= 0; k--) series = series / (x * x) + STIRLING[k]!;
  // One logarithm as a factor, so that large arguments do not overflow before their result does.
  return (x - 0.5) * (Math.log(x) - 1) - 0.5 + 0.5 * Math.log(2 * Math.PI) + series / x;
}

/** lgamma(a + 1) less Stirling's formula. */
export function stirlingError(a: number): number {
  if (a < 15) return lgamma(a + 1) - ((a + 0.5) * Math.log(a) - a) - 0.5 * Math.log(2 * Math.PI);
  return STIRLING.reduceRight((sum, next) => sum / (a * a) + next, 0) / a;
}

export function gamma(x: number): number {
  if (x === 0) return 1 / x;
  if (Number.isNaN(x) || x === Number.POSITIVE_INFINITY) return x;
  if (x < 0 && Number.isInteger(x)) return Number.NaN;
  if (x === Number.NEGATIVE_INFINITY) return Number.NaN;
  if (x < 0.5) {
    // Reflection; by halves, since gamma overflows before its reciprocal underflows.
    const sine = Math.sin(Math.PI * (x - Math.round(x))) * (Math.round(x) % 2 === 0 ? 1 : -1);
    return x < -190 ? 0 * sine : Math.PI / sine / gamma(1 - x);
  }
  if (x > 172) return Number.POSITIVE_INFINITY;
  let [shifted, factor] = [x, 1];
  while (shifted > 2.5) factor *= --shifted;
  while (shifted < 1.5) factor /= shifted++;
  return factor * Math.exp(nearTwo(shifted - 2));
}

export function digamma(x: number): number {
  if (x === 0) return -1 / x;
  if (x === Number.NEGATIVE_INFINITY || (x < 0 && Number.isInteger(x))) return Number.NaN;
  if (x < 0) return digamma(1 - x) - Math.PI / Math.tan(Math.PI * (x - Math.round(x)));
  let beside = 0;
  let y = x;
  for (; y < 25; y++) beside += 1 / y;
  const terms = [1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132];
  return Math.log(y) - 0.5 / y - terms.reduceRight((sum, next) => (sum + next) / (y * y), 0) - beside;
}

/** exp(-|x|) times the modified Bessel function of an order: its power series, or the asymptotic one. */
function bessel(order: 0 | 1, x: number): number {
  const size = Math.abs(x);
  if (Number.isNaN(x)) return x;
  let [sum, term] = [1, 1];
  if (size < 30) {
    for (let k = 1; term > 1e-18 * sum; k++) sum += term *= (x * x) / 4 / (k * (k + order));
    return sum * (order === 0 ? 1 : x / 2) * Math.exp(-size);
  }
  for (let k = 1; Math.abs(term) > 1e-18; k++) {
    term *= -(4 * order - (2 * k - 1) ** 2) / (8 * k * size);
    sum += term;
  }
  return ((order === 0 ? 1 : Math.sign(x)) * sum) / Math.sqrt(2 * Math.PI) / Math.sqrt(size);
}
export const i0e = (x: number): number => bessel(0, x);
export const i1e = (x: number): number => bessel(1, x);
const grown = (value: number, x: number): number =>
  value * Math.exp(Math.abs(x) / 2) * Math.exp(Math.abs(x) / 2);
export const i0 = (x: number): number => grown(bessel(0, x), x);
export const i1 = (x: number): number => grown(bessel(1, x), x);

export function logit(x: number): number {
  const s = 2 * (x - 0.5);
  return Math.abs(s) < 0.4 ? Math.log1p(s) - Math.log1p(-s) : Math.log(x / (1 - x));
}
