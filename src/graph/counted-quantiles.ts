/**
 * Quantiles of rows whose number of elements is computed with the graph: without NaNs (`nan-quantiles.ts`), and along
 * axes whose size depends on data (`order-statistics.ts`). Where they lie is, too, so that rows are sorted, and elements
 * taken there.
 */
import { slice } from './basic-slicing.js';
import type { DType } from './dtype.js';
import type { Expr } from './expr.js';
import { takeAlongAxis } from './indexing.js';
import { cast, map } from './infer.js';
import type { Length } from './lengths.js';
import { type Arithmetic, METHODS, type QuantileMethod, SELECTING } from './quantile-methods.js';
import { throughFloat32 } from './reducing.js';
import { roundedProduct } from './rounded-product.js';
import { gather, reshape } from './view-nodes.js';

const ARRAYS: Arithmetic<Expr> = {
  plus: (a, b) => map('add', [a, b]),
  times: roundedProduct,
  floor: (a) => map('floor', [a]),
  round: (a) => map('round', [a]),
  equal: (a, b) => map('equal', [a, b]),
  choose: (test, a, b) => map('where', [test, a, b]),
};

/**
 * The quantile of each sorted row of `count` elements, an int64 array of them or one for all rows, at a probability, in
 * the dtype `result`. Of no elements, it is the first one behind them.
 */
export function countedQuantile(
  ordered: Expr,
  count: Expr,
  q: number,
  method: QuantileMethod,
  result: DType,
): Expr {
  const n = cast(count, 'float64');
  const end = map('subtract', [n, 1]);
  const within = (index: Expr): Expr => map('maximum', [map('minimum', [index, end]), 0]);
  const at = (index: Expr): Expr => cast(elementOfRows(ordered, cast(within(index), 'int64')), result);
  const index = within(METHODS[method](ARRAYS, n, q));
  const below = map('floor', [index]);
  return SELECTING.has(method)
    ? at(below)
    : between(at(below), at(map('add', [below, 1])), map('subtract', [index, below]));
}

/** The last of so many elements of each row, of none the first one behind them. */
export const lastOf = (rows: Expr, count: Length): Expr =>
  typeof count === 'number'
    ? slice(rows, '...', count - 1)
    : elementOfRows(rows, map('maximum', [map('subtract', [count, 1]), 0]));

/** The element of each row at an index, an int64 array of them or one for all rows. */
export function elementOfRows(rows: Expr, index: Expr): Expr {
  const lead = rows.shape.slice(0, -1);
  if (index.shape.length === 0) return gather(rows, index, lead.length, 'clip', lead);
  return reshape(takeAlongAxis(rows, reshape(index, [...lead, 1]), -1, { mode: 'clip' }), lead);
}

/** The value a fraction of the way from one element to another: linear, from the nearer of them. */
const between = (low: Expr, high: Expr, fraction: Expr): Expr =>
  throughFloat32(low, (a) => {
    const b = cast(high, a.dtype);
    const step = map('subtract', [b, a]);
    const [part, rest] = [cast(fraction, a.dtype), cast(map('subtract', [1, fraction]), a.dtype)];
    const fromLow = map('add', [a, map('multiply', [step, part])]);
    const fromHigh = map('subtract', [b, map('multiply', [step, rest])]);
    const value = map('where', [map('less', [fraction, 0.5]), fromLow, fromHigh]);
    // Of infinities a difference, or its product with 0, is NaN.
    const isLow = map('logicalOr', [map('equal', [a, b]), map('equal', [fraction, 0])]);
    return map('where', [isLow, a, value]);
  });
