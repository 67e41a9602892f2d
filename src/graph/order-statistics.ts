/**
 * Order statistics: median, quantiles and percentiles, of sorted rows. Every export is also a method of Lazy
 * and a free function (`fluent.ts`).
 *
 * The methods are those of Hyndman and Fan ("Sample Quantiles in Statistical Packages", 1996) and the four
 * others of NumPy: each says between which two elements of a sorted row the value lies, and how far from the
 * first.
 */
import { ArgumentError, DTypeError, expected, RangeArgumentError } from '../host/errors.js';
import { type AxisOr, finiteNumber, oneOf, type ReduceOptions, reduceArguments } from './arguments.js';
import { slice } from './basic-slicing.js';
import { isComplex, isFloat } from './dtype.js';
import type { Expr } from './expr.js';
import { formatShape, formatValue } from './format.js';
import { takeAlongAxis } from './indexing.js';
import { cast, constant, map, type Operand, reduce, toExpr } from './infer.js';
import { stack } from './joins.js';
import { alongAxes, keepAxes, meanDType, throughFloat32 } from './reducing.js';
import { cumulativeSum } from './scans.js';
import { elementsAt } from './selection.js';
import { ascendingAxes } from './shape.js';
import { argsort } from './sorting.js';
import { broadcast } from './view-nodes.js';
import { moveaxis, reshape } from './views.js';

/** How a quantile is taken from the elements around it; see NumPy's `quantile`. */
export type QuantileMethod =
  | 'inverted_cdf'
  | 'averaged_inverted_cdf'
  | 'closest_observation'
  | 'interpolated_inverted_cdf'
  | 'hazen'
  | 'weibull'
  | 'linear'
  | 'median_unbiased'
  | 'normal_unbiased'
  | 'lower'
  | 'higher'
  | 'midpoint'
  | 'nearest';

/** Options of `quantile` and `percentile`. */
export interface QuantileOptions extends ReduceOptions {
  /** `'linear'` where none is given. */
  readonly method?: QuantileMethod | undefined;
  /**
   * How often each element counts, of the array's shape or of the axes'; with `method: 'inverted_cdf'` alone.
   */
  readonly weights?: Operand | undefined;
}

/** Where a quantile of a sorted row lies: `fraction` of the way from one element to the next. */
interface Position {
  readonly index: number;
  readonly fraction: number;
}

/** An index from 0, by `n` elements and a probability q; with a fraction where it lies between two. */
type VirtualIndex = (n: number, q: number) => number;

const continuous =
  (alpha: number, beta: number): VirtualIndex =>
  (n, q) =>
    n * q + (alpha + q * (1 - alpha - beta)) - 1;

const evenRound = (x: number): number => {
  const below = Math.floor(x);
  if (x - below !== 0.5) return Math.round(x);
  return below % 2 === 0 ? below : below + 1;
};

/** The index below where `isBelow` says so, else the one above. */
const discrete = (at: number, isBelow: (fraction: number, below: number) => boolean): number => {
  const below = Math.floor(at);
  return isBelow(at - below, below) ? below : below + 1;
};

const METHODS: Readonly<Record<QuantileMethod, VirtualIndex>> = {
  inverted_cdf: (n, q) => discrete(n * q - 1, (fraction) => fraction === 0),
  averaged_inverted_cdf: (n, q) => {
    const at = n * q - 1;
    return Math.floor(at) + (at % 1 === 0 ? 0.5 : 1);
  },
  closest_observation: (n, q) =>
    discrete(n * q - 1.5, (fraction, below) => fraction === 0 && Math.abs(below % 2) === 1),
  interpolated_inverted_cdf: continuous(0, 1),
  hazen: continuous(0.5, 0.5),
  weibull: continuous(0, 0),
  linear: (n, q) => (n - 1) * q,
  median_unbiased: continuous(1 / 3, 1 / 3),
  normal_unbiased: continuous(3 / 8, 3 / 8),
  lower: (n, q) => Math.floor((n - 1) * q),
  higher: (n, q) => Math.ceil((n - 1) * q),
  midpoint: (n, q) => (Math.floor((n - 1) * q) + Math.ceil((n - 1) * q)) / 2,
  nearest: (n, q) => evenRound((n - 1) * q),
};
/** Those whose values are elements. */
const SELECTING: ReadonlySet<QuantileMethod> = new Set<QuantileMethod>([
  'inverted_cdf',
  'closest_observation',
  'lower',
  'higher',
  'nearest',
]);

