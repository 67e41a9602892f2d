/**
 * Views: functions that pick, reorder or repeat elements without arithmetic. Every export is also a method of
 * Lazy and a free function (`lazy.ts`); the shape is worked out and checked here, the data moves when kernels
 * read it.
 *
 * Slicing is in `slicing.ts`; what joins several arrays, or needs a mask, in `joins.ts`.
 */
import { expected, ShapeError } from '../host/errors.js';
import type { Expr } from './expr.js';
import { upToBound, withExtent } from './extent.js';
import { formatShape } from './format.js';
import { sizeOfShape } from './graph.js';
import { constant, iota, map } from './infer.js';
import { scaleLength } from './lengths.js';
import { lineOf } from './lines.js';
import { rangeWithin } from './ranges-within.js';
import {
  type Axes,
  broadcastShapes,
  checkShape,
  normalizeAxes,
  normalizeAxis,
  type ShapeArgument,
} from './shape.js';
import { broadcast, gather, reshape as reshapeTo, view } from './view-nodes.js';

/** A shape as one list or as several numbers. */
type Sizes = [shape: ShapeArgument] | number[];

const listed = (sizes: Sizes): readonly number[] | ShapeArgument =>
  sizes.length === 1 ? sizes[0]! : (sizes as readonly number[]);

/**
 * The same elements in C order in another shape. One size may be -1: it follows from the others.
 * Throws a ShapeError where the sizes differ. `x.reshape(2, -1)` or `x.reshape([2, -1])`.
 *
 * @example
 * await arange(6).reshape([2, -1]).compute()
 * //=> [[0. 1. 2.]
 * //=>  [3. 4. 5.]]
 */
export function reshape(x: Expr, ...shape: Sizes): Expr {
  const given = listed(shape);
  const sizes = typeof given === 'number' ? [given] : given;
  const free = Array.isArray(sizes) ? sizes.indexOf(-1) : -1;
  if (free >= 0 && sizes.lastIndexOf(-1) > free)
    throw new ShapeError(expected('reshape', 'at most one size of -1', formatShape(sizes)));
  const checked = checkShape('reshape', free < 0 ? sizes : sizes.map((size, k) => (k === free ? 1 : size)));
  const total = sizeOfShape(x.shape);
  if (free >= 0) checked[free] = total / sizeOfShape(checked);
  if (sizeOfShape(checked) !== total || !checked.every(Number.isInteger)) {
    throw new ShapeError(
      expected('reshape', `a shape of ${total} elements, as ${formatShape(x.shape)} has`, formatShape(sizes)),
    );
  }
  return reshapeTo(x, checked);
}

/**
 * The elements in C order along one axis.
 *
 * @example
 * await lazy([[1, 2], [3, 4]]).flatten().compute()
 * //=> [1. 2. 3. 4.]
 */
export function flatten(x: Expr): Expr {
  return lineOf(x);
}

/**
 * The elements in C order along one axis; the same as `flatten`.
 *
 * @example
 * await lazy([[1, 2], [3, 4]]).ravel().compute()
 * //=> [1. 2. 3. 4.]
 */
export function ravel(x: Expr): Expr {
  return flatten(x);
}

/**
 * Output axis k is input axis `axes[k]`; without axes their order is reversed. `axes` names every axis once.
 *
 * @example
 * zeros([2, 3, 4]).permuteDims([2, 0, 1]).shape
 * //=> [ 4, 2, 3 ]
 */
export function permuteDims(x: Expr, axes?: readonly number[] | null): Expr {
  return permuted('permuteDims', x, axes);
}

/**
 * Output axis k is input axis `axes[k]`; without axes their order is reversed. The same as `permuteDims`.
 *
 * @example
 * await lazy([[1, 2], [3, 4]]).transpose().compute()
 * //=> [[1. 3.]
 * //=>  [2. 4.]]
 */
export function transpose(x: Expr, axes?: readonly number[] | null): Expr {
  return permuted('transpose', x, axes);
}

