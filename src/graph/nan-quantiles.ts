/**
 * Order statistics that leave NaNs out: nanMedian, nanQuantile, nanPercentile. Every export is also a method of Lazy
 * and a free function (`fluent.ts`).
 *
 * NaNs are last in sorted rows, so that a row's first n elements are those that count.
 */
import { type AxisOr, type ReduceOptions, reduceArguments } from './arguments.js';
import { countedQuantile } from './counted-quantiles.js';
import { isFloat } from './dtype.js';
import type { Expr } from './expr.js';
import { cast, map, reduce } from './infer.js';
import { median, percentile, quantile } from './order-statistics.js';
import { atProbabilities, type QuantileOptions, type Quantiles, rowsOf } from './quantile-rows.js';
import { sort } from './sorting.js';

/**
 * The median of the elements along axes (all by default) that are not NaN, as NumPy's `nanmedian`; NaN where all
 * are. `x.nanMedian(0)`. Throws an ArgumentError for no elements, a DTypeError for complex numbers.
 *
 * @example
 * await lazy([3, NaN, 1, 2]).nanMedian().compute()
 * //=> 2.0
 */
export function nanMedian(x: Expr, axis?: AxisOr<ReduceOptions>, options?: ReduceOptions): Expr {
  if (!isFloat(x.dtype)) return median(x, axis, options);
  const given = reduceArguments<ReduceOptions>('nanMedian', axis, options, []);
  return quantiles('nanMedian', x, [0.5], 'linear', given)[0]!;
}

/**
 * The quantiles of the elements along axes that are not NaN, as NumPy's `nanquantile`; NaN where all are. Arguments,
 * methods, weights and errors are those of `quantile`: `x.nanQuantile([0.1, 0.9], 0)`. An infinite element is given
 * where the quantile is that element or lies between two equal ones, where NumPy gives NaN; between a finite element
 * and an infinite one it is the infinite one or NaN, as in NumPy.
 *
 * @example
 * await lazy([3, NaN, 1, 2]).nanQuantile([0, 0.5]).compute()
 * //=> [1. 2.]
 */
export function nanQuantile(
  x: Expr,
  q: number | readonly number[],
  axis?: AxisOr<QuantileOptions>,
  options?: QuantileOptions,
): Expr {
  if (!isFloat(x.dtype)) return quantile(x, q, axis, options);
  return atProbabilities('nanQuantile', 1, { x, q, axis, options }, quantiles, true);
}

/**
 * The quantiles at percentages, from 0 to 100: `x.nanPercentile(99)` is `x.nanQuantile(0.99)`.
 *
 * @example
 * await lazy([3, NaN, 1, 2]).nanPercentile(25).compute()
 * //=> 1.5
 */
export function nanPercentile(
  x: Expr,
  q: number | readonly number[],
  axis?: AxisOr<QuantileOptions>,
  options?: QuantileOptions,
): Expr {
  if (!isFloat(x.dtype)) return percentile(x, q, axis, options);
  return atProbabilities('nanPercentile', 100, { x, q, axis, options }, quantiles, true);
}

const quantiles: Quantiles = (op, x, probabilities, method, given) => {
  const { rows, placed } = rowsOf(op, x, given, x.dtype);
  const ordered = sort(rows);
  const isNumber = map('logicalNot', [map('isnan', [rows])]);
  const count = reduce('sum', cast(isNumber, 'int64'), [rows.shape.length - 1]);
  return probabilities.map((q) => placed(countedQuantile(ordered, count, q, method, x.dtype)));
};
