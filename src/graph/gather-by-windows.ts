/**
 * Elements of a long axis at indices that depend on data, by reductions over windows of the axis, each of which is read
 * once and then given back. Put in the place of gathers whose array does not fit (`fusion/passes/cut-gathers.ts`), with
 * the same results.
 *
 *     take x i   →   max over windows w of (w = i div size : x[w, i mod size] else the least of all)
 */
import { extremeOf } from './binning.js';
import { type DType, isComplex } from './dtype.js';
import type { Expr, GatherMode } from './expr.js';
import { withinAxis } from './gather-by-reduction.js';
import { sizeOfShape } from './graph.js';
import { cast, iota, map, reduce } from './infer.js';
import { padTo } from './joins.js';
import { broadcast, gather, reshape } from './view-nodes.js';

/** Windows of an axis, and the shortest axis that has them. */
const WINDOWS = 64;
const LEAST_LENGTH = 2 ** 12;

/** Whether an axis has windows. */
export const hasWindows = (dtype: DType, length: number): boolean =>
  !isComplex(dtype) && length >= LEAST_LENGTH;

/** As `gather` of the same arguments. */
export function gatherByWindows(x: Expr, index: Expr, axis: number, mode: GatherMode): Expr {
  if (x.dtype === 'bool') return cast(gatherByWindows(cast(x, 'uint8'), index, axis, mode), 'bool');
  const length = x.shape[axis]!;
  const size = Math.ceil(length / WINDOWS);
  const [before, behind] = [x.shape.slice(0, axis), x.shape.slice(axis + 1)];
  const whole = x.shape.map((each, k) => (k === axis ? WINDOWS * size : each));
  const windows = reshape(
    padTo(
      x,
      x.shape.map(() => 0),
      whole,
    ),
    [...before, WINDOWS, size, ...behind],
  );
  const count = sizeOfShape(index.shape);
  const sought = reshape(withinAxis(index, length, mode), [count]);
  const shape = [...before, WINDOWS, count, ...behind];
  const found = gather(windows, map('remainder', [sought, size]), axis + 1, 'clip', shape);
  const window = reshape(map('floorDivide', [sought, size]), [count, ...behind.map(() => 1)]);
  const own = reshape(iota(WINDOWS), [WINDOWS, 1, ...behind.map(() => 1)]);
  const one = map('where', [map('equal', [window, own]), found, extremeOf(x.dtype, 'min')]);
  return reshape(reduce('max', broadcast(one, shape), [axis], 'take'), [
    ...before,
    ...index.shape,
    ...behind,
  ]);
}
