/**
 * Incomplete gamma and beta functions, Student's t and their inverses for the reference interpreter: power series, and
 * otherwise Romberg's quadrature of the density in u, the logarithm of x or of its odds (NIST DLMF 8.7.1, 8.17.22).
 */
import { lgamma, stirlingError } from './special-functions.js';

const log = Math.log;

/** A distribution in u: the weights of its sides, gamma's x and y as functions of u, and log density(u + w) - log density(u). */
interface Family {
  readonly density: (u: number) => number;
  readonly drop: (u: number, w: number) => number;
}

/** log(1 + x) - x, by its series near 0. */
export function log1pLess(x: number): number {
  if (Math.abs(x) > 0.3) return Math.log1p(x) - x;
  let [sum, power] = [0, -x * x];
  for (let k = 2; k < 80; k++, power *= -x) sum += power / k;
  return sum;
}

/** exp(x) - 1 - x, by its series near 0. */
function expm1Less(x: number): number {
  if (Math.abs(x) > 1) return Math.expm1(x) - x;
  let [sum, term] = [0, x];
  for (let k = 2; k < 30; k++) sum += term *= x / k;
  return sum;
}

const odds = (u: number): [number, number] => [1 / (1 + Math.exp(-u)), 1 / (1 + Math.exp(u))];

/** At the logarithm of x, x itself is taken. */
function gammaFamily(a: number, x?: number): Family {
  const at = (u: number): number => (x !== undefined && u === log(x) ? x : Math.exp(u));
  return {
    density: (u) => {
      const r = Math.expm1(u - Math.log(a));
      const deviance = Math.abs(r) < 1 ? (at(u) - a) / a : r;
      const exponent = r < -0.9 ? u - Math.log(a) - r : log1pLess(deviance);
      return Math.exp(a * exponent - stirlingError(a)) * Math.sqrt(a / (2 * Math.PI));
    },
    drop: (u, w) => (a - at(u)) * w - at(u) * expm1Less(w),
  };
}

function betaFamily(a: number, b: number): Family {
  const n = a + b;
  const flipped = (): Family => betaFamily(b, a);
  return {
    density: (u) => {
      const [x, y] = odds(u);
      const d = b * x - a * y;
      const side = (p: number, q: number, ratio: number): number =>
        ratio < -0.9 ? Math.log(p) + Math.log(n / q) - ratio : log1pLess(ratio);
      const errors = stirlingError(n) - stirlingError(a) - stirlingError(b);
      const root = Math.sqrt(a) * Math.sqrt(b / n / (2 * Math.PI));
      return Math.exp(errors + a * side(x, a, d / a) + b * side(y, b, -d / b)) * root;
    },
    drop: (u, w) => {
      if (u > 0) return flipped().drop(-u, -w);
      const [x, y] = odds(u);
      return (a * y - b * x) * w - n * (log1pLess(x * Math.expm1(w)) + x * expm1Less(w));
    },
  };
}

/** The probability beyond u on one side, by Romberg's rule to where the density has fallen by e⁻⁴⁵. */
function quadrature({ density, drop }: Family, u: number, sign: 1 | -1): number {
  const scale = density(u);
  if (scale === 0) return 0;
  let reach = 1e-20;
  while (-drop(u, sign * reach) < 45) reach *= 2;
  for (let step = reach / 4; step > reach / 256; step /= 2)
    if (-drop(u, sign * (reach - step)) > 45) reach -= step;
  const value = (t: number): number => Math.exp(drop(u, sign * reach * t));
  let row = [(1 + value(1)) / 2];
  for (let level = 1; level <= 12; level++) {
    let sum = 0;
    for (let k = 1; k < 2 ** level; k += 2) sum += value(k / 2 ** level);
    const next = [row[0]! / 2 + sum / 2 ** level];
    for (let j = 1; j <= level; j++) next.push(next[j - 1]! + (next[j - 1]! - row[j - 1]!) / (4 ** j - 1));
    row = next;
  }
  return scale * reach * row.at(-1)!;
}

/** Σ of terms that follow from one another, until they change nothing. */
function series(first: number, next: (term: number, n: number) => number): number {
  let [sum, term] = [first, first];
  for (let n = 1; n < 1e6 && Math.abs(term) > 1e-18 * Math.abs(sum); n++) sum += term = next(term, n);
  return sum;
}

/** Below or above x under the gamma distribution. */
function gammaTail(a: number, x: number, above: boolean): number {
  if (!(a >= 0 && x >= 0) || (a === 0 && x === 0) || (a === x && x === Number.POSITIVE_INFINITY))
    return Number.NaN;
  if (x === Number.POSITIVE_INFINITY || a < 1e-300) return above ? 0 : 1;
  if (x === 0 || a === Number.POSITIVE_INFINITY) return above ? 1 : 0;
  const family = gammaFamily(a, x);
  if (x > Math.max(a, 0.1) || a > 1e4) {
    const tail = quadrature(family, log(x), x > a ? 1 : -1);
    return x > a === above ? tail : 1 - tail;
  }
  const leading = a * log(x) - lgamma1p(a);
  if (!above) return (family.density(log(x)) / a) * series(1, (term, n) => (term * x) / (a + n));
  // 1 less the series of alternating terms, whose first term is apart.
  let [sum, term] = [0, 1];
  for (let n = 1; n < 60; n++) {
    term *= -x / n;
    sum += term / (a + n);
  }
  return x <= 1 ? -Math.expm1(leading) - Math.exp(leading) * a * sum : 1 - gammaTail(a, x, false);
}

