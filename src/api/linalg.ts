/**
 * Linear algebra with NumPy's and SciPy's names, over stacks of matrices along the last two axes: planned, cut into
 * tiles along the axes before them, and fused with what is around like everything else.
 */
import { checkOptions, finiteNumber, oneOf } from '../graph/arguments.js';
import * as decompositions from '../graph/decompositions.js';
import type { DType } from '../graph/dtype.js';
import type { Joined } from '../graph/dtype-types.js';
import { formatValue } from '../graph/format.js';
import { cast, type Operand } from '../graph/infer.js';
import * as solves from '../graph/linear-solves.js';
import { linearDType } from '../graph/matrices.js';
import * as functions from '../graph/matrix-functions.js';
import { normalizeAxes } from '../graph/shape.js';
import { norm as vectorNorm } from '../graph/statistics.js';
import { ArgumentError, expected, ShapeError } from '../host/errors.js';
import { called } from '../host/site.js';
import type { ArrayLike, DTypeOf } from './fluent-types.js';
import { exprOf, Lazy } from './lazy.js';

/** The dtype that matrices of a dtype are computed in: float32 of halves, float64 of integers and booleans. */
type Linear<D extends DType> = [D] extends ['complex64' | 'complex128' | 'float32' | 'float64']
  ? D
  : [D] extends ['float16' | 'bfloat16']
    ? 'float32'
    : DType extends D
      ? DType
      : 'float64';
type RealOf<D extends DType> = D extends 'complex64' | 'float32' | 'float16' | 'bfloat16'
  ? 'float32'
  : 'float64';
type Solution<A, B> = Lazy<Linear<Joined<DTypeOf<A> | DTypeOf<B>>>>;

/** Which matrix a system is solved with: itself (`'N'`), its transpose (`'T'`), the conjugate of that (`'C'`). */
export type TransposeArgument = solves.Transpose;

/** Options of `linalg.cholesky`. */
export interface CholeskyOptions {
  /** Whether U of A = Uᴴ U is wanted, from the upper triangle. */
  readonly upper?: boolean | undefined;
}

/** Options of `linalg.solveTriangular`. */
export interface SolveTriangularOptions {
  /** Whether the lower triangle is the matrix, not the upper one. */
  readonly lower?: boolean | undefined;
  /** `'N'` by default. */
  readonly trans?: TransposeArgument | undefined;
  /** Whether the diagonal counts as ones and is not read. */
  readonly unitDiagonal?: boolean | undefined;
}

/** Options of `linalg.luSolve`. */
export interface LuSolveOptions {
  /** `'N'` by default. */
  readonly trans?: TransposeArgument | undefined;
}

/** Options of `linalg.lu`. */
export interface LuOptions {
  /** Whether P is given by indices, int64: row i of A is row p[i] of L U. */
  readonly pIndices?: boolean | undefined;
}

/** P, L and U of A = P L U. */
export interface LU<D extends DType> {
  readonly p: Lazy;
  readonly l: Lazy<D>;
  readonly u: Lazy<D>;
}

/** L (without its ones) and U in one matrix, and the row, counted from 0, that each row was exchanged with. */
export interface LuFactors<D extends DType = DType> {
  readonly lu: Lazy<D>;
  readonly pivots: Lazy<'int64'>;
}

/** The sign of a determinant, and the logarithm of its modulus. */
export interface SignAndLog<D extends DType> {
  readonly sign: Lazy<D>;
  readonly logabsdet: Lazy<RealOf<D>>;
}

