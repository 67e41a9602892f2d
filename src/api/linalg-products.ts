/** Powers and products of matrices and vectors. Called by `linalg.ts`. */
import type { Joined } from '../graph/dtype-types.js';
import { formatValue } from '../graph/format.js';
import { exponentialOf } from '../graph/matrix-exponential.js';
import * as functions from '../graph/matrix-functions.js';
import { ArgumentError, expected } from '../host/errors.js';
import { called } from '../host/site.js';
import type { ArrayLike, DTypeOf } from './fluent-types.js';
import { exprOf, Lazy } from './lazy.js';
import type { Linear } from './linalg-arguments.js';

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

/**
 * The exponential of each square matrix, as SciPy's `expm`: by Padé's approximants, of degree 13 on a GPU, and as many squarings
 * as each matrix of a stack needs (Al-Mohy and Higham, 2009). A matrix with NaN or infinities has NaN. Unlike SciPy's, triangular
 * matrices are matrices like any other.
 *
 * @example
 * await linalg.expm([[0, 1], [0, 0]]).compute()
 * //=> [[1. 1.]
 * //=>  [0. 1.]]
 */
export function expm<T extends ArrayLike>(x: T): Lazy<Linear<DTypeOf<T>>> {
  return called(expm, () => new Lazy(exponentialOf('linalg.expm', exprOf('linalg.expm', x))));
}

/**
 * The product of two or more matrices, as NumPy's `multi_dot`, in the order with the least work (that of `einsum`). The
 * first may be a vector, which is a row, and the last one, which is a column. Throws a ShapeError for shapes that do not
 * fit.
 *
 * @example
 * await linalg.multiDot([[[1, 2], [3, 4]], [[1, 0], [1, 1]], [1, 10]]).compute()
 * //=> [23. 47.]
 */
export function multiDot<T extends ArrayLike>(arrays: readonly T[]): Lazy<Joined<DTypeOf<T>>> {
  return called(multiDot, () => {
    const op = 'linalg.multiDot';
    if (!Array.isArray(arrays))
      throw new ArgumentError(expected(op, 'a list of arrays', formatValue(arrays)));
    return new Lazy(
      functions.chainOf(
        op,
        arrays.map((x) => exprOf(op, x)),
      ),
    );
  });
}
