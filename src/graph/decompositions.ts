import { slice } from './basic-slicing.js';
import { call } from './calls.js';
import type { DType } from './dtype.js';
import type { Expr } from './expr.js';
import { sizeOfShape } from './graph.js';
import { cast, map, type Operand, reduce } from './infer.js';
import { concat } from './joins.js';
import { SMALL_ROWS } from './linear-routines.js';
import {
  adjoint,
  identities,
  isEmpty,
  leadOf,
  matrices,
  realDType,
  squares,
  stacked,
  transposed,
  unstacked,
  zerosOf,
} from './matrices.js';
import { matmul } from './products.js';
import { qrOf } from './qr.js';
import { statusOrNaN } from './statuses.js';
import { reshape } from './view-nodes.js';

const least = ({ shape }: Expr): number => Math.min(shape.at(-1)!, shape.at(-2)!);

/** The largest relative difference of a number and the next of a real dtype. */
export const epsilonOf = (x: Expr): number => (realDType(x.dtype) === 'float32' ? 2 ** -23 : 2 ** -52);

// ---------------------------------------------------------------- singular values

export interface Svd {
  readonly u: Expr;
  readonly s: Expr;
  readonly vh: Expr;
}

/** A decomposition, and the statuses of its call, one for each matrix of a stack. */
export interface Decomposition extends Svd {
  readonly statuses: Expr;
}

export const svdOf = (op: string, x: Expr, isFull: boolean): Svd =>
  decomposition(op, matrices(op, x), isFull, op);

/** `asked`: the function that fails where values do not converge; undefined: none does. */
export function decomposition(
  op: string,
  a: Expr,
  isFull: boolean,
  asked: string | undefined,
): Decomposition {
  const [lead, m, n, k] = [leadOf(a), a.shape.at(-2)!, a.shape.at(-1)!, least(a)];
  if (isEmpty(a)) {
    const square = (size: number): Expr => identities(a.dtype, lead, size);
    const u = isFull ? square(m) : zerosOf(a.dtype, [...lead, m, k]);
    const vh = isFull ? square(n) : zerosOf(a.dtype, [...lead, k, n]);
    const statuses = zerosOf('int32', [sizeOfShape(lead)]);
    return { u, s: zerosOf(realDType(a.dtype), [...lead, k]), vh, statuses };
  }
  if (isLong(a)) return svdByQr(op, a, isFull, asked);
  const isTall = m > n;
  const [s, statuses, left, right] = svdCall(a, true, asked) as [Expr, Expr, Expr, Expr];
  const [first, second] = [unstacked(lead, left), unstacked(lead, right)];
  const reduced = isTall
    ? { u: transposed(first), s: reshape(s, [...lead, k]), vh: transposed(second), statuses }
    : { u: second, s: reshape(s, [...lead, k]), vh: first, statuses };
  if (!isFull || m === n) return reduced;
  return isTall
    ? { ...reduced, u: completed(op, reduced.u) }
    : { ...reduced, vh: adjoint(completed(op, adjoint(reduced.vh))) };
}

/** The results of the routine, of a matrix or its transpose, with or without vectors. */
function svdCall(a: Expr, hasVectors: boolean, asked: string | undefined): Expr[] {
  const given = stacked(a.shape.at(-2)! > a.shape.at(-1)! ? transposed(a) : a);
  const parameters = [hasVectors ? 1 : 0, 1];
  const dtypes = call('svd', parameters, [given], asked);
  if (!isWidened(a)) return dtypes;
  const wide = call('svd', parameters, [cast(given, DOUBLE[a.dtype]!)]);
  return call('svd', parameters, [given, ...wide.map((x, k) => cast(x, dtypes[k]!.dtype))], asked);
}

/** The results of such a call as a GPU has them. */
export function svdByLibrary(a: Expr, hasVectors: boolean): readonly Expr[] {
  const found = call('svd', [hasVectors ? 1 : 0], [a]) as [Expr, Expr, Expr?, Expr?];
  const [values, statuses, left, right] = found;
  const results = [values, statusOrNaN(values, statuses)];
  return left === undefined ? results : [...results, left, adjoint(right!)];
}

/**
 * Matrices of single precision that are no kernel's of a GPU are decomposed in double precision there
 * (`fusion/passes/both-ways.ts`): of 1,000 rows and more the fast way of its library fails in single precision, and the
 * other one's vectors are orthonormal to three digits.
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
function svdByQr(op: string, a: Expr, isFull: boolean, asked: string | undefined): Decomposition {
  const isTall = a.shape.at(-2)! > a.shape.at(-1)!;
  if (!isTall) {
    const { u, s, vh, statuses } = svdByQr(op, adjoint(a), isFull, asked);
    return { u: adjoint(vh), s, vh: adjoint(u), statuses };
  }
  const { q, r } = qrOf(op, a, 'reduced');
  const { u, s, vh, statuses } = decomposition(op, r, false, asked);
  const left = matmul(q!, u);
  return { u: isFull ? completed(op, left) : left, s, vh, statuses };
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
  return reshape(svdCall(a, false, op)[0]!, shape);
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
export function counting(s: Expr, rtol: Operand): Expr {
  const most = slice(s, '...', [0, 1]);
  const factor = typeof rtol === 'object' && 'shape' in rtol ? reshape(rtol, [...rtol.shape, 1]) : rtol;
  return map('greater', [s, map('multiply', [most, factor])]);
}

export const usualTolerance = (a: Expr): number => Math.max(a.shape.at(-1)!, a.shape.at(-2)!) * epsilonOf(a);

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
