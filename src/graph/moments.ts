/**
 * Moments of samples: zscore, moment, skew, kurtosis, as SciPy's `stats` has them, but over all axes unless one is
 * given. Every export is also a method of Lazy and a free function (`fluent.ts`). Halves are computed in float32 and
 * rounded once; integers in float64.
 */
import { ArgumentError, DTypeError, expected } from '../host/errors.js';
import { type AxisOr, type ReduceOptions, reduceArguments, type VarianceOptions } from './arguments.js';
import { isComplex } from './dtype.js';
import type { Expr } from './expr.js';
import { formatValue } from './format.js';
import { cast, constant, isExpr, map } from './infer.js';
import { countAlong, meanDType, reduceAlong, throughFloat32 } from './reducing.js';
import { type Axes, ascendingAxes, checkInteger } from './shape.js';
import { mean, variance } from './statistics.js';

/** Options of `skew`. */
export interface SkewOptions extends ReduceOptions {
  /** False corrects the bias of a sample. True by default. */
  readonly bias?: boolean;
}
/** Options of `kurtosis`. */
export interface KurtosisOptions extends SkewOptions {
  /** True, the default: 0 for a normal distribution (Fisher); false: 3 (Pearson). */
  readonly fisher?: boolean;
}

/**
 * How many standard deviations each element is from the mean along the axes, as SciPy's `zscore`; `{ correction: 1 }`
 * takes the deviation of a sample. NaN where all are equal. Real numbers only.
 *
 * @example
 * await lazy([1, 2, 3]).zscore().compute()
 * //=> [-1.22474487  0.          1.22474487]
 */
export function zscore(x: Expr, axis?: AxisOr<VarianceOptions>, options?: VarianceOptions): Expr {
  const given = reduceArguments<VarianceOptions>('zscore', axis, options, ['correction']);
  return overReals('zscore', x, (values) => {
    const along = { axis: given.axis ?? null, keepdims: true };
    const spread = variance(values, {
      ...along,
      ...(given.correction === undefined ? {} : { correction: given.correction }),
    });
    return map('divide', [map('subtract', [values, mean(values, along)]), map('sqrt', [spread])]);
  });
}

/**
 * The central moment of an order (1, 2, …) along the axes: the mean of (x - mean)^order, as SciPy's `moment`. NaN of no
 * elements. Real numbers only.
 *
 * @example
 * await lazy([1, 2, 3, 6]).moment(2).compute()
 * //=> 3.5
 */
export function moment(x: Expr, order: number, axis?: AxisOr<ReduceOptions>, options?: ReduceOptions): Expr {
  const n = checkInteger('moment', 'the order', order);
  if (n < 1) throw new ArgumentError(expected('moment', 'an order from 1 on', formatValue(order)));
  const given = reduceArguments<ReduceOptions>('moment', axis, options, []);
  return overReals('moment', x, (values) => central('moment', values, [n], given.axis, given.keepdims)[0]!);
}

/**
 * Skewness along the axes: the third central moment over the second to the power 3/2, as SciPy's `skew`. `{ bias: false
 * }` corrects for the bias of a sample, where there are more than two elements. NaN where all are equal. Real numbers
 * only.
 *
 * @example
 * await lazy([1, 2, 3, 4, 10]).skew({ keepdims: true }).compute()
 * //=> [1.13841996]
 */
export function skew(x: Expr, axis?: AxisOr<SkewOptions>, options?: SkewOptions): Expr {
  const given = reduceArguments<SkewOptions>('skew', axis, options, ['bias']);
  return overReals('skew', x, (values) => {
    const [second, third] = central('skew', values, [2, 3], given.axis, given.keepdims);
    const value = map('divide', [third!, map('multiply', [second!, map('sqrt', [second!])])]);
    if (given.bias !== false) return value;
    const n = countOf('skew', values, given.axis);
    // sqrt(n (n - 1)) / (n - 2): Joanes and Gill, "Comparing measures of sample skewness and kurtosis" (1998).
    const correction = map('divide', [
      map('sqrt', [map('multiply', [n, map('subtract', [n, 1])])]),
      map('subtract', [n, 2]),
    ]);
    return map('where', [map('greater', [n, 2]), map('multiply', [value, correction]), value]);
  });
}

/**
 * Kurtosis along the axes: the fourth central moment over the second squared, less 3, as SciPy's `kurtosis`. `{ fisher:
 * false }` leaves the 3, `{ bias: false }` corrects for the bias of a sample, where there are more than three elements.
 * NaN where all are equal. Real numbers only.
 *
 * @example
 * await lazy([1, 2, 3, 4, 10]).kurtosis({ keepdims: true }).compute()
 * //=> [-0.212]
 */
export function kurtosis(x: Expr, axis?: AxisOr<KurtosisOptions>, options?: KurtosisOptions): Expr {
  const given = reduceArguments<KurtosisOptions>('kurtosis', axis, options, ['bias', 'fisher']);
  return overReals('kurtosis', x, (values) => {
    const [second, fourth] = central('kurtosis', values, [2, 4], given.axis, given.keepdims);
    const excess = map('subtract', [map('divide', [fourth!, map('square', [second!])]), 3]);
    const shown = (value: Expr): Expr => (given.fisher === false ? map('add', [value, 3]) : value);
    if (given.bias !== false) return shown(excess);
    const n = countOf('kurtosis', values, given.axis);
    // (n - 1) ((n + 1) excess + 6) / ((n - 2) (n - 3)): Joanes and Gill (1998).
    const scaled = map('multiply', [
      map('subtract', [n, 1]),
      map('add', [map('multiply', [map('add', [n, 1]), excess]), 6]),
    ]);
    const corrected = map('divide', [
      scaled,
      map('multiply', [map('subtract', [n, 2]), map('subtract', [n, 3])]),
    ]);
    return shown(map('where', [map('greater', [n, 3]), corrected, excess]));
  });
}

function overReals(op: string, x: Expr, compute: (values: Expr) => Expr): Expr {
  if (isComplex(x.dtype)) throw new DTypeError(expected(op, 'real numbers or booleans', x.dtype));
  return throughFloat32(cast(x, meanDType(x.dtype)), compute);
}

/** Central moments of some orders. */
function central(
  op: string,
  x: Expr,
  orders: readonly number[],
  axis: Axes | null | undefined,
  keepdims?: boolean,
): Expr[] {
  const axes = ascendingAxes(op, axis, x.shape.length);
  const deviation = map('subtract', [x, mean(x, { axis: axes, keepdims: true })]);
  const count = countAlong(x, axes);
  return orders.map((order) =>
    map('divide', [reduceAlong(op, 'sum', powerOf(deviation, order), axes, keepdims), count]),
  );
}

/** A power by squares and products, which rounds less than pow and fuses as well. */
function powerOf(x: Expr, order: number): Expr {
  if (order === 1) return x;
  const half = map('square', [powerOf(x, Math.floor(order / 2))]);
  return order % 2 === 0 ? half : map('multiply', [half, x]);
}

/** The number of elements along the axes, as an array. */
function countOf(op: string, x: Expr, axis: Axes | null | undefined): Expr {
  const count = countAlong(x, ascendingAxes(op, axis, x.shape.length));
  return isExpr(count) ? count : constant(count, x.dtype);
}
