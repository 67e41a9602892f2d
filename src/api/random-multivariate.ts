/** Random vectors whose elements depend on each other. Called by `random.ts`. */
import { oneOf } from '../graph/arguments.js';
import { eighOf, svdOf } from '../graph/decompositions.js';
import type { DType } from '../graph/dtype.js';
import type { Expr } from '../graph/expr.js';
import { formatShape } from '../graph/format.js';
import { cast, map } from '../graph/infer.js';
import { choleskyFactor } from '../graph/linear-solves.js';
import { transposed } from '../graph/matrices.js';
import { matmul } from '../graph/products.js';
import { checkFloat, standardNormal } from '../graph/random.js';
import type { ShapeArgument } from '../graph/shape.js';
import { reshape } from '../graph/view-nodes.js';
import { expected, ShapeError } from '../host/errors.js';
import { called } from '../host/site.js';
import type { ArrayLike } from './fluent-types.js';
import { exprOf, Lazy } from './lazy.js';
import { type KeyArgument, type SampleOptions, sample } from './random-arguments.js';

const METHODS = ['svd', 'eigh', 'cholesky'] as const;

/** Options of `random.multivariateNormal`. */
export interface MultivariateNormalOptions<D extends DType = DType> extends SampleOptions<D> {
  /** How a factor F of the covariance F Fᵀ is found: `'svd'` (by default), `'eigh'`, or `'cholesky'`, the fastest. */
  readonly method?: (typeof METHODS)[number] | undefined;
}

/**
 * Normal vectors of a mean and a covariance, as NumPy's `multivariate_normal`: float64 unless a dtype is given. `shape` is
 * that of the sample without the last axis, which has the elements of a vector. The covariance is not checked, but by
 * `{ method: 'cholesky' }`, which throws a LinalgError, when it is computed, for one that is not positive definite. Throws
 * a ShapeError for a mean that is no vector, and for a covariance of other sizes.
 *
 * @example
 * const covariance = [[2, 1], [1, 2]];
 * const x = random.multivariateNormal(random.key(7), [100_000], [5, -5], covariance, { method: 'cholesky' });
 * await x.mean(0).round().compute()
 * //=> [ 5. -5.]
 * await x.sub([5, -5]).square().mean(0).round().compute()
 * //=> [2. 2.]
 */
export function multivariateNormal<D extends DType = 'float64'>(
  from: KeyArgument,
  shape: ShapeArgument,
  mean: ArrayLike,
  covariance: ArrayLike,
  options?: MultivariateNormalOptions<D>,
): Lazy<D> {
  return called(multivariateNormal, () => {
    const op = 'random.multivariateNormal';
    const { key: node, shape: of, dtype } = sample(op, from, shape, options, ['method'], 'float64');
    checkFloat(op, dtype);
    const [centre, matrix] = [exprOf(op, mean), exprOf(op, covariance)];
    const [n] = centre.shape;
    if (centre.shape.length !== 1 || matrix.shape.length !== 2 || matrix.shape.some((size) => size !== n))
      throw new ShapeError(
        expected(
          op,
          'a mean of n elements and a covariance of n rows and columns',
          `${formatShape(centre.shape)} and ${formatShape(matrix.shape)}`,
        ),
      );
    const factor = factorOf(op, cast(matrix, dtype), oneOf(op, 'method', METHODS, options?.method ?? 'svd'));
    const rows = standardNormal(node, [of.reduce((m, size) => m * size, 1), n!], dtype);
    const moved = map('add', [matmul(rows, cast(transposed(factor), dtype)), cast(centre, dtype)]);
    return new Lazy<D>(reshape(moved, [...of, n!]));
  });
}

/** F of F Fᵀ. */
function factorOf(op: string, covariance: Expr, method: (typeof METHODS)[number]): Expr {
  const scaled = (vectors: Expr, values: Expr): Expr =>
    map('multiply', [vectors, map('sqrt', [map('abs', [values])])]);
  switch (method) {
    case 'svd': {
      const { u, s } = svdOf(op, covariance, false);
      return scaled(u, s);
    }
    case 'eigh': {
      const [values, vectors] = eighOf(op, covariance, 'L');
      return scaled(vectors, values);
    }
    case 'cholesky':
      return choleskyFactor(op, covariance, false);
  }
}
