/**
 * Order statistics: median, quantiles and percentiles, of sorted rows. Every export is also a method of Lazy
 * and a free function (`fluent.ts`).
 */
import { type AxisOr, type ReduceOptions, reduceArguments } from './arguments.js';
import { slice } from './basic-slicing.js';
import { countedQuantile, lastOf } from './counted-quantiles.js';
import { type DType, isFloat } from './dtype.js';
import type { Expr } from './expr.js';
import { cast, constant, map } from './infer.js';
import { type Arithmetic, METHODS, type QuantileMethod, SELECTING } from './quantile-methods.js';
import { atProbabilities, type QuantileOptions, rowsOf } from './quantile-rows.js';
import { meanDType, throughFloat32 } from './reducing.js';
import { elementsAt } from './selection.js';
import { sort } from './sorting.js';

/** Where a quantile of a sorted row lies: `fraction` of the way from one element to the next. */
interface Position {
  readonly index: number;
  readonly fraction: number;
}

const NUMBERS: Arithmetic<number> = {
  plus: (a, b) => a + b,
  times: (a, b) => a * b,
  floor: Math.floor,
  round: (a) => {
    const below = Math.floor(a);
    if (a - below !== 0.5) return Math.round(a);
    return below % 2 === 0 ? below : below + 1;
  },
  equal: (a, b) => Number(a === b),
  choose: (test, a, b) => (test === 0 ? b : a),
};

function positionOf(method: QuantileMethod, n: number, q: number): Position {
  const at = Math.min(Math.max(METHODS[method](NUMBERS, n, q), 0), n - 1);
  return { index: Math.floor(at), fraction: at - Math.floor(at) };
}

/**
 * The median of the elements along axes (all by default): the one in the middle of them, or the mean of the
 * two; NaN where one of them is NaN. Integers and booleans give float64. `x.median(0, { keepdims: true })`.
 * Throws an ArgumentError for no elements (where their number depends on data the median is NaN), a DTypeError for complex numbers.
 *
 * @example
 * await lazy([[3, 1, 2], [9, 7, 8]]).median(1).compute()
 * //=> [2. 8.]
 */
export function median(x: Expr, axis?: AxisOr<ReduceOptions>, options?: ReduceOptions): Expr {
  const given = reduceArguments<ReduceOptions>('median', axis, options, []);
  return quantiles('median', x, [0.5], 'linear', given)[0]!;
}

/**
 * The quantiles of the elements along axes (all by default) at the probabilities q, from 0 to 1: a number, or
 * a list of them, whose values are along a new first axis. NaN where one of the elements is NaN. `method` is
 * one of NumPy's 13; by default `'linear'`. With `weights` and `method: 'inverted_cdf'` an element counts as
 * often as its weight says. Methods that interpolate give float64 of integers. `x.quantile([0.1, 0.9], 0)`.
 * Throws a RangeArgumentError for other probabilities, an ArgumentError for no elements, a DTypeError for
 * complex numbers. Of no elements whose number depends on data they are NaN, or a RangeArgumentError where the dtype has none.
 *
 * @example
 * await lazy([1, 2, 3, 4]).quantile(0.5).compute()
 * //=> 2.5
 * await lazy([1, 2, 3, 4]).quantile(0.5, { method: 'lower' }).compute()
 * //=> 2.0
 */
export function quantile(
  x: Expr,
  q: number | readonly number[],
  axis?: AxisOr<QuantileOptions>,
  options?: QuantileOptions,
): Expr {
  return atProbabilities('quantile', 1, { x, q, axis, options }, quantiles, false);
}

/**
 * The quantiles at percentages, from 0 to 100: `x.percentile(99)` is `x.quantile(0.99)`.
 *
 * @example
 * await lazy([1, 2, 3, 4]).percentile([25, 75]).compute()
 * //=> [1.75 3.25]
 */
export function percentile(
  x: Expr,
  q: number | readonly number[],
  axis?: AxisOr<QuantileOptions>,
  options?: QuantileOptions,
): Expr {
  return atProbabilities('percentile', 100, { x, q, axis, options }, quantiles, false);
}

function quantiles(
  op: string,
  x: Expr,
  probabilities: readonly number[],
  method: QuantileMethod,
  given: ReduceOptions,
): Expr[] {
  const result = SELECTING.has(method) ? x.dtype : meanDType(x.dtype);
  const { rows, count, placed } = rowsOf(op, x, given, result);
  const found =
    typeof count === 'number'
      ? ofKnownCount(rows, count, probabilities, method, result)
      : ofLength(rows, count, probabilities, method, result);
  return found.map(placed);
}

function ofKnownCount(
  rows: Expr,
  count: number,
  probabilities: readonly number[],
  method: QuantileMethod,
  result: DType,
): Expr[] {
  const positions = probabilities.map((q) => positionOf(method, count, q));
  const needed = positions.flatMap(({ index, fraction }) => (fraction === 0 ? [index] : [index, index + 1]));
  // NaN is last.
  if (isFloat(rows.dtype)) needed.push(count - 1);
  const indices = [...new Set(needed)].sort((a, b) => a - b);
  const found = elementsAt(rows, indices);
  const at = (index: number): Expr => slice(found, '...', indices.indexOf(index));
  const hasNaN = isFloat(rows.dtype) ? map('isnan', [at(count - 1)]) : undefined;
  return positions.map((position) => {
    const value = cast(between(at, position, result), result);
    return hasNaN === undefined ? value : map('where', [hasNaN, constant(Number.NaN, result), value]);
  });
}

/** The same of rows whose first elements in order count, so many; of none NaN. */
function ofLength(
  rows: Expr,
  count: Expr,
  probabilities: readonly number[],
  method: QuantileMethod,
  result: DType,
): Expr[] {
  const ordered = sort(rows);
  const hasNaN = isFloat(rows.dtype) ? map('isnan', [lastOf(ordered, count)]) : map('equal', [count, 0]);
  return probabilities.map((q) => {
    const value = countedQuantile(ordered, count, q, method, result);
    return map('where', [hasNaN, constant(Number.NaN, result), value]);
  });
}

/** The value at a position of sorted rows: linear between two elements, from the nearer of them. */
function between(at: (index: number) => Expr, { index, fraction }: Position, dtype: Expr['dtype']): Expr {
  const low = cast(at(index), dtype);
  if (fraction === 0) return low;
  return throughFloat32(
    low,
    (a) => {
      const b = cast(at(index + 1), a.dtype);
      const step = map('subtract', [b, a]);
      const value =
        fraction < 0.5
          ? map('add', [a, map('multiply', [step, fraction])])
          : map('subtract', [b, map('multiply', [step, 1 - fraction])]);
      // Of two infinities the difference is NaN.
      return map('where', [map('equal', [a, b]), a, value]);
    },
    dtype,
  );
}
