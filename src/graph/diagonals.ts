/** Diagonals of matrices. Every export is also a method of Lazy and a free function (`fluent.ts`). */
import { expected, ShapeError } from '../host/errors.js';
import { checkOptions } from './arguments.js';
import { slice } from './basic-slicing.js';
import type { DType } from './dtype.js';
import type { Expr } from './expr.js';
import { formatShape } from './format.js';
import { constant, map } from './infer.js';
import { indexAlong, padTo } from './joins.js';
import { reduceBy } from './reducing.js';
import { checkInteger } from './shape.js';
import { expandDims, reshape } from './views.js';

/** Options of `trace`. */
export interface TraceOptions {
  /** The diagonal: 0 is the main one, those above it are positive. */
  readonly offset?: number | undefined;
  /** The dtype of the sum, in which the elements are combined. */
  readonly dtype?: DType | undefined;
}

/**
 * The diagonals of the matrices along the last two axes, as an array of one axis less: `offset` 0 is the main
 * one, those above it are positive. A diagonal outside of the matrix has no elements. Throws a ShapeError for
 * arrays of less than two axes.
 *
 * @example
 * await lazy([[1, 2, 3], [4, 5, 6]]).diagonal(1).compute()
 * //=> [2. 6.]
 */
export function diagonal(x: Expr, offset?: number): Expr {
  return diagonalOf('diagonal', x, offset);
}

/**
 * The sums of the diagonals of the matrices along the last two axes, in the dtype of `sum` or in `dtype`. `{
 * offset, dtype }`. Throws a ShapeError for arrays of less than two axes.
 *
 * @example
 * await lazy([[1, 2], [3, 4]]).trace().compute()
 * //=> 5.0
 */
export function trace(x: Expr, options?: TraceOptions): Expr {
  checkOptions('trace', options, ['offset', 'dtype']);
  const { offset, dtype } = options ?? {};
  return reduceBy('sum', diagonalOf('trace', x, offset), -1, dtype === undefined ? {} : { dtype });
}

/**
 * Of one axis, the matrix with these elements on its diagonal and zeros elsewhere; of two, the diagonal, as NumPy's
 * `diag`. `offset` 0 is the main diagonal, those above it are positive. Throws a ShapeError for other arrays.
 *
 * @example
 * await lazy([1, 2]).diag().compute()
 * //=> [[1. 0.]
 * //=>  [0. 2.]]
 * await lazy([[1, 2], [3, 4]]).diag().compute()
 * //=> [1. 4.]
 */
export function diag(x: Expr, offset?: number): Expr {
  if (x.shape.length === 2) return diagonalOf('diag', x, offset);
  if (x.shape.length !== 1) throw new ShapeError(expected('diag', 'one or two axes', formatShape(x.shape)));
  const shift = checkInteger('diag', 'a diagonal', offset ?? 0);
  const size = x.shape[0]! + Math.abs(shift);
  const line = padTo(x, [0], [size]);
  const [row, column] = [indexAlong(0, size, 2), indexAlong(1, size, 2)];
  const isOn = map('equal', [column, map('add', [row, shift])]);
  return map('where', [isOn, expandDims(line, shift < 0 ? 0 : 1), constant(0, x.dtype)]);
}

function diagonalOf(op: string, x: Expr, offset = 0): Expr {
  const lead = x.shape.slice(0, -2);
  if (x.shape.length < 2) throw new ShapeError(expected(op, 'at least two axes', formatShape(x.shape)));
  const [rows, columns] = x.shape.slice(-2) as [number, number];
  const shift = checkInteger(op, 'a diagonal', offset);
  const length = Math.max(0, Math.min(rows + Math.min(0, shift), columns - Math.max(0, shift)));
  const start = shift < 0 ? -shift * columns : shift;
  const elements = reshape(x, [...lead, rows * columns]);
  if (length === 0) return slice(elements, '...', [0, 0]);
  return slice(elements, '...', [start, start + (length - 1) * (columns + 1) + 1, columns + 1]);
}
