/**
 * Decompositions of matrices as nodes: singular values, eigenvalues of Hermitian matrices, and what is made of them.
 * The calls have matrices in column-major order; a matrix in C order is its transpose there, so that singular vectors
 * and eigenvectors take no copies:
 *
 *     svd(a), a wide   →   of aᵀ = U' S V'ᴴ: U is the conjugate of V', Vᴴ the transpose of U', as it lies
 *     eigh(a)          →   of the conjugate of a, whose eigenvectors are the conjugates
 *
 * Called by `api/linalg.ts`.
 */
import { expected, ShapeError } from '../host/errors.js';
import { slice } from './basic-slicing.js';
import { call } from './calls.js';
import { type DType, isComplex } from './dtype.js';
import type { Expr } from './expr.js';
import { formatShape } from './format.js';
import { cast, constant, map, type Operand, reduce } from './infer.js';
import { concat } from './joins.js';
import {
  adjoint,
  identities,
  isEmpty,
  leadOf,
  matrices,
  met,
  realDType,
  squares,
  stacked,
  transposed,
  unstacked,
  zerosOf,
} from './matrices.js';
import { matmul } from './products.js';
import { qrOf } from './qr.js';
import { SMALL_ROWS } from './routines.js';
import { reshape } from './view-nodes.js';

const least = ({ shape }: Expr): number => Math.min(shape.at(-1)!, shape.at(-2)!);

/** The largest relative difference of a number and the next of a real dtype. */
const epsilonOf = (x: Expr): number => (realDType(x.dtype) === 'float32' ? 2 ** -23 : 2 ** -52);

// ---------------------------------------------------------------- singular values

export interface Svd {
  readonly u: Expr;
  readonly s: Expr;
  readonly vh: Expr;
}

export function svdOf(op: string, x: Expr, isFull: boolean): Svd {
  const a = matrices(op, x);
  const [lead, m, n, k] = [leadOf(a), a.shape.at(-2)!, a.shape.at(-1)!, least(a)];
  if (isEmpty(a)) {
    const square = (size: number): Expr => identities(a.dtype, lead, size);
    const u = isFull ? square(m) : zerosOf(a.dtype, [...lead, m, k]);
    const vh = isFull ? square(n) : zerosOf(a.dtype, [...lead, k, n]);
    return { u, s: zerosOf(realDType(a.dtype), [...lead, k]), vh };
  }
  if (isLong(a)) return svdByQr(op, a, isFull);
  if (isWidened(a)) {
    const found = svdOf(op, cast(a, DOUBLE[a.dtype]!), isFull);
    return { u: cast(found.u, a.dtype), s: cast(found.s, realDType(a.dtype)), vh: cast(found.vh, a.dtype) };
  }
  const isTall = m > n;
  const given = stacked(isTall ? transposed(a) : a);
  const [s, , left, right] = call('svd', [1], [given], op) as [Expr, Expr, Expr, Expr];
  const conjugated = (x: Expr): Expr => (isComplex(x.dtype) ? map('conj', [x]) : x);
  const [first, second] = [unstacked(lead, left), conjugated(unstacked(lead, right))];
  const reduced = isTall
    ? { u: transposed(first), s: reshape(s, [...lead, k]), vh: second }
    : { u: transposed(second), s: reshape(s, [...lead, k]), vh: first };
  if (!isFull || m === n) return reduced;
  return isTall
    ? { ...reduced, u: completed(op, reduced.u) }
    : { ...reduced, vh: adjoint(completed(op, adjoint(reduced.vh))) };
}

/**
 * Matrices of single precision that are no kernel's of a GPU are decomposed in double precision: of 1,000 rows and more
 * the fast way of its library fails in single precision, and the other one's vectors are orthonormal to three digits.
 */
const isWidened = (a: Expr): boolean => a.dtype in DOUBLE && least(a) > SMALL_ROWS;
const DOUBLE: Readonly<Partial<Record<DType, DType>>> = { float32: 'float64', complex64: 'complex128' };

/** Whether singular values are those of R, a square matrix: twice as many rows as columns, or the other way. */
const isLong = (a: Expr): boolean => {
  const [m, n] = [a.shape.at(-2)!, a.shape.at(-1)!];
  return Math.max(m, n) >= Math.max(2 * Math.min(m, n), LONG_ROWS);
};
/** Of fewer rows a GPU has kernels, and a CPU gains nothing. */
const LONG_ROWS = 129;

/** A = Q R = (Q U) S Vᴴ, or of a wide matrix the adjoint of its adjoint's. */
function svdByQr(op: string, a: Expr, isFull: boolean): Svd {
  const isTall = a.shape.at(-2)! > a.shape.at(-1)!;
  if (!isTall) {
    const { u, s, vh } = svdByQr(op, adjoint(a), isFull);
    return { u: adjoint(vh), s, vh: adjoint(u) };
  }
  const { q, r } = qrOf(op, a, 'reduced');
  const { u, s, vh } = svdOf(op, r, false);
  const left = matmul(q!, u);
  return { u: isFull ? completed(op, left) : left, s, vh };
}

/** Columns that are orthonormal already, and those that make them a square matrix: of Q of them. */
function completed(op: string, columns: Expr): Expr {
  const [rows, count] = [columns.shape.at(-2)!, columns.shape.at(-1)!];
  const { q } = qrOf(op, columns, 'complete');
  return concat([columns, slice(q!, '...', [count, rows])], -1);
}

