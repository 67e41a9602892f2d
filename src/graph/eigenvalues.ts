/**
 * Eigenvalues and eigenvectors of general matrices as nodes. A library's call gives the vectors of a complex pair of a real
 * matrix as their real and their imaginary parts, a column each (LAPACK's `geev`), of which that of the CPU makes complex
 * ones, and for a GPU a map:
 *
 *     w: 1, 2 + i, 2 - i;   columns p, q, r   →   p, q + i r, q - i r
 *
 * Called by `api/linalg-decompositions.ts`; `eigByLibrary` by `fusion/passes/both-ways.ts`.
 */
import { call } from './calls.js';
import { fromParts } from './complex-parts.js';
import { DTYPE_INFO, type DType, isComplex } from './dtype.js';
import type { Expr } from './expr.js';
import { cast, map } from './infer.js';
import { roll } from './masks.js';
import { isEmpty, leadOf, squares, stacked, transposed, unstacked, zerosOf } from './matrices.js';
import { statusOrNaN } from './statuses.js';
import { reshape } from './view-nodes.js';

const complexOf = (dtype: DType): DType =>
  DTYPE_INFO[dtype].component === 'float32' ? 'complex64' : 'complex128';

export function eigOf(op: string, x: Expr): readonly [values: Expr, vectors: Expr] {
  const a = squares(op, x);
  const lead = leadOf(a);
  const shape = a.shape.slice(0, -1);
  if (isEmpty(a)) return [zerosOf(complexOf(a.dtype), shape), cast(a, complexOf(a.dtype))];
  const [values, , vectors] = call('eig', [1, 1], [stacked(a)], op) as [Expr, Expr, Expr];
  return [reshape(values, shape), unstacked(lead, vectors)];
}

/** Eigenvalues alone are those of the transpose: of a matrix as it lies. */
export function eigenvaluesOf(op: string, x: Expr): Expr {
  const a = squares(op, x);
  const shape = a.shape.slice(0, -1);
  if (isEmpty(a)) return zerosOf(complexOf(a.dtype), shape);
  return reshape(call('eig', [0, 1], [stacked(a)], op)[0]!, shape);
}

/** The results of such a call as a GPU has them. */
export function eigByLibrary(a: Expr, hasVectors: boolean): readonly Expr[] {
  const given = hasVectors ? transposed(a) : a;
  const [values, statuses, columns] = call('eig', [hasVectors ? 1 : 0], [given]) as [Expr, Expr, Expr?];
  const results = [values, statusOrNaN(values, statuses)];
  if (columns === undefined) return results;
  return [...results, transposed(isComplex(a.dtype) ? columns : joined(values, columns))];
}

/** Complex vectors [count, vector, element] of the columns of a real matrix. */
function joined(values: Expr, columns: Expr): Expr {
  const side = reshape(map('imag', [values]), [...values.shape, 1]);
  const [before, after] = [roll(columns, 1, 1), roll(columns, -1, 1)];
  const isSecond = map('less', [side, 0]);
  const re = map('where', [isSecond, before, columns]);
  const im = map('where', [isSecond, map('negative', [columns]), after]);
  const imaginary = map('where', [map('equal', [side, 0]), 0, im]);
  return fromParts(re, imaginary, values.dtype);
}
