/** Where loads read outside of bounds, for the interpreters of graphs, kernels and plans. */
import { type Access, type Affine, type Bound, isZeroOutside } from '../../src/fusion/kernel/kernel.js';
import type { Fold } from '../../src/graph/expr.js';

/** An index folded back into 0 … n - 1, from however far away. */
export function folded(fold: Fold | undefined, index: number, n: number): number {
  if (fold === undefined || (index >= 0 && index < n)) return index;
  if (fold === 'nearest') return index < 0 ? 0 : n - 1;
  if (fold === 'wrap') return ((index % n) + n) % n;
  const period = fold === 'reflect' ? 2 * n : Math.max(1, 2 * n - 2);
  const at = ((index % period) + period) % period;
  return at < n ? at : period - at - (fold === 'reflect' ? 1 : 0);
}

/** The value of an affine function at an index. */
export function affineAt({ offset, strides }: Affine, index: readonly number[]): number {
  let sum = offset;
  for (let k = 0; k < strides.length; k++) sum += strides[k]! * index[k]!;
  return sum;
}

/** Whether an index is inside of a bound. */
export function isInside(bound: Bound, index: readonly number[]): boolean {
  const coordinate = affineAt(bound, index);
  return coordinate >= 0 && coordinate < bound.size;
}

/** The element that a load reads, but for what a gather adds; undefined: it reads zero. */
export function placeOf(access: Access, index: readonly number[]): number | undefined {
  let place = affineAt(access, index);
  for (const bound of access.bounds) {
    if (isZeroOutside(bound) && !isInside(bound, index)) return undefined;
    if (bound.fold === undefined) continue;
    const coordinate = affineAt(bound, index);
    place += bound.fold.stride * (folded(bound.fold.mode, coordinate, bound.size) - coordinate);
  }
  return place;
}
