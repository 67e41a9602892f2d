/**
 * Matrices of rows whose elements lie anywhere in two lines: rows of some numbers, and matrices stacked or side by side.
 * Nothing is sorted: what is stored of a row stays in its order.
 *
 *     begins 4 0 0, lengths 1 2 2   →   starts 0 1 3 5, of elements 4 0 1 0 1
 */
import { slice } from './basic-slicing.js';
import { call } from './calls.js';
import type { Expr } from './expr.js';
import { constant, iota, map } from './infer.js';
import { at, bounded, startsOfCounts } from './sparse.js';

export interface RowsInLines {
  /** Where each row begins in the lines, and its elements: int64. */
  readonly begins: Expr;
  readonly lengths: Expr;
  /** Columns and elements. */
  readonly places: Expr;
  readonly values: Expr;
  /** Elements of all rows together at most, 1 or more, and whether there are so many. */
  readonly bound: number;
  readonly isFull: boolean;
}

/** The rows one after the other: int64 starts, columns and elements. */
export function gatheredRows(
  op: string,
  { begins, lengths, places, values, bound, isFull }: RowsInLines,
): Readonly<Record<'starts' | 'places' | 'values', Expr>> {
  const count = begins.shape[0]!;
  const starts = startsOfCounts(lengths);
  const [row] = call('sparseRows', [bound], [starts], op) as [Expr];
  const moves = map('subtract', [begins, slice(starts, [0, -1])]);
  const from = map('add', [iota(bound), at(moves, map('minimum', [row, count - 1]))]);
  const length = at(starts, constant(BigInt(count), 'int64'));
  const moved = (line: Expr): Expr => (isFull ? at(line, from) : bounded(at(line, from), length));
  return { starts, places: moved(places), values: moved(values) };
}