export function singularValues(op: string, x: Expr): Expr {
  const a = matrices(op, x);
  const shape = [...leadOf(a), least(a)];
  if (isEmpty(a)) return zerosOf(realDType(a.dtype), shape);
  const isTall = a.shape.at(-2)! > a.shape.at(-1)!;
  if (isLong(a)) return singularValues(op, qrOf(op, isTall ? a : adjoint(a), 'r').r);
  if (isWidened(a)) return cast(singularValues(op, cast(a, DOUBLE[a.dtype]!)), realDType(a.dtype));
  const given = stacked(isTall ? transposed(a) : a);
  return reshape(call('svd', [0], [given], op)[0]!, shape);
}

// ---------------------------------------------------------------- eigenvalues of Hermitian matrices

export const TRIANGLES = ['L', 'U'] as const;
export type TriangleName = (typeof TRIANGLES)[number];

/** The call's triangle is of the transpose. */
function eighCall(op: string, a: Expr, uplo: TriangleName, hasVectors: boolean): Expr[] {
  return call('eigh', [uplo === 'L' ? 1 : 0, hasVectors ? 1 : 0], [stacked(a)], op);
}

export function eighOf(op: string, x: Expr, uplo: TriangleName): readonly [values: Expr, vectors: Expr] {
  const a = squares(op, x);
  const lead = leadOf(a);
  const shape = a.shape.slice(0, -1);
  if (isEmpty(a)) return [zerosOf(realDType(a.dtype), shape), a];
  const [values, , vectors] = eighCall(op, a, uplo, true) as [Expr, Expr, Expr];
  return [reshape(values, shape), adjoint(unstacked(lead, vectors))];
}

export function eigenvaluesOf(op: string, x: Expr, uplo: TriangleName): Expr {
  const a = squares(op, x);
  const shape = a.shape.slice(0, -1);
  if (isEmpty(a)) return zerosOf(realDType(a.dtype), shape);
  return reshape(eighCall(op, a, uplo, false)[0]!, shape);
}

// ---------------------------------------------------------------- by singular values

/** How small a singular value is taken for 0: a factor of the largest, or of all of them. */
export interface Tolerance {
  readonly rtol: Operand | undefined;
}

/** Which singular values, largest first, count. */
function counting(s: Expr, rtol: Operand): Expr {
  const most = slice(s, '...', [0, 1]);
  const factor = typeof rtol === 'object' && 'shape' in rtol ? reshape(rtol, [...rtol.shape, 1]) : rtol;
  return map('greater', [s, map('multiply', [most, factor])]);
}

const usualTolerance = (a: Expr): number => Math.max(a.shape.at(-1)!, a.shape.at(-2)!) * epsilonOf(a);

/** The pseudo-inverse: V S⁺ Uᴴ. */
export function pseudoInverse(op: string, x: Expr, rtol: Operand | undefined): Expr {
  const a = matrices(op, x);
  if (isEmpty(a)) return zerosOf(a.dtype, transposed(a).shape);
  const { u, s, vh } = svdOf(op, a, false);
  const inverses = map('where', [counting(s, rtol ?? usualTolerance(a)), map('divide', [1, s]), 0]);
  const scaled = map('multiply', [adjoint(vh), rowOf(inverses, a)]);
  return matmul(scaled, adjoint(u));
}

/** Real numbers along the last axis beside the rows of matrices. */
const rowOf = (s: Expr, a: Expr): Expr =>
  cast(reshape(s, [...s.shape.slice(0, -1), 1, s.shape.at(-1)!]), a.dtype);

export function rankOf(op: string, x: Expr, rtol: Operand | undefined, tol: Operand | undefined): Expr {
  const a = matrices(op, x);
  if (isEmpty(a)) return zerosOf('int64', leadOf(a));
  const s = singularValues(op, a);
  const isLarge = tol === undefined ? counting(s, rtol ?? usualTolerance(a)) : map('greater', [s, tol]);
  return reduce('sum', cast(isLarge, 'int64'), [s.shape.length - 1]);
}

export interface LeastSquares {
  readonly x: Expr;
  readonly residuals: Expr;
  readonly rank: Expr;
  readonly s: Expr;
}

/** The solution of least norm among those of least squares, as LAPACK's `gelsd`. */
export function leastSquares(op: string, left: Expr, right: Expr, rcond: number | undefined): LeastSquares {
  const isVector = right.shape.length === 1;
  const [first, given] = met(op, left, right);
  const a = matrices(op, first);
  const columns = isVector ? reshape(given, [given.shape[0]!, 1]) : matrices(op, given);
  const [m, n] = [a.shape.at(-2)!, a.shape.at(-1)!];
  if (columns.shape.at(-2) !== m)
    throw new ShapeError(
      expected(
        op,
        `as many rows on the right as on the left, ${m}`,
        `${formatShape(left.shape)} and ${formatShape(right.shape)}`,
      ),
    );
  const { u, s, vh } = svdOf(op, a, false);
  const isKept = isEmpty(a) ? constant(false, 'bool') : counting(s, rcond ?? usualTolerance(a));
  const inverses = map('where', [isKept, map('divide', [1, s]), 0]);
  const inner = matmul(adjoint(u), columns);
  const column = cast(reshape(inverses, [...inverses.shape, 1]), inner.dtype);
  const x = matmul(adjoint(vh), map('multiply', [inner, column]));
  const errors = map('subtract', [columns, matmul(a, x)]);
  const squared = map('square', [map('abs', [errors])]);
  const residuals = reduce('sum', squared, [squared.shape.length - 2]);
  const flat = (each: Expr): Expr => (isVector ? reshape(each, each.shape.slice(0, -1)) : each);
  const rank = isEmpty(a)
    ? zerosOf('int64', leadOf(a))
    : reduce('sum', cast(isKept, 'int64'), [s.shape.length - 1]);
  return {
    x: flat(x),
    residuals: m > n ? flat(residuals) : flat(zerosOf(residuals.dtype, residuals.shape)),
    rank,
    s,
  };
}
