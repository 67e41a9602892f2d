/**
 * Reductions that leave NaNs out: nanSum, nanMean, nanMax … Every export is also a method of Lazy and a free
 * function (`lazy.ts`). Integers and booleans have no NaNs: there each is the reduction that it is named after.
 *
 *     nanMean(x)   →   sum(where(isnan(x), 0, x)) / sum(not isnan(x)), both in one kernel
 */
import { ArgumentError, DTypeError, expected } from '../host/errors.js';
import {
  type AxisOr,
  finiteNumber,
  type ReduceOptions,
  reduceArguments,
  type SumOptions,
  type VarianceOptions,
} from './arguments.js';
import { isComplex, isFloat, isInteger } from './dtype.js';
import type { Expr } from './expr.js';
import { formatValue } from './format.js';
import { cast, checkDType, constant, map } from './infer.js';
import { meanDType, reduceAlong, squaredModulus, throughFloat32 } from './reducing.js';
import type { ReductionName } from './reductions.js';
import { ascendingAxes } from './shape.js';
import { mean, std, variance } from './statistics.js';

const hasNaN = (x: Expr): boolean => isFloat(x.dtype) || isComplex(x.dtype);

/** NaNs replaced by a value of the same dtype. */
const filled = (x: Expr, value: number): Expr =>
  map('where', [map('isnan', [x]), constant(value, x.dtype), x]);

/**
 * Sum of the elements that are not NaN; 0 of none.
 *
 * @example
 * await lazy([[1, NaN], [3, 4]]).nanSum(1).compute()
 * //=> [1. 7.]
 */
export function nanSum(x: Expr, axis?: AxisOr<SumOptions>, options?: SumOptions): Expr {
  return withoutNaN('nanSum', 'sum', x, 0, axis, options);
}

/**
 * Product of the elements that are not NaN; 1 of none.
 *
 * @example
 * await lazy([2, NaN, 3]).nanProd().compute()
 * //=> 6.0
 */
export function nanProd(x: Expr, axis?: AxisOr<SumOptions>, options?: SumOptions): Expr {
  return withoutNaN('nanProd', 'prod', x, 1, axis, options);
}

function withoutNaN(
  op: string,
  reduction: 'sum' | 'prod',
  x: Expr,
  neutral: number,
  axis?: AxisOr<SumOptions>,
  options?: SumOptions,
): Expr {
  const given = reduceArguments<SumOptions>(op, axis, options, ['dtype']);
  const axes = ascendingAxes(op, given.axis, x.shape.length);
  const values = hasNaN(x) ? filled(x, neutral) : x;
  if (given.dtype === undefined) return reduceAlong(op, reduction, values, axes, given.keepdims);
  const dtype = checkDType(op, given.dtype);
  return cast(reduceAlong(op, reduction, cast(values, dtype), axes, given.keepdims), dtype);
}

/**
 * Smallest element that is not NaN; NaN where all are. Real numbers only.
 *
 * @example
 * await lazy([NaN, 2, 3]).nanMin().compute()
 * //=> 2.0
 */
export function nanMin(x: Expr, axis?: AxisOr<ReduceOptions>, options?: ReduceOptions): Expr {
  return extreme('nanMin', 'min', x, axis, options);
}

/**
 * Largest element that is not NaN; NaN where all are. Real numbers only.
 *
 * @example
 * await lazy([1, NaN, 3]).nanMax().compute()
 * //=> 3.0
 */
export function nanMax(x: Expr, axis?: AxisOr<ReduceOptions>, options?: ReduceOptions): Expr {
  return extreme('nanMax', 'max', x, axis, options);
}

/** The last value of an order, which NaNs are filled with. */
const LAST = { min: Infinity, max: -Infinity };

/** Reductions of arrays of the shape of x by the arguments of one call. */
function reducer(
  op: string,
  x: Expr,
  { axis, keepdims }: ReduceOptions,
): (reduction: ReductionName, values: Expr) => Expr {
  const axes = ascendingAxes(op, axis, x.shape.length);
  return (reduction, values) => reduceAlong(op, reduction, values, axes, keepdims);
}

function extreme(
  op: string,
  reduction: 'min' | 'max',
  x: Expr,
  axis?: AxisOr<ReduceOptions>,
  options?: ReduceOptions,
): Expr {
  const over = reducer(op, x, reduceArguments<ReduceOptions>(op, axis, options, []));
  if (!isFloat(x.dtype)) return over(reduction, x);
  const found = over(reduction, filled(x, LAST[reduction]));
  return map('where', [over('all', map('isnan', [x])), constant(Number.NaN, x.dtype), found]);
}

/**
 * Index of the first smallest element that is not NaN; 0 where all are, where NumPy raises an error. One axis
 * or none.
 *
 * @example
 * await lazy([NaN, 2, 3]).nanArgmin().compute()
 * //=> 1
 */
export function nanArgmin(x: Expr, axis?: AxisOr<ReduceOptions>, options?: ReduceOptions): Expr {
  return position('nanArgmin', 'min', x, axis, options);
}

/**
 * Index of the first largest element that is not NaN; 0 where all are, where NumPy raises an error. One axis or
 * none.
 *
 * @example
 * await lazy([1, NaN, 3]).nanArgmax().compute()
 * //=> 2
 */