const lgamma1p = (a: number): number =>
  a < 1e-3 ? a * (-0.5772156649015329 + a * (0.8224670334241132 - a * 0.40068563438653143)) : lgamma(1 + a);

/** Below or above x under the beta distribution, where y is 1 - x. */
function betaTail(a: number, b: number, x: number, y: number, above: boolean): number {
  const infinite = Number.POSITIVE_INFINITY;
  if (!(a >= 0 && b >= 0 && x >= 0 && y >= 0) || (a === 0 && b === 0) || (a === infinite && b === infinite))
    return Number.NaN;
  if (x === 0 || y === 0) return (y === 0) === above ? 0 : 1;
  if (a < 1e-300 || b === infinite) return above ? 0 : 1;
  if (b < 1e-300 || a === infinite) return above ? 1 : 0;
  const isAbove = a * y <= b * x;
  if (isAbove) [a, b, x, y] = [b, a, y, x];
  const family = betaFamily(a, b);
  const tail =
    Math.max(a, b) > 1e3
      ? quadrature(family, log(x) - log(y), -1)
      : (family.density(log(x) - log(y)) / a) *
        series(1, (term, n) => (term * x * (a + b + n - 1)) / (a + n));
  return isAbove === above ? tail : 1 - tail;
}

/** The u at which a tail is p, by halving the interval in which exp(u) is a number. */
function inverse(tail: (u: number) => number, p: number, above: boolean): number {
  let [low, high] = [-744, 744];
  for (let k = 0; k < 70; k++) {
    const middle = (low + high) / 2;
    if (tail(middle) < p !== above) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

export const gammainc = (a: number, x: number): number => gammaTail(a, x, false);
export const gammaincc = (a: number, x: number): number => gammaTail(a, x, true);
export const betainc = (a: number, b: number, x: number): number => betaTail(a, b, x, 1 - x, false);

export function gammaincinv(a: number, p: number): number {
  if (!(a >= 0 && p >= 0 && p <= 1)) return Number.NaN;
  if (p === 0 || p === 1) return p === 0 ? 0 : Number.POSITIVE_INFINITY;
  if (a === 0 || a === Number.POSITIVE_INFINITY) return Number.NaN;
  const above = p > 0.5;
  const least = (log(p) + lgamma1p(a)) / a;
  if (least < -700) return Math.exp(least);
  return Math.exp(inverse((u) => gammaTail(a, Math.exp(u), above), above ? 1 - p : p, above));
}

/** The log-odds of the beta distribution's quantile. */
function betaLogit(a: number, b: number, p: number, above: boolean): number {
  const tail = (u: number): number => betaTail(a, b, ...odds(u), above);
  return inverse(tail, p, above);
}

export function betaincinv(a: number, b: number, p: number): number {
  const infinite = Number.POSITIVE_INFINITY;
  if (!(a > 0 && b > 0 && p >= 0 && p <= 1) || (a === infinite && b === infinite)) return Number.NaN;
  if (p === 0 || p === 1) return p;
  if (a === infinite || b === infinite) return a === infinite ? 1 : 0;
  const u = p > 0.5 ? betaLogit(a, b, 1 - p, true) : betaLogit(a, b, p, false);
  return u > 0 ? odds(u)[0] : Math.exp(u) / (1 + Math.exp(u));
}

export function stdtr(df: number, t: number): number {
  if (!(df > 0) || Number.isNaN(t)) return Number.NaN;
  const square = t * t;
  if (square === Number.POSITIVE_INFINITY) return t > 0 ? 1 : 0;
  if (df === Number.POSITIVE_INFINITY)
    return t > 0 ? 1 - gammaincc(0.5, square / 2) / 2 : gammaincc(0.5, square / 2) / 2;
  const tail = betaTail(df / 2, 0.5, df / (df + square), square / (df + square), false) / 2;
  return t > 0 ? 1 - tail : tail;
}

export function stdtrit(df: number, p: number): number {
  if (!(df > 0 && p >= 0 && p <= 1)) return Number.NaN;
  if (p === 0 || p === 1) return p === 0 ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  if (p === 0.5) return 0;
  const size = 2 * Math.abs(p - 0.5);
  const tail = 2 * Math.min(p, 1 - p);
  const t =
    df === Number.POSITIVE_INFINITY
      ? Math.sqrt(2 * gammaincinv(0.5, size))
      : Math.sqrt(df) * Math.exp(betaLogit(0.5, df / 2, size < 0.5 ? size : tail, size >= 0.5) / 2);
  return p < 0.5 ? -t : t;
}
