/**
 * Whether arrays of equal sizes have equal elements, also where sizes depend on data (`extent.ts`): then lengths are
 * compared with the elements. Called by `arrayEqual` (`composites.ts`).
 */
import { slice } from './basic-slicing.js';
import type { Expr } from './expr.js';
import { upToBound, withExtent } from './extent.js';
import { constant, map, reduce } from './infer.js';
import { lengthOf } from './lengths.js';

/** Whether all sizes agree and `compare` holds for all elements. */
export function areAllEqual(x: Expr, other: Expr, compare: (a: Expr, b: Expr) => Expr): Expr {
  const none = constant(false, 'bool');
  if (x.shape.length !== other.shape.length) return none;
  const agree: Expr[] = [];
  for (const k of x.shape.keys()) {
    const [a, b] = [lengthOf(x, k), lengthOf(other, k)];
    if (a === b) continue;
    if (typeof a === 'number' && typeof b === 'number') return none;
    agree.push(map('equal', [a, b]));
  }
  // Where sizes agree, nothing of what both have is behind a length, unless the axis has two of them.
  const ends = x.shape.map((size, k) => [0, Math.min(size, other.shape[k]!)]);
  const cut = (each: Expr): Expr => (agree.length === 0 ? each : slice(upToBound(each), ...ends));
  const same = compare(cut(x), cut(other));
  const isOfTwo = agree.length > 0 && x.extent !== undefined && x.extent.axis === other.extent?.axis;
  const all = reduce('all', isOfTwo ? withExtent(same, x.extent.axis, x.extent.length) : same, [
    ...x.shape.keys(),
  ]);
  return agree.reduce((result, each) => map('logicalAnd', [result, each]), all);
}
