/**
 * Elements in other places and numbers: repeat, rot90. Every export is also a method of Lazy and a free function
 * (`fluent.ts`). Views alone are in `views.ts`.
 */
import { ArgumentError, expected, ShapeError } from '../host/errors.js';
import type { Expr, ExprOf } from './expr.js';
import { needSizes, upToBound, withExtent } from './extent.js';
import { formatShape } from './format.js';
import { int64Array, integers, listed } from './index-lists.js';
import { constant, iota, isExpr } from './infer.js';
import { scaleLength } from './lengths.js';
import { lineOf } from './lines.js';
import { searchsorted } from './searching.js';
import { type Axes, checkInteger, checkShape, normalizeAxes, normalizeAxis } from './shape.js';
import { broadcast, gather, reshape } from './view-nodes.js';
import { flip, swapaxes } from './views.js';

/**
 * Every element repeated along an axis, as NumPy's `repeat`: as often as `repeats`, a number, or each as often as
 * its own number of a list or a typed array. Without an axis the array is flattened first. `x.repeat([1, 0, 2], 0)`
 * leaves a row out. Throws a ShapeError for numbers below 0 and for a list of another length than the axis, an
 * ArgumentError for numbers that are still to be computed, on which the shape would depend.
 *
 * @example
 * await lazy([1, 2, 3]).repeat(2).compute()
 * //=> [1. 1. 2. 2. 3. 3.]
 * await lazy([1, 2, 3]).repeat([2, 0, 1]).compute()
 * //=> [1. 1. 3.]
 */
export function repeat(x: Expr, repeats: number | readonly number[] | Expr, axis?: number | null): Expr {
  if (axis === undefined || axis === null) return repeat(lineOf(x), repeats, 0);
  const place = normalizeAxis('repeat', axis, x.shape.length);
  if (typeof repeats === 'number') return repeatAll(x, checkInteger('repeat', 'repeats', repeats), place);
  const counts = countsOf(repeats);
  const size = x.shape[place]!;
  if (counts.length === 1) return repeatAll(x, Number(counts[0]), place);
  if (x.extent?.axis === place) needSizes('repeat', x);
  if (counts.length !== size) {
    const wanted = `a number for each of the ${size} elements of axis ${place}`;
    throw new ShapeError(expected('repeat', wanted, `${counts.length} of them`));
  }
  let total = 0;
  const ends = counts.map((count) => {
    total += checkCount(Number(count));
    return BigInt(total);
  });
  const shape = checkShape('repeat', x.shape.with(place, total));
  if (shape.includes(0)) return { ...broadcast(constant(0, x.dtype), shape), extent: x.extent };
  // Element k of the result is of the first element whose last copy is behind it.
  const from = searchsorted(int64Array(ends, [size]), iota(total), null, { side: 'right' });
  return gather(x, from, place, 'clip', shape);
}

/** The numbers of copies, which have to be known now. */
function countsOf(repeats: readonly number[] | Expr): readonly bigint[] {
  if (!isExpr(repeats)) {
    const { flat, shape } = listed('repeat', repeats);
    if (shape.length === 1) return flat;
    throw new ShapeError(expected('repeat', 'repeats of one axis', formatShape(shape)));
  }
  const { source, shape } = integers('repeat', repeats) as ExprOf<'source'>;
  // Placeholders have no data.
  if (source?.type !== 'host' || (source.data.length === 0 && !shape.includes(0))) {
    const received = source?.type === 'host' ? 'an array without elements' : 'an array to compute';
    const hint = 'compute() them first: the shape depends on them';
    throw new ArgumentError(expected('repeat', 'repeats that are known', received, hint));
  }
  if (shape.length > 1) throw new ShapeError(expected('repeat', 'repeats of one axis', formatShape(shape)));
  const { data, offset, strides } = source;
  return Array.from({ length: shape[0] ?? 1 }, (_, k) => BigInt(data[offset + k * (strides[0] ?? 0)]!));
}

function checkCount(count: number): number {
  if (count < 0) throw new ShapeError(expected('repeat', 'repeats of 0 or more', `${count}`));
  return count;
}

/** Every element as often as all others. */
function repeatAll(x: Expr, repeats: number, place: number): Expr {
  const count = checkCount(repeats);
  if (x.extent !== undefined) {
    const { axis, length } = x.extent;
    const repeated = repeatAll(upToBound(x), count, place);
    if (axis !== place) return withExtent(repeated, axis, length);
    return count === 0 ? repeated : withExtent(repeated, axis, scaleLength(length, count));
  }
  const apart = [...x.shape.slice(0, place + 1), 1, ...x.shape.slice(place + 1)];
  const repeated = broadcast(reshape(x, apart), apart.with(place + 1, count));
  return reshape(repeated, checkShape('repeat', x.shape.with(place, x.shape[place]! * count)));
}

/**
 * The array turned by 90 degrees `times` times (once) in the plane of two axes, the first two by default, from the
 * first one towards the second, as NumPy's `rot90`. Throws a ShapeError where there are not two axes.
 *
 * @example
 * await lazy([[1, 2], [3, 4]]).rot90().compute()
 * //=> [[2. 4.]
 * //=>  [1. 3.]]
 */
export function rot90(x: Expr, times?: number, axes?: Axes): Expr {
  const plane = normalizeAxes('rot90', axes ?? [0, 1], x.shape.length);
  if (plane.length !== 2) throw new ShapeError(expected('rot90', 'two axes', `${plane.length}`));
  const [first, second] = plane as [number, number];
  const turns = ((checkInteger('rot90', 'times', times ?? 1) % 4) + 4) % 4;
  if (turns === 0) return x;
  if (turns === 2) return flip(x, plane);
  return turns === 1 ? flip(swapaxes(x, first, second), first) : swapaxes(flip(x, first), first, second);
}
