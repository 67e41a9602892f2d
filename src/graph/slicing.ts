/**
 * Slicing and indexing, as NumPy's `x[1:10:2, ..., -1, newaxis]` and `x[rows, :, columns]`: the method and free
 * function `slice` (every export is one).
 */
import type { Expr } from './expr.js';
import { selected } from './selecting.js';
import type { Selector, SliceOptions } from './selectors.js';

/**
 * Part of an array: one selector for each axis, from the first; axes without one are taken whole.
 * `x.slice([1, 10, 2], -1)`, `x.slice('1:10:2, -1')`. An index out of range is a ShapeError, ranges are clipped (so
 * that Infinity is the end). Arrays of integers select by index, as NumPy's do: those of several axes broadcast
 * against each other, and their axes stand in the place of the axes that they select from, or first where these are
 * not side by side: `x.slice(Int32Array.of(0, 4), [1, 3])`, `x.slice(rows, columns, { mode: 'clip' })`. Their indices
 * are checked as those of `take`. An array of booleans selects where it is true, in the place of the axes that it has
 * the sizes of; how many there are depends on data: `x.slice(x.greater(0))`. Of an axis of such a size numbers and ranges
 * count from the end that it has when it is computed, when a number out of range is a RangeArgumentError. Throws a
 * ShapeError for index arrays that do not broadcast and for masks of other sizes, a DTypeError for arrays of floats.
 *
 * @example
 * const x = arange(12).reshape([3, 4])
 * await x.slice(0).compute()
 * //=> [0. 1. 2. 3.]
 * await x.slice([1, 3], [null, null, 2]).compute()
 * //=> [[ 4.  6.]
 * //=>  [ 8. 10.]]
 * await x.slice('::-1, 1').compute()
 * //=> [9. 5. 1.]
 * await x.slice(x.greater(8)).compute()
 * //=> [ 9. 10. 11.]
 */
export function slice(x: Expr, ...selectors: (Selector | SliceOptions)[]): Expr {
  return selected('slice', x, selectors);
}
