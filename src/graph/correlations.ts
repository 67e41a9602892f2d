/**
 * Weighted means, covariances and correlations. Every export is also a method of Lazy and a free function
 * (`fluent.ts`). Halves are computed in float32 and rounded once, integers in float64.
 */
import { DTypeError, expected, ShapeError } from '../host/errors.js';
import {
  type AxisOr,
  checkOptions,
  finiteNumber,
  type ReduceOptions,
  reduceArguments,
  type VarianceOptions,
} from './arguments.js';
import { clip } from './composites.js';
import { diagonal } from './diagonals.js';
import { DTYPE_INFO, isComplex, isInteger } from './dtype.js';
import type { Expr } from './expr.js';
import { meetingExtent, unknownSize } from './extent.js';
import { formatShape } from './format.js';
import { cast, isExpr, map, type Operand, reduce, toExpr } from './infer.js';
import { concat } from './joins.js';
import { matmul } from './products.js';
import { alongAxes, countAlong, meetingMeanDType, reduceAlong, throughFloat32 } from './reducing.js';
import { normalizeAxes, sameShape } from './shape.js';
import { mean } from './statistics.js';
import { expandDims, matrixTranspose, squeeze } from './views.js';

/**
 * The weighted mean Σ w x / Σ w along axes (all by default). Weights have the shape of the array, or the sizes
 * of the axes in their order; none are equal weights, as of `mean`. Where weights sum to 0, the result is NaN or
 * an infinity. Integers in float64. `x.average(weights, 0, { keepdims: true })`. Throws a ShapeError for weights
 * of another shape.
 *
 * @example
 * await lazy([1, 2, 4]).average(lazy([3, 1, 0])).compute()
 * //=> 1.25
 */
export function average(
  x: Expr,
  weights?: Operand | null,
  axis?: AxisOr<ReduceOptions>,
  options?: ReduceOptions,
): Expr {
  const given = reduceArguments<ReduceOptions>('average', axis, options, []);
  if (weights === undefined || weights === null) return mean(x, given);
  const order = normalizeAxes('average', given.axis, x.shape.length);
  const axes = [...order].sort((a, b) => a - b);
  const along = alongAxes('average', 'weights', toExpr('average', weights), x, order);
  const dtype = meetingMeanDType('average', [x, along]);
  return throughFloat32(cast(x, dtype), (values) => {
    const w = cast(along, values.dtype);
    const sums = [map('multiply', [values, w]), w].map((terms) =>
      reduceAlong('average', 'sum', terms, axes, given.keepdims),
    );
    return map('divide', sums);
  });
}

/** Options of `corrcoef`. */
export interface VariableOptions {
  /** Whether variables are rows (the default), or columns, whose observations are rows. */
  readonly rowvar?: boolean | undefined;
}

/** Options of `cov`. */
export interface CovarianceOptions extends VariableOptions, Pick<VarianceOptions, 'correction'> {
  /** How often each observation counts: integers of one axis. */
  readonly fweights?: Operand | undefined;
  /** How much each observation weighs: numbers of one axis. */
  readonly aweights?: Operand | undefined;
}

/**
 * The covariance matrix of variables in rows, whose observations are along the last axis: element (i, j) is the
 * sum of (xᵢ - mean xᵢ) · conj(xⱼ - mean xⱼ) over n - `correction` (1 by default), or NaN or an infinity where
 * that is not above 0. One variable gives its variance as a 0-d array; `other` has further variables with as
 * many observations. `rowvar: false` takes columns as variables; with `fweights` observations count several times,
 * with `aweights` they weigh more or less, as in NumPy. The dtype is that of `mean`. Throws a ShapeError for
 * arrays of more than two axes or of none, and for other counts of observations, a DTypeError for `fweights` that
 * are no integers.
 *
 * @example
 * await lazy([[1, 2, 3], [6, 4, 2]]).cov().compute()
 * //=> [[ 1. -2.]
 * //=>  [-2.  4.]]
 */
export function cov(x: Expr, other?: Operand | null, options?: CovarianceOptions): Expr {
  checkOptions('cov', options, ['correction', 'rowvar', 'fweights', 'aweights']);
  const correction = finiteNumber('cov', 'correction', options?.correction ?? 1);
  return throughFloat32(variablesOf('cov', x, other, options), (rows) => {
    const weights = (['fweights', 'aweights'] as const).map((name) => weightsOf(name, options?.[name], rows));
    return squeezed(covariance(rows, correction, weights[0], weights[1]));
  });
}

