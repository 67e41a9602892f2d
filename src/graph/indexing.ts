/**
 * Reading by arrays of indices: `take`, `takeAlongAxis`. Every export is also a method of Lazy and a free function
 * (`fluent.ts`).
 */
import { checkOptions } from './arguments.js';
import type { Expr } from './expr.js';
import { READ_OPTIONS, type ReadOptions, readingOf } from './filling.js';
import type { IndexList } from './index-lists.js';
import { taken, takenAlong } from './taking.js';

/** Options of `take` and `takeAlongAxis`. */
export type TakeOptions = ReadOptions;

/**
 * The elements at some indices of an axis, as NumPy's `take`: the axis becomes the axes of the indices,
 * integers of any dtype or lists. Without an axis, or with null, the array is taken as one line.
 * `table.take(ids, 0)` gives rows. Throws a DTypeError for indices that are no integers, a ShapeError for
 * indices into an axis without elements; an index out of range is a RangeArgumentError: of a list at once, of
 * an array, or of an axis whose size depends on data, when it is computed, before anything else runs. `{ mode: 'fill',
 * fillValue }` gives a value for these; throws a DTypeError for one that the dtype does not hold.
 *
 * @example
 * const x = lazy([[1, 2, 3], [4, 5, 6]])
 * await x.take([2, 0], 1).compute()
 * //=> [[3. 1.]
 * //=>  [6. 4.]]
 * await x.take([-1]).compute()
 * //=> [6.]
 * await x.take([0, 9], null, { mode: 'fill' }).compute()
 * //=> [ 1. nan]
 */
export function take(
  x: Expr,
  indices: Expr | number | IndexList,
  axis?: number | null,
  options?: TakeOptions,
): Expr {
  checkOptions('take', options, READ_OPTIONS);
  return taken('take', x, indices, axis, readingOf('take', options, x.dtype));
}

/**
 * One element for each index, along an axis (the last one by default): element (…, i, …) is `x[…, indices[…, i,
 * …], …]`, as NumPy's `take_along_axis`. Both have as many axes, whose other sizes agree or are 1:
 * `x.takeAlongAxis(x.argsort(1), 1)` is `x.sort(1)`. Options and errors are those of `take`, with a ShapeError for
 * shapes that do not meet.
 *
 * @example
 * const x = lazy([[3, 1, 2], [9, 7, 8]])
 * await x.takeAlongAxis(x.argsort(1), 1).compute()
 * //=> [[1. 2. 3.]
 * //=>  [7. 8. 9.]]
 */
export function takeAlongAxis(
  x: Expr,
  indices: Expr | number | IndexList,
  axis?: number,
  options?: TakeOptions,
): Expr {
  checkOptions('takeAlongAxis', options, READ_OPTIONS);
  return takenAlong('takeAlongAxis', x, indices, axis, readingOf('takeAlongAxis', options, x.dtype));
}
