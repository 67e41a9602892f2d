/**
 * Arrays of any strides over a line of memory, as views of it: with strides that divide each other a reshape of the
 * line, of whose rows a part is read, else a gather whose indices are computed in the kernel.
 *
 *     line of 12, shape (3, 2), strides (4, 1)   →   reshape (3, 4), slice [:, 0:2]
 */
import { slice } from '../graph/basic-slicing.js';
import type { Expr } from '../graph/expr.js';
import { denseStrides, sizeOfShape } from '../graph/graph.js';
import { map } from '../graph/infer.js';
import { indexAlong, padTo } from '../graph/joins.js';
import { broadcast, gather, reshape, view } from '../graph/view-nodes.js';
import { flip, permuteDims } from '../graph/views.js';

/** Elements before the one at the indices 0, and those from the first in memory to the last. */
export function reachOf(
  shape: readonly number[],
  strides: readonly number[],
): [before: number, length: number] {
  let [before, length] = [0, 1];
  shape.forEach((size, k) => {
    const reach = (size - 1) * strides[k]!;
    if (reach < 0) before -= reach;
    length += Math.abs(reach);
  });
  return [before, length];
}

/** Whether elements lie in C order, one after the other. */
export function isDense(shape: readonly number[], strides: readonly number[]): boolean {
  const dense = denseStrides(shape);
  return shape.every((size, k) => size === 1 || strides[k] === dense[k]);
}

/** An axis along which elements differ: its place in the shape, and the distance of neighbours. */
interface Axis {
  readonly place: number;
  readonly size: number;
  readonly stride: number;
}

/** The array of a shape, with elements, over those of a line from `first` on. */
export function stridedView(
  line: Expr,
  first: number,
  shape: readonly number[],
  strides: readonly number[],
): Expr {
  const own = first === 0 ? line : slice(line, [first, null]);
  const axes = shape
    .map((size, place) => ({ place, size, stride: Math.abs(strides[place]!) }))
    .filter(({ size, stride }) => size > 1 && stride !== 0);
  const upward = isNested(axes) ? rowsOf(own, axes) : gathered(own, axes);
  const downward = axes.flatMap(({ place }, k) => (strides[place]! < 0 ? [k] : []));
  const turned = downward.length === 0 ? upward : flip(upward, downward);
  const once = shape.map((size, k) => (strides[k] === 0 ? 1 : size));
  return broadcast(reshape(turned, once), shape);
}

/** The widest strides first; those of one width, which are of a tensor that repeats its elements, in their order. */
const byStride = (axes: readonly Axis[]): readonly Axis[] =>
  [...axes].sort((one, other) => other.stride - one.stride);

/** Whether elements along each axis lie within a step of the next wider one, which is a multiple of theirs. */
const isNested = (axes: readonly Axis[]): boolean =>
  byStride(axes).every(({ stride }, k, sorted) => {
    const inner = sorted[k + 1];
    return inner === undefined || (stride % inner.stride === 0 && inner.size * inner.stride <= stride);
  });

function rowsOf(line: Expr, axes: readonly Axis[]): Expr {
  const sorted = byStride(axes);
  // Of each axis, the steps of the next narrower one in one of its own; of the narrowest, elements.
  const steps = sorted.map(({ stride }, k) => stride / (sorted[k + 1]?.stride ?? 1));
  const whole = [sorted[0]?.size ?? 1, ...steps];
  const kept = [...sorted.map(({ size }) => size), 1];
  const starts = kept.map(() => 0);
  const rows = reshape(padTo(line, [0], [sizeOfShape(whole)]), whole);
  const isWhole = kept.every((size, k) => size === whole[k]);
  const read = isWhole ? rows : view(rows, { type: 'slice', starts, steps: kept.map(() => 1) }, kept);
  return permuteDims(
    reshape(read, kept.slice(0, -1)),
    axes.map((axis) => sorted.indexOf(axis)),
  );
}

function gathered(line: Expr, axes: readonly Axis[]): Expr {
  const index = axes
    .map(({ size, stride }, k) => map('multiply', [indexAlong(k, size, axes.length), stride]))
    .reduce((sum, part) => map('add', [sum, part]));
  return gather(line, index, 0, 'clip', index.shape);
}
