/** Where loads read outside of bounds, for the interpreters of graphs, kernels and plans. */
import { type Access, type Affine, isZeroOutside } from '../../src/fusion/kernel/kernel.js';
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

const at = (affine: Affine, index: readonly number[]): number =>
  affine.strides.reduce((sum, stride, k) => sum + stride * index[k]!, affine.offset);

/** The element that a load reads, but for what a gather adds; undefined: it reads zero. */
export function placeOf(access: Access, index: readonly number[]): number | undefined {
  const isThere = access.bounds
    .filter(isZeroOutside)
    .every((bound) => at(bound, index) >= 0 && at(bound, index) < bound.size);
  if (!isThere) return undefined;
  return access.bounds.reduce(
    (place, { fold, size, ...affine }) => {
      const coordinate = at(affine, index);
      return fold === undefined
        ? place
        : place + fold.stride * (folded(fold.mode, coordinate, size) - coordinate);
    },
    at(access, index),
  );
}
