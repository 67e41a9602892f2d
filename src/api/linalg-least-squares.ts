/** Least squares, by singular values. Called by `linalg.ts`. */
import { checkOptions, finiteNumber } from '../graph/arguments.js';
import * as decompositions from '../graph/decompositions.js';
import type { DType } from '../graph/dtype.js';
import type { Joined } from '../graph/dtype-types.js';
import { leastSquares } from '../graph/least-squares.js';
import { called } from '../host/site.js';
import type { ArrayLike, DTypeOf } from './fluent-types.js';
import { exprOf, Lazy } from './lazy.js';
import { type Linear, operandOf, type RealOf } from './linalg-arguments.js';

/** Options of `linalg.pinv`. */
export interface PinvOptions {
  /** Singular values up to so much of the largest count as 0: max(m, n) ε by default. A number for each matrix, or one. */
  readonly rtol?: ArrayLike | undefined;
}

/** Options of `linalg.lstsq`. */
export interface LstsqOptions {
  /** Singular values up to so much of the largest count as 0: max(m, n) ε by default, ε if it is negative. */
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

/**
 * The pseudo-inverse of each matrix, as NumPy's `pinv`: by its singular values, of which small ones count as 0.
 *
 * @example
 * await linalg.pinv([[2, 0], [0, 0]]).compute()
 * //=> [[0.5 0. ]
 * //=>  [0.  0. ]]
 */
export function pinv<T extends ArrayLike>(x: T, options?: PinvOptions): Lazy<Linear<DTypeOf<T>>> {
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
export function lstsq<A extends ArrayLike, B extends ArrayLike>(
  a: A,
  b: B,
  options?: LstsqOptions,
): LeastSquares<Linear<Joined<DTypeOf<A> | DTypeOf<B>>>> {
  return called(lstsq, () => {
    const op = 'linalg.lstsq';
    checkOptions(op, options, ['rcond']);
    const rcond = options?.rcond === undefined ? undefined : finiteNumber(op, 'rcond', options.rcond);
    const { x, residuals, rank, s } = leastSquares(op, exprOf(op, a), exprOf(op, b), rcond);
    return { x: new Lazy(x), residuals: new Lazy(residuals), rank: new Lazy(rank), s: new Lazy(s) };
  });
}
