/**
 * Axes whose size depends on data: the shape of a node has an upper bound for them, for which plans are made, and
 * their extent has the true length, a node that is computed with it. Elements behind the length are undefined;
 * reductions leave them out, results lose them (`exec/run/true-sizes.ts`).
 *
 * At most one axis of a node has an extent, and the bound is 2 or more, so that such an axis is never taken for one
 * that broadcasts. A function that cannot take such an axis refuses it where the user writes it.
 */
import { expected, ShapeError } from '../host/errors.js';
import type { Expr, Extent, Shape, View } from './expr.js';
import { formatBounded } from './format.js';
import { sizeOfShape } from './graph.js';

/** The error of a function that needs sizes. */
export function unknownSize(op: string, { shape, extent }: Pick<Expr, 'shape' | 'extent'>): ShapeError {
  const axis = `axis ${extent!.axis} of ${formatBounded(shape, extent!.axis)}, whose size depends on data`;
  const hint = 'await x.persist() first: then it is a number';
  return new ShapeError(expected(op, 'axes of known sizes', axis, hint));
}

/** Throws for an array with an axis whose size depends on data. */
export function needSizes(op: string, x: Expr): void {
  if (x.extent !== undefined) throw unknownSize(op, x);
}

/** An array whose axis has as many elements as `length` says, which are the first ones. */
export const withExtent = (x: Expr, axis: number, length: Expr): Expr => ({ ...x, extent: { axis, length } });

/** The array up to its bound; the caller knows what is behind the length. */
export const upToBound = (x: Expr): Expr => (x.extent === undefined ? x : { ...x, extent: undefined });

/** A function of the array up to its bound whose result has the same axes. */
export function throughBound(x: Expr, compute: (x: Expr) => Expr): Expr {
  if (x.extent === undefined) return compute(x);
  return withExtent(compute(upToBound(x)), x.extent.axis, x.extent.length);
}

/** Of indices that are all of an axis by the way they are computed, as places of a sort are, the length of the axis. */
const lengths = new WeakMap<Expr, Expr>();

/** Indices, as those that are within a length. */
export function withinAxis(indices: Expr, length: Expr): Expr {
  lengths.set(indices, length);
  return indices;
}

/** Whether indices are within a length, so that nothing need look at them. */
export const areWithinAxis = (indices: Expr, length: Expr): boolean => lengths.get(indices) === length;

/** The extent that arrays have together which broadcast to a shape. */
export function meetingExtent(
  op: string,
  inputs: readonly Pick<Expr, 'shape' | 'extent'>[],
  shape: Shape,
): Extent | undefined {
  let met: Extent | undefined;
  for (const x of inputs) {
    if (x.extent === undefined) continue;
    const axis = shape.length - x.shape.length + x.extent.axis;
    if (met !== undefined && (met.axis !== axis || met.length !== x.extent.length)) {
      const both = 'two of which nothing says that they are equal';
      const hint = 'select by one mask, or await x.persist() first';
      throw new ShapeError(expected(op, 'one size that depends on data', both, hint));
    }
    met ??= { axis, length: x.extent.length };
  }
  if (met === undefined) return undefined;
  for (const x of inputs) {
    const size = x.shape[x.shape.length - shape.length + met.axis];
    if (x.extent === undefined && size !== undefined && size !== 1)
      throw unknownSize(op, { shape, extent: met });
  }
  return met;
}

/**
 * The extent of elements of an array at indices of an axis: that of the indices, in the place of the axis, or of an axis
 * beside it.
 */
export function extentOfGather(op: string, x: Expr, index: Expr, axis: number): Extent | undefined {
  if (x.extent === undefined)
    return index.extent && { axis: axis + index.extent.axis, length: index.extent.length };
  if (x.extent.axis === axis || index.extent !== undefined) throw unknownSize(op, x);
  const added = x.extent.axis < axis ? 0 : index.shape.length - 1;
  return { axis: x.extent.axis + added, length: x.extent.length };
}

/** The extent of a view; undefined for an array without. Throws where the view needs the size. */
export function extentOfView(x: Expr, view: View, shape: Shape): Extent | undefined {
  if (x.extent === undefined) return undefined;
  const { axis, length } = x.extent;
  const at = axisInView(x, axis, view, shape);
  if (at < 0) throw unknownSize(view.type, x);
  return { axis: at, length };
}

/** The axis of a view that is the whole of an axis of its input; -1: there is none. */
function axisInView({ shape: from }: Expr, axis: number, view: View, to: Shape): number {
  switch (view.type) {
    case 'permute':
      return view.order.indexOf(axis);
    case 'broadcast':
      return to.length - from.length + axis;
    case 'slice':
      return view.starts[axis] === 0 && view.steps[axis] === 1 && to[axis] === from[axis] ? axis : -1;
    case 'pad':
      return view.before[axis] === 0 && to[axis] === from[axis] ? axis : -1;
    case 'reshape': {
      const before = partsOf(from.slice(0, axis));
      return to.findIndex((size, k) => size === from[axis] && partsOf(to.slice(0, k)) === before);
    }
  }
}

/** Equal for axes that hold equally many elements, also where some of them are of size 0. */
const partsOf = (shape: Shape): string => {
  const sizes = shape.filter((size) => size !== 0);
  return `${sizeOfShape(sizes)} ${shape.length - sizes.length}`;
};
