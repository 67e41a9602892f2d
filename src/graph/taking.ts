/**
 * Elements at indices of an axis, for whatever function of the user's reads so: `take`, `takeAlongAxis`, `slice`,
 * `x.at(…)`. Errors name that function.
 */
import { expected, ShapeError } from '../host/errors.js';
import { kindOf } from './dtype.js';
import type { Expr, Extent, IndexMode, Shape } from './expr.js';
import {
  areWithinAxis,
  extentOfGather,
  meetingExtent,
  throughBound,
  unknownSize,
  upToBound,
  withExtent,
} from './extent.js';
import { inRangeOf, type Reading, withElements } from './filling.js';
import { formatShape } from './format.js';
import { denseStrides, sizeOfShape } from './graph.js';
import { type IndexList, int64Array, integers, listed } from './index-lists.js';
import { cast, constant, iota, isExpr, map } from './infer.js';
import { indexAlong } from './joins.js';
import { lengthOf } from './lengths.js';
import { lineOf } from './lines.js';
import { broadcastShapes, checkIndex, normalizeAxis } from './shape.js';
import { broadcast, gather } from './view-nodes.js';
import { flatten, reshape } from './views.js';

/** The elements at some indices of an axis; without one, of the array as a line. */
export function taken(
  op: string,
  x: Expr,
  indices: Expr | number | IndexList,
  axis?: number | null,
  reading: Reading = 'raise',
): Expr {
  const isLine = axis === undefined || axis === null;
  const source = isLine ? lineOf(x) : x;
  const at = isLine ? 0 : normalizeAxis(op, axis, x.shape.length);
  if (typeof reading !== 'string') return takenOr(op, source, indices, at, reading.value);
  const index = isExpr(indices) ? integers(op, indices) : undefined;
  const list = index === undefined ? listed(op, indices) : undefined;
  const mode = reading;
  const size = source.shape[at]!;
  const isWithin = source.extent?.axis === at;
  const chosen = index?.shape ?? list!.shape;
  const shape = [...source.shape.slice(0, at), ...chosen, ...source.shape.slice(at + 1)];
  if (sizeOfShape(chosen) > 0 && size === 0) {
    const empty = `axis ${at} of ${formatShape(source.shape)}`;
    throw new ShapeError(expected(op, 'an axis with elements to take', empty));
  }
  const sized = isWithin ? `at most ${size}` : `${size}`;
  if (list !== undefined && mode === 'raise')
    for (const value of list.flat) checkIndex(op, value, at, size, -size, sized);
  if (sizeOfShape(shape) === 0)
    return noneTaken(op, source, index ?? int64Array(list!.flat, chosen), at, shape);
  if (isWithin) return takenWithin(op, source, index ?? constants(list!.flat, chosen), mode, shape);
  if (index !== undefined) return gather(source, asInt64(index, mode, size), at, mode, shape, op);
  // Indices of a list are known to be in range, and are looked at here alone.
  const counted =
    mode === 'raise' ? list!.flat.map((value) => (value < 0n ? value + BigInt(size) : value)) : list!.flat;
  return gather(source, int64Array(counted, chosen), at, mode === 'raise' ? 'clip' : mode, shape);
}

/** The elements at indices of an axis, and a value for those out of range. */
function takenOr(op: string, x: Expr, indices: Expr | number | IndexList, at: number, value: Expr): Expr {
  const { places, isInside } = inRangeOf(op, indices, lengthOf(x, at));
  const source = upTo(withElements(x, [at], value), at);
  const [before, after] = [source.shape.slice(0, at), source.shape.slice(at + 1)];
  const shape = [...before, ...places.shape, ...after];
  if (sizeOfShape(shape) === 0) return noneTaken(op, source, places, at, shape);
  const found = gather(source, places, at, 'clip', shape, op);
  const isFound = reshape(isInside, [...places.shape, ...after.map(() => 1)]);
  return map('where', [isFound, found, value]);
}

/** The array up to the bound of an axis, of which indices are known to be in range. */
export const upTo = (x: Expr, axis: number): Expr => (x.extent?.axis === axis ? upToBound(x) : x);

