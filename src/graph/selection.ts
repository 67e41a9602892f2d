/**
 * Selection: elements at given places of sorted rows, and the first of them, without sorting where rows are
 * long, and arrays in orders. Used by `order-statistics.ts`, `partitions.ts` and `api/ordering.ts`.
 */

import { slice } from './basic-slicing.js';
import { call } from './calls.js';
import { isComplex } from './dtype.js';
import type { Expr } from './expr.js';
import { throughBound, upToBound } from './extent.js';
import { sizeOfShape } from './graph.js';
import { takeAlongAxis } from './indexing.js';
import { concat } from './joins.js';
import { SELECTED_MOST, SELECTED_RANKS } from './routines.js';
import { argsort, sort } from './sorting.js';
import { reshape } from './view-nodes.js';

/** Elements of the shortest rows that are selected from: shorter ones, and no rows, are sorted as soon. */
const LEAST_SELECTED = 2 ** 16;
/** Places beyond which sorting is sooner done. */
const MOST_PLACES = 4 * SELECTED_RANKS;

const isSelected = (rows: Expr, count: number, most: number): boolean =>
  rows.shape.at(-1)! >= LEAST_SELECTED &&
  sizeOfShape(rows.shape) > 0 &&
  count <= most &&
  !isComplex(rows.dtype);

/** The elements along an axis in an order that `argsort` gave. */
export const inOrder = (x: Expr, order: Expr, axis: number): Expr =>
  throughBound(x, (bound) => takeAlongAxis(bound, upToBound(order), axis, { mode: 'clip' }));

/** The rows along the last axis as an array of two axes, and the axes before. */
function linesOf(rows: Expr): { readonly lines: Expr; readonly lead: readonly number[] } {
  const lead = rows.shape.slice(0, -1);
  return { lines: reshape(rows, [sizeOfShape(lead), rows.shape.at(-1)!]), lead };
}

/** The elements at ascending places of the sorted rows along the last axis, one after the other along it. */
export function elementsAt(rows: Expr, places: readonly number[]): Expr {
  if (!isSelected(rows, places.length, MOST_PLACES)) {
    const ordered = sort(rows);
    return concat(
      places.map((place) => slice(ordered, '...', [place, place + 1])),
      rows.shape.length - 1,
    );
  }
  const { lines, lead } = linesOf(rows);
  const parts: Expr[] = [];
  for (let k = 0; k < places.length; k += SELECTED_RANKS)
    parts.push(call('ranks', places.slice(k, k + SELECTED_RANKS), [lines])[0]!);
  return reshape(concat(parts, 1), [...lead, places.length]);
}

/**
 * The first `count` elements of the rows along the last axis in the order of `argsort`, and their indices.
 */
export function firstOf(
  rows: Expr,
  count: number,
  descending: boolean,
): readonly [values: Expr, indices: Expr] {
  if (count === 0 || !isSelected(rows, count, SELECTED_MOST)) {
    const indices = slice(argsort(rows, -1, { descending }), '...', [0, count]);
    return [takeAlongAxis(rows, indices, -1, { mode: 'clip' }), indices];
  }
  const { lines, lead } = linesOf(rows);
  const [values, indices] = call('top', [descending ? 1 : 0, count], [lines]);
  return [reshape(values!, [...lead, count]), reshape(indices!, [...lead, count])];
}
