/**
 * Rows of the elements along axes, and their quantiles by weights, for `order-statistics.ts` and `nan-quantiles.ts`.
 */
import { ArgumentError, DTypeError, expected, RangeArgumentError } from '../host/errors.js';
import { type AxisOr, finiteNumber, oneOf, type ReduceOptions, reduceArguments } from './arguments.js';
import { slice } from './basic-slicing.js';
import { needingPlace, placesIn } from './checked-places.js';
import { elementOfRows, lastOf } from './counted-quantiles.js';
import { type DType, isComplex, isFloat, type Scalar } from './dtype.js';
import type { Expr } from './expr.js';
import { throughBound, upToBound } from './extent.js';
import { formatShape, formatValue } from './format.js';
import { sizeOfShape } from './graph.js';
import { takeAlongAxis } from './indexing.js';
import { cast, constant, map, type Operand, reduce, toExpr, withinLength } from './infer.js';
import { stack } from './joins.js';
import { type Length, scaleLength } from './lengths.js';
import { METHODS, type QuantileMethod } from './quantile-methods.js';
import { alongAxes, keepAxes } from './reducing.js';
import { cumulativeSum } from './scans.js';
import { ascendingAxes } from './shape.js';
import { lastInOrder } from './sort-order.js';
import { argsort } from './sorting.js';
import { broadcast } from './view-nodes.js';
import { moveaxis, reshape } from './views.js';

/** Options of `quantile` and `percentile`. */
export interface QuantileOptions extends ReduceOptions {
  /** `'linear'` where none is given. */
  readonly method?: QuantileMethod | undefined;
  /**
   * How often each element counts, of the array's shape or of the axes'; with `method: 'inverted_cdf'` alone.
   */
  readonly weights?: Operand | undefined;
}

/** Arguments of quantiles. */
export interface QuantileArguments {
  readonly x: Expr;
  readonly q: number | readonly number[];
  readonly axis: AxisOr<QuantileOptions> | undefined;
  readonly options?: QuantileOptions | undefined;
}

/** Quantiles without weights, one for each probability. */
export type Quantiles = (
  op: string,
  x: Expr,
  probabilities: readonly number[],
  method: QuantileMethod,
  given: ReduceOptions,
) => Expr[];

/** The quantiles at q of `whole`: of the weights where there are some, else as `quantiles` finds them. */
export function atProbabilities(
  op: string,
  whole: number,
  { x, q, axis, options }: QuantileArguments,
  quantiles: Quantiles,
  isNaNLeftOut: boolean,
): Expr {
  const given = reduceArguments<QuantileOptions>(op, axis, options, ['method', 'weights']);
  const words = Object.keys(METHODS) as QuantileMethod[];
  const method = given.method === undefined ? 'linear' : oneOf(op, 'a method', words, given.method);
  const list = (Array.isArray(q) ? q : [q]) as readonly unknown[];
  if (list.length === 0) throw new ArgumentError(expected(op, 'a probability', formatValue(q)));
  const probabilities = list.map((each) => {
    const found = finiteNumber(op, 'q', each);
    if (found < 0 || found > whole)
      throw new RangeArgumentError(expected(op, `q from 0 to ${whole}`, formatValue(found)));
    return found / whole;
  });
  const found =
    given.weights === undefined
      ? quantiles(op, x, probabilities, method, given)
      : weighted(op, x, probabilities, method, given, isNaNLeftOut);
  return Array.isArray(q) ? stack(found) : found[0]!;
}

/** The elements along axes. */
export interface Rows {
  /** Along the last axis; those behind the length of an axis are the last in order. */
  readonly rows: Expr;
  /** The elements of each row that are there. */
  readonly count: Length;
  /** The rows of an array of the same shape, with a value behind a length. */
  readonly alike: (x: Expr, behind: Scalar) => Expr;
  /** A value of each row where its elements are in the array. */
  readonly placed: (values: Expr) => Expr;
}

/**
 * The elements along axes as rows. Refuses complex numbers, and no elements: of a size that depends on data when the
 * graph runs, where the quantiles have a dtype without NaN.
 */