export function nanArgmax(x: Expr, axis?: AxisOr<ReduceOptions>, options?: ReduceOptions): Expr {
  return position('nanArgmax', 'max', x, axis, options);
}

function position(
  op: string,
  reduction: 'min' | 'max',
  x: Expr,
  axis?: AxisOr<ReduceOptions>,
  options?: ReduceOptions,
): Expr {
  const given = reduceArguments<ReduceOptions>(op, axis, options, []);
  if (typeof given.axis === 'object' && given.axis !== null)
    throw new ArgumentError(expected(op, 'one axis or none', formatValue(given.axis)));
  const over = reducer(op, x, given);
  const place = reduction === 'min' ? 'argmin' : 'argmax';
  if (!isFloat(x.dtype)) return over(place, x);
  const last = LAST[reduction];
  const values = filled(x, last);
  // NaNs are filled with the last value of the order: where it is the result, the first element that is a
  // number has it.
  const number = over('argmax', map('logicalNot', [map('isnan', [x])]));
  const isLast = map('equal', [over(reduction, values), last]);
  return map('where', [isLast, number, over(place, values)]);
}

/** The number of elements that are not NaN, in float64 or float32. */
function countOf(op: string, x: Expr, axes: readonly number[], keepdims: boolean | undefined): Expr {
  const isNumber = map('logicalNot', [map('isnan', [x])]);
  const real = x.dtype === 'float32' || x.dtype === 'complex64' ? 'float32' : 'float64';
  return cast(reduceAlong(op, 'sum', isNumber, axes, keepdims), real);
}

/**
 * Arithmetic mean of the elements that are not NaN; NaN of none. Integers and booleans are averaged in float64,
 * floats in their dtype (halves in float32), or in `dtype`.
 *
 * @example
 * await lazy([[1, NaN], [3, 4]]).nanMean(0).compute()
 * //=> [2. 4.]
 */
export function nanMean(x: Expr, axis?: AxisOr<SumOptions>, options?: SumOptions): Expr {
  const given = reduceArguments<SumOptions>('nanMean', axis, options, ['dtype']);
  const axes = ascendingAxes('nanMean', given.axis, x.shape.length);
  const dtype = given.dtype === undefined ? meanDType(x.dtype) : checkDType('nanMean', given.dtype);
  if (isInteger(dtype) || dtype === 'bool')
    throw new DTypeError(expected('nanMean', 'a float or complex dtype', dtype));
  if (!hasNaN(x)) return mean(x, given);
  return throughFloat32(cast(x, dtype), (values) => meanOf('nanMean', values, axes, given.keepdims));
}

function meanOf(op: string, x: Expr, axes: readonly number[], keepdims: boolean | undefined): Expr {
  return map('divide', [
    reduceAlong(op, 'sum', filled(x, 0), axes, keepdims),
    countOf(op, x, axes, keepdims),
  ]);
}

/**
 * Variance of the elements that are not NaN: the sum of |x - mean|² over n - correction (0 by default), n being
 * their number; NaN where n is not above the correction. Integers in float64, complex numbers give a float.
 *
 * @example
 * await lazy([1, NaN, 3]).nanVar({ correction: 1 }).compute()
 * //=> 2.0
 */
export function nanVar(x: Expr, axis?: AxisOr<VarianceOptions>, options?: VarianceOptions): Expr {
  const given = reduceArguments<VarianceOptions>('nanVar', axis, options, ['correction']);
  checkVariance('nanVar', x, given);
  if (!hasNaN(x)) return variance(x, given);
  return throughFloat32(x, (values) => varianceOf('nanVar', values, given));
}

/**
 * Standard deviation of the elements that are not NaN: the square root of `nanVar`, with the same options.
 *
 * @example
 * await lazy([1, NaN, 3]).nanStd().compute()
 * //=> 1.0
 */
export function nanStd(x: Expr, axis?: AxisOr<VarianceOptions>, options?: VarianceOptions): Expr {
  const given = reduceArguments<VarianceOptions>('nanStd', axis, options, ['correction']);
  checkVariance('nanStd', x, given);
  if (!hasNaN(x)) return std(x, given);
  return throughFloat32(x, (values) => map('sqrt', [varianceOf('nanStd', values, given)]));
}

/** Refuses wrong arguments by the name of the function that was called. */
function checkVariance(op: string, x: Expr, { axis, correction }: VarianceOptions): void {
  ascendingAxes(op, axis, x.shape.length);
  finiteNumber(op, 'correction', correction ?? 0);
}

function varianceOf(op: string, x: Expr, given: VarianceOptions): Expr {
  const axes = ascendingAxes(op, given.axis, x.shape.length);
  const deviation = map('subtract', [filled(x, 0), meanOf(op, x, axes, true)]);
  const kept = map('where', [map('isnan', [x]), constant(0, x.dtype), deviation]);
  const total = reduceAlong(op, 'sum', squaredModulus(kept), axes, given.keepdims);
  const divisor = map('subtract', [countOf(op, x, axes, given.keepdims), given.correction ?? 0]);
  const nan = constant(Number.NaN, total.dtype);
  return map('where', [map('greater', [divisor, 0]), map('divide', [total, divisor]), nan]);
}
