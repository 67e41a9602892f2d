/**
 * The reductions on exact values, for the reference interpreter: sums in float64 or bigint, one rounding at
 * the end (by the caller). A row of the table without a case here does not compile.
 */
import {
  type Complex,
  type DType,
  isComplex,
  isFloat,
  isInteger,
  type Scalar,
} from '../../src/graph/dtype.js';
import type { ReductionName } from '../../src/graph/reductions.js';
import { multiply } from './reference-complex.js';
import { isComplexValue, isTrue, wrap } from './scalar.js';

/** The reduction of a group of values that all have one dtype, before rounding. */
export function reduceValues(reduction: ReductionName, values: readonly Scalar[], dtype: DType): Scalar {
  switch (reduction) {
    case 'monoid':
      throw new TypeError('monoids of the user are compared with JavaScript itself');
    case 'sum':
      return accumulate(
        values,
        dtype,
        { re: 0, im: 0 },
        (a, b) => ({ re: a.re + b.re, im: a.im + b.im }),
        0n,
        (a, b) => a + b,
      );
    case 'prod':
      return accumulate(values, dtype, { re: 1, im: 0 }, multiply, 1n, (a, b) => a * b);
    case 'min':
      return extreme(values, (a, b) => a < b).value;
    case 'max':
      return extreme(values, (a, b) => a > b).value;
    case 'argmin':
      return BigInt(extreme(values, (a, b) => a < b).at);
    case 'argmax':
      return BigInt(extreme(values, (a, b) => a > b).at);
    case 'any':
      return values.some(isTrue);
    case 'all':
      return values.every(isTrue);
    case 'squaredDeviations':
      return squaredDeviations(values);
    case 'logsumexp':
      return logsumexp(values.map(Number));
    case 'sumexp':
      return sumexp(values.map(Number));
  }
}

/** The position of the extreme value of a group in any order: of equal ones, and of NaN, the least position. */
export function extremePosition(
  reduction: ReductionName,
  values: readonly Scalar[],
  positions: readonly Scalar[],
  dtype: DType,
): bigint {
  const order = values.map((_, k) => k).sort((a, b) => Number(positions[a]) - Number(positions[b]));
  const inOrder = order.map((k) => values[k]!);
  return BigInt(positions[order[Number(reduceValues(reduction, inOrder, dtype))]!] as bigint);
}

function accumulate(
  values: readonly Scalar[],
  dtype: DType,
  start: Complex,
  combine: (a: Complex, b: Complex) => Complex,
  startInteger: bigint,
  combineInteger: (a: bigint, b: bigint) => bigint,
): Scalar {
  if (isInteger(dtype))
    return values.reduce((a: bigint, b) => wrap(dtype, combineInteger(a, BigInt(b as bigint))), startInteger);
  if (!isFloat(dtype) && !isComplex(dtype)) throw new TypeError(`no sum of ${dtype}`);
  if (isComplex(dtype)) return values.reduce((a: Complex, b) => combine(a, b as Complex), start);
  const product = start.re === 1;
  return values.reduce((a: number, b) => (product ? a * Number(b) : a + Number(b)), start.re);
}

type Real = number | bigint | boolean;

/** The first of the extreme values, or the first NaN. */
function extreme(
  values: readonly Scalar[],
  better: (a: Real, b: Real) => boolean,
): { value: Real; at: number } {
  if (values.length === 0) throw new RangeError('no extreme of nothing');
  let at = 0;
  for (let i = 0; i < values.length; i++) {
    const value = values[i] as Real;
    if (Number.isNaN(value)) return { value, at: i };
    if (better(value, values[at] as Real)) at = i;
  }
  return { value: values[at] as Real, at };
}

function squaredDeviations(values: readonly Scalar[]): number {
  const parts = (part: (z: Scalar) => number): number => {
    const numbers = values.map(part);
    const around = (mean: number): number => numbers.reduce((sum, x) => sum + (x - mean) ** 2, 0);
    const found = around(numbers.reduce((a, b) => a + b, 0) / numbers.length);
    if (Number.isFinite(found) || !numbers.every(Number.isFinite)) return found;
    // Finite numbers whose sum overflows, or whose mean's rounding does once squared.
    const [first, n] = [numbers[0]!, numbers.length];
    return around(numbers.reduce((mean, x) => mean + (x / n - first / n), first));
  };
  const real = parts((z) => (isComplexValue(z) ? z.re : Number(z)));
  return values.some(isComplexValue) ? real + parts((z) => (isComplexValue(z) ? z.im : 0)) : real;
}

function logsumexp(values: readonly number[]): number {
  const top = values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  if (!Number.isFinite(top)) return top;
  return top + Math.log(sumexp(values));
}

function sumexp(values: readonly number[]): number {
  const top = values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  return values.reduce((sum, x) => sum + Math.exp(x - top), 0);
}
