/**
 * Reductions of sparse matrices along an axis. Sums of rows are a product with 1; sums of columns, and extremes, are
 * gathered in bins, whose results no order changes: the elements are not sorted by columns for them.
 */
import { expected, ShapeError } from '../host/errors.js';
import { slice } from './basic-slicing.js';
import type { Binning } from './binning.js';
import { countsIn, extremesIn, sumsIn } from './binning.js';
import type { Expr } from './expr.js';
import { upToBound } from './extent.js';
import { formatShape } from './format.js';
import { astype, cast, constant, map, reduce } from './infer.js';
import { reductionRow } from './reductions.js';
import {
  columnKeysOf,
  columnsOf,
  rowSums,
  rowsOf,
  type SparseParts,
  startsOf,
  withValues,
} from './sparse.js';
import { canonical } from './sparse-matmul.js';

/** The axis that is reduced; undefined: both. */
export type ReducedAxis = 0 | 1 | undefined;

/** The stored elements as rows in bins: of their row, or of their column. */
function binsOf(op: string, matrix: SparseParts, axis: 0 | 1): Binning {
  const [rows, columns] = matrix.shape;
  if (axis === 1) return { asked: op, count: rows, keys: rowsOf(matrix, op), by: 'within' };
  return { asked: op, count: columns, keys: columnKeysOf(matrix, op), by: 'within' };
}

/** The sums, of the dtype that `sum` gives. */
export function sumsOf(op: string, matrix: SparseParts, axis: ReducedAxis): Expr {
  const { result } = reductionRow('sum').dtype(matrix.values.dtype)!;
  const summed = withValues(matrix, (values) => astype(values, result));
  if (axis === 0) return sumsIn(binsOf(op, summed, 0), upToBound(summed.values), 1, 'positive');
  const sums = rowSums(op, summed);
  return axis === 1 ? sums : reduce('sum', sums, [0]);
}

/** The extremes, with the zeros that are not stored. */
export function extremesOf(op: string, kind: 'min' | 'max', given: SparseParts, axis: ReducedAxis): Expr {
  const matrix = canonical(given, op);
  const along = axis ?? 1;
  const size = matrix.shape[along];
  if (axis === undefined ? matrix.shape[0] * matrix.shape[1] === 0 : size === 0) {
    const wanted = 'an axis with elements: there is no extreme of none';
    throw new ShapeError(expected(op, wanted, formatShape(matrix.shape)));
  }
  const bins = binsOf(op, matrix, along);
  const values = upToBound(matrix.values);
  const ends = extremesIn(bins, kind, values, 1);
  const counts = along === 1 ? rowLengths(op, matrix) : countsIn(bins);
  const isFull = map('equal', [counts, BigInt(size)]);
  const zero = constant(0, values.dtype);
  const withZero =
    values.dtype === 'bool'
      ? map(kind === 'max' ? 'logicalOr' : 'logicalAnd', [ends, zero])
      : map(kind === 'max' ? 'maximum' : 'minimum', [ends, zero]);
  const lines = map('where', [isFull, ends, withZero]);
  return axis === undefined ? reduce(kind, lines, [0]) : lines;
}

/** The int64 numbers of stored elements of each row. */
export function rowLengths(op: string, matrix: SparseParts): Expr {
  const starts = startsOf(matrix, op);
  return map('subtract', [slice(starts, [1]), slice(starts, [0, -1])]);
}

/** The int64 numbers of stored elements along an axis. */
export function countsOf(op: string, matrix: SparseParts, axis: 0 | 1): Expr {
  return axis === 1 ? rowLengths(op, matrix) : countsIn(binsOf(op, matrix, 0));
}

/** The elements of diagonal k, zeros where nothing is stored. */
export function diagonalOf(op: string, matrix: SparseParts, k: number): Expr {
  const [rows, columns] = matrix.shape;
  const { dtype } = matrix.values;
  const isOn = map('equal', [columnsOf(matrix, op), map('add', [rowsOf(matrix, op), BigInt(k)])]);
  const masked = withValues(matrix, (values) => map('where', [isOn, values, constant(0, dtype)]));
  const first = Math.max(0, -k);
  const count = Math.max(0, Math.min(rows - first, columns - Math.max(0, k)));
  const sums = cast(sumsOf(op, masked, 1), dtype);
  return slice(sums, [first, first + count]);
}
