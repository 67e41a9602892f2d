/**
 * Places that an axis whose size depends on data has to have, for functions that fail without them: as those of `take`
 * they are looked at before the graph runs. Called by `partitions.ts`, `order-statistics.ts` and `api/ordering.ts`.
 */
import type { Expr } from './expr.js';
import { upToBound, withExtent } from './extent.js';
import { iota, map } from './infer.js';
import { taken } from './taking.js';
import { reshape } from './view-nodes.js';

/** Places of the axis, int64 counts from its beginning; negative ones are counted from its end. */
export function placesIn(op: string, x: Expr, places: readonly number[]): Expr {
  const { axis, length } = x.extent!;
  const size = x.shape[axis]!;
  const line = reshape(iota(size), [...x.shape.slice(0, axis).map(() => 1), size]);
  return reshape(upToBound(taken(op, withExtent(line, axis, length), places, axis)), [places.length]);
}

/** Int64 numbers that are not negative, of a graph that fails where a place is not there. */
export const needingPlace = (numbers: Expr, place: Expr): Expr =>
  map('maximum', [numbers, map('minimum', [place, 0])]);