function permuted(op: string, x: Expr, axes: readonly number[] | null | undefined): Expr {
  const ndim = x.shape.length;
  const order =
    axes === undefined || axes === null ? x.shape.map((_, k) => ndim - 1 - k) : normalizeAxes(op, axes, ndim);
  if (order.length !== ndim) {
    throw new ShapeError(
      expected(op, `all ${ndim} axes of ${formatShape(x.shape)}`, `[${order.join(', ')}]`),
    );
  }
  if (order.every((axis, k) => axis === k)) return x;
  return view(
    x,
    { type: 'permute', order },
    order.map((axis) => x.shape[axis]!),
  );
}

/**
 * The last two axes exchanged: the transposes of a stack of matrices. Throws a ShapeError below two axes.
 *
 * @example
 * await lazy([[1, 2], [3, 4]]).matrixTranspose().compute()
 * //=> [[1. 3.]
 * //=>  [2. 4.]]
 */
export function matrixTranspose(x: Expr): Expr {
  if (x.shape.length < 2) {
    throw new ShapeError(expected('matrixTranspose', 'at least two axes', formatShape(x.shape)));
  }
  return swapaxes(x, -2, -1);
}

/**
 * Two axes exchanged.
 *
 * @example
 * zeros([2, 3, 4]).swapaxes(0, 2).shape
 * //=> [ 4, 3, 2 ]
 */
export function swapaxes(x: Expr, first: number, second: number): Expr {
  const a = normalizeAxis('swapaxes', first, x.shape.length);
  const b = normalizeAxis('swapaxes', second, x.shape.length);
  return permuted(
    'swapaxes',
    x,
    x.shape.map((_, k) => (k === a ? b : k === b ? a : k)),
  );
}

/**
 * Axes moved from the places `source` to the places `destination`; the others keep their order.
 *
 * @example
 * zeros([2, 3, 4]).moveaxis(0, -1).shape
 * //=> [ 3, 4, 2 ]
 */
export function moveaxis(x: Expr, source: Axes, destination: Axes): Expr {
  const ndim = x.shape.length;
  const from = normalizeAxes('moveaxis', source, ndim);
  const to = normalizeAxes('moveaxis', destination, ndim);
  if (from.length !== to.length) {
    throw new ShapeError(
      expected('moveaxis', 'as many destinations as sources', `${from.length} and ${to.length}`),
    );
  }
  const rest = x.shape.map((_, k) => k).filter((axis) => !from.includes(axis));
  const order = x.shape.map((_, k) => (to.includes(k) ? from[to.indexOf(k)]! : rest.shift()!));
  return permuted('moveaxis', x, order);
}

/**
 * New axes of size 1 at these places of the result.
 *
 * @example
 * lazy([1, 2]).expandDims([0, 2]).shape
 * //=> [ 1, 2, 1 ]
 */
export function expandDims(x: Expr, axis?: Axes): Expr {
  const count = Array.isArray(axis) ? axis.length : 1;
  const places = normalizeAxes('expandDims', axis === undefined ? 0 : axis, x.shape.length + count);
  const sizes = [...x.shape];
  const shape = Array.from({ length: x.shape.length + count }, (_, k) =>
    places.includes(k) ? 1 : sizes.shift()!,
  );
  return reshapeTo(x, shape);
}

/**
 * Axes of size 1 taken away: those named, or all. Throws a ShapeError where a named axis has another size.
 *
 * @example
 * zeros([1, 3, 1]).squeeze().shape
 * //=> [ 3 ]
 */
export function squeeze(x: Expr, axis?: Axes | null): Expr {
  const all = axis === undefined || axis === null;
  const places = normalizeAxes('squeeze', axis, x.shape.length);
  const wrong = all ? undefined : places.find((place) => x.shape[place] !== 1);
  if (wrong !== undefined) {
    throw new ShapeError(expected('squeeze', 'axes of size 1', `axis ${wrong} of ${formatShape(x.shape)}`));
  }
  return reshapeTo(
    x,
    x.shape.filter((size, k) => size !== 1 || !places.includes(k)),
  );
}

