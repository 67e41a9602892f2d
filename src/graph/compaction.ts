/**
 * The places where a mask is true, in order: an axis whose size depends on data (`extent.ts`). Called by everything
 * that selects by masks or finds what is distinct.
 *
 * A routine writes the places (Blelloch, "Prefix sums and their applications", 1990), by which kernels read what they
 * want; where elements of a line are all that is wanted, it writes those (`fusion/passes/compact-values.ts`).
 */
import { slice } from './basic-slicing.js';
import { call } from './calls.js';
import { isInteger } from './dtype.js';
import type { Expr } from './expr.js';
import { upToBound, withExtent, withinAxis } from './extent.js';
import { denseStrides, sizeOfShape } from './graph.js';
import { cast, constant, iota, map, withinLength } from './infer.js';
import { padTo } from './joins.js';
import { broadcast, reshape } from './view-nodes.js';

/** Places by mask, so that what is selected by one mask has one size. */
const known = new WeakMap<Expr, Expr>();

/**
 * The int64 places in C order where an array is not 0; all of them are in range, also behind the length. Of an array with
 * an axis whose size depends on data as it lies up to its bound.
 */
export function placesWhere(mask: Expr): Expr {
  let places = known.get(mask);
  if (places === undefined) {
    const chosen = cast(mask, 'bool');
    const whole = chosen.extent === undefined ? chosen : withinLength(chosen, false);
    places = placesIn(reshape(whole, [sizeOfShape(mask.shape)]));
    if (mask.extent !== undefined && mask.shape.length === 1) withinAxis(places, mask.extent.length);
    known.set(mask, places);
  }
  return places;
}

function placesIn(line: Expr): Expr {
  const size = line.shape[0]!;
  if (size === 0) return broadcast(constant(0, 'int64'), [0]);
  const [places, length] = call('compact', [], [line]) as [Expr, Expr];
  return kept(places, length);
}

/** The elements of a line that differ from the one before. */
export function distinctIn(line: Expr): Expr {
  const [values, length] = call('distinct', [], [line]) as [Expr, Expr];
  return kept(values, length);
}

/** The distinct elements of a line that is as long as its shape says, in order; `sorted` is the line in order. */
export function uniqueIn(line: Expr, sorted: Expr): Expr {
  const byOrder = call('distinct', [], [sorted]);
  const [values, length] = call('unique', [], [line, ...byOrder], 'uniqueValues') as [Expr, Expr];
  return kept(values, length);
}

/** The same with how often each occurs; `byOrder`: as a sorted line gives them, all of one length. */
export function uniqueCountsIn(
  line: Expr,
  byOrder: readonly [values: Expr, counts: Expr],
): readonly [Expr, Expr] {
  const other = [...byOrder.map(upToBound), byOrder[0].extent!.length];
  const [values, counts, length] = call('uniqueCounts', [], [line, ...other], 'uniqueCounts') as [
    Expr,
    Expr,
    Expr,
  ];
  return [kept(values, length), kept(counts, length)];
}

/** Whether a GPU may find distinct elements by a table: of longer lines than those that it sorts in a block. */
export const isForTable = (x: Expr): boolean =>
  (isInteger(x.dtype) || x.dtype === 'bool') &&
  x.extent === undefined &&
  sizeOfShape(x.shape) >= LEAST_TABLE &&
  sizeOfShape(x.shape) < MOST_TABLE;
const [LEAST_TABLE, MOST_TABLE] = [2 ** 14, 2 ** 32];

/** A bound of 1 would be an axis that broadcasts. */
const kept = (line: Expr, length: Expr): Expr =>
  withExtent(line.shape[0] === 1 ? broadcast(line, [2]) : line, 0, length);

/** The index along each axis of places in an array of a shape. */
export function unraveled(places: Expr, shape: readonly number[]): Expr[] {
  return denseStrides(shape).map((stride, k) => {
    const above = stride === 1 ? places : map('floorDivide', [places, stride]);
    return k === 0 ? above : map('remainder', [above, shape[k]!]);
  });
}

/** Whether elements of a sorted line differ from those before; none behind its length does. */
export function firsts(sorted: Expr): Expr {
  const line = upToBound(sorted);
  const size = line.shape[0]!;
  const before = padTo(slice(line, [0, size - 1]), [1], [size]);
  const are = map('logicalOr', [map('equal', [iota(size), 0]), map('notEqual', [line, before])]);
  if (sorted.extent === undefined) return are;
  return map('logicalAnd', [map('less', [iota(size), sorted.extent.length]), are]);
}
