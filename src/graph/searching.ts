/**
 * Searching in sorted arrays: where values belong, which are there, and what lies between. Every export is
 * also a method of Lazy and a free function (`fluent.ts`).
 *
 * A binary search is log₂ n look-ups, each of which says where the next one is: gathers, which fuse with
 * the arithmetic around them into one kernel.
 */
import { ArgumentError, expected, RangeArgumentError, ShapeError } from '../host/errors.js';
import { checkOptions, finiteNumber, oneOf } from './arguments.js';
import { slice } from './basic-slicing.js';
import { lastOf } from './counted-quantiles.js';
import type { Expr } from './expr.js';
import { meetingExtent, needSizes, throughBound, upToBound } from './extent.js';
import { formatShape, formatValue } from './format.js';
import { take } from './indexing.js';
import { cast, constant, map, type Operand, toExpr } from './infer.js';
import { concat } from './joins.js';
import { firstBehind } from './lines.js';
import { areMembers, checkReal, realPositions } from './members.js';
import type { Side } from './positions.js';
import { meetingMeanDType, throughFloat32 } from './reducing.js';
import { argsort, sort } from './sorting.js';
import { broadcast, gather } from './view-nodes.js';
import { flip } from './views.js';

/** Options of `searchsorted`. */
export interface SearchSortedOptions {
  /** Before the elements equal to a value (`'left'`, the default), or after them (`'right'`). */
  readonly side?: Side | undefined;
}

const SIDES: readonly Side[] = ['left', 'right'];

/**
 * The int64 positions at which values would go into an array of one axis in ascending order, NaN last, so
 * that it stays in order: as NumPy's `searchsorted`. `edges.searchsorted(x, null, { side: 'right' })`.
 * `sorter` has the positions that sort an array that is not in order, as `argsort` gives them. The positions
 * in an unsorted array are unspecified. Throws a ShapeError for arrays of other than one axis and for a
 * `sorter` of another length, a DTypeError for complex arrays.
 *
 * @example
 * await lazy([1, 3, 5]).searchsorted(lazy([0, 3, 9])).compute()
 * //=> [0 1 3]
 * await lazy([1, 3, 5]).searchsorted(3, null, { side: 'right' }).compute()
 * //=> 2
 */
export function searchsorted(
  x: Expr,
  values: Operand,
  sorter?: Operand | null,
  options?: SearchSortedOptions,
): Expr {
  const op = 'searchsorted';
  checkOptions(op, options, ['side']);
  const side = oneOf(op, 'a side', SIDES, options?.side ?? 'left');
  checkLine(op, x);
  const sought = toExpr(op, values);
  const isInOrder = sorter === undefined || sorter === null;
  return realPositions(op, isInOrder ? x : inOrder(op, x, toExpr(op, sorter)), sought, side);
}

/**
 * Whether each element is one of `test`, an array of any shape, as NumPy's `isin`: NaN is equal to nothing.
 * With `{ invert: true }`, whether it is none of them. Throws a DTypeError for complex arrays.
 *
 * @example
 * await lazy([1, 2, 3, 4]).isin(lazy([2, 4])).compute()
 * //=> [False  True False  True]
 */
export function isin(x: Expr, test: Operand, options?: { readonly invert?: boolean }): Expr {
  checkOptions('isin', options, ['invert']);
  const values = toExpr('isin', test);
  const { extent } = values;
  const sorted = sort(firstBehind(values), null);
  const size = sorted.shape[0]!;
  const invert = options?.invert ?? false;
  for (const array of [sorted, x]) checkReal('isin', array);
  return throughBound(x, (bound) => {
    if (size === 0) return broadcast(constant(invert, 'bool'), bound.shape);
    const are = areMembers(bound, sorted, invert);
    if (extent === undefined) return are;
    const isNone = map('equal', [extent.length, 0]);
    return invert ? map('logicalOr', [are, isNone]) : map('logicalAnd', [are, map('logicalNot', [isNone])]);
  });
}

/**
 * The int64 number of the bin that each element is in, as NumPy's `digitize`: `edges` has one axis, in
 * ascending or in descending order, without which results are unspecified. Bin k of ascending edges holds
 * `edges[k - 1] <= x < edges[k]`, of descending ones `edges[k - 1] > x >= edges[k]`; with `{ right: true }`
 * the equality is at the other end. 0 lies before all edges, their number behind them; NaN is greater than all.
 * Throws a ShapeError for edges of other than one axis, a DTypeError for complex arrays.
 *
 * @example
 * await lazy([0.5, 1, 7]).digitize(lazy([1, 5, 10])).compute()
 * //=> [0 1 2]
 */
export function digitize(x: Expr, edges: Operand, options?: { readonly right?: boolean }): Expr {
  const op = 'digitize';
  checkOptions(op, options, ['right']);
  const given = toExpr(op, edges);
  checkLine(op, given);
  checkReal(op, given);
  const side = options?.right === true ? 'left' : 'right';
  const size = given.extent?.length ?? given.shape[0]!;
  if (given.shape[0]! < 2) return realPositions(op, given, x, side);
  const isDown = map('greater', [slice(upToBound(given), 0), lastOf(upToBound(given), size)]);
  const count = realPositions(op, map('where', [isDown, flip(given), given]), x, side);
  return map('where', [isDown, map('subtract', [size, count]), count]);
}

