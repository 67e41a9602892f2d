/** The order of sorts, as a value that stands behind all others. */
import { type DType, isComplex, isInteger, type Scalar } from './dtype.js';
import type { Expr } from './expr.js';
import { constant, iota, map } from './infer.js';
import { padTo } from './joins.js';
import { integerRange } from './scalar.js';

/** A value that no other one comes after. */
export function lastInOrder(dtype: DType, descending: boolean): Scalar {
  if (dtype === 'bool') return !descending;
  if (isComplex(dtype)) return { re: Number.NaN, im: Number.NaN };
  if (!isInteger(dtype)) return Number.NaN;
  const { min, max } = integerRange(dtype);
  return descending ? min : max;
}

/** Rows of two axes made longer by elements behind theirs that no other one comes after. */
export function paddedRows(rows: Expr, length: number, descending: boolean): Expr {
  const [outer, own] = rows.shape as readonly [number, number];
  if (own === length) return rows;
  const isThere = map('less', [iota(length), own]);
  const last = lastInOrder(rows.dtype, descending);
  return map('where', [isThere, padTo(rows, [0, 0], [outer, length]), constant(last, rows.dtype)]);
}