/** Options of `linalg.qr`. */
export interface QrOptions {
  /** `'reduced'` (by default): Q of as many columns as R has rows; `'complete'`: a square Q; `'r'`: R alone. */
  readonly mode?: decompositions.QrMode | undefined;
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

/** Options of `linalg.pinv`. */
export interface PinvOptions {
  /** Singular values up to so much of the largest count as 0: max(m, n) ε by default. A number for each matrix, or one. */
  readonly rtol?: ArrayLike | undefined;
}

/** Options of `linalg.matrixRank`. */
export interface MatrixRankOptions extends PinvOptions {
  /** Singular values up to it count as 0, in the place of `rtol`. */
  readonly tol?: ArrayLike | undefined;
}

/** Options of `linalg.lstsq`. */
export interface LstsqOptions {
  /** Singular values up to so much of the largest count as 0: max(m, n) ε by default. */
  readonly rcond?: number | undefined;
}

/** A solution of least squares. */
export interface LeastSquares<D extends DType> {
  /** Of all solutions that of the least norm. */
  readonly x: Lazy<D>;
  /** The sums of the squares of what is left, a number for each right side; zeros where m <= n. */
  readonly residuals: Lazy<RealOf<D>>;
  readonly rank: Lazy<'int64'>;
  /** The singular values of A. */
  readonly s: Lazy<RealOf<D>>;
}

/** Which norm: that of vectors, a number; of matrices also `'fro'` and `'nuc'`, the sum of singular values. */
export type LinalgNormOrder = number | 'fro' | 'nuc';

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

// ---------------------------------------------------------------- factors and systems

/**
 * The Cholesky factor L of A = L Lᴴ, as NumPy's `cholesky`; U of A = Uᴴ U with `{ upper: true }`. Only that triangle of
 * A is read, and of complex matrices the real part of the diagonal. Throws a ShapeError for matrices that are not
 * square; computing it throws a LinalgError where one is not positive definite. NaN gives NaN.
 *
 * @example
 * const l = linalg.cholesky([[4, 2], [2, 3]]);
 * await l.matmul(l.transpose()).compute()
 * //=> [[4. 2.]
 * //=>  [2. 3.]]
 */
function cholesky<T extends ArrayLike>(x: T, options?: CholeskyOptions): Lazy<Linear<DTypeOf<T>>> {
  return called(cholesky, () => {
    const op = 'linalg.cholesky';
    checkOptions(op, options, ['upper']);
    return new Lazy(solves.choleskyFactor(op, exprOf(op, x), flag(op, 'upper', options?.upper)));
  });
}

/**
 * X of A X = B, as NumPy's `solve`: B is one vector, if it has one axis, else matrices of columns. Stacks broadcast, and
 * what is solved with one matrix is solved together. By LU factors with partial pivoting; float64 of integers, float32
 * of halves. Throws a ShapeError where sizes differ; computing it throws a LinalgError where a pivot is exactly 0.
 *
 * @example
 * await linalg.solve([[3, 1], [1, 2]], [9, 8]).compute()
 * //=> [2. 3.]
 */
function solve<A extends ArrayLike, B extends ArrayLike>(a: A, b: B): Solution<A, B> {
  return called(solve, () => {
    const op = 'linalg.solve';
    return new Lazy(solves.solved(op, exprOf(op, a), exprOf(op, b)));
  });
}

/**
 * X of A X = B, A a triangle of its matrices, as SciPy's `solve_triangular`: the upper one, or with `{ lower: true }` the
 * lower. `{ trans: 'T' }` solves with its transpose. The other triangle is not read. Computing it throws a LinalgError
 * where an element of the diagonal is 0.
 *
 * @example
 * await linalg.solveTriangular([[2, 0], [1, 4]], [2, 9], { lower: true }).compute()
 * //=> [1. 2.]
 */
function solveTriangular<A extends ArrayLike, B extends ArrayLike>(
  a: A,
  b: B,
  options?: SolveTriangularOptions,
): Solution<A, B> {
  return called(solveTriangular, () => {
    const op = 'linalg.solveTriangular';
    checkOptions(op, options, ['lower', 'trans', 'unitDiagonal']);
    const triangle = {
      lower: flag(op, 'lower', options?.lower),
      trans: transposeOf(op, options?.trans),
      unitDiagonal: flag(op, 'unitDiagonal', options?.unitDiagonal),
    };
    return new Lazy(solves.solvedTriangular(op, exprOf(op, a), exprOf(op, b), triangle));
  });
}

/**
 * The inverse of each matrix, as NumPy's `inv`. To multiply by it, `linalg.solve` is faster and more exact. Computing it
 * throws a LinalgError where a pivot is exactly 0.
 *
 * @example
 * await linalg.inv([[2, 0], [0, 4]]).compute()
 * //=> [[0.5  0.  ]
 * //=>  [0.   0.25]]
 */
function inv<T extends ArrayLike>(x: T): Lazy<Linear<DTypeOf<T>>> {
  return called(inv, () => new Lazy(solves.inverse('linalg.inv', exprOf('linalg.inv', x))));
}

/**
 * P, L and U of A = P L U, as SciPy's `lu`, of matrices of any sizes: L has ones on its diagonal, U is above it. With
 * `{ pIndices: true }` P is given by indices.
 *
 * @example
 * const { p, l, u } = linalg.lu([[1, 2], [4, 4]]);
 * await u.compute()
 * //=> [[4. 4.]
 * //=>  [0. 1.]]
 * await p.matmul(l).matmul(u).compute()
 * //=> [[1. 2.]
 * //=>  [4. 4.]]
 */
function lu<T extends ArrayLike>(x: T, options?: LuOptions): LU<Linear<DTypeOf<T>>> {
  return called(lu, () => {
    const op = 'linalg.lu';
    checkOptions(op, options, ['pIndices']);
    const [p, l, u] = solves.luParts(op, exprOf(op, x), flag(op, 'pIndices', options?.pIndices));
    return { p: new Lazy(p), l: new Lazy(l), u: new Lazy(u) };
  });
}

/**
 * The factors of matrices for `linalg.luSolve`, as SciPy's `lu_factor`. A singular matrix is no error yet.
 *
 * @example
 * const { lu, pivots } = linalg.luFactor([[1, 2], [4, 4]]);
 * await lu.compute()
 * //=> [[4.   4.  ]
 * //=>  [0.25 1.  ]]
 * await pivots.compute()
 * //=> [1 1]
 */
function luFactor<T extends ArrayLike>(x: T): LuFactors<Linear<DTypeOf<T>>> {
  return called(luFactor, () => {
    const op = 'linalg.luFactor';
    const { lu: factors, pivots } = solves.luFactor(op, exprOf(op, x));
    return { lu: new Lazy(factors), pivots: new Lazy(pivots) };
  });
}

/**
 * X of A X = B by factors that `linalg.luFactor` gave, as SciPy's `lu_solve`; `{ trans: 'T' }` solves with the transpose
 * of A. Computing it throws a LinalgError where a pivot is exactly 0.
 *
 * @example
 * const factors = linalg.luFactor([[3, 1], [1, 2]]);
 * await linalg.luSolve(factors, [9, 8]).compute()
 * //=> [2. 3.]
 */
function luSolve<B extends ArrayLike>(factors: LuFactors, b: B, options?: LuSolveOptions): Lazy {
  return called(luSolve, () => {
    const op = 'linalg.luSolve';
    checkOptions(op, options, ['trans']);
    if (typeof factors !== 'object' || factors === null || !('lu' in factors) || !('pivots' in factors))
      throw new ArgumentError(expected(op, 'factors, { lu, pivots }', formatValue(factors)));
    const given = { lu: exprOf(op, factors.lu), pivots: exprOf(op, factors.pivots) };
    return new Lazy(solves.luSolved(op, given, exprOf(op, b), transposeOf(op, options?.trans)));
  });
}

// ---------------------------------------------------------------- numbers of matrices

/**
 * The determinant of each matrix, as NumPy's `det`: the product of the pivots of its LU factors, which NumPy takes by
 * their logarithms; those are taken here where the product is 0 or too large on its way.
 *
 * @example
 * await linalg.det([[1, 2], [3, 4]]).compute()
 * //=> -2.0
 */
function det<T extends ArrayLike>(x: T): Lazy<Linear<DTypeOf<T>>> {
  return called(det, () => new Lazy(solves.determinant('linalg.det', exprOf('linalg.det', x))));
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
function slogdet<T extends ArrayLike>(x: T): SignAndLog<Linear<DTypeOf<T>>> {
  return called(slogdet, () => {
    const [sign, logabsdet] = solves.signAndLog('linalg.slogdet', exprOf('linalg.slogdet', x));
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
function cond<T extends ArrayLike>(x: T, p?: LinalgNormOrder): Lazy<RealOf<DTypeOf<T>>> {
  return called(cond, () => new Lazy(functions.conditionOf('linalg.cond', exprOf('linalg.cond', x), p)));
}

/**
 * How many singular values of each matrix are larger than a tolerance, int64, as NumPy's `matrix_rank`.
 *
 * @example
 * await linalg.matrixRank([[1, 2], [2, 4]]).compute()
 * //=> 1
 */
function matrixRank(x: ArrayLike, options?: MatrixRankOptions): Lazy<'int64'> {
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
function norm<T extends ArrayLike>(x: T, options?: LinalgNormOptions): Lazy<RealOf<DTypeOf<T>>> {
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
function matrixNorm<T extends ArrayLike>(x: T, options?: MatrixNormOptions): Lazy<RealOf<DTypeOf<T>>> {
  return called(matrixNorm, () => {
    const op = 'linalg.matrixNorm';
    checkOptions(op, options, ['ord', 'keepdims']);
    const { ord = 'fro', keepdims } = options ?? {};
    return new Lazy(functions.matrixNormOf(op, exprOf(op, x), [-2, -1], ord, flag(op, 'keepdims', keepdims)));
  });
}

// ---------------------------------------------------------------- decompositions

/**
 * Q and R of A = Q R, as NumPy's `qr`, by Householder reflectors. R alone is `{ mode: 'r' }`, whose `q` is not there.
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
function qr<T extends ArrayLike>(x: T, options?: QrOptions): QR<Linear<DTypeOf<T>>> {
  return called(qr, () => {
    const op = 'linalg.qr';
    checkOptions(op, options, ['mode']);
    const mode = options?.mode ?? 'reduced';
    const { q, r } = decompositions.qrOf(op, exprOf(op, x), oneOf(op, 'mode', decompositions.QR_MODES, mode));
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
function svd<T extends ArrayLike>(x: T, options?: SvdOptions): SVD<Linear<DTypeOf<T>>> {
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
function svdvals<T extends ArrayLike>(x: T): Lazy<RealOf<DTypeOf<T>>> {
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
function eigh<T extends ArrayLike>(x: T, options?: EighOptions): Eigh<Linear<DTypeOf<T>>> {
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
function eigvalsh<T extends ArrayLike>(x: T, options?: EighOptions): Lazy<RealOf<DTypeOf<T>>> {
  return called(eigvalsh, () => {
    const op = 'linalg.eigvalsh';
    return new Lazy(decompositions.eigenvaluesOf(op, exprOf(op, x), triangleOf(op, options)));
  });
}

/**
 * The pseudo-inverse of each matrix, as NumPy's `pinv`: by its singular values, of which small ones count as 0.
 *
 * @example
 * await linalg.pinv([[2, 0], [0, 0]]).compute()
 * //=> [[0.5 0. ]
 * //=>  [0.  0. ]]
 */
function pinv<T extends ArrayLike>(x: T, options?: PinvOptions): Lazy<Linear<DTypeOf<T>>> {
  return called(pinv, () => {
    const op = 'linalg.pinv';
    checkOptions(op, options, ['rtol']);
    return new Lazy(decompositions.pseudoInverse(op, exprOf(op, x), operandOf(op, options?.rtol)));
  });
}

/**
 * x with the least |A x - b|, as NumPy's `lstsq`; of several such the one of the least norm. Unlike NumPy's it takes
 * stacks, and gives residuals whatever the rank.
 *
 * @example
 * const { x } = linalg.lstsq([[1, 0], [1, 1], [1, 2]], [1, 3, 5]);
 * await x.mul(1e6).round().div(1e6).compute()
 * //=> [1. 2.]
 */
function lstsq<A extends ArrayLike, B extends ArrayLike>(
  a: A,
  b: B,
  options?: LstsqOptions,
): LeastSquares<Linear<Joined<DTypeOf<A> | DTypeOf<B>>>> {
  return called(lstsq, () => {
    const op = 'linalg.lstsq';
    checkOptions(op, options, ['rcond']);
    const rcond = options?.rcond === undefined ? undefined : finiteNumber(op, 'rcond', options.rcond);
    const { x, residuals, rank, s } = decompositions.leastSquares(op, exprOf(op, a), exprOf(op, b), rcond);
    return { x: new Lazy(x), residuals: new Lazy(residuals), rank: new Lazy(rank), s: new Lazy(s) };
  });
}

// ---------------------------------------------------------------- powers and products

/**
 * The n-th power of square matrices, as NumPy's `matrix_power`: the identity for 0, powers of the inverse for negative n.
 *
 * @example
 * await linalg.matrixPower([[1, 1], [0, 1]], 5).compute()
 * //=> [[1. 5.]
 * //=>  [0. 1.]]
 */
function matrixPower<T extends ArrayLike>(x: T, n: number): Lazy {
  return called(matrixPower, () => {
    const op = 'linalg.matrixPower';
    return new Lazy(functions.powerOf(op, exprOf(op, x), n));
  });
}

/**
 * The cross products of vectors of three elements along an axis, the last by default, as `cross` of the array API
 * standard. Other axes broadcast.
 *
 * @example
 * await linalg.cross([1, 0, 0], [0, 1, 0]).compute()
 * //=> [0. 0. 1.]
 */
function cross<A extends ArrayLike, B extends ArrayLike>(a: A, b: B, axis?: number): Lazy {
  return called(cross, () => {
    const op = 'linalg.cross';
    return new Lazy(functions.crossOf(op, exprOf(op, a), exprOf(op, b), axis));
  });
}

/**
 * x of a x = b, where the last axes of a are those of x and the first ones those of b, as NumPy's `tensorsolve`.
 *
 * @example
 * await linalg.tensorsolve(eye(4).reshape([2, 2, 4]), [[1, 2], [3, 4]]).compute()
 * //=> [1. 2. 3. 4.]
 */
function tensorsolve<A extends ArrayLike, B extends ArrayLike>(a: A, b: B): Lazy {
  return called(tensorsolve, () => {
    const op = 'linalg.tensorsolve';
    return new Lazy(functions.tensorSolved(op, exprOf(op, a), exprOf(op, b)));
  });
}

/**
 * The inverse of an array as a map of its last axes to the first `ind` ones, 2 by default, as NumPy's `tensorinv`.
 *
 * @example
 * await linalg.tensorinv(eye(4).mul(2).reshape([2, 2, 4])).compute()
 * //=> [[[0.5 0. ]
 * //=>   [0.  0. ]]
 * //=>
 * //=>  [[0.  0.5]
 * //=>   [0.  0. ]]
 * //=>
 * //=>  [[0.  0. ]
 * //=>   [0.5 0. ]]
 * //=>
 * //=>  [[0.  0. ]
 * //=>   [0.  0.5]]]
 */
function tensorinv<T extends ArrayLike>(a: T, ind?: number): Lazy {
  return called(tensorinv, () => {
    const op = 'linalg.tensorinv';
    return new Lazy(functions.tensorInverse(op, exprOf(op, a), ind));
  });
}

// ---------------------------------------------------------------- arguments

const operandOf = (op: string, given: ArrayLike | undefined): Operand | undefined =>
  given === undefined ? undefined : exprOf(op, given);

function triangleOf(op: string, options: EighOptions | undefined): decompositions.TriangleName {
  checkOptions(op, options, ['uplo']);
  return oneOf(op, 'uplo', decompositions.TRIANGLES, options?.uplo ?? 'L');
}

function flag(op: string, name: string, value: unknown): boolean {
  if (value !== undefined && typeof value !== 'boolean')
    throw new ArgumentError(expected(op, `${name} to be true or false`, formatValue(value)));
  return value ?? false;
}

const transposeOf = (op: string, trans: unknown): TransposeArgument =>
  trans === undefined ? 'N' : oneOf(op, 'trans', solves.TRANSPOSES, trans);

/** Linear algebra: `linalg.solve(a, b)`, `linalg.cholesky(covariance)`. */
export const linalg = {
  cholesky,
  cond,
  cross,
  det,
  eigh,
  eigvalsh,
  inv,
  lstsq,
  lu,
  luFactor,
  luSolve,
  matrixNorm,
  matrixPower,
  matrixRank,
  norm,
  pinv,
  qr,
  slogdet,
  solve,
  solveTriangular,
  svd,
  svdvals,
  tensorinv,
  tensorsolve,
} as const;