/** One element for each index along an axis, the last one by default. */
export function takenAlong(
  op: string,
  x: Expr,
  indices: Expr | number | IndexList,
  axis?: number,
  reading: Reading = 'raise',
): Expr {
  const ndim = x.shape.length;
  const at = normalizeAxis(op, axis ?? -1, ndim);
  if (typeof reading !== 'string') {
    const { places, isInside } = inRangeOf(op, indices, lengthOf(x, at));
    const source = upTo(withElements(x, [at], reading.value), at);
    return map('where', [isInside, takenAlong(op, source, places, at, 'clip'), reading.value]);
  }
  const index = isExpr(indices) ? integers(op, indices) : listed(op, indices);
  const others = (shape: readonly number[]): number[] => shape.map((size, k) => (k === at ? 1 : size));
  if (index.shape.length !== ndim) {
    const wanted = `indices of as many axes as ${formatShape(x.shape)}`;
    throw new ShapeError(expected(op, wanted, formatShape(index.shape)));
  }
  const met = broadcastShapes(op, [others(x.shape), others(index.shape)]);
  const shape = met.map((size, k) => (k === at ? index.shape[k]! : size));
  const extent = extentAlong(op, x, isExpr(index) ? index : { ...index, extent: undefined }, at, met);
  // As indices of the axis itself: which are in range, and from its beginning.
  const line = reshape(iota(x.shape[at]!), [...x.shape.slice(0, at).map(() => 1), x.shape[at]!]);
  const lines = x.extent?.axis === at ? withExtent(line, at, x.extent.length) : line;
  const places = upToBound(taken(op, lines, indices, at, reading));
  const strides = denseStrides(x.shape);
  const parts = shape.flatMap((size, k): Expr[] => {
    if (k === at || x.shape[k] === 1) return [];
    return [map('multiply', [indexAlong(k, size, ndim), strides[k]!])];
  });
  const own = map('multiply', [reshape(places, [...index.shape]), strides[at]!]);
  const flat = parts.reduce((sum, part) => map('add', [sum, part]), own);
  const along = broadcast(flat, shape);
  const found =
    sizeOfShape(shape) === 0
      ? broadcast(constant(0, x.dtype), shape)
      : gather(flatten(upToBound(x)), along, 0, 'clip', shape);
  return extent === undefined ? found : { ...found, extent };
}

/** The extent of elements at indices along an axis, the other sizes of which, and of the array, meet in `met`. */
function extentAlong(
  op: string,
  x: Expr,
  index: Pick<Expr, 'shape' | 'extent'>,
  axis: number,
  met: Shape,
): Extent | undefined {
  const across = meetingExtent(
    op,
    [x, index].map(({ shape, extent }) => ({
      shape: shape.with(axis, 1),
      extent: extent?.axis === axis ? undefined : extent,
    })),
    met,
  );
  if (index.extent?.axis !== axis) return across;
  if (across !== undefined) throw unknownSize(op, x);
  return index.extent;
}

/**
 * A gather without elements; an axis of its indices whose size depends on data is one here, too, and so is one beside the
 * axis.
 */
export function noneTaken(op: string, x: Expr, index: Expr, axis: number, shape: Shape): Expr {
  const none = broadcast(constant(0, x.dtype), shape);
  const extent = extentOfGather(op, x.extent?.axis === axis ? upToBound(x) : x, index, axis);
  return extent === undefined ? none : { ...none, extent };
}

/** Indices of a list; one of one element needs no memory. */
const constants = (flat: readonly bigint[], shape: Shape): Expr =>
  flat.length === 1 ? broadcast(constant(flat[0]!, 'int64'), shape) : int64Array(flat, shape);

/**
 * The elements at indices of the axis whose size depends on data. Its size is not known but with the values of the indices:
 * they are looked at together, before the graph runs (`fusion/passes/index-check.ts`).
 */
function takenWithin(op: string, x: Expr, given: Expr, mode: IndexMode, shape: Shape): Expr {
  const { axis, length } = x.extent!;
  if (areWithinAxis(given, length)) return gather(upToBound(x), given, axis, 'clip', shape, op);
  // Indices of other modes are all in range, of an axis with elements.
  const indices = mode === 'raise' ? given : throughBound(given, zeros);
  const place = placesWithin(given, mode, length);
  return gather(upToBound(x), place, axis, 'raiseFromStart', shape, op, { indices, length });
}
const zeros = ({ shape }: Expr): Expr => broadcast(constant(0, 'int64'), shape);

/** Indices of an axis as they count from its beginning. */
function placesWithin(given: Expr, mode: IndexMode, length: Expr): Expr {
  if (mode === 'wrap') {
    const size = map('maximum', [length, 1]);
    return given.dtype === 'uint64'
      ? cast(map('remainder', [given, cast(size, 'uint64')]), 'int64')
      : map('remainder', [cast(given, 'int64'), size]);
  }
  const index = asInt64(given, mode, 0);
  if (mode === 'clip') return map('minimum', [index, map('subtract', [length, 1])]);
  if (kindOf(given.dtype) === 'uint') return index;
  return map('where', [map('less', [index, 0]), map('add', [index, length]), index]);
}

/** Indices as int64: those of uint64 that it does not hold are beyond all ends, not negative. */
export function asInt64(index: Expr, mode: IndexMode, size: number): Expr {
  if (index.dtype !== 'uint64') return cast(index, 'int64');
  const within =
    mode === 'wrap'
      ? map('remainder', [index, constant(size, 'uint64')])
      : map('minimum', [index, constant(MOST_INT64, 'uint64')]);
  return cast(within, 'int64');
}
const MOST_INT64 = 2n ** 63n - 1n;

/** The indices that `asInt64` made int64 ones of, as they were given: errors name those. */
export function asGiven(index: Expr): Expr {
  const [within] = index.inputs;
  if (index.kind !== 'cast' || within?.kind !== 'map' || within.op !== 'minimum') return index;
  const [given, most] = within.inputs as readonly [Expr, Expr];
  return given.dtype === 'uint64' && most.kind === 'const' && most.value === MOST_INT64 ? given : index;
}
