/** Makes the nodes that read elements elsewhere, without arithmetic: views, joins and gathers. */
import { currentSite } from '../host/site.js';
import { depthOf } from './depth.js';
import type { Expr, GatherMode, IndicesWithin, Shape, View } from './expr.js';
import { extentOfGather, extentOfView, meetingExtent } from './extent.js';
import { sameShape } from './shape.js';

/** A view whose shape and parameters the caller has worked out. */
export function view(x: Expr, view: View, shape: Shape): Expr {
  const inputs = [x];
  const made: Expr = {
    kind: 'view',
    view,
    dtype: x.dtype,
    shape,
    inputs,
    site: currentSite(),
    depth: depthOf(inputs),
    weak: x.weak,
  };
  return x.extent === undefined ? made : { ...made, extent: extentOfView(x, view, shape) };
}

/** The view of an array in a shape of the same size. */
export const RESHAPE: View = Object.freeze({ type: 'reshape' });
const BROADCAST: View = Object.freeze({ type: 'broadcast' });

/** The same elements in another shape of the same size. */
export const reshape = (x: Expr, shape: Shape): Expr =>
  sameShape(x.shape, shape) ? x : view(x, RESHAPE, shape);

/** Broadcasts to a shape that `x` is known to broadcast to. */
export const broadcast = (x: Expr, shape: Shape): Expr =>
  sameShape(x.shape, shape) ? x : view(x, BROADCAST, shape);

/** Arrays of one dtype one after the other along an axis; the caller has worked out the shape. */
export function join(parts: readonly Expr[], axis: number, shape: Shape): Expr {
  const made: Expr = {
    kind: 'join',
    axis,
    dtype: parts[0]!.dtype,
    shape,
    inputs: parts,
    site: currentSite(),
    depth: depthOf(parts),
    weak: parts.every(({ weak }) => weak),
  };
  const extent = parts.some((x) => x.extent !== undefined)
    ? meetingExtent('concat', parts, shape)
    : undefined;
  return extent === undefined ? made : { ...made, extent };
}

/**
 * The elements at int64 indices along an axis with elements; the caller has worked out the shape. `asked`: the
 * function that the user called, which errors name; `within`: see `IndicesWithin`.
 */
export function gather(
  x: Expr,
  index: Expr,
  axis: number,
  mode: GatherMode,
  shape: Shape,
  asked?: string,
  within?: IndicesWithin,
): Expr {
  const inputs = [x, index];
  const { dtype } = x;
  const extent =
    x.extent === undefined && index.extent === undefined
      ? undefined
      : extentOfGather(asked ?? 'take', x, index, axis);
  const made = { dtype, shape, inputs, site: currentSite(), depth: depthOf(inputs), weak: x.weak };
  const gathered: Expr = { kind: 'gather', axis, mode, asked, within, ...made };
  return extent === undefined ? gathered : { ...gathered, extent };
}