/**
 * The correlation coefficients of variables in rows, whose observations are along the last axis: `cov` over the
 * standard deviations of both variables, those of real numbers within -1 and 1; NaN of a variable that does not
 * vary. `other` has further variables with as many observations; `rowvar: false` takes columns as variables. One
 * variable gives a 0-d array. The dtype is that of `mean`. Throws a ShapeError as `cov` does.
 *
 * @example
 * await lazy([[1, 2, 3], [6, 4, 2]]).corrcoef().compute()
 * //=> [[ 1. -1.]
 * //=>  [-1.  1.]]
 */
export function corrcoef(x: Expr, other?: Operand | null, options?: VariableOptions): Expr {
  checkOptions('corrcoef', options, ['rowvar']);
  return throughFloat32(variablesOf('corrcoef', x, other, options), (rows) => {
    const matrix = covariance(rows, 0);
    const variances = diagonal(matrix);
    const spread = map('sqrt', [isComplex(matrix.dtype) ? map('real', [variances]) : variances]);
    const byRow = map('divide', [matrix, expandDims(spread, 1)]);
    const ratio = map('divide', [byRow, expandDims(spread, 0)]);
    return squeezed(isComplex(ratio.dtype) ? ratio : clip(ratio, -1, 1));
  });
}

/** The variables as the rows of one matrix of a float or complex dtype. */
function variablesOf(
  op: string,
  x: Expr,
  other: Operand | null | undefined,
  options: VariableOptions | undefined,
): Expr {
  const given = other === undefined || other === null ? [x] : [x, toExpr(op, other)];
  const dtype = meetingMeanDType(op, given);
  const matrices = given.map((array) => {
    if (array.shape.length !== 1 && array.shape.length !== 2)
      throw new ShapeError(expected(op, 'arrays of one axis or two', formatShape(array.shape)));
    const rows = array.shape.length === 1 ? expandDims(array, 0) : array;
    const isTurned = options?.rowvar === false && array.shape.length === 2;
    return cast(isTurned ? matrixTranspose(rows) : rows, dtype);
  });
  const rows = matrices.length === 1 ? matrices[0]! : concat(matrices, 0, op);
  if (rows.extent?.axis === 0) throw unknownSize(op, rows);
  return rows;
}

/** Weights of the observations, in the dtype of real parts of the variables. */
function weightsOf(name: keyof CovarianceOptions, given: Operand | undefined, rows: Expr): Expr | undefined {
  if (given === undefined) return undefined;
  const weights = toExpr('cov', given);
  if (name === 'fweights' && !isInteger(weights.dtype))
    throw new DTypeError(expected('cov', 'fweights of an integer dtype', weights.dtype));
  if (isComplex(weights.dtype)) throw new DTypeError(expected('cov', `real ${name}`, weights.dtype));
  if (!sameShape(weights.shape, [rows.shape[1]!])) {
    const wanted = `${name} of shape ${formatShape([rows.shape[1]!])}`;
    throw new ShapeError(expected('cov', wanted, formatShape(weights.shape)));
  }
  meetingExtent('cov', [rows, weights], rows.shape);
  return cast(weights, DTYPE_INFO[rows.dtype].component);
}

/** The covariances of rows, as a matrix. Observations count `counts` times, and weigh `weights`. */
function covariance(rows: Expr, correction: number, counts?: Expr, weights?: Expr): Expr {
  const both = counts !== undefined && weights !== undefined ? map('multiply', [counts, weights]) : undefined;
  const factors = both ?? counts ?? weights;
  const deviations = map('subtract', [rows, average(rows, factors, 1, { keepdims: true })]);
  const weighed = factors === undefined ? deviations : map('multiply', [deviations, factors]);
  const turned = matrixTranspose(isComplex(rows.dtype) ? map('conj', [weighed]) : weighed);
  return map('divide', [matmul(deviations, turned), divisorOf(rows, correction, factors, weights)]);
}

/** The divisor of sums of weighed products: n - correction, of as many observations as the weights stand for. */
function divisorOf(
  rows: Expr,
  correction: number,
  factors: Expr | undefined,
  weights: Expr | undefined,
): Operand {
  if (factors === undefined) {
    const count = countAlong(rows, [1]);
    return isExpr(count)
      ? atLeast0(map('subtract', [count, correction]))
      : Math.max(Number(count) - correction, 0);
  }
  const total = reduce('sum', factors, [0]);
  if (correction === 0) return total;
  if (weights === undefined) return atLeast0(map('subtract', [total, correction]));
  const share = map('divide', [reduce('sum', map('multiply', [factors, weights]), [0]), total]);
  return atLeast0(map('subtract', [total, map('multiply', [share, correction])]));
}

const atLeast0 = (divisor: Expr): Expr => map('maximum', [divisor, 0]);

const squeezed = (matrix: Expr): Expr => (matrix.shape[0] === 1 ? squeeze(matrix) : matrix);
