/**
 * Elements at indices of an axis, for whatever function of the user's reads so: `take`, `takeAlongAxis`, `slice`,
 * `x.at(…)`. Errors name that function.
 */
import { expected, ShapeError } from '../host/errors.js';
import { checkOptions, oneOf } from './arguments.js';
import type { Expr, IndexMode, Shape } from './expr.js';
import { unknownSize, withExtent } from './extent.js';
import { formatShape } from './format.js';
import { denseStrides, sizeOfShape } from './graph.js';
import { type IndexList, int64Array, integers, listed } from './index-lists.js';
import { cast, constant, iota, isExpr, map } from './infer.js';
import { indexAlong } from './joins.js';
import { MODES } from './selectors.js';
import { broadcastShapes, checkIndex, normalizeAxis } from './shape.js';
import { broadcast, gather } from './view-nodes.js';
import { flatten, reshape } from './views.js';

/** The elements at some indices of an axis; without one, of the array as a line. */
export function taken(
  op: string,
  x: Expr,
  indices: Expr | number | IndexList,
  axis?: number | null,
  options?: { readonly mode?: IndexMode },
): Expr {
  checkOptions(op, options, ['mode']);
  const mode = oneOf(op, 'a mode', MODES, options?.mode ?? 'raise');
  const index = isExpr(indices) ? integers(op, indices) : undefined;
  const list = index === undefined ? listed(op, indices) : undefined;
  const isLine = axis === undefined || axis === null;
  const source = isLine ? flatten(x) : x;
  const at = isLine ? 0 : normalizeAxis(op, axis, x.shape.length);
  const size = source.shape[at]!;
  const chosen = index?.shape ?? list!.shape;
  const shape = [...source.shape.slice(0, at), ...chosen, ...source.shape.slice(at + 1)];
  if (sizeOfShape(chosen) > 0 && size === 0) {
    const empty = `axis ${at} of ${formatShape(source.shape)}`;
    throw new ShapeError(expected(op, 'an axis with elements to take', empty));
  }
  if (list !== undefined && mode === 'raise') for (const value of list.flat) checkIndex(op, value, at, size);
  if (sizeOfShape(shape) === 0) return noneTaken(source, index, at, shape);
  if (index !== undefined) return gather(source, asInt64(index, mode, size), at, mode, shape, op);
  // Indices of a list are known to be in range, and are looked at here alone.
  const counted =
    mode === 'raise' ? list!.flat.map((value) => (value < 0n ? value + BigInt(size) : value)) : list!.flat;
  return gather(source, int64Array(counted, chosen), at, mode === 'raise' ? 'clip' : mode, shape);
}

/** One element for each index along an axis, the last one by default. */
export function takenAlong(
  op: string,
  x: Expr,
  indices: Expr | number | IndexList,
  axis?: number,
  options?: { readonly mode?: IndexMode },
): Expr {
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
  const along = broadcast(flat, shape);
  return sizeOfShape(shape) === 0
    ? noneTaken(x, along, 0, shape)
    : gather(flatten(x), along, 0, 'clip', shape);
}

/** A gather without elements; an axis of its indices whose size depends on data is one here, too, and one beside them is refused. */
export function noneTaken(x: Expr, index: Expr | undefined, axis: number, shape: Shape): Expr {
  if (x.extent !== undefined && x.extent.axis !== axis) throw unknownSize('take', x);
  const none = broadcast(constant(0, x.dtype), shape);
  const extent = index?.extent;
  return extent === undefined ? none : withExtent(none, axis + extent.axis, extent.length);
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
