/**
 * Sparse matrices made of several: stacked, side by side, and their Kronecker product. Called by `api/sparse.ts`.
 */
import { call } from './calls.js';
import type { Expr } from './expr.js';
import { upToBound } from './extent.js';
import { cast, constant, map, meetingDType } from './infer.js';
import {
  boundedRows,
  boundOf,
  checkedLines,
  emptyMatrix,
  indexDType,
  isExact,
  rowBoundOf,
  type SparseParts,
} from './sparse.js';
import { isCombined } from './sparse-elements.js';
import { gatheredRows, type RowsOfMatrices } from './sparse-gathered.js';
import { multiplied } from './sparse-ways.js';

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
 * have together, those of r for each element of i. Of floats the CPU writes them in one pass; others find the elements of both
 * at each place (`sparse-ways.ts`).
 */
export function kronecker(
  op: string,
  a: SparseParts,
  b: SparseParts,
  shape: SparseParts['shape'],
): SparseParts {
  const bound = boundOf(a) * boundOf(b);
  const { dtype } = map('multiply', [constant(0, a.values.dtype), constant(0, b.values.dtype)]);
  if (bound * shape[0] * shape[1] === 0) return emptyMatrix(shape, dtype);
  const index = indexDType(Math.max(shape[1], bound));
  const isAtOnce = isCombined(dtype);
  const inputs = [a, b].flatMap((each) => {
    const { starts, places, values } = checkedLines(each, op);
    const [own, line] = [starts, places].map((x) => cast(upToBound(x), index)) as [Expr, Expr];
    return [own, line, isAtOnce ? cast(upToBound(values), dtype) : upToBound(values)];
  });
  const parameters = [b.shape[1], 0];
  const found = isAtOnce
    ? call('sparseKron', parameters, inputs, op)
    : multiplied(inputs, parameters).results;
  const [starts, places, values] = found as [Expr, Expr, Expr];
  return {
    shape,
    ...(isExact(a) && isExact(b) ? { starts, places, values } : boundedRows(starts, places, values)),
    isCanonical: a.isCanonical && b.isCanonical,
    isGiven: false,
    rowBound: rowBoundOf(a) * rowBoundOf(b),
  };
}
