/**
 * Order statistics that leave NaNs out: nanMedian, nanQuantile, nanPercentile. Every export is also a method of Lazy
 * and a free function (`fluent.ts`).
 *
 * NaNs are last in sorted rows, so that a row's first n elements are those that count. n depends on the data: indices
 * are computed with the graph, and elements taken there.
 */
import { type AxisOr, type ReduceOptions, reduceArguments } from './arguments.js';
import { isFloat } from './dtype.js';
import type { Expr } from './expr.js';
import { takeAlongAxis } from './indexing.js';
import { cast, constant, map, reduce } from './infer.js';
import { median, percentile, quantile } from './order-statistics.js';
import { type Arithmetic, METHODS, SELECTING } from './quantile-methods.js';
import { atProbabilities, type QuantileOptions, type Quantiles, rowsOf } from './quantile-rows.js';
import { keepAxes, throughFloat32 } from './reducing.js';
import { roundedProduct } from './rounded-product.js';
import { sort } from './sorting.js';
import { reshape } from './views.js';

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

const ARRAYS: Arithmetic<Expr> = {
  plus: (a, b) => map('add', [a, b]),
  times: roundedProduct,
  floor: (a) => map('floor', [a]),
  round: (a) => map('round', [a]),
  equal: (a, b) => map('equal', [a, b]),
  choose: (test, a, b) => map('where', [test, a, b]),
};

const quantiles: Quantiles = (op, x, probabilities, method, { axis, keepdims = false }) => {
  const { rows, reduced, axes } = rowsOf(op, x, axis);
  const last = rows.shape.length - 1;
  const ordered = sort(rows);
  const isNumber = map('logicalNot', [map('isnan', [rows])]);
  const count = cast(reduce('sum', cast(isNumber, 'int64'), [last]), 'float64');
  const end = map('subtract', [count, 1]);
  const at = (index: Expr): Expr => {
    const within = cast(map('maximum', [map('minimum', [index, end]), 0]), 'int64');
    return reshape(
      takeAlongAxis(ordered, reshape(within, [...within.shape, 1]), -1, { mode: 'clip' }),
      count.shape,
    );
  };
  return probabilities.map((q) => {
    const index = map('maximum', [map('minimum', [METHODS[method](ARRAYS, count, q), end]), 0]);
    const below = map('floor', [index]);
    // Of no numbers, the first element is NaN.
    const value = SELECTING.has(method)
      ? at(below)
      : between(at(below), at(map('add', [below, 1])), map('subtract', [index, below]));
    const shaped = reshape(value, reduced);
    return keepdims ? keepAxes(shaped, x, axes) : shaped;
  });
};

/** The value a fraction of the way from one element to another: linear, from the nearer of them. */
const between = (low: Expr, high: Expr, fraction: Expr): Expr =>
  throughFloat32(low, (a) => {
    const b = cast(high, a.dtype);
    const part = cast(fraction, a.dtype);
    const step = map('subtract', [b, a]);
    const rest = map('subtract', [constant(1, a.dtype), part]);
    const fromLow = map('add', [a, map('multiply', [step, part])]);
    const fromHigh = map('subtract', [b, map('multiply', [step, rest])]);
    const value = map('where', [map('less', [part, 0.5]), fromLow, fromHigh]);
    // Of infinities a difference, or its product with 0, is NaN.
    const isLow = map('logicalOr', [map('equal', [a, b]), map('equal', [part, 0])]);
    return map('where', [isLow, a, value]);
  });
