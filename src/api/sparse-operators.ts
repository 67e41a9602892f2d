/** Matrices of iterative solvers, as functions of vectors, and the arguments and numbers that solvers share. */
import { finiteNumber } from '../graph/arguments.js';
import { formatShape, formatValue } from '../graph/format.js';
import { ArgumentError, expected, RangeArgumentError, ShapeError } from '../host/errors.js';
import type { ArrayLike } from './fluent-types.js';
import { exprOf, Lazy } from './lazy.js';
import { SparseMatrix } from './sparse-matrix.js';

/** A linear map of vectors (columns) to vectors (rows), by functions that build a graph. */
export interface LinearOperator {
  readonly shape: readonly [rows: number, columns: number];
  matvec(x: Lazy): ArrayLike;
  /** The transposed, for complex numbers conjugated, map; least squares need it. */
  rmatvec?(y: Lazy): ArrayLike;
}

/** A matrix of a solver: sparse, dense, or an operator. */
export type MatrixLike = SparseMatrix | ArrayLike | LinearOperator;

export type Product = (x: Lazy) => Lazy;

/** A matrix as products. */
export interface Products {
  readonly shape: readonly [number, number];
  readonly times: Product;
  readonly adjoint: Product;
}

export function productsOf(op: string, a: MatrixLike): Products {
  if (a instanceof SparseMatrix) {
    let turned: SparseMatrix | undefined;
    const adjointOf = (): SparseMatrix => {
      turned ??= a.T.conj();
      return turned;
    };
    return { shape: a.shape, times: (x) => a.matmul(x), adjoint: (y) => adjointOf().matmul(y) };
  }
  const operator = a as LinearOperator;
  if (typeof operator?.matvec === 'function') {
    const adjoint = (y: Lazy): Lazy => {
      if (operator.rmatvec === undefined)
        throw new ArgumentError(expected(op, 'an operator with rmatvec', 'one without'));
      return new Lazy(exprOf(op, operator.rmatvec(y)));
    };
    return { shape: operator.shape, times: (x) => new Lazy(exprOf(op, operator.matvec(x))), adjoint };
  }
  const dense = new Lazy(exprOf(op, a));
  if (dense.ndim !== 2) throw new ShapeError(expected(op, 'a matrix of two axes', formatShape(dense.shape)));
  const adjoint = dense.dtype.startsWith('complex') ? dense.conj().T : dense.T;
  return {
    shape: dense.shape as unknown as [number, number],
    times: (x) => dense.matmul(x),
    adjoint: (y) => adjoint.matmul(y),
  };
}

export function squareOf(op: string, a: MatrixLike): Products {
  const products = productsOf(op, a);
  const [rows, columns] = products.shape;
  if (rows !== columns) throw new ShapeError(expected(op, 'a square matrix', formatShape(products.shape)));
  return products;
}

/** A right-hand side of a float or complex dtype. */
export function vectorOf(op: string, name: string, value: ArrayLike, size: number): Lazy {
  const given = new Lazy(exprOf(op, value));
  if (given.ndim !== 1 || given.shape[0] !== size)
    throw new ShapeError(expected(op, `${name} of shape (${size})`, formatShape(given.shape)));
  return /float|complex/.test(given.dtype) ? given : given.astype('float64');
}

/** A number that is not negative. */
export function tolerance(op: string, name: string, value: number | undefined, byDefault: number): number {
  if (value === undefined) return byDefault;
  if (finiteNumber(op, name, value) >= 0) return value;
  throw new RangeArgumentError(expected(op, `${name} from 0 on`, formatValue(value)));
}

export function stepsOf(op: string, maxiter: number | undefined, byDefault: number): number {
  if (maxiter === undefined) return byDefault;
  if (Number.isSafeInteger(maxiter) && maxiter >= 0) return maxiter;
  throw new RangeArgumentError(expected(op, 'maxiter to be a whole number from 0 on', formatValue(maxiter)));
}

/** ⟨x, y⟩, x conjugated. */
export const dot = (x: Lazy, y: Lazy): Lazy => x.vecdot(y);
export const norm = (x: Lazy): Lazy => dot(x, x).real().sqrt();
const isZero = (x: Lazy): Lazy => x.equal(0);
/** a / b, 0 where b is. */
export const ratio = (a: Lazy, b: Lazy): Lazy => isZero(b).where(0, a.divide(isZero(b).where(1, b)));
