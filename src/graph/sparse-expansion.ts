/**
 * The elements of some rows of a matrix, one row after the other: for slices by numbers of rows, and for products of
 * two sparse matrices, whose first one says which rows of the second one are added up.
 *
 *     starts 0 2 2 3, rows 2 0 0   →   starts 0 1 3 5, from 0 1 1 2 2, places 2 0 1 0 1
 */
import type { Expr } from './expr.js';
import { iota, map } from './infer.js';
import { concat } from './joins.js';
import { cumulativeSum } from './scans.js';
import { searchsorted } from './searching.js';
import { at, constantLine } from './sparse.js';

interface Expansion {
  /** Where the elements of each of the rows begin, and the end: int64. */
  readonly starts: Expr;
  /** Which of the rows an element is of, up to the bound. */
  readonly from: Expr;
  /** The place of the element in the lines of the matrix. */
  readonly places: Expr;
}

/** The elements of rows, by the starts of all; `isThere`: whether a row is wanted at all. */
export function expansion(starts: Expr, rows: Expr, bound: number, isThere?: Expr): Expansion {
  const begins = at(starts, rows);
  const lengths = map('subtract', [at(starts, map('add', [rows, 1n])), begins]);
  const wanted = isThere === undefined ? lengths : map('where', [isThere, lengths, 0n]);
  const ends = cumulativeSum(wanted);
  const own = concat([constantLine(0n), ends]);
  const index = iota(bound);
  const last = BigInt(rows.shape[0]! - 1);
  const from = map('minimum', [searchsorted(ends, index, null, { side: 'right' }), last]);
  const places = map('add', [map('subtract', [index, at(own, from)]), at(begins, from)]);
  return { starts: own, from, places };
}
