/** Numbers of matrices: determinants, norms, conditions, ranks. Called by `linalg.ts`. */
import { checkOptions } from '../graph/arguments.js';
import * as decompositions from '../graph/decompositions.js';
import { determinant, signAndLog } from '../graph/determinants.js';
import type { DType } from '../graph/dtype.js';
import { formatValue } from '../graph/format.js';
import { cast } from '../graph/infer.js';
import { linearDType } from '../graph/matrices.js';
import * as functions from '../graph/matrix-functions.js';
import { normalizeAxes } from '../graph/shape.js';
import { norm as vectorNorm } from '../graph/statistics.js';
import { expected, ShapeError } from '../host/errors.js';
import { called } from '../host/site.js';
import type { ArrayLike, DTypeOf } from './fluent-types.js';
import { exprOf, Lazy } from './lazy.js';
import { flag, type LinalgNormOrder, type Linear, operandOf, type RealOf } from './linalg-arguments.js';
import type { PinvOptions } from './linalg-least-squares.js';

/** The sign of a determinant, and the logarithm of its modulus. */
export interface SignAndLog<D extends DType> {
  readonly sign: Lazy<D>;
  readonly logabsdet: Lazy<RealOf<D>>;
}

/** Options of `linalg.matrixRank`. */
export interface MatrixRankOptions extends PinvOptions {
  /** Singular values up to it count as 0, in the place of `rtol`. */
  readonly tol?: ArrayLike | undefined;
}

/** Options of `linalg.norm`. */
export interface LinalgNormOptions {
  /** 2, of a matrix `'fro'`, by default. */
  readonly ord?: LinalgNormOrder | undefined;
  /** One axis for vectors, two for matrices; without it all of the array. */
  readonly axis?: number | readonly number[] | undefined;
  readonly keepdims?: boolean | undefined;
}

/** Options of `linalg.matrixNorm`. */
export interface MatrixNormOptions {
  /** `'fro'` by default. */
  readonly ord?: LinalgNormOrder | undefined;
  readonly keepdims?: boolean | undefined;
}

/**
 * The determinant of each matrix, as NumPy's `det`: the product of the pivots of its LU factors, also where it is 0 or too large
 * on its way.
 *
 * @example
 * await linalg.det([[1, 2], [3, 4]]).compute()
 * //=> -2.0
 */
export function det<T extends ArrayLike>(x: T): Lazy<Linear<DTypeOf<T>>> {
  return called(det, () => new Lazy(determinant('linalg.det', exprOf('linalg.det', x))));
}

/**
 * The sign of each matrix's determinant, and the logarithm of its modulus, as NumPy's `slogdet`: 0 and -Infinity of a
 * singular matrix. The sign of a complex determinant is a complex number of modulus 1.
 *
 * @example
 * const { sign, logabsdet } = linalg.slogdet([[1, 2], [3, 4]]);
 * await sign.compute()
 * //=> -1.0
 * await logabsdet.exp().compute()
 * //=> 2.0
 */
export function slogdet<T extends ArrayLike>(x: T): SignAndLog<Linear<DTypeOf<T>>> {
  return called(slogdet, () => {
    const [sign, logabsdet] = signAndLog('linalg.slogdet', exprOf('linalg.slogdet', x));
    return { sign: new Lazy(sign), logabsdet: new Lazy(logabsdet) };
  });
}

/**
 * The condition of each matrix, as NumPy's `cond`: the largest by the smallest singular value, or with another norm (1,
 * -1, Infinity, -Infinity, 'fro', 'nuc') the norm of the matrix times that of its inverse.
 *
 * @example
 * await linalg.cond([[2, 0], [0, 8]]).compute()
 * //=> 4.0
 */
export function cond<T extends ArrayLike>(x: T, p?: LinalgNormOrder): Lazy<RealOf<DTypeOf<T>>> {
  return called(cond, () => new Lazy(functions.conditionOf('linalg.cond', exprOf('linalg.cond', x), p)));
}

/**
 * How many singular values of each matrix are larger than a tolerance, int64, as NumPy's `matrix_rank`.
 *
 * @example
 * await linalg.matrixRank([[1, 2], [2, 4]]).compute()
 * //=> 1
 */
export function matrixRank(x: ArrayLike, options?: MatrixRankOptions): Lazy<'int64'> {
  return called(matrixRank, () => {
    const op = 'linalg.matrixRank';
    checkOptions(op, options, ['rtol', 'tol']);
    const { rtol, tol } = options ?? {};
    return new Lazy(decompositions.rankOf(op, exprOf(op, x), operandOf(op, rtol), operandOf(op, tol)));
  });
}

/**
 * The norm of all of an array, of vectors along an axis or of matrices along two, as NumPy's `norm`: `linalg.norm(x, {
 * ord: 1, axis: 0 })`. Of vectors (Σ|x|^p)^(1/p), the largest or smallest modulus for ±Infinity, the count of nonzeros
 * for 0. Of matrices 'fro', 'nuc', 1 and -1 (the largest and smallest sum of a column), ±Infinity (of a row), 2 and -2
 * (the largest and smallest singular value).
 *
 * @example
 * await linalg.norm([[3, 0], [4, 0]], { ord: 2 }).compute()
 * //=> 5.0
 */
export function norm<T extends ArrayLike>(x: T, options?: LinalgNormOptions): Lazy<RealOf<DTypeOf<T>>> {
  return called(norm, () => {
    const op = 'linalg.norm';
    checkOptions(op, options, ['ord', 'axis', 'keepdims']);
    const { ord, axis, keepdims } = options ?? {};
    const array = exprOf(op, x);
    const all = array.shape.map((_, k) => k);
    const axes = axis === undefined ? all : normalizeAxes(op, axis, array.shape.length);
    const isMatrix = axes.length === 2 && ord !== undefined;
    if (isMatrix)
      return new Lazy(functions.matrixNormOf(op, array, axes, ord, flag(op, 'keepdims', keepdims)));
    if (ord === 'nuc' || (ord === 'fro' && axes.length !== 2) || (ord !== undefined && axes.length !== 1))
      throw new ShapeError(
        expected(op, 'one axis, or two of matrices', `${axes.length} for ord ${formatValue(ord)}`),
      );
    return new Lazy(vectorNorm(cast(array, linearDType(array.dtype)), { ord, axis: axes, keepdims }));
  });
}

/**
 * The norm of the matrices along the last two axes, as `matrix_norm` of the array API standard: `linalg.norm` of those.
 *
 * @example
 * await linalg.matrixNorm([[1, 2], [3, 4]], { ord: 1 }).compute()
 * //=> 6.0
 */
export function matrixNorm<T extends ArrayLike>(x: T, options?: MatrixNormOptions): Lazy<RealOf<DTypeOf<T>>> {
  return called(matrixNorm, () => {
    const op = 'linalg.matrixNorm';
    checkOptions(op, options, ['ord', 'keepdims']);
    const { ord = 'fro', keepdims } = options ?? {};
    return new Lazy(functions.matrixNormOf(op, exprOf(op, x), [-2, -1], ord, flag(op, 'keepdims', keepdims)));
  });
}
