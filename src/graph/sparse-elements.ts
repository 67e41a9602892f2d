/**
 * Elementwise functions of two sparse matrices of one shape: of the elements that either has stored, or that both have.
 * Rows are merged in two steps: how many elements each has, then their columns and the elements of both matrices there,
 * zeros where one has none; the function is a map of these.
 *
 *     A (0, a) (3, b), B (1, c) (3, d)   →   columns 0 1 3, of A a 0 b, of B 0 c d
 */
import { call } from './calls.js';
import type { DType } from './dtype.js';
import type { Expr } from './expr.js';
import { upToBound } from './extent.js';
import { cast, constant, map, meetingDType } from './infer.js';
import type { OpName } from './ops.js';
import {
  boundedRows,
  boundOf,
  emptyMatrix,
  linesOf,
  rowBoundOf,
  type SparseParts,
  startsOfCounts,
  withValues,
} from './sparse.js';
import { canonical } from './sparse-matmul.js';
import { COMBINED_OPS, isComparison } from './sparse-routines.js';
import { kept } from './sparse-slices.js';

/** An op of the elements that either matrix has stored, whose value for two zeros is 0. */
export function ofEither(op: string, by: OpName, a: SparseParts, b: SparseParts): SparseParts {
  const [x, y] = [canonical(a, op), canonical(b, op)];
  const dtype = meetingDType(op, [x.values, y.values]);
  const zero = constant(0, dtype);
  if (boundOf(y) === 0) return withValues(x, (values) => map(by, [cast(values, dtype), zero]));
  if (boundOf(x) === 0) return withValues(y, (values) => map(by, [zero, cast(values, dtype)]));
  return merged(op, by, x, y, eitherOf(x, y));
}

/** An op of the elements that both matrices have stored. */
export function ofBoth(op: string, by: OpName, a: SparseParts, b: SparseParts): SparseParts {
  const [x, y] = [canonical(a, op), canonical(b, op)];
  return merged(op, by, x, y, {
    isOfBoth: true,
    bound: Math.min(boundOf(x), boundOf(y)),
    rowBound: Math.min(rowBoundOf(x), rowBoundOf(y)),
  });
}

/** Where a comparison of elements that either matrix has stored is true; it is false of two zeros. */
export function whereEither(op: string, by: OpName, a: SparseParts, b: SparseParts): SparseParts {
  const [x, y] = [canonical(a, op), canonical(b, op)];
  const dtype = meetingDType(op, [x.values, y.values]);
  if (boundOf(x) * boundOf(y) === 0 || !isCombined(dtype)) return withoutZeros(op, ofEither(op, by, x, y));
  const sizes = eitherOf(x, y);
  return { ...partsOf(x, sizes), ...combined(op, by, x, y, sizes) };
}

/** Dtypes of elements that the CPU combines in the pass in which it finds their places. */
export const isCombined = (dtype: DType): boolean => dtype === 'float32' || dtype === 'float64';

/** Starts, columns and elements in one pass over the rows of both matrices; other targets merge and map (`sparse-ways.ts`). */
function combined(
  asked: string,
  by: OpName,
  a: SparseParts,
  b: SparseParts,
  { isOfBoth, bound }: Merge,
): Pick<SparseParts, 'starts' | 'places' | 'values'> {
  const dtype = meetingDType(asked, [a.values, b.values]);
  const [startsA, placesA, startsB, placesB] = linesOf(a, b) as [Expr, Expr, Expr, Expr];
  const [x, y] = [a, b].map(({ values }) => cast(upToBound(values), dtype)) as [Expr, Expr];
  const parameters = [isOfBoth ? 1 : 0, a.shape[1], bound, COMBINED_OPS.indexOf(by), 0];
  const inputs = [startsA, placesA, x, startsB, placesB, y];
  return boundedRows(...(call('sparseCombine', parameters, inputs, asked) as [Expr, Expr, Expr]));
}

interface Merge {
  readonly isOfBoth: boolean;
  /** Elements of the result, and of its rows, at most. */
  readonly bound: number;
  readonly rowBound: number;
}

/** Of the elements that either matrix has stored. */
const eitherOf = (x: SparseParts, y: SparseParts): Merge => ({
  isOfBoth: false,
  bound: boundOf(x) + boundOf(y),
  rowBound: rowBoundOf(x) + rowBoundOf(y),
});

const partsOf = ({ shape }: SparseParts, { rowBound }: Merge) => ({
  shape,
  isCanonical: true,
  isGiven: false,
  rowBound: Math.min(shape[1], rowBound),
});

/** An op of the elements of canonical matrices that meet, zeros where only one is stored. */
function merged(asked: string, by: OpName, a: SparseParts, b: SparseParts, sizes: Merge): SparseParts {
  const { isOfBoth, bound } = sizes;
  const dtype = meetingDType(asked, [a.values, b.values]);
  if (bound === 0) return emptyMatrix(a.shape, map(by, [constant(0, dtype), constant(0, dtype)]).dtype);
  const parts = partsOf(a, sizes);
  if (COMBINED_OPS.includes(by) && !isComparison(by) && isCombined(dtype))
    return { ...parts, ...combined(asked, by, a, b, sizes) };
  const [startsA, placesA, startsB, placesB] = linesOf(a, b) as [Expr, Expr, Expr, Expr];
  const [x, y] = [a, b].map(({ values }) => cast(upToBound(values), dtype)) as [Expr, Expr];
  const parameter = isOfBoth ? 1 : 0;
  const pattern = [startsA, placesA, startsB, placesB];
  const [counts] = call('sparseMergeCounts', [parameter], pattern, asked) as [Expr];
  const starts = startsOfCounts(counts);
  const lines = [startsA, placesA, x, startsB, placesB, y, starts];
  const found = call('sparseMerge', [parameter, a.shape[1], bound], lines, asked);
  const [places, ofA, ofB] = found as [Expr, Expr, Expr];
  return { ...parts, ...boundedRows(cast(starts, places.dtype), places, map(by, [ofA, ofB])) };
}

/** The matrix without stored zeros. */
export function withoutZeros(op: string, matrix: SparseParts): SparseParts {
  if (boundOf(matrix) === 0) return matrix;
  const values = upToBound(matrix.values);
  return kept(op, matrix, values.dtype === 'bool' ? values : map('notEqual', [values, 0]));
}
