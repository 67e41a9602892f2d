/**
 * Counting by value: `bincount`. Every export is also a method of Lazy and a free function (`fluent.ts`); histograms,
 * which have several results, are in `api/histograms.ts`.
 */
import { DTypeError, expected, ShapeError } from '../host/errors.js';
import { checkOptions } from './arguments.js';
import { binMode, binsBy, checkCount, keysOf, type OutOfRange } from './bin-arguments.js';
import { countsIn, sumsIn } from './binning.js';
import { isComplex } from './dtype.js';
import type { Expr } from './expr.js';
import { meetingExtent, upToBound } from './extent.js';
import { formatShape } from './format.js';
import { cast, type Operand, toExpr } from './infer.js';
import { sameShape } from './shape.js';

/** Options of `bincount`. */
export interface BincountOptions {
  /** `'raise'` by default. */
  readonly mode?: OutOfRange | undefined;
}

/**
 * How often each of the integers 0 … length - 1 occurs in an array of one axis, as int64, or the float64 sums of
 * the weights, one for each element, as NumPy's `bincount`: `x.bincount(256)`. NumPy makes as many bins as the
 * largest element asks for; here `length` says how many there are, since sizes are known before anything is
 * computed. Sums are rounded once and depend on no order. Throws a RangeArgumentError for elements that are not
 * within 0 … length - 1, negative ones among them, before anything else is computed, unless `mode` says what they
 * count for; a DTypeError for elements that are no integers and for complex weights, a ShapeError for other than
 * one axis and for weights of another shape.
 *
 * @example
 * await lazy([0, 2, 2, 1], { dtype: 'int32' }).bincount(4).compute()
 * //=> [1 1 2 0]
 */
export function bincount(x: Expr, length: number, weights?: Operand | null, options?: BincountOptions): Expr {
  const op = 'bincount';
  checkOptions(op, options, ['mode']);
  const count = checkCount(op, 'length', length);
  const keys = keysOf(op, x);
  if (keys.shape.length !== 1)
    throw new ShapeError(expected(op, 'an array of one axis', formatShape(keys.shape)));
  const bins = binsBy(op, count, keys, binMode(op, options?.mode, 'raise'));
  if (weights === undefined || weights === null) return countsIn(bins);
  const given = toExpr(op, weights);
  if (isComplex(given.dtype)) throw new DTypeError(expected(op, 'real weights', given.dtype));
  if (!sameShape(given.shape, keys.shape)) {
    const wanted = `weights of shape ${formatShape(keys.shape)}`;
    throw new ShapeError(expected(op, wanted, formatShape(given.shape)));
  }
  meetingExtent(op, [keys, given], keys.shape);
  return sumsIn(bins, cast(upToBound(given), 'float64'), 1, 'positive');
}
