/**
 * Where a view's elements lie in the buffer below it, as an offset and a stride for each of its axes, in
 * elements: the form in which libraries are given operands. A reshape that joins axes is one where they run on
 * from each other (the rule of NumPy's `reshape` without a copy).
 *
 *     reshape (8, 64, 64) → (512, 64) of strides (4096, 64, 1)   →   (64, 1)
 *
 * Called by `operands.ts` and `narrow-sources.ts`.
 */
import type { Shape, View } from '../../graph/expr.js';
import { denseStrides, sizeOfShape } from '../../graph/graph.js';

export interface StridedView {
  readonly offset: number;
  readonly strides: readonly number[];
}

/** The strided form of a view of a strided array; `undefined`: no strides describe it. */
export function stridedViewOf(
  view: View,
  { offset, strides }: StridedView,
  from: Shape,
  to: Shape,
): StridedView | undefined {
  switch (view.type) {
    case 'permute':
      return { offset, strides: view.order.map((axis) => strides[axis]!) };
    case 'slice':
      return {
        offset: view.starts.reduce((sum, start, k) => sum + start * strides[k]!, offset),
        strides: strides.map((stride, k) => stride * view.steps[k]!),
      };
    case 'broadcast': {
      const lead = to.length - from.length;
      return {
        offset,
        strides: to.map((n, k) => (k < lead || from[k - lead] !== n ? 0 : strides[k - lead]!)),
      };
    }
    case 'reshape': {
      const reshaped = reshapeStrides(strides, from, to);
      return reshaped === undefined ? undefined : { offset, strides: reshaped };
    }
    case 'pad':
      return undefined;
  }
}

/** Whether elements lie in C order. */
function isDense(strides: readonly number[], shape: Shape): boolean {
  let stride = 1;
  for (let k = shape.length - 1; k >= 0; k--) {
    if (shape[k] !== 1 && strides[k] !== stride) return false;
    stride *= shape[k]!;
  }
  return true;
}

/** The strides of the same elements in another shape, if there are any. */
export function reshapeStrides(strides: readonly number[], from: Shape, to: Shape): number[] | undefined {
  if (sizeOfShape(to) === 0 || isDense(strides, from)) return denseStrides(to);
  const kept: number[] = [];
  for (let k = 0; k < from.length; k++) if (from[k] !== 1) kept.push(k);
  const result = new Array<number>(to.length).fill(0);
  let axis = kept.length - 1;
  let last = to.length - 1;
  while (axis >= 0) {
    // The shortest runs of axes, from the last, that hold the same elements.
    let first = last;
    let [inner, outer] = [from[kept[axis]!]!, to[first]!];
    const begin = axis;
    while (inner !== outer) {
      if (inner < outer) {
        axis--;
        const [next, previous] = [kept[axis]!, kept[axis + 1]!];
        if (strides[next]! !== strides[previous]! * from[previous]!) return undefined;
        inner *= from[next]!;
      } else {
        outer *= to[--first]!;
      }
    }
    let stride = strides[kept[begin]!]!;
    for (let k = last; k >= first; k--) {
      result[k] = stride;
      stride *= to[k]!;
    }
    axis--;
    last = first - 1;
  }
  // Axes of one element as in C order, so that a single row is as long as it is.
  for (let k = to.length - 1; k >= 0; k--)
    if (to[k] === 1) result[k] = (result[k + 1] ?? 1) * (to[k + 1] ?? 1);
  return result;
}