export function rowsOf(op: string, x: Expr, { axis, keepdims = false }: ReduceOptions, result: DType): Rows {
  const axes = ascendingAxes(op, axis, x.shape.length);
  const like = reduce('max', x, axes, op);
  const sizes = axes.map((k) => x.shape[k]!);
  if (sizes.includes(0))
    throw new ArgumentError(expected(op, 'elements along the axes', `the shape ${formatShape(x.shape)}`));
  const { extent } = x;
  const isWithin = extent !== undefined && axes.includes(extent.axis);
  const alike = (values: Expr, behind: Scalar): Expr =>
    inRows(isWithin ? withinLength({ ...values, extent }, behind) : upToBound(values), axes);
  const placed = (values: Expr): Expr => {
    const reduced = throughBound(like, ({ shape }) => reshape(values, shape));
    return keepdims ? keepAxes(reduced, x, axes) : reduced;
  };
  const bound = sizeOfShape(sizes);
  const length = isWithin ? scaleLength(extent.length, bound / x.shape[extent.axis]!) : undefined;
  const isNeeded = length !== undefined && !isFloat(result);
  const count = isNeeded ? needingPlace(length, reshape(placesIn(op, x, [0]), [])) : length;
  return {
    rows: alike(x, lastInOrder(x.dtype, false)),
    count: count ?? bound,
    alike,
    placed,
  };
}

function inRows(x: Expr, axes: readonly number[]): Expr {
  const kept = x.shape.filter((_, k) => !axes.includes(k));
  const count = sizeOfShape(axes.map((k) => x.shape[k]!));
  const last = axes.map((_, k) => x.shape.length - axes.length + k);
  return reshape(moveaxis(x, axes, last), [...kept, count]);
}

/** The first elements up to which the weights, in the elements' order, have the wanted part of their sum. */
function weighted(
  op: string,
  x: Expr,
  probabilities: readonly number[],
  method: QuantileMethod,
  options: QuantileOptions,
  isNaNLeftOut: boolean,
): Expr[] {
  if (method !== 'inverted_cdf')
    throw new ArgumentError(expected(op, "method: 'inverted_cdf' beside weights", `'${method}'`));
  const { rows, count, alike, placed } = rowsOf(op, x, options, x.dtype);
  const given = toExpr(op, options.weights!);
  if (isComplex(given.dtype)) throw new DTypeError(expected(op, 'real weights', given.dtype));
  const axes = ascendingAxes(op, options.axis, x.shape.length);
  const beside = broadcast(upToBound(alongAxes(op, 'weights', given, x, axes)), x.shape);
  // NaN is last, and what weighs nothing there is no element.
  const along =
    isNaNLeftOut && isFloat(x.dtype)
      ? map('where', [map('isnan', [upToBound(x)]), constant(0, beside.dtype), beside])
      : beside;
  const order = argsort(rows);
  const ordered = takeAlongAxis(rows, order, -1, { mode: 'clip' });
  const parts = takeAlongAxis(cast(alike(along, 0), 'float64'), order, -1, { mode: 'clip' });
  const sums = cumulativeSum(parts, -1);
  const shares = map('divide', [sums, slice(sums, '...', [-1, null])]);
  const last = rows.shape.length - 1;
  const hasNaN = isFloat(x.dtype) && !isNaNLeftOut ? map('isnan', [lastOf(ordered, count)]) : undefined;
  const end =
    typeof count === 'number'
      ? constant(count - 1, 'int64')
      : map('maximum', [map('subtract', [count, 1]), 0]);
  return probabilities.map((q) => {
    // Elements of no weight before all others are none of the probability 0.
    const isBefore = map('logicalOr', [map('less', [shares, q]), map('equal', [shares, 0])]);
    const before = map('minimum', [reduce('sum', cast(isBefore, 'int64'), [last]), end]);
    const value = elementOfRows(ordered, before);
    return placed(
      hasNaN === undefined ? value : map('where', [hasNaN, constant(Number.NaN, x.dtype), value]),
    );
  });
}
