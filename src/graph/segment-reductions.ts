/**
 * Reductions by segment: rows with equal numbers are reduced together, in whatever order they stand. Every export
 * is also a method of Lazy and a free function (`fluent.ts`); `api/groups.ts` has them as methods of groups.
 */
import { DTypeError, expected, ShapeError } from '../host/errors.js';
import { checkOptions } from './arguments.js';
import { binMode, binsBy, checkCount, keysOf, type OutOfRange } from './bin-arguments.js';
import { productsIn } from './bin-products.js';
import { type Binning, countsIn, extremesIn, sumsIn } from './binning.js';
import { isComplex } from './dtype.js';
import type { Expr } from './expr.js';
import { meetingExtent, upToBound } from './extent.js';
import { formatShape } from './format.js';
import { sizeOfShape } from './graph.js';
import { cast, map, type Operand, toExpr } from './infer.js';
import { meanDType, throughFloat32 } from './reducing.js';
import { reductionRow } from './reductions.js';
import { reshape } from './view-nodes.js';
import { flatten } from './views.js';

/** Options of the reductions by segment. */
export interface SegmentOptions {
  /** Of numbers out of range; `'raise'` by default. From -segments on, negative ones count from the end. */
  readonly mode?: OutOfRange | undefined;
}

/**
 * The sums of the rows (along the first axis) of each of `segments` segments: row i belongs to segment `ids[i]`;
 * ids need not be sorted, and a segment without rows has 0. Shape (segments, …), the dtype that `sum` gives.
 * `np.add.at(np.zeros(…), ids, x)`, but that floats are rounded once and depend on no order. Throws a
 * RangeArgumentError for ids out of range, before anything else is computed, unless `mode` says what they are; a
 * DTypeError for ids that are no integers, a ShapeError for other than one id for each row.
 *
 * @example
 * const ids = lazy([0, 2, 0], { dtype: 'int32' })
 * await lazy([[1, 2], [3, 4], [5, 6]]).segmentSum(ids, 3).compute()
 * //=> [[6. 8.]
 * //=>  [0. 0.]
 * //=>  [3. 4.]]
 */
export function segmentSum(x: Expr, ids: Operand, segments: number, options?: SegmentOptions): Expr {
  const { bins, rows, result } = segmentsOf('segmentSum', x, ids, segments, options);
  const signature = reductionRow('sum').dtype(x.dtype)!;
  return result(sumsIn(bins, cast(rows, signature.result), result.width, 'positive'));
}

/**
 * The products of the rows (along the first axis) of each of `segments` segments, 1 of one without rows. Shape
 * (segments, …), the dtype that `prod` gives. `np.multiply.at(np.ones(…), ids, x)`, but that the rows of a segment are
 * multiplied in an order that their number decides (`docs/design/calls.md`), float32 in float64, rounded once; integers
 * wrap. Ids, options and errors are those of `segmentSum`.
 *
 * @example
 * await lazy([1, 2, 3, 4]).segmentProd(new Int32Array([0, 1, 0, 1]), 2).compute()
 * //=> [3. 8.]
 */
export function segmentProd(x: Expr, ids: Operand, segments: number, options?: SegmentOptions): Expr {
  const { bins, rows, result } = segmentsOf('segmentProd', x, ids, segments, options);
  const signature = reductionRow('prod').dtype(x.dtype)!;
  return result(productsIn(bins, cast(rows, signature.result), result.width));
}

/**
 * The means of the rows (along the first axis) of each of `segments` segments, NaN of one without rows. Shape
 * (segments, …), the dtype that `mean` gives. Ids, options and errors are those of `segmentSum`.
 *
 * @example
 * await lazy([1, 2, 3, 4]).segmentMean(new Int32Array([0, 1, 0, 1]), 2).compute()
 * //=> [2. 3.]
 */
export function segmentMean(x: Expr, ids: Operand, segments: number, options?: SegmentOptions): Expr {
  const { bins, rows, result } = segmentsOf('segmentMean', x, ids, segments, options);
  const { width } = result;
  return result(
    throughFloat32(cast(rows, meanDType(x.dtype)), (values) => {
      const sums = reshape(sumsIn(bins, values, width), [bins.count, width]);
      return flatten(map('divide', [sums, cast(reshape(countsIn(bins), [bins.count, 1]), values.dtype)]));
    }),
  );
}

/**
 * The least of the rows (along the first axis) of each of `segments` segments, NaN where one is; infinity, or the
 * dtype's largest integer, for one without rows. Shape (segments, …), the dtype of x. Ids, options and errors are
 * those of `segmentSum`, with a DTypeError for complex numbers.
 *
 * @example
 * await lazy([1, 2, 3, 4]).segmentMin(new Int32Array([0, 1, 0, 1]), 2).compute()
 * //=> [1. 2.]
 */
export function segmentMin(x: Expr, ids: Operand, segments: number, options?: SegmentOptions): Expr {
  return extremes('segmentMin', 'min', x, ids, segments, options);
}

/**
 * The largest of the rows (along the first axis) of each of `segments` segments, NaN where one is; -infinity, or
 * the dtype's least integer, for one without rows. Shape (segments, …), the dtype of x. Ids, options and errors
 * are those of `segmentSum`, with a DTypeError for complex numbers.
 *
 * @example
 * await lazy([1, 2, 3, 4]).segmentMax(new Int32Array([0, 1, 0, 1]), 2).compute()
 * //=> [3. 4.]
 */
export function segmentMax(x: Expr, ids: Operand, segments: number, options?: SegmentOptions): Expr {
  return extremes('segmentMax', 'max', x, ids, segments, options);
}

function extremes(
  op: string,
  kind: 'min' | 'max',
  x: Expr,
  ids: Operand,
  segments: number,
  options: SegmentOptions | undefined,
): Expr {
  if (isComplex(x.dtype)) throw new DTypeError(expected(op, 'real numbers or booleans', x.dtype));
  const { bins, rows, result } = segmentsOf(op, x, ids, segments, options);
  return result(extremesIn(bins, kind, rows, result.width));
}

/** Gives results of one line the shape (segments, …). */
interface Result {
  (line: Expr): Expr;
  /** Elements of a row. */
  readonly width: number;
}

function segmentsOf(
  op: string,
  x: Expr,
  ids: Operand,
  segments: number,
  options: SegmentOptions | undefined,
): { readonly bins: Binning; readonly rows: Expr; readonly result: Result } {
  checkOptions(op, options, ['mode']);
  const keys = keysOf(op, toExpr(op, ids));
  const count = checkCount(op, 'number of segments', segments);
  if (x.shape.length === 0) throw new ShapeError(expected(op, 'an array with an axis', 'a scalar'));
  if (keys.shape.length !== 1 || keys.shape[0] !== x.shape[0]) {
    const wanted = `an id for each of the ${x.shape[0]} rows`;
    throw new ShapeError(expected(op, wanted, `ids of shape ${formatShape(keys.shape)}`));
  }
  const rest = x.shape.slice(1);
  const extent = meetingExtent(op, [x, reshape(keys, [x.shape[0]!, ...rest.map(() => 1)])], x.shape);
  const shaped = (line: Expr): Expr => {
    const segmented = reshape(line, [count, ...rest]);
    return (extent?.axis ?? 0) === 0 ? segmented : { ...segmented, extent };
  };
  const result = Object.assign(shaped, { width: sizeOfShape(rest) });
  const bins = binsBy(op, count, keys, binMode(op, options?.mode, 'raiseFromEnd'));
  return { bins, rows: flatten(upToBound(x)), result };
}
