/**
 * Parts of sparse matrices: stretches of rows and columns, chosen rows, triangles, and the elements that a mask keeps.
 * Nothing is sorted: what is kept of a row stays in its order.
 */
import { slice } from './basic-slicing.js';
import { call } from './calls.js';
import type { Expr } from './expr.js';
import { upToBound } from './extent.js';
import { cast, constant, iota, map } from './infer.js';
import {
  at,
  bounded,
  boundOf,
  checkedLines,
  columnsOf,
  emptyMatrix,
  indexDType,
  rowBoundOf,
  rowsOf,
  type SparseParts,
  startsOf,
  startsOfCounts,
} from './sparse.js';
import { elementsInRows, gatheredRows } from './sparse-gathered.js';

/** The rows from `first` up to `end`. */
export function someRows(op: string, matrix: SparseParts, first: number, end: number): SparseParts {
  const [, columns] = matrix.shape;
  const bound = boundOf(matrix);
  if (bound === 0 || end === first) return emptyMatrix([end - first, columns], matrix.values.dtype);
  const numbers = map('add', [iota(end - first), BigInt(first)]);
  const starts = startsOf(matrix, op);
  const own = slice(starts, [first, end + 1]);
  const from = slice(starts, first);
  const moved = (line: Expr): Expr => at(line, map('add', [iota(bound), from]));
  return {
    ...matrix,
    shape: [end - first, columns],
    ...gatheredRows(op, {
      way: 'chosen',
      matrices: [{ ...matrix, starts: cast(starts, matrix.places.dtype) }],
      offsets: [0],
      numbers,
      columns,
      isFull: false,
      otherWay: {
        starts: map('subtract', [own, from]),
        places: moved(matrix.places),
        values: moved(matrix.values),
      },
    }),
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
  // int32 has no end of a stretch beyond 2^31 columns.
  const isWide = columns !== undefined && indexDType(first + count) === 'int64';
  const dtype = isWide ? 'int64' : matrix.places.dtype;
  const lines = [matrix.starts, matrix.isGiven ? columnsOf(matrix, op) : matrix.places];
  const [starts, places] = lines.map((line) => cast(upToBound(line), dtype)) as [Expr, Expr];
  const [counts] = call('sparseSelectCounts', [matrix.isGiven ? 1 : 0], [starts, mask], op) as [Expr];
  const begins = startsOfCounts(counts);
  const values = upToBound(matrix.values);
  const found = call('sparseSelect', [bound], [starts, places, values, mask, begins], op) as [Expr, Expr];
  const moved = first === 0 ? found[0] : map('subtract', [found[0], BigInt(first)]);
  const checked = checkedLines(matrix, op);
  const own = [checked.starts, checked.places].map((line) => cast(upToBound(line), dtype));
  const masks = columns === undefined ? [mask] : [];
  const inputs = [...own, values, ...masks, cast(begins, dtype), cast(moved, dtype), found[1]];
  const kept = call('sparseKept', [masks.length, first, count, 0], inputs, op) as [Expr, Expr, Expr];
  const length = cast(at(kept[0], constant(BigInt(rows), 'int64')), 'int64');
  return {
    ...matrix,
    shape: [rows, count],
    starts: kept[0],
    places: bounded(kept[1], length),
    values: bounded(kept[2], length),
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
  const lengths = map('subtract', [at(starts, map('add', [numbers, 1n])), begins]);
  const index = indexDType(Math.max(columns, bound));
  return {
    ...matrix,
    shape: [count, columns],
    ...gatheredRows(op, {
      way: 'chosen',
      matrices: [checkedLines(matrix, op)],
      offsets: [0],
      numbers,
      columns,
      isFull: false,
      otherWay: {
        starts: startsOfCounts(lengths),
        ...elementsInRows(op, {
          begins,
          lengths,
          places: cast(columnsOf(matrix, op), index),
          values: upToBound(matrix.values),
          bound,
        }),
      },
    }),
    isGiven: false,
    rowBound: rowBoundOf(matrix),
  };
}
