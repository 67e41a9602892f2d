/**
 * Sparse matrices made of several: stacked, side by side, and their Kronecker product. Called by `api/sparse.ts`.
 */
import { slice } from './basic-slicing.js';
import { call } from './calls.js';
import type { Expr } from './expr.js';
import { upToBound } from './extent.js';
import { cast, constant, iota, map, meetingDType } from './infer.js';
import {
  at,
  bounded,
  boundOf,
  checkedLines,
  columnsOf,
  emptyMatrix,
  indexDType,
  isExact,
  rowBoundOf,
  type SparseParts,
  startsOf,
  startsOfCounts,
} from './sparse.js';
import { gatheredRows, type RowsOfMatrices } from './sparse-gathered.js';
import { rowLengths } from './sparse-reductions.js';
import { broadcast, reshape } from './view-nodes.js';

/** The matrices one above another, of as many columns. */
export function stacked(op: string, matrices: readonly SparseParts[], columns: number): SparseParts {
  const rows = matrices.reduce((sum, { shape }) => sum + shape[0], 0);
  // Lines of a user that follow one another are looked at where they are read.
  const stored = matrices.every(isExact) ? matrices : matrices.map((each) => looked(each, op));
  const offsets = matrices.map(() => 0);
  const rowBound = Math.max(...matrices.map(rowBoundOf));
  return joined(op, stored, [rows, columns], { way: 'above', offsets, rowBound });
}

/** The matrices side by side, of as many rows. */
export function sideBySide(op: string, matrices: readonly SparseParts[], rows: number): SparseParts {
  let columns = 0;
  const offsets = [0, ...matrices.map(({ shape }) => (columns += shape[1]))].slice(0, -1);
  const rowBound = matrices.reduce((sum, each) => sum + rowBoundOf(each), 0);
  const stored = matrices.map((each) => looked(each, op));
  return joined(op, stored, [rows, columns], { way: 'beside', offsets, rowBound });
}

/** With lines that need no look any more, also where there are no elements. */
const looked = (matrix: SparseParts, op: string): SparseParts => ({
  ...checkedLines(matrix, op),
  isGiven: false,
});

type Joining = Pick<RowsOfMatrices, 'way' | 'offsets'> & Pick<SparseParts, 'rowBound'>;

/** The matrix of the rows of several. */
function joined(
  op: string,
  matrices: readonly SparseParts[],
  shape: SparseParts['shape'],
  { way, offsets, rowBound }: Joining,
): SparseParts {
  const bound = matrices.reduce((sum, each) => sum + boundOf(each), 0);
  if (bound === 0 || shape[0] === 0) {
    const dtype = meetingDType(
      op,
      matrices.map(({ values }) => values),
    );
    return emptyMatrix(shape, dtype);
  }
  const isFull = matrices.every(isExact);
  return {
    shape,
    ...gatheredRows(op, { way, matrices, offsets, columns: shape[1], bound, isFull }),
    isCanonical: matrices.every(({ isCanonical }) => isCanonical),
    isGiven: matrices.some(({ isGiven }) => isGiven),
    rowBound,
  };
}

/**
 * The Kronecker product. Its rows are known without a sort: row i of A and row r of B give one of as many elements as both
 * have together, those of r for each element of i.
 */
export function kronecker(
  op: string,
  a: SparseParts,
  b: SparseParts,
  shape: SparseParts['shape'],
): SparseParts {
  const bound = boundOf(a) * boundOf(b);
  const values = [a, b].map((each) => upToBound(each.values)) as [Expr, Expr];
  const { dtype } = map('multiply', [constant(0, values[0].dtype), constant(0, values[1].dtype)]);
  if (bound * shape[0] * shape[1] === 0) return emptyMatrix(shape, dtype);
  const pair = [a.shape[0], b.shape[0]];
  // A line of an element for each row of the result, of those of the rows of A, or of B.
  const ofA = (line: Expr): Expr => reshape(broadcast(reshape(line, [pair[0]!, 1]), pair), [shape[0]]);
  const ofB = (line: Expr): Expr => reshape(broadcast(reshape(line, [1, pair[1]!]), pair), [shape[0]]);
  const [lengthsA, lengthsB] = [rowLengths(op, a), rowLengths(op, b)];
  const starts = startsOfCounts(map('multiply', [ofA(lengthsA), ofB(lengthsB)]));
  const [found] = call('sparseRows', [bound], [starts], op) as [Expr];
  const row = map('minimum', [found, shape[0] - 1]);
  const inRow = map('subtract', [iota(bound), at(starts, row)]);
  // Behind the last element of all a row may be empty.
  const length = map('maximum', [at(ofB(lengthsB), row), 1n]);
  const first = map('floorDivide', [inRow, length]);
  const second = map('subtract', [inRow, map('multiply', [first, length])]);
  const beginsOf = (each: SparseParts): Expr => slice(startsOf(each, op), [0, -1]);
  const k = map('add', [at(ofA(beginsOf(a)), row), first]);
  const l = map('add', [at(ofB(beginsOf(b)), row), second]);
  const columnOfA = map('multiply', [at(columnsOf(a, op), k), BigInt(b.shape[1])]);
  const index = indexDType(Math.max(shape[1], bound));
  const stored = at(starts, constant(BigInt(shape[0]), 'int64'));
  const line = (each: Expr): Expr => (isExact(a) && isExact(b) ? each : bounded(each, stored));
  return {
    shape,
    starts: cast(starts, index),
    places: line(cast(map('add', [columnOfA, at(columnsOf(b, op), l)]), index)),
    values: line(map('multiply', [at(values[0], k), at(values[1], l)])),
    isCanonical: a.isCanonical && b.isCanonical,
    isGiven: false,
    rowBound: rowBoundOf(a) * rowBoundOf(b),
  };
}