function positionOf(method: QuantileMethod, n: number, q: number): Position {
  const at = Math.min(Math.max(METHODS[method](n, q), 0), n - 1);
  return { index: Math.floor(at), fraction: at - Math.floor(at) };
}

/**
 * The median of the elements along axes (all by default): the one in the middle of them, or the mean of the
 * two; NaN where one of them is NaN. Integers and booleans give float64. `x.median(0, { keepdims: true })`.
 * Throws an ArgumentError for no elements, a DTypeError for complex numbers.
 */
export function median(x: Expr, axis?: AxisOr<ReduceOptions>, options?: ReduceOptions): Expr {
  const given = reduceArguments<ReduceOptions>('median', axis, options, []);
  return quantiles('median', x, [0.5], 'linear', given)[0]!;
}

/**
 * The quantiles of the elements along axes (all by default) at the probabilities q, from 0 to 1: a number, or
 * a list of them, whose values are along a new first axis. NaN where one of the elements is NaN. `method` is
 * one of NumPy's 13; by default `'linear'`. With `weights` and `method: 'inverted_cdf'` an element counts as
 * often as its weight says. Methods that interpolate give float64 of integers. `x.quantile([0.1, 0.9], 0)`.
 * Throws a RangeArgumentError for other probabilities, an ArgumentError for no elements, a DTypeError for
 * complex numbers.
 */
export function quantile(
  x: Expr,
  q: number | readonly number[],
  axis?: AxisOr<QuantileOptions>,
  options?: QuantileOptions,
): Expr {
  return atProbabilities('quantile', 1, x, q, axis, options);
}

/** The quantiles at percentages, from 0 to 100: `x.percentile(99)` is `x.quantile(0.99)`. */
export function percentile(
  x: Expr,
  q: number | readonly number[],
  axis?: AxisOr<QuantileOptions>,
  options?: QuantileOptions,
): Expr {
  return atProbabilities('percentile', 100, x, q, axis, options);
}

function atProbabilities(
  op: string,
  whole: number,
  x: Expr,
  q: number | readonly number[],
  axis?: AxisOr<QuantileOptions>,
  options?: QuantileOptions,
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
      : weighted(op, x, probabilities, method, given);
  return Array.isArray(q) ? stack(found) : found[0]!;
}

function quantiles(
  op: string,
  x: Expr,
  probabilities: readonly number[],
  method: QuantileMethod,
  { axis, keepdims = false }: ReduceOptions,
): Expr[] {
  const { rows, reduced, axes } = rowsOf(op, x, axis);
  const count = rows.shape.at(-1)!;
  const result = SELECTING.has(method) ? x.dtype : meanDType(x.dtype);
  const positions = probabilities.map((q) => positionOf(method, count, q));
  const needed = positions.flatMap(({ index, fraction }) => (fraction === 0 ? [index] : [index, index + 1]));
  // NaN is last.
  if (isFloat(x.dtype)) needed.push(count - 1);
  const indices = [...new Set(needed)].sort((a, b) => a - b);
  const found = elementsAt(rows, indices);
  const at = (index: number): Expr => slice(found, '...', indices.indexOf(index));
  const hasNaN = isFloat(x.dtype) ? map('isnan', [at(count - 1)]) : undefined;
  return positions.map((position) => {
    const value = cast(between(at, position, result), result);
    const whole = hasNaN === undefined ? value : map('where', [hasNaN, constant(Number.NaN, result), value]);
    const shaped = reshape(whole, reduced);
    return keepdims ? keepAxes(shaped, x, axes) : shaped;
  });
}

