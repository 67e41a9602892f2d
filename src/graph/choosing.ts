/**
 * Elements and places that a mask chooses, whose number depends on data: argwhere, compress, extract. Every export
 * is also a method of Lazy and a free function (`fluent.ts`). Uses of results of such sizes stand in
 * `extent.ts`.
 */
import { ArgumentError, DTypeError, expected, ShapeError } from '../host/errors.js';
import { placesWhere } from './compaction.js';
import type { Expr } from './expr.js';
import { meetingExtent, upToBound } from './extent.js';
import { formatShape, formatValue } from './format.js';
import { denseStrides, sizeOfShape } from './graph.js';
import { int64Array } from './index-lists.js';
import { hostArray, isExpr, map } from './infer.js';
import { lineOf } from './lines.js';
import { normalizeAxis, sameShape } from './shape.js';
import { noneTaken, taken } from './taking.js';
import { gather, reshape } from './view-nodes.js';
import { flatten } from './views.js';

/**
 * The indices of the elements that are not 0, in C order, as NumPy's `argwhere`: int64 of shape (count, axes), whose
 * count depends on data. `(await x.greater(0).argwhere().compute()).shape`. Throws a ShapeError for an array without
 * axes.
 *
 * @example
 * await lazy([[0, 7], [5, 0]]).argwhere().compute()
 * //=> [[0 1]
 * //=>  [1 0]]
 */
export function argwhere(x: Expr): Expr {
  const ndim = x.shape.length;
  if (ndim === 0) throw new ShapeError(expected('argwhere', 'an array with axes', formatShape(x.shape)));
  const places = placesWhere(x);
  const rows = reshape(places, [places.shape[0]!, 1]);
  const row = (numbers: readonly number[]): Expr => int64Array(numbers.map(BigInt), [ndim]);
  const sizes = x.shape.map((size) => Math.max(size, 1));
  return map('remainder', [map('floorDivide', [rows, row(denseStrides(sizes))]), row(sizes)]);
}

/**
 * The elements along an axis where a list of booleans is true, as NumPy's `compress`: the size of the axis depends on
 * data. A list that is shorter than the axis leaves out what is behind it. Without an axis, or with null, the array is
 * taken as one line. `x.compress(x.slice(null, 0).greater(0), 0)`. Throws a ShapeError for a condition of other than
 * one axis or longer than the axis; of an axis whose size depends on data a RangeArgumentError, when it is computed, for
 * one that is true behind its end.
 *
 * @example
 * const x = lazy([[1, 2], [3, 4], [5, 6]])
 * await x.compress([true, false, true], 0).compute()
 * //=> [[1. 2.]
 * //=>  [5. 6.]]
 */
export function compress(x: Expr, condition: Expr | readonly boolean[], axis?: number | null): Expr {
  const source = axis === undefined || axis === null ? lineOf(x) : x;
  const at = normalizeAxis('compress', axis ?? 0, source.shape.length);
  const mask = conditionOf(condition);
  const own = source.extent?.axis === at ? source.extent : undefined;
  if (mask.shape.length !== 1 || (own === undefined && mask.shape[0]! > source.shape[at]!)) {
    const wanted = `a condition of one axis of at most ${source.shape[at]} elements`;
    throw new ShapeError(expected('compress', wanted, formatShape(mask.shape)));
  }
  // Beside an axis whose size depends on data a list says how many there are.
  if (source.extent !== undefined && own === undefined && !isExpr(condition))
    return taken('compress', source, trueIn(condition), at);
  const places = placesWhere(mask);
  if (own === undefined) return chosen('compress', source, places, at);
  // Places of a mask of another size have to be there.
  return mask.extent?.length === own.length
    ? chosen('compress', upToBound(source), places, at)
    : taken('compress', source, places, at);
}

/**
 * The elements where a condition of the same shape is true, in C order along one axis, as NumPy's `extract`: its size
 * depends on data. `x.extract(x.greater(0))` is `x.slice(x.greater(0))`. Throws a ShapeError for another shape.
 *
 * @example
 * const x = lazy([3, -1, 4, -1, 5])
 * await x.extract(x.greater(0)).compute()
 * //=> [3. 4. 5.]
 */
export function extract(x: Expr, condition: Expr): Expr {
  if (!isExpr(condition))
    throw new ArgumentError(expected('extract', 'an array as condition', formatValue(condition)));
  if (!sameShape(condition.shape, x.shape)) {
    const wanted = `a condition of shape ${formatShape(x.shape)}`;
    throw new ShapeError(expected('extract', wanted, formatShape(condition.shape)));
  }
  meetingExtent('extract', [x, condition], x.shape);
  return chosen('extract', flatten(upToBound(x)), placesWhere(condition), 0);
}

const trueIn = (condition: readonly boolean[]): number[] => condition.flatMap((each, k) => (each ? [k] : []));

function conditionOf(condition: Expr | readonly boolean[]): Expr {
  if (isExpr(condition)) return condition;
  if (!Array.isArray(condition) || !condition.every((each) => typeof each === 'boolean'))
    throw new DTypeError(expected('compress', 'a condition of booleans', formatValue(condition)));
  const data = Uint8Array.from(condition, Number);
  return hostArray({ type: 'host', data, offset: 0, strides: [1] }, 'bool', [data.length]);
}

/** The elements at places of an axis, all of them in range. */
function chosen(op: string, x: Expr, places: Expr, axis: number): Expr {
  const shape = x.shape.with(axis, places.shape[0]!);
  if (sizeOfShape(shape) === 0) return noneTaken(op, x, places, axis, shape);
  return gather(x, places, axis, 'clip', shape, op);
}
