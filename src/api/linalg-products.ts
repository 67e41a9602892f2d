/** Powers and products of matrices and vectors. Called by `linalg.ts`. */
import * as functions from '../graph/matrix-functions.js';
import { called } from '../host/site.js';
import type { ArrayLike } from './fluent-types.js';
import { exprOf, Lazy } from './lazy.js';

/**
 * The n-th power of square matrices, as NumPy's `matrix_power`: the identity for 0, powers of the inverse for negative n.
 *
 * @example
 * await linalg.matrixPower([[1, 1], [0, 1]], 5).compute()
 * //=> [[1. 5.]
 * //=>  [0. 1.]]
 */
export function matrixPower<T extends ArrayLike>(x: T, n: number): Lazy {
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
export function cross<A extends ArrayLike, B extends ArrayLike>(a: A, b: B, axis?: number): Lazy {
  return called(cross, () => {
    const op = 'linalg.cross';
    return new Lazy(functions.crossOf(op, exprOf(op, a), exprOf(op, b), axis));
  });
}
