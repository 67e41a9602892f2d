/**
 * Parts of sparse matrices: stretches of rows and columns, chosen rows, triangles, and the elements that a mask keeps.
 * Nothing is sorted: what is kept of a row stays in its order.
 */
import { call } from './calls.js';
import type { Expr } from './expr.js';
import { upToBound } from './extent.js';
import { cast, constant, iota, map } from './infer.js';
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
  startsOfCounts,
} from './sparse.js';
import { gatheredRows } from './sparse-gathered.js';

/** The rows from `first` up to `end`. */
export function someRows(op: string, matrix: SparseParts, first: number, end: number): SparseParts {
  const starts = matrix.isGiven ? startsOf(matrix, op) : upToBound(matrix.starts);
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

/** Columns that are kept: so many from the first one on. */
interface Columns {
  readonly first: number;
  readonly count: number;
}

/** The stored elements that a mask keeps; behind the last one it says nothing. */
export function kept(op: string, matrix: SparseParts, mask: Expr, columns?: Columns): SparseParts {
  const [rows, all] = matrix.shape;
  const { first, count } = columns ?? { first: 0, count: all };
  const bound = boundOf(matrix);
  if (bound === 0 || rows * count === 0) return emptyMatrix([rows, count], matrix.values.dtype);
  const { dtype } = matrix.places;
  const lines = [matrix.starts, matrix.isGiven ? columnsOf(matrix, op) : matrix.places];
  const [starts, places] = lines.map((line) => cast(upToBound(line), dtype)) as [Expr, Expr];
  const [counts] = call('sparseSelectCounts', [matrix.isGiven ? 1 : 0], [starts, mask], op) as [Expr];
  const begins = startsOfCounts(counts);
  const inputs = [starts, places, upToBound(matrix.values), mask, begins];
  const [found, values] = call('sparseSelect', [bound], inputs, op) as [Expr, Expr];
  const length = at(begins, constant(BigInt(rows), 'int64'));
  const moved = first === 0 ? found : map('subtract', [found, BigInt(first)]);
  return {
    ...matrix,
    shape: [rows, count],
    starts: cast(begins, dtype),
    places: bounded(cast(moved, dtype), length),
    values: bounded(values, length),
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
  return kept(op, matrix, isWithin, { first, count: end - first });
}

/** The elements on and below diagonal k, or on and above it. */
export function triangle(op: string, matrix: SparseParts, side: 'lower' | 'upper', k: number): SparseParts {
  const offset = map('subtract', [columnsOf(matrix, op), rowsOf(matrix, op)]);
  return kept(op, matrix, map(side === 'lower' ? 'lessEqual' : 'greaterEqual', [offset, BigInt(k)]));
}

/** The rows of some numbers, int64 and in range, in their order. */
export function rowsAt(op: string, matrix: SparseParts, numbers: Expr): SparseParts {
  const count = numbers.shape[0]!;
  const bound = count * rowBoundOf(matrix);
  const [, columns] = matrix.shape;
  if (bound === 0) return emptyMatrix([count, columns], matrix.values.dtype);
  const starts = startsOf(matrix, op);
  const begins = at(starts, numbers);
  const index = indexDType(Math.max(columns, bound));
  const rows = gatheredRows(op, {
    begins,
    lengths: map('subtract', [at(starts, map('add', [numbers, 1n])), begins]),
    places: cast(columnsOf(matrix, op), index),
    values: upToBound(matrix.values),
    bound,
    isFull: false,
  });
  return {
    ...matrix,
    ...rows,
    shape: [count, columns],
    starts: cast(rows.starts, index),
    isGiven: false,
    rowBound: rowBoundOf(matrix),
  };
}
