/**
 * Elementwise functions of two sparse matrices of one shape: of the elements that either has stored, or that both have.
 * Rows are merged in two steps: how many elements each has, then their columns and their places in both matrices, of
 * which everything else is made.
 *
 *     A 0 3 4, B 1 3   →   columns 0 1 3 4, places in A 0 - 1 2, in B - 0 1 -
 */
import { call } from './calls.js';
import type { Expr } from './expr.js';
import { upToBound } from './extent.js';
import { cast, constant, map, meetingDType } from './infer.js';
import type { OpName } from './ops.js';
import {
  at,
  bounded,
  boundOf,
  emptyMatrix,
  indexDType,
  isExact,
  pairLines,
  rowBoundOf,
  type SparseParts,
  startsOfCounts,
  withValues,
} from './sparse.js';
import { canonical } from './sparse-matmul.js';
import { isStored, kept } from './sparse-slices.js';

/** An op of the elements that either matrix has stored, whose value for two zeros is 0. */
export function ofEither(op: string, by: OpName, a: SparseParts, b: SparseParts): SparseParts {
  const [x, y] = [canonical(a, op), canonical(b, op)];
  const dtype = meetingDType(op, [x.values, y.values]);
  const zero = constant(0, dtype);
  if (boundOf(y) === 0) return withValues(x, (values) => map(by, [cast(values, dtype), zero]));
  if (boundOf(x) === 0) return withValues(y, (values) => map(by, [zero, cast(values, dtype)]));
  return merged(op, by, x, y, {
    isOfBoth: false,
    bound: boundOf(x) + boundOf(y),
    rowBound: rowBoundOf(x) + rowBoundOf(y),
  });
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

interface Merge {
  readonly isOfBoth: boolean;
  /** Elements of the result, and of its rows, at most. */
  readonly bound: number;
  readonly rowBound: number;
}

/** An op of the elements of canonical matrices that meet, zeros where only one is stored. */
function merged(
  op: string,
  by: OpName,
  a: SparseParts,
  b: SparseParts,
  { isOfBoth, bound, rowBound }: Merge,
): SparseParts {
  const [rows, columns] = a.shape;
  const dtype = meetingDType(op, [a.values, b.values]);
  if (bound === 0) return emptyMatrix(a.shape, map(by, [constant(0, dtype), constant(0, dtype)]).dtype);
  const lines = pairLines(a, b);
  const parameter = isOfBoth ? 1 : 0;
  const [counts] = call('sparseMergeCounts', [parameter], lines, op) as [Expr];
  const starts = startsOfCounts(counts);
  const found = call('sparseMerge', [parameter, columns, bound], [...lines, starts], op);
  const [places, ofA, ofB] = found as [Expr, Expr, Expr];
  const own = ({ values }: SparseParts, place: Expr): Expr => {
    const value = cast(at(values, place), dtype);
    return isOfBoth ? value : map('where', [map('less', [place, 0]), constant(0, dtype), value]);
  };
  const length = at(starts, constant(BigInt(rows), 'int64'));
  const index = indexDType(Math.max(columns, bound));
  return {
    shape: a.shape,
    starts: cast(starts, index),
    places: bounded(cast(places, index), length),
    values: bounded(map(by, [own(a, ofA), own(b, ofB)]), length),
    isCanonical: true,
    isGiven: false,
    rowBound: Math.min(columns, rowBound),
  };
}

/** The matrix without stored zeros. */
export function withoutZeros(op: string, matrix: SparseParts): SparseParts {
  if (boundOf(matrix) === 0) return matrix;
  const isOne = map('notEqual', [upToBound(matrix.values), 0]);
  const mask = isExact(matrix) && !matrix.isGiven ? isOne : map('logicalAnd', [isStored(matrix, op), isOne]);
  return kept(op, matrix, mask);
}
