/** Systems of linear equations: factors of matrices, and what they solve. Called by `linalg.ts`. */
import { checkOptions, oneOf } from '../graph/arguments.js';
import type { DType } from '../graph/dtype.js';
import { formatValue } from '../graph/format.js';
import * as solves from '../graph/linear-solves.js';
import * as functions from '../graph/matrix-functions.js';
import { ArgumentError, expected } from '../host/errors.js';
import { called } from '../host/site.js';
import type { ArrayLike, DTypeOf } from './fluent-types.js';
import { exprOf, Lazy } from './lazy.js';
import { flag, type Linear, type Solution } from './linalg-arguments.js';

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
export function cholesky<T extends ArrayLike>(x: T, options?: CholeskyOptions): Lazy<Linear<DTypeOf<T>>> {
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
export function solve<A extends ArrayLike, B extends ArrayLike>(a: A, b: B): Solution<A, B> {
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
export function solveTriangular<A extends ArrayLike, B extends ArrayLike>(
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
export function inv<T extends ArrayLike>(x: T): Lazy<Linear<DTypeOf<T>>> {
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
export function lu<T extends ArrayLike>(x: T, options?: LuOptions): LU<Linear<DTypeOf<T>>> {
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
export function luFactor<T extends ArrayLike>(x: T): LuFactors<Linear<DTypeOf<T>>> {
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
export function luSolve<B extends ArrayLike>(factors: LuFactors, b: B, options?: LuSolveOptions): Lazy {
  return called(luSolve, () => {
    const op = 'linalg.luSolve';
    checkOptions(op, options, ['trans']);
    if (typeof factors !== 'object' || factors === null || !('lu' in factors) || !('pivots' in factors))
      throw new ArgumentError(expected(op, 'factors, { lu, pivots }', formatValue(factors)));
    const given = { lu: exprOf(op, factors.lu), pivots: exprOf(op, factors.pivots) };
    return new Lazy(solves.luSolved(op, given, exprOf(op, b), transposeOf(op, options?.trans)));
  });
}

/**
 * x of a x = b, where the last axes of a are those of x and the first ones those of b, as NumPy's `tensorsolve`.
 *
 * @example
 * await linalg.tensorsolve(eye(4).reshape([2, 2, 4]), [[1, 2], [3, 4]]).compute()
 * //=> [1. 2. 3. 4.]
 */
export function tensorsolve<A extends ArrayLike, B extends ArrayLike>(a: A, b: B): Lazy {
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
export function tensorinv<T extends ArrayLike>(a: T, ind?: number): Lazy {
  return called(tensorinv, () => {
    const op = 'linalg.tensorinv';
    return new Lazy(functions.tensorInverse(op, exprOf(op, a), ind));
  });
}

const transposeOf = (op: string, trans: unknown): TransposeArgument =>
  trans === undefined ? 'N' : oneOf(op, 'trans', solves.TRANSPOSES, trans);