/** Options of `interp`. */
export interface InterpOptions {
  /** The value before the first place; else that of the first place. */
  readonly left?: number | undefined;
  /** The value after the last place; else that of the last place. */
  readonly right?: number | undefined;
  /** The function repeats after so much: places are taken modulo it, in any order, and there are no ends. */
  readonly period?: number | undefined;
}

/**
 * Linear interpolation, as NumPy's `interp`: the value at each element of x of the function that goes through
 * the points (`places`, `heights`), both of one axis and as long. Places are in ascending order, without
 * which results are unspecified; at NaN it is NaN. Integers in float64.
 * `x.interp(places, heights, { left: 0, right: NaN })`, `angles.interp(places, heights, { period: 360 })`. Throws a
 * ShapeError for no points and for places and heights of other shapes, a DTypeError for complex arrays, a
 * RangeArgumentError for a period of 0.
 *
 * @example
 * await lazy([0.5, 2, 9]).interp(lazy([0, 1, 3]), lazy([0, 10, 20])).compute()
 * //=> [ 5. 15. 20.]
 */
export function interp(x: Expr, places: Operand, heights: Operand, options?: InterpOptions): Expr {
  const op = 'interp';
  checkOptions(op, options, ['left', 'right', 'period']);
  const period =
    options?.period === undefined ? undefined : Math.abs(finiteNumber(op, 'period', options.period));
  if (period === 0) throw new RangeArgumentError(expected(op, 'a period other than 0', '0'));
  for (const end of [options?.left, options?.right])
    if (end !== undefined && typeof end !== 'number')
      throw new ArgumentError(expected(op, 'numbers as left and right', formatValue(end)));
  const [at, given] = [toExpr(op, places), toExpr(op, heights)];
  for (const array of [at, given]) needSizes(op, array);
  for (const array of [x, at, given]) checkReal(op, array);
  for (const array of [at, given]) checkLine(op, array);
  const size = at.shape[0]!;
  if (size === 0) throw new ShapeError(expected(op, 'one point or more', 'none'));
  if (given.shape[0] !== size) {
    const both = `${formatShape(at.shape)} and ${formatShape(given.shape)}`;
    throw new ShapeError(expected(op, 'as many places as heights', both));
  }
  const dtype = meetingMeanDType(op, [x, at, given]);
  return throughFloat32(cast(x, dtype), (asked) => {
    const line = [cast(at, asked.dtype), cast(given, asked.dtype)] as const;
    const points = period === undefined ? asked : map('remainder', [asked, period]);
    const [xs, ys] = period === undefined ? line : periodic(...line, period);
    const read = (from: Expr, index: Expr): Expr => gather(from, index, 0, 'clip', points.shape);
    const end = (from: Expr, k: number): Expr => take(from, k);
    const { left, right } = period === undefined ? (options ?? {}) : {};
    // The point before each element, and the one after it; the last has itself, where the slope is not used.
    const before = map('subtract', [realPositions(op, xs, points, 'right'), 1]);
    const after = map('add', [before, 1]);
    const [x0, x1, y0, y1] = [read(xs, before), read(xs, after), read(ys, before), read(ys, after)];
    const slope = map('divide', [map('subtract', [y1, y0]), map('subtract', [x1, x0])]);
    const from = (place: Expr, height: Expr): Expr =>
      map('add', [map('multiply', [slope, map('subtract', [points, place])]), height]);
    const forward = from(x0, y0);
    // Beside an infinite place or height: from the other side; and what both points have.
    const back = from(x1, y1);
    const level = map('where', [map('equal', [y0, y1]), y0, back]);
    const other = map('where', [map('isnan', [back]), level, back]);
    const inside = map('where', [map('isnan', [forward]), other, forward]);
    const ends = [
      [map('equal', [points, x0]), y0],
      [map('less', [points, end(xs, 0)]), left ?? end(ys, 0)],
      [map('greater', [points, end(xs, -1)]), right ?? end(ys, -1)],
      [map('isnan', [points]), points],
    ] as const;
    return ends.reduce((result, [isThere, value]) => map('where', [isThere, value, result]), inside);
  });
}

/** The points of one period in order, with the last one before them and the first one after them. */
function periodic(places: Expr, heights: Expr, period: number): readonly [Expr, Expr] {
  const within = map('remainder', [places, period]);
  const order = argsort(within);
  const [xs, ys] = [take(within, order), take(heights, order)];
  const around = (line: Expr, by: number): Expr =>
    concat([map('subtract', [slice(line, [-1]), by]), line, map('add', [slice(line, [0, 1]), by])]);
  return [around(xs, period), around(ys, 0)];
}

function checkLine(op: string, x: Expr): void {
  if (x.shape.length !== 1) throw new ShapeError(expected(op, 'an array of one axis', formatShape(x.shape)));
}

/** An array in the order of the positions that sort it. */
function inOrder(op: string, x: Expr, sorter: Expr): Expr {
  if (sorter.shape.length !== 1 || sorter.shape[0] !== x.shape[0]) {
    const wanted = `positions of shape ${formatShape(x.shape)} in the sorter`;
    throw new ShapeError(expected(op, wanted, formatShape(sorter.shape)));
  }
  meetingExtent(op, [x, sorter], x.shape);
  return take(x, sorter, 0);
}