/**
 * NumPy broadcasting to a shape. Throws a ShapeError where `x` does not broadcast to it.
 *
 * @example
 * await lazy([1, 2]).broadcastTo([2, 2]).compute()
 * //=> [[1. 2.]
 * //=>  [1. 2.]]
 */
export function broadcastTo(x: Expr, ...shape: Sizes): Expr {
  const target = checkShape('broadcastTo', listed(shape));
  const met = broadcastShapes('broadcastTo', [x.shape, target]);
  if (met.length !== target.length || met.some((size, k) => size !== target[k])) {
    throw new ShapeError(
      expected('broadcastTo', `a shape that ${formatShape(x.shape)} broadcasts to`, formatShape(target)),
    );
  }
  return broadcast(x, target);
}

/**
 * The elements in reverse order along these axes; along all without axes.
 *
 * @example
 * await lazy([[1, 2], [3, 4]]).flip(1).compute()
 * //=> [[2. 1.]
 * //=>  [4. 3.]]
 */
export function flip(x: Expr, axis?: Axes | null): Expr {
  const axes = normalizeAxes('flip', axis, x.shape.length).filter((k) => x.shape[k]! > 1);
  if (axes.length === 0 || x.shape.includes(0)) return x;
  const own = x.extent?.axis ?? -1;
  if (axes.includes(own)) {
    const others = axes.filter((k) => k !== own);
    return flip(rangeWithin('flip', x, [null, null, -1]), others);
  }
  const starts = x.shape.map((size, k) => (axes.includes(k) ? size - 1 : 0));
  const steps = x.shape.map((_, k) => (axes.includes(k) ? -1 : 1));
  return view(x, { type: 'slice', starts, steps }, x.shape);
}

/**
 * The array repeated `repetitions[k]` times along axis k; the shorter of shape and repetitions is filled with
 * ones in front.
 *
 * @example
 * await lazy([1, 2]).tile([2, 2]).compute()
 * //=> [[1. 2. 1. 2.]
 * //=>  [1. 2. 1. 2.]]
 */
export function tile(x: Expr, repetitions: ShapeArgument): Expr {
  const counts = checkShape('tile', repetitions);
  if (x.extent !== undefined) return tiledWithin(x, counts);
  const ndim = Math.max(counts.length, x.shape.length);
  const sizes = [...Array<number>(ndim - x.shape.length).fill(1), ...x.shape];
  const times = [...Array<number>(ndim - counts.length).fill(1), ...counts];
  const result = checkShape(
    'tile',
    sizes.map((size, k) => size * times[k]!),
  );
  const apart = reshapeTo(
    x,
    sizes.flatMap((size) => [1, size]),
  );
  const repeated = broadcast(
    apart,
    sizes.flatMap((size, k) => [times[k]!, size]),
  );
  return reshapeTo(repeated, result);
}

/** The same of an array with an axis whose size depends on data, along which its elements are read again and again. */
function tiledWithin(x: Expr, counts: readonly number[]): Expr {
  const { length } = x.extent!;
  const added = Math.max(counts.length - x.shape.length, 0);
  const axis = x.extent!.axis + added;
  const times = [...Array<number>(Math.max(x.shape.length - counts.length, 0)).fill(1), ...counts];
  const count = times[axis]!;
  const bound = tile(upToBound(x), times.with(axis, 1));
  const shape = checkShape('tile', bound.shape.with(axis, bound.shape[axis]! * count));
  if (sizeOfShape(shape) === 0) {
    const none = broadcast(constant(0, x.dtype), shape);
    return count === 0 ? none : withExtent(none, axis, scaleLength(length, count));
  }
  if (count === 1) return withExtent(bound, axis, length);
  const places = map('remainder', [iota(shape[axis]!), map('maximum', [length, 1])]);
  return withExtent(gather(bound, places, axis, 'clip', shape, 'tile'), axis, scaleLength(length, count));
}
