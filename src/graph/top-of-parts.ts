/**
 * The first elements of long rows by parts: the first of each part, then the first of those. Equal elements are in
 * the order of their positions in a part, and parts in theirs, so that the result is that of the row at once. Put in
 * the place of the routine `top` where that does not fit (`fusion/passes/cut-routines.ts`).
 */
import { call } from './calls.js';
import type { Expr } from './expr.js';
import { takeAlongAxis } from './indexing.js';
import { iota, map } from './infer.js';
import { paddedRows } from './sort-order.js';
import { reshape } from './views.js';

/** Parts of a row, as many of which are selected from one by one, and the elements of one that are as many as its first ones, at least. */
const MOST_PARTS = 256;
const LEAST_LENGTH = 2 ** 14;
const LEAST_PER_FIRST = 8;

/** How many parts a row of a length has whose first `count` elements are wanted; 1: it is not cut. */
export const partsOfRow = (length: number, count: number): number =>
  Math.max(1, Math.min(MOST_PARTS, Math.floor(length / Math.max(LEAST_LENGTH, LEAST_PER_FIRST * count))));

/** As the results of the routine `top` of the rows, with its parameters. */
export function topOfParts(
  rows: Expr,
  [descending, count]: readonly number[],
): readonly [values: Expr, indices: Expr] {
  const [outer, length] = rows.shape as readonly [number, number];
  const parts = partsOfRow(length, count!);
  const size = Math.ceil(length / parts);
  const top = (of: Expr, ...apart: readonly number[]): readonly Expr[] =>
    call('top', [descending!, count!, ...apart], [of]);
  const whole = paddedRows(rows, parts * size, descending === 1);
  const [values, indices] = top(
    reshape(whole, [outer * parts, size]),
    ...(outer * parts <= MOST_PARTS ? [1] : []),
  );
  const start = map('multiply', [map('remainder', [iota(outer * parts), parts]), size]);
  const positions = map('add', [indices!, reshape(start, [outer * parts, 1])]);
  const [first, at] = top(reshape(values!, [outer, parts * count!]));
  const all = reshape(positions, [outer, parts * count!]);
  return [first!, takeAlongAxis(all, at!, -1, { mode: 'clip' })];
}
