/**
 * Parts of sparse matrices: stretches of rows and columns, chosen rows, triangles, and the elements that a mask keeps.
 * Nothing is sorted: what is kept of a row stays in its order.
 */
import { slice } from './basic-slicing.js';
import { call } from './calls.js';
import type { Expr } from './expr.js';
import { upToBound } from './extent.js';
import { cast, constant, map, reduce } from './infer.js';
import { padTo } from './joins.js';
import {
  boundedRows,
  boundOf,
  checkedLines,
  columnsOf,
  emptyMatrix,
  indexDType,
  rowBoundOf,
  rowsOf,
  type SparseParts,
  startsOf,
  transposed,
} from './sparse.js';
import { gatheredRows } from './sparse-gathered.js';
import { asInt64 } from './taking.js';
import { broadcast, gather, reshape } from './view-nodes.js';

/** The rows from `first` up to `end`. */
export function someRows(op: string, matrix: SparseParts, first: number, end: number): SparseParts {
  const [, columns] = matrix.shape;
  const bound = boundOf(matrix);
  if (bound === 0 || end === first) return emptyMatrix([end - first, columns], matrix.values.dtype);
  const { places } = matrix;
  // Columns of a user's matrix are looked at where they are read.
  const starts = matrix.isGiven ? cast(startsOf(matrix, op), places.dtype) : upToBound(matrix.starts);
  const stretch = { ...matrix, starts: slice(starts, [first, end + 1]), isGiven: false };
  return {
    ...matrix,
    shape: [end - first, columns],
    ...gatheredRows(op, { way: 'stretch', matrices: [stretch], offsets: [0], columns, bound, isFull: false }),
    rowBound: rowBoundOf(matrix),
  };
}

/** Columns that are kept: so many from the first one on. */
interface Columns {
  readonly first: number;
  readonly count: number;
}

/** The stored elements that a mask keeps; behind the last one it says nothing. */
export const kept = (op: string, matrix: SparseParts, mask: Expr): SparseParts =>
  keptBy(op, matrix, mask, undefined);

/** Those that a mask keeps, or those of some columns, counted from the first one. */
function keptBy(
  op: string,
  matrix: SparseParts,
  mask: Expr | undefined,
  columns: Columns | undefined,
): SparseParts {
  const [rows, all] = matrix.shape;
  const { first, count } = columns ?? { first: 0, count: all };
  const bound = boundOf(matrix);
  if (bound === 0 || rows * count === 0) return emptyMatrix([rows, count], matrix.values.dtype);
  // int32 has no end of a stretch beyond 2^31 columns.
  const isWide = columns !== undefined && indexDType(first + count) === 'int64';
  const dtype = isWide ? 'int64' : matrix.places.dtype;
  const checked = checkedLines(matrix, op);
  const own = [checked.starts, checked.places].map((line) => cast(upToBound(line), dtype));
  const masks = mask === undefined ? [] : [mask];
  const inputs = [...own, upToBound(matrix.values), ...masks];
  const found = call('sparseKept', [masks.length, first, count, 0], inputs, op) as [Expr, Expr, Expr];
  return { ...matrix, shape: [rows, count], ...boundedRows(...found), isGiven: false };
}

/** The columns from `first` up to `end`. */
export const someColumns = (op: string, matrix: SparseParts, first: number, end: number): SparseParts =>
  keptBy(op, matrix, undefined, { first, count: end - first });

/** The elements on and below diagonal k, or on and above it. */
export function triangle(op: string, matrix: SparseParts, side: 'lower' | 'upper', k: number): SparseParts {
  const offset = map('subtract', [columnsOf(matrix, op), rowsOf(matrix, op)]);
  return kept(op, matrix, map(side === 'lower' ? 'lessEqual' : 'greaterEqual', [offset, BigInt(k)]));
}

/** Starts of rows without elements, which are computed of their numbers: those of a user are looked at. */
function zeroStarts(op: string, numbers: Expr, rows: number): Expr {
  const count = numbers.shape[0]!;
  const ends = gather(broadcast(constant(0, 'int32'), [rows]), numbers, 0, 'raise', [count], op);
  return padTo(ends, [1], [count + 1]);
}

/** The rows of some numbers, in their order: int64 and in range, or integers as a user gave them, which are looked at. */
export function rowsAt(op: string, matrix: SparseParts, given: Expr, isUsers: boolean): SparseParts {
  const [rows, columns] = matrix.shape;
  const numbers = isUsers && given.dtype === 'int32' ? given : asInt64(given, 'raise', rows);
  const count = numbers.shape[0]!;
  const bound = count * rowBoundOf(matrix);
  if (bound === 0) {
    const empty = emptyMatrix([count, columns], matrix.values.dtype);
    return isUsers ? { ...empty, starts: zeroStarts(op, numbers, rows) } : empty;
  }
  const stored = checkedLines(matrix, op);
  const chosen = { way: isUsers ? 'given' : 'chosen', matrices: [stored], offsets: [0], numbers } as const;
  return {
    ...stored,
    shape: [count, columns],
    ...gatheredRows(op, { ...chosen, columns, bound, isFull: false }),
    rowBound: rowBoundOf(matrix),
  };
}

/** The columns of some numbers: their rows of the transpose, transposed. Of those without elements starts look at the numbers. */
export function turnedBack(op: string, taken: SparseParts): SparseParts {
  const turned = transposed(taken, op);
  if (boundOf(taken) > 0) return turned;
  const none = reduce('max', upToBound(taken.starts), [0]);
  return { ...turned, starts: broadcast(reshape(none, [1]), turned.starts.shape) };
}
