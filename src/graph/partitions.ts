/**
 * Partitions: elements before, at and behind given places of the sorted array. Every export is also a method
 * of Lazy and a free function (`fluent.ts`).
 */
import { ArgumentError, expected, RangeArgumentError } from '../host/errors.js';
import { slice } from './basic-slicing.js';
import { needingPlace, placesIn } from './checked-places.js';
import { isComplex, isFloat } from './dtype.js';
import type { Expr } from './expr.js';
import { throughBound, upToBound, withExtent } from './extent.js';
import { sizeOfShape } from './graph.js';
import { cast, map, reduce, withinLength } from './infer.js';
import { elementsAt, inOrder } from './selection.js';
import { checkInteger, normalizeAxis } from './shape.js';
import { lastInOrder } from './sort-order.js';
import { argsort, sort } from './sorting.js';
import { gather } from './view-nodes.js';
import { flatten, moveaxis } from './views.js';

/** Places beyond which all is sorted. */
const MOST_PLACES = 16;

/**
 * The elements along an axis (the last one by default; null: all, as one line) such that those at the places
 * `kth` are where sorting would put them, none before a place is larger and none behind it smaller, as
 * NumPy's `partition`. Elements between places keep their order. NaN is last. `x.partition(3).slice([0, 3])`
 * are the three least. Throws a RangeArgumentError for places that are not there, of an axis whose size depends on data
 * when it is computed.
 *
 * @example
 * const x = lazy([3, 1, 2, 5, 4])
 * await x.partition(1).slice([0, 2]).compute()
 * //=> [1. 2.]
 */
export function partition(x: Expr, kth: number | readonly number[], axis?: number | null): Expr {
  const source = axis === null ? flatten(x) : x;
  const order = orderOf('partition', source, kth, axis ?? -1);
  return order === undefined ? source : inOrder(source, order, axis ?? -1);
}

/**
 * The int64 positions along an axis of the elements in the order of `partition`, as NumPy's `argpartition`:
 * `x.takeAlongAxis(x.argpartition(3), -1)` is `x.partition(3)`. Errors are those of `partition`.
 *
 * @example
 * await lazy([30, 10, 20]).argpartition(0).compute()
 * //=> [1 0 2]
 */
export function argpartition(x: Expr, kth: number | readonly number[], axis?: number | null): Expr {
  const source = axis === null ? flatten(x) : x;
  return orderOf('argpartition', source, kth, axis ?? -1) ?? argsort(source, axis ?? -1);
}

/** The positions in the order of a partition; undefined: there are no elements. */
function orderOf(op: string, x: Expr, kth: number | readonly number[], axis: number): Expr | undefined {
  const at = normalizeAxis(op, axis, x.shape.length);
  const given = [kth].flat();
  const isWithin = x.extent?.axis === at;
  const places = isWithin
    ? given.map((place) => checkInteger(op, 'kth', place))
    : placesOf(op, given, x.shape[at]!);
  const needed = isWithin && given.length > 0 ? placesIn(op, x, places) : undefined;
  if (sizeOfShape(x.shape) === 0) return undefined;
  if (given.length === 0) throw new ArgumentError(expected(op, 'a place as kth', 'none'));
  if (places.length > MOST_PLACES || isComplex(x.dtype))
    return throughBound(argsort(x, at), (order) =>
      needed === undefined ? order : needingPlace(order, reduce('min', needed, [0])),
    );
  return throughBound(x, (bound) => {
    const last = x.shape.length - 1;
    const rows = moveaxis(isWithin ? withinLength(x, lastInOrder(x.dtype, false)) : bound, at, last);
    const found =
      needed === undefined
        ? elementsAt(rows, places)
        : gather(sort(rows), needed, last, 'clip', rows.shape.with(last, places.length));
    // How many of the places' elements are less than an element, and how many are not greater.
    const classes = places.map((_, k) => {
      const place = slice(found, '...', [k, k + 1]);
      return map('add', [cast(isBehind(rows, place), 'uint8'), cast(isAtLeast(rows, place), 'uint8')]);
    });
    const sum = classes.reduce((total, each) => map('add', [total, each]));
    const length = isWithin ? withExtent(sum, last, x.extent.length) : sum;
    return moveaxis(upToBound(argsort(length)), last, at);
  });
}

const placesOf = (op: string, given: readonly number[], length: number): number[] =>
  [...new Set(given.map((place) => placeOf(op, place, length)))].sort((a, b) => a - b);

function placeOf(op: string, place: number, length: number): number {
  const given = checkInteger(op, 'kth', place);
  const counted = given < 0 ? given + length : given;
  if (counted < 0 || counted >= length)
    throw new RangeArgumentError(expected(op, `kth within an axis of ${length} elements`, String(given)));
  return counted;
}

/** Whether elements are behind others, with NaN behind all numbers. */
function isBehind(x: Expr, other: Expr): Expr {
  const greater = map('greater', [x, other]);
  if (!isFloat(x.dtype)) return greater;
  const isNumber = map('logicalNot', [map('isnan', [other])]);
  return map('logicalOr', [greater, map('logicalAnd', [map('isnan', [x]), isNumber])]);
}

function isAtLeast(x: Expr, other: Expr): Expr {
  const least = map('greaterEqual', [x, other]);
  return isFloat(x.dtype) ? map('logicalOr', [least, map('isnan', [x])]) : least;
}
