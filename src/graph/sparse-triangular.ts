/** The solve with a triangle of a sparse matrix, as a node; called by `api/sparse-triangular.ts`. */

import { call } from './calls.js';
import { type DType, isComplex, isFloat, isHalf } from './dtype.js';
import type { Expr } from './expr.js';
import { upToBound } from './extent.js';
import { cast, constant, meetingDType } from './infer.js';
import { boundOf, checkedLines, lanesOf, type SparseParts } from './sparse.js';
import { diagonalOf } from './sparse-reductions.js';
import { broadcast, reshape } from './view-nodes.js';

export interface Triangle {
  readonly isUpper: boolean;
  /** Whether the diagonal counts as ones. */
  readonly isUnit: boolean;
}

/** The dtype that is solved in. */
const solvedDType = (dtype: DType): DType =>
  isHalf(dtype) ? 'float32' : isFloat(dtype) || isComplex(dtype) ? dtype : 'float64';

/** X of A X = B [n, k]; integers in float64. Elements beside the triangle are not read. */
export function triangularSolution(
  op: string,
  matrix: SparseParts,
  b: Expr,
  { isUpper, isUnit }: Triangle,
): Expr {
  const meeting = meetingDType(op, [matrix.values, b]);
  const dtype = solvedDType(meeting);
  const [n, k] = b.shape as readonly [number, number];
  const result = isHalf(meeting) ? meeting : dtype;
  if (n * k === 0) return cast(b, result);
  const { starts, places, values } = givenLines(op, matrix);
  const diagonal = isUnit ? broadcast(constant(1, dtype), [n]) : cast(diagonalOf(op, matrix, 0), dtype);
  const lines = [starts, places, cast(values, dtype), diagonal];
  const parameters = [lanesOf(matrix, boundOf(matrix), 1), isUpper ? 1 : 0];
  const [x] = call('sparseTriangularSolve', parameters, [reshape(cast(b, dtype), [1, n, k]), ...lines], op);
  return cast(reshape(x!, [n, k]), result);
}

/** The lines of a matrix, of one index dtype and at least one element, with indices of users looked at. */
function givenLines(op: string, matrix: SparseParts): Pick<SparseParts, 'starts' | 'places' | 'values'> {
  const { starts, places, values } = checkedLines(matrix, op);
  if (boundOf(matrix) === 0) {
    const one = (dtype: DType): Expr => broadcast(constant(0, dtype), [1]);
    return { starts, places: one(starts.dtype), values: one(values.dtype) };
  }
  return { starts: upToBound(starts), places: upToBound(places), values: upToBound(values) };
}
