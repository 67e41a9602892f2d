/**
 * Reading by arrays of indices: `take`, `takeAlongAxis`. Every export is also a method of Lazy and a free function
 * (`fluent.ts`).
 */
import { expected, ShapeError } from '../host/errors.js';
import type { Expr, IndexMode } from './expr.js';
import { formatShape } from './format.js';
import { denseStrides, sizeOfShape } from './graph.js';
import { type IndexList, integers, listed } from './index-lists.js';
import { constant, iota, isExpr, map } from './infer.js';
import { indexAlong } from './joins.js';
import { broadcastShapes, normalizeAxis } from './shape.js';
import { taken } from './taking.js';
import { broadcast, gather } from './view-nodes.js';
import { flatten, reshape } from './views.js';

/** Options of `take`. */
export interface TakeOptions {
  /**
   * Indices out of range: an error (`'raise'`, the default; from -n on, negative ones count from the end),
   * taken modulo the axis (`'wrap'`), or the nearest end (`'clip'`, where negative ones are 0).
   */
  readonly mode?: IndexMode;
}

/**
 * The elements at some indices of an axis, as NumPy's `take`: the axis becomes the axes of the indices,
 * integers of any dtype or lists. Without an axis, or with null, the array is taken as one line.
 * `table.take(ids, 0)` gives rows. Throws a DTypeError for indices that are no integers, a ShapeError for
 * indices into an axis without elements; an index out of range is a RangeArgumentError: of a list at once, of
 * an array when it is computed, before anything else runs.
 *
 * @example
 * const x = lazy([[1, 2, 3], [4, 5, 6]])
 * await x.take([2, 0], 1).compute()
 * //=> [[3. 1.]
 * //=>  [6. 4.]]
 * await x.take([-1]).compute()
 * //=> [6.]
 */
export function take(
  x: Expr,
  indices: Expr | number | IndexList,
  axis?: number | null,
  options?: TakeOptions,
): Expr {
  return taken('take', x, indices, axis, options);
}

/**
 * One element for each index, along an axis (the last one by default): element (…, i, …) is `x[…, indices[…, i,
 * …], …]`, as NumPy's `take_along_axis`. Both have as many axes, whose other sizes agree or are 1:
 * `x.takeAlongAxis(x.argsort(1), 1)` is `x.sort(1)`. Options and errors are those of `take`, with a ShapeError for
 * shapes that do not meet.
 *
 * @example
 * const x = lazy([[3, 1, 2], [9, 7, 8]])
 * await x.takeAlongAxis(x.argsort(1), 1).compute()
 * //=> [[1. 2. 3.]
 * //=>  [7. 8. 9.]]
 */
export function takeAlongAxis(
  x: Expr,
  indices: Expr | number | IndexList,
  axis?: number,
  options?: TakeOptions,
): Expr {
  const op = 'takeAlongAxis';
  const ndim = x.shape.length;
  const at = normalizeAxis(op, axis ?? -1, ndim);
  const index = isExpr(indices) ? integers(op, indices) : listed(op, indices);
  const others = (shape: readonly number[]): number[] => shape.map((size, k) => (k === at ? 1 : size));
  if (index.shape.length !== ndim) {
    const wanted = `indices of as many axes as ${formatShape(x.shape)}`;
    throw new ShapeError(expected(op, wanted, formatShape(index.shape)));
  }
  const met = broadcastShapes(op, [others(x.shape), others(index.shape)]);
  const shape = met.map((size, k) => (k === at ? index.shape[k]! : size));
  // As indices of the axis itself: which are in range, and from its beginning.
  const lines = reshape(iota(x.shape[at]!), [...x.shape.slice(0, at).map(() => 1), x.shape[at]!]);
  const places = taken(op, lines, indices, at, options);
  const strides = denseStrides(x.shape);
  const parts = shape.flatMap((size, k): Expr[] => {
    if (k === at || x.shape[k] === 1) return [];
    return [map('multiply', [indexAlong(k, size, ndim), strides[k]!])];
  });
  const own = map('multiply', [reshape(places, [...index.shape]), strides[at]!]);
  const flat = parts.reduce((sum, part) => map('add', [sum, part]), own);
  if (sizeOfShape(shape) === 0) return broadcast(constant(0, x.dtype), shape);
  return gather(flatten(x), broadcast(flat, shape), 0, 'clip', shape);
}