/** The elements along axes as rows, and the shape without them. Refuses complex numbers, and no elements. */
function rowsOf(
  op: string,
  x: Expr,
  axis: ReduceOptions['axis'],
): { readonly rows: Expr; readonly reduced: readonly number[]; readonly axes: readonly number[] } {
  const axes = ascendingAxes(op, axis, x.shape.length);
  const { shape: reduced } = reduce('max', x, axes, op);
  const count = axes.reduce((product, k) => product * x.shape[k]!, 1);
  if (count === 0)
    throw new ArgumentError(expected(op, 'elements along the axes', `the shape ${formatShape(x.shape)}`));
  return { rows: inRows(x, axes), reduced, axes };
}

function inRows(x: Expr, axes: readonly number[]): Expr {
  const kept = x.shape.filter((_, k) => !axes.includes(k));
  const count = axes.reduce((product, k) => product * x.shape[k]!, 1);
  const last = axes.map((_, k) => x.shape.length - axes.length + k);
  return reshape(moveaxis(x, axes, last), [...kept, count]);
}

/** The first elements up to which the weights, in the elements' order, have the wanted part of their sum. */
function weighted(
  op: string,
  x: Expr,
  probabilities: readonly number[],
  method: QuantileMethod,
  { axis, keepdims = false, weights }: QuantileOptions,
): Expr[] {
  if (method !== 'inverted_cdf')
    throw new ArgumentError(expected(op, "method: 'inverted_cdf' beside weights", `'${method}'`));
  const { rows, reduced, axes } = rowsOf(op, x, axis);
  const given = toExpr(op, weights!);
  if (isComplex(given.dtype)) throw new DTypeError(expected(op, 'real weights', given.dtype));
  const along = broadcast(alongAxes(op, 'weights', given, x, axes), x.shape);
  const order = argsort(rows);
  const ordered = takeAlongAxis(rows, order, -1, { mode: 'clip' });
  const parts = takeAlongAxis(cast(inRows(along, axes), 'float64'), order, -1, { mode: 'clip' });
  const sums = cumulativeSum(parts, -1);
  const shares = map('divide', [sums, slice(sums, '...', [-1, null])]);
  const last = rows.shape.length - 1;
  const count = rows.shape[last]!;
  const hasNaN = isFloat(x.dtype) ? map('isnan', [slice(ordered, '...', -1)]) : undefined;
  return probabilities.map((q) => {
    // Elements of no weight before all others are none of the probability 0.
    const isBefore = map('logicalOr', [map('less', [shares, q]), map('equal', [shares, 0])]);
    const before = map('minimum', [
      reduce('sum', cast(isBefore, 'int64'), [last]),
      constant(count - 1, 'int64'),
    ]);
    const index = reshape(before, [...before.shape, 1]);
    const value = reshape(takeAlongAxis(ordered, index, -1, { mode: 'clip' }), before.shape);
    const whole = hasNaN === undefined ? value : map('where', [hasNaN, constant(Number.NaN, x.dtype), value]);
    const shaped = reshape(whole, reduced);
    return keepdims ? keepAxes(shaped, x, axes) : shaped;
  });
}

/** The value at a position of sorted rows: linear between two elements, from the nearer of them. */
function between(at: (index: number) => Expr, { index, fraction }: Position, dtype: Expr['dtype']): Expr {
  const low = cast(at(index), dtype);
  if (fraction === 0) return low;
  return throughFloat32(
    low,
    (a) => {
      const b = cast(at(index + 1), a.dtype);
      const step = map('subtract', [b, a]);
      const value =
        fraction < 0.5
          ? map('add', [a, map('multiply', [step, fraction])])
          : map('subtract', [b, map('multiply', [step, 1 - fraction])]);
      // Of two infinities the difference is NaN.
      return map('where', [map('equal', [a, b]), a, value]);
    },
    dtype,
  );
}
