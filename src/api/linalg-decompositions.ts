/** Decompositions of matrices: QR, singular values, eigenvalues. Called by `linalg.ts`. */
import { checkOptions, oneOf } from '../graph/arguments.js';
import * as decompositions from '../graph/decompositions.js';
import type { DType } from '../graph/dtype.js';
import * as general from '../graph/eigenvalues.js';
import * as qrs from '../graph/qr.js';
import { called } from '../host/site.js';
import type { ArrayLike, DTypeOf } from './fluent-types.js';
import { exprOf, Lazy } from './lazy.js';
import { type ComplexOf, flag, type Linear, type RealOf } from './linalg-arguments.js';

/** Options of `linalg.qr`. */
export interface QrOptions {
  /** `'reduced'` (by default): Q of as many columns as R has rows; `'complete'`: a square Q; `'r'`: R alone. */
  readonly mode?: qrs.QrMode | undefined;
}

/** Q, with orthonormal columns, and R, upper triangular, of A = Q R. */
export interface QR<D extends DType> {
  readonly q: Lazy<D>;
  readonly r: Lazy<D>;
}

/** Options of `linalg.svd`. */
export interface SvdOptions {
  /** Whether U and Vᴴ are square (by default, as NumPy has it). */
  readonly fullMatrices?: boolean | undefined;
}

/** U, the singular values, largest first, and Vᴴ of A = U S Vᴴ. */
export interface SVD<D extends DType> {
  readonly u: Lazy<D>;
  readonly s: Lazy<RealOf<D>>;
  readonly vh: Lazy<D>;
}

/** Options of `linalg.eigh` and `linalg.eigvalsh`. */
export interface EighOptions {
  /** The triangle that is read: the lower one, `'L'`, by default, or `'U'`. */
  readonly uplo?: decompositions.TriangleName | undefined;
}

/** Eigenvalues in ascending order, and the eigenvectors as columns. */
export interface Eigh<D extends DType> {
  readonly eigenvalues: Lazy<RealOf<D>>;
  readonly eigenvectors: Lazy<D>;
}

/** Eigenvalues, and right eigenvectors of length 1 as columns, both complex. */
export interface Eig<D extends DType> {
  readonly eigenvalues: Lazy<ComplexOf<D>>;
  readonly eigenvectors: Lazy<ComplexOf<D>>;
}

/**
 * Q and R of A = Q R, as NumPy's `qr`, by Householder reflectors. R alone is `{ mode: 'r' }`, whose `q` is not there. A
 * matrix of very many rows (2^26 elements or more) is factored by blocks of rows, which need not fit on a device together.
 *
 * @example
 * const { q, r } = linalg.qr([[3, 1], [4, 2]]);
 * await r.abs().compute()
 * //=> [[5.  2.2]
 * //=>  [0.  0.4]]
 * await q.matmul(r).round().compute()
 * //=> [[3. 1.]
 * //=>  [4. 2.]]
 */
export function qr<T extends ArrayLike>(x: T, options?: QrOptions): QR<Linear<DTypeOf<T>>> {
  return called(qr, () => {
    const op = 'linalg.qr';
    checkOptions(op, options, ['mode']);
    const mode = options?.mode ?? 'reduced';
    const { q, r } = qrs.qrOf(op, exprOf(op, x), oneOf(op, 'mode', qrs.QR_MODES, mode));
    return (q === undefined ? { r: new Lazy(r) } : { q: new Lazy(q), r: new Lazy(r) }) as QR<never>;
  });
}

/**
 * U, the singular values and Vᴴ of A = U S Vᴴ, as NumPy's `svd`: square U and Vᴴ, or with `{ fullMatrices: false }` of as
 * many columns and rows as there are singular values. Computing it throws a LinalgError where a matrix has NaN or
 * infinities, or nothing converges.
 *
 * @example
 * const { u, s, vh } = linalg.svd([[3, 0], [0, -2]]);
 * await s.compute()
 * //=> [3. 2.]
 * await u.mul(s).matmul(vh).compute()
 * //=> [[ 3.  0.]
 * //=>  [ 0. -2.]]
 */
export function svd<T extends ArrayLike>(x: T, options?: SvdOptions): SVD<Linear<DTypeOf<T>>> {
  return called(svd, () => {
    const op = 'linalg.svd';
    checkOptions(op, options, ['fullMatrices']);
    const isFull = flag(op, 'fullMatrices', options?.fullMatrices ?? true);
    const { u, s, vh } = decompositions.svdOf(op, exprOf(op, x), isFull);
    return { u: new Lazy(u), s: new Lazy(s), vh: new Lazy(vh) };
  });
}

