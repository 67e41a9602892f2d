/**
 * Positions of values in lines in order, and whether they are among those: what `searching.ts` and `other-ways.ts` have in
 * common.
 */
import { DTypeError, expected } from '../host/errors.js';
import { call } from './calls.js';
import { isComplex, isInteger } from './dtype.js';
import type { Expr } from './expr.js';
import { throughBound } from './extent.js';
import { sizeOfShape } from './graph.js';
import { map, withinLength } from './infer.js';
import { hasMiddlesFirst, positionsByMiddles } from './middles-first.js';
import { positions, type Side } from './positions.js';
import { lastInOrder } from './sort-order.js';
import { gather } from './view-nodes.js';

/** `positions` of real arrays. */
export function realPositions(op: string, sorted: Expr, values: Expr, side: Side): Expr {
  for (const array of [sorted, values]) checkReal(op, array);
  const { extent } = sorted;
  const line = extent === undefined ? sorted : withinLength(sorted, lastInOrder(sorted.dtype, false));
  const search = hasMiddlesFirst(line, values) ? positionsByMiddles : positions;
  return throughBound(values, (bound) => {
    const found = search(line, bound, side);
    // Elements behind the length are not before a value, but for equal ones on the right side.
    return extent === undefined ? found : map('minimum', [found, extent.length]);
  });
}

export function checkReal(op: string, x: Expr): void {
  const hint = 'NumPy orders them by real, then imaginary parts: search those';
  if (isComplex(x.dtype)) throw new DTypeError(expected(op, 'real arrays', x.dtype, hint));
}

/** Whether elements are among those of a line in order, or not. */
export function areMembers(x: Expr, sorted: Expr, invert: boolean): Expr {
  if (isForTable(x, sorted, CPU_SETS)) return call('members', [invert ? 1 : 0], [x, sorted], 'isin')[0]!;
  return amongSorted(x, sorted, invert);
}

/** The same on a GPU. */
export function amongSorted(x: Expr, sorted: Expr, invert: boolean): Expr {
  if (isForTable(x, sorted, GPU_SETS)) return call('among', [invert ? 1 : 0], [x, sorted], 'isin')[0]!;
  return searchedIn(x, sorted, invert);
}

/** The same by a search, on all targets. */
export function searchedIn(x: Expr, sorted: Expr, invert: boolean): Expr {
  const position = realPositions('isin', sorted, x, 'left');
  const nearest = gather(sorted, position, 0, 'clip', x.shape);
  return map(invert ? 'notEqual' : 'equal', [nearest, x]);
}

/** Elements, and sizes of sets, for which a routine is quicker than a search in the kernel around it. */
interface Sets {
  readonly elements: number;
  readonly least: number;
  readonly most: number;
  /** The most values of a set for each element. */
  readonly perElement: number;
}
/** Of those that take more than a few look-ups, and less memory than the caches. */
const CPU_SETS: Sets = { elements: 1, least: 16, most: 2 ** 20, perElement: Number.POSITIVE_INFINITY };
/**
 * Of those that a search does not have in the first-level cache of a multiprocessor; and elements enough for three launches,
 * and for a table into which each value of the set is put: one of 2^27 int64 takes 2 GiB.
 */
const GPU_SETS: Sets = { elements: 2 ** 18, least: 2 ** 12, most: 2 ** 27, perElement: 1 };

const isForTable = (x: Expr, set: Expr, { elements, least, most, perElement }: Sets): boolean =>
  isInteger(x.dtype) &&
  x.dtype === set.dtype &&
  sizeOfShape(x.shape) >= elements &&
  set.shape[0]! >= least &&
  set.shape[0]! <= Math.min(most, perElement * sizeOfShape(x.shape));
