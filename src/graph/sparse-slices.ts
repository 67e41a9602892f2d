/**
 * Parts of sparse matrices: stretches of rows and columns, chosen rows, triangles, and the elements that a mask keeps.
 * Nothing is sorted: what is kept of a row stays in its order.
 */
import { placesWhere } from './compaction.js';
import type { Expr } from './expr.js';
import { upToBound, withExtent } from './extent.js';
import { cast, constant, iota, map } from './infer.js';
import { searchsorted } from './searching.js';
import {
  at,
  bounded,
  boundOf,
  columnsOf,
  emptyMatrix,
  indexDType,
  rowBoundOf,
  rowsOf,
  type SparseParts,
  startsOf,
} from './sparse.js';
import { expansion } from './sparse-expansion.js';

/** The rows from `first` up to `end`. */
export function someRows(matrix: SparseParts, first: number, end: number): SparseParts {
  const starts = upToBound(matrix.starts);
  const index = map('add', [iota(end - first + 1), BigInt(first)]);
  const own = at(starts, index);
  const from = at(starts, constant(BigInt(first), 'int64'));
  const begins = map('subtract', [own, from]);
  const length = cast(at(begins, constant(BigInt(end - first), 'int64')), 'int64');
  const moved = (line: Expr): Expr =>
    bounded(at(line, map('add', [iota(boundOf(matrix)), cast(from, 'int64')])), length);
  return {
    shape: [end - first, matrix.shape[1]],
    starts: begins,
    places: moved(matrix.places),
    values: moved(matrix.values),
    isCanonical: matrix.isCanonical,
    isGiven: matrix.isGiven,
    rowBound: rowBoundOf(matrix),
  };
}

/** Whether each element up to the bound is stored. */
export const isStored = (matrix: SparseParts, op: string): Expr =>
  map('less', [rowsOf(matrix, op), BigInt(matrix.shape[0])]);

/** Columns that are kept: so many from the first one on. */
interface Columns {
  readonly first: number;
  readonly count: number;
}

/** The stored elements that a mask keeps: true nowhere but at stored ones. */
export function kept(op: string, matrix: SparseParts, mask: Expr, columns?: Columns): SparseParts {
  const [rows, all] = matrix.shape;
  const { first, count } = columns ?? { first: 0, count: all };
  if (boundOf(matrix) === 0 || count === 0) return emptyMatrix([rows, count], matrix.values.dtype);
  const chosen = placesWhere(op, mask);
  const { length } = chosen.extent!;
  const places = upToBound(chosen);
  const starts = map('minimum', [searchsorted(places, startsOf(matrix, op)), length]);
  const { dtype } = matrix.places;
  const moved = first === 0 ? matrix.places : map('subtract', [matrix.places, BigInt(first)]);
  return {
    ...matrix,
    shape: [rows, count],
    starts: cast(starts, dtype),
    places: withExtent(cast(at(moved, places), dtype), 0, length),
    values: withExtent(at(matrix.values, places), 0, length),
    // Masks are of elements whose indices have been looked at.
    isGiven: false,
  };
}

/** The columns from `first` up to `end`. */
export function someColumns(op: string, matrix: SparseParts, first: number, end: number): SparseParts {
  const column = columnsOf(matrix, op);
  const isWithin = map('logicalAnd', [
    map('greaterEqual', [column, BigInt(first)]),
    map('less', [column, BigInt(end)]),
  ]);
  const mask = map('logicalAnd', [isStored(matrix, op), isWithin]);
  return kept(op, matrix, mask, { first, count: end - first });
}

/** The elements on and below diagonal k, or on and above it. */
export function triangle(op: string, matrix: SparseParts, side: 'lower' | 'upper', k: number): SparseParts {
  const offset = map('subtract', [columnsOf(matrix, op), rowsOf(matrix, op)]);
  const isOn = map(side === 'lower' ? 'lessEqual' : 'greaterEqual', [offset, BigInt(k)]);
  return kept(op, matrix, map('logicalAnd', [isStored(matrix, op), isOn]));
}

/** The rows of some numbers, int64 and in range, in their order. */
export function rowsAt(op: string, matrix: SparseParts, numbers: Expr): SparseParts {
  const count = numbers.shape[0]!;
  const bound = count * rowBoundOf(matrix);
  const [, columns] = matrix.shape;
  if (bound === 0) return emptyMatrix([count, columns], matrix.values.dtype);
  const { starts, places } = expansion(startsOf(matrix, op), numbers, bound);
  const index = indexDType(Math.max(columns, bound));
  const length = at(starts, constant(BigInt(count), 'int64'));
  const moved = (line: Expr): Expr => bounded(at(line, places), length);
  return {
    ...matrix,
    shape: [count, columns],
    starts: cast(starts, index),
    places: moved(cast(columnsOf(matrix, op), index)),
    values: moved(matrix.values),
    isGiven: false,
    rowBound: rowBoundOf(matrix),
  };
}
