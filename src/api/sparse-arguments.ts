/** Arguments of the functions that make sparse matrices, checked. */
import type { Expr } from '../graph/expr.js';
import { formatShape, formatValue } from '../graph/format.js';
import { type IndexList, int64Array, integers, listed } from '../graph/index-lists.js';
import { checkShape } from '../graph/shape.js';
import type { SparseParts } from '../graph/sparse.js';
import { ArgumentError, expected, ShapeError } from '../host/errors.js';
import type { ArrayLike } from './fluent-types.js';
import { exprOf, Lazy } from './lazy.js';
import { SparseMatrix } from './sparse-matrix.js';

/** Rows and columns. */
export type MatrixShape = readonly [rows: number, columns: number];

export function sizes(op: string, shape: unknown): [number, number] {
  const checked = checkShape(op, shape);
  if (checked.length === 2) return checked as [number, number];
  throw new ShapeError(expected(op, 'a shape (rows, columns)', formatShape(checked)));
}

export function matrixShape(op: string, { shape }: Expr): [number, number] {
  if (shape.length === 2) return [...shape] as [number, number];
  throw new ShapeError(expected(op, 'an array of two axes', formatShape(shape)));
}

export function line(op: string, name: string, value: unknown): Expr {
  const x = exprOf(op, value);
  if (x.shape.length === 1) return x;
  throw new ShapeError(expected(op, `${name} of one axis`, formatShape(x.shape)));
}

export function indexLine(op: string, name: string, value: ArrayLike | IndexList): Expr {
  if (!Array.isArray(value)) return integers(op, line(op, name, value));
  const { flat, shape } = listed(op, value);
  return line(op, name, new Lazy(int64Array(flat, shape)));
}

export function sameLength(op: string, values: Expr, name: string, index: Expr): void {
  if (index.shape[0] === values.shape[0]) return;
  throw new ShapeError(expected(op, `${name} for each of ${values.shape[0]} elements`, `${index.shape[0]}`));
}

export function partsOf(op: string, matrices: readonly SparseMatrix[]): SparseParts[] {
  const areMatrices = Array.isArray(matrices) && matrices.every((each) => each instanceof SparseMatrix);
  if (!areMatrices || matrices.length === 0)
    throw new ArgumentError(expected(op, 'a list of sparse matrices', formatValue(matrices)));
  return matrices.map(({ parts }) => parts);
}