/**
 * The singular values of each matrix, largest first, as NumPy's `svdvals`; errors as of `linalg.svd`.
 *
 * @example
 * await linalg.svdvals([[3, 0], [0, -2]]).compute()
 * //=> [3. 2.]
 */
export function svdvals<T extends ArrayLike>(x: T): Lazy<RealOf<DTypeOf<T>>> {
  return called(
    svdvals,
    () => new Lazy(decompositions.singularValues('linalg.svdvals', exprOf('linalg.svdvals', x))),
  );
}

/**
 * The eigenvalues of symmetric and Hermitian matrices in ascending order, and their eigenvectors as columns, as NumPy's
 * `eigh`. One triangle is read. A matrix with NaN has NaN. Computing it throws a LinalgError where nothing converges.
 *
 * @example
 * const { eigenvalues, eigenvectors } = linalg.eigh([[2, 1], [1, 2]]);
 * await eigenvalues.compute()
 * //=> [1. 3.]
 * await eigenvectors.square().mul(1000).round().compute()
 * //=> [[500. 500.]
 * //=>  [500. 500.]]
 */
export function eigh<T extends ArrayLike>(x: T, options?: EighOptions): Eigh<Linear<DTypeOf<T>>> {
  return called(eigh, () => {
    const op = 'linalg.eigh';
    const [values, vectors] = decompositions.eighOf(op, exprOf(op, x), triangleOf(op, options));
    return { eigenvalues: new Lazy(values), eigenvectors: new Lazy(vectors) };
  });
}

/**
 * The eigenvalues of symmetric and Hermitian matrices in ascending order, as NumPy's `eigvalsh`.
 *
 * @example
 * await linalg.eigvalsh([[2, 1], [1, 2]]).compute()
 * //=> [1. 3.]
 */
export function eigvalsh<T extends ArrayLike>(x: T, options?: EighOptions): Lazy<RealOf<DTypeOf<T>>> {
  return called(eigvalsh, () => {
    const op = 'linalg.eigvalsh';
    return new Lazy(decompositions.eigenvaluesOf(op, exprOf(op, x), triangleOf(op, options)));
  });
}

/**
 * The eigenvalues of square matrices and their right eigenvectors as columns, as NumPy's `eig`, but always complex, as
 * the array API standard has them: complex64 of float32, complex128 of float64. Those of a real matrix come in conjugate
 * pairs, the one with the positive imaginary part first. Vectors have length 1, and their largest element is real. As
 * LAPACK's `geev`: balanced (without permutations), in Hessenberg form, by the shifted QR method. On a GPU by cuSOLVER's
 * `Xgeev` (CUDA 12.6 and later). Computing it throws a LinalgError where a matrix has NaN or infinities, or nothing converges.
 *
 * @example
 * const { eigenvalues, eigenvectors } = linalg.eig([[0, -1], [1, 0]]);
 * await eigenvalues.compute()
 * //=> [0.+1.j 0.-1.j]
 * await eigenvectors.square().mul(1000).round().compute()
 * //=> [[ 500.+0.j  500.+0.j]
 * //=>  [-500.-0.j -500.+0.j]]
 */
export function eig<T extends ArrayLike>(x: T): Eig<DTypeOf<T>> {
  return called(eig, () => {
    const [values, vectors] = general.eigOf('linalg.eig', exprOf('linalg.eig', x));
    return { eigenvalues: new Lazy(values), eigenvectors: new Lazy(vectors) };
  });
}

/**
 * The eigenvalues of square matrices, complex, as NumPy's `eigvals`; errors as of `linalg.eig`.
 *
 * @example
 * await linalg.eigvals([[0, -4], [1, 0]]).compute()
 * //=> [0.+2.j 0.-2.j]
 */
export function eigvals<T extends ArrayLike>(x: T): Lazy<ComplexOf<DTypeOf<T>>> {
  return called(
    eigvals,
    () => new Lazy(general.eigenvaluesOf('linalg.eigvals', exprOf('linalg.eigvals', x))),
  );
}

function triangleOf(op: string, options: EighOptions | undefined): decompositions.TriangleName {
  checkOptions(op, options, ['uplo']);
  return oneOf(op, 'uplo', decompositions.TRIANGLES, options?.uplo ?? 'L');
}
