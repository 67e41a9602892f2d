/**
 * Short reductions inside other kernels, as `passes/unroll-reductions.ts` marks them: the index map of each of their
 * elements, and the ops that combine them. Called by `emit-kernel.ts`.
 */
import type { Shape } from '../../graph/expr.js';
import type { GraphNodeOf } from '../../graph/graph.js';
import { accumulatorOf } from '../../graph/reductions.js';
import type { TapeBuilder } from '../kernel/tape-builder.js';
import { combiningOp } from '../passes/unroll-reductions.js';
import { constantAffine, type IndexMap, indexMap } from './index-map.js';

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
function combinePairwise(values: readonly number[], combine: (a: number, b: number) => number): number {
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

/** Writes an unrolled reduction of these elements. Halves are summed in float32, as every reduction does. */
export function writeUnrolled(
  tape: TapeBuilder,
  node: GraphNodeOf<'reduce'>,
  values: readonly number[],
): number {
  const op = combiningOp(node);
  const wide = values.map((value) => tape.cast(value, accumulatorOf(tape.instructions[value]!.dtype)));
  return tape.cast(
    combinePairwise(wide, (a, b) => tape.map(op, [a, b])),
    node.dtype,
  );
}
