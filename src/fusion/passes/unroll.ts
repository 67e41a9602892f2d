/**
 * Short reductions written out as ops: which op combines two values of which reduction, and at which index
 * maps the values are read. `materialization.ts` decides where, `build-kernel.ts` writes them.
 *
 *     sum over [1] of x (n, 3), inside another reduction   →   (x[:, 0] + x[:, 1]) + x[:, 2]
 */
import type { Shape } from '../../graph/expr.js';
import type { OpName } from '../../graph/ops.js';
import { constantAffine, type IndexMap, indexMap } from '../partition/index-map.js';

/** The op that combines two values of a reduction. */
export const UNROLLED: Readonly<Record<string, OpName>> = {
  sum: 'add',
  prod: 'multiply',
  min: 'minimum',
  max: 'maximum',
  any: 'logicalOr',
  all: 'logicalAnd',
};

/** The index map of each element that is reduced, in C order, given the map of the result. */
export function elementMaps(
  map: IndexMap,
  shape: Shape,
  reduced: readonly number[],
  axes: number,
): IndexMap[] {
  let indices: number[][] = [[]];
  for (const axis of reduced) {
    indices = indices.flatMap((index) => Array.from({ length: shape[axis]! }, (_, k) => [...index, k]));
  }
  return indices.map((index) => {
    let kept = 0;
    const coordinates = shape.map((_, axis) => {
      const at = reduced.indexOf(axis);
      return at < 0 ? map.coordinates[kept++]! : constantAffine(index[at]!, axes);
    });
    return indexMap(coordinates, map.bounds);
  });
}

/** Combines values pairwise, so that the depth grows with the logarithm of their number. */
export function combinePairwise(
  values: readonly number[],
  combine: (a: number, b: number) => number,
): number {
  let level = [...values];
  while (level.length > 1) {
    const next: number[] = [];
    for (let k = 0; k < level.length; k += 2) {
      next.push(k + 1 < level.length ? combine(level[k]!, level[k + 1]!) : level[k]!);
    }
    level = next;
  }
  return level[0]!;
}
