/**
 * A few elements of a long axis at indices that depend on data, by reductions that can be cut: the greatest of those
 * elements whose index is the one that is sought, of which there is one. Put in the place of gathers whose array does not
 * fit (`fusion/passes/cut-routines.ts`), with the same results.
 *
 *     take x i   →   max over k of (k = i ? x[k] : the least of all)
 */
import { extremeOf } from './binning.js';
import { type DType, isComplex } from './dtype.js';
import type { Expr, GatherMode } from './expr.js';
import { sizeOfShape } from './graph.js';
import { cast, iota, map, reduce } from './infer.js';
import { broadcast, reshape } from './view-nodes.js';

/** The shortest axis, and the most indices: each one looks at all of the axis. */
const LEAST_LENGTH = 2 ** 14;
const MOST_INDICES = 32;

/** Whether a gather reads few elements of many. */
export const isSparse = (dtype: DType, length: number, indices: number): boolean =>
  !isComplex(dtype) && length >= LEAST_LENGTH && indices <= MOST_INDICES;

/** As `gather` of the same arguments. */
export function gatherByReduction(x: Expr, index: Expr, axis: number, mode: GatherMode): Expr {
  if (x.dtype === 'bool') return cast(gatherByReduction(cast(x, 'uint8'), index, axis, mode), 'bool');
  const length = x.shape[axis]!;
  const [before, behind] = [x.shape.slice(0, axis), x.shape.slice(axis + 1)];
  const count = sizeOfShape(index.shape);
  // Indices stand ahead of the axis, which is reduced.
  const at = axis + 1;
  const sought = reshape(withinAxis(index, length, mode), [count, 1, ...behind.map(() => 1)]);
  const places = reshape(iota(length), [length, ...behind.map(() => 1)]);
  const given = reshape(x, [...before, 1, length, ...behind]);
  const wide = [...before, count, length, ...behind];
  const isSought = map('equal', [sought, places]);
  const one = map('where', [isSought, given, extremeOf(x.dtype, 'min')]);
  const found = reduce('max', broadcast(one, wide), [at], 'take');
  return reshape(found, [...before, ...index.shape, ...behind]);
}

/** Indices from the beginning of an axis. */
function withinAxis(index: Expr, length: number, mode: GatherMode): Expr {
  if (mode === 'inRange') return index;
  if (mode === 'wrap') return map('remainder', [index, length]);
  const counted =
    mode === 'raise' ? map('where', [map('less', [index, 0]), map('add', [index, length]), index]) : index;
  return map('maximum', [map('minimum', [counted, length - 1]), 0]);
}
