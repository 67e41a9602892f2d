/** The largest singular values, and principal components, by random products. Called by `linalg.ts`. */
import { checkOptions } from '../graph/arguments.js';
import type { DType } from '../graph/dtype.js';
import type { Expr } from '../graph/expr.js';
import { formatShape } from '../graph/format.js';
import { constant } from '../graph/infer.js';
import { largestSingular, principal, type Search } from '../graph/low-rank.js';
import { checkInteger } from '../graph/shape.js';
import { expected, RangeArgumentError, ShapeError } from '../host/errors.js';
import { called } from '../host/site.js';
import type { ArrayLike, DTypeOf } from './fluent-types.js';
import { exprOf, Lazy } from './lazy.js';
import type { Linear, RealOf } from './linalg-arguments.js';
import type { SVD } from './linalg-decompositions.js';
import { bitsOf, type KeyArgument } from './random-arguments.js';

/** Options of `linalg.svds` and `linalg.pca`. */
export interface LowRankOptions {
  /** Random columns beside those of the values, 10 by default. */
  readonly oversampling?: number | undefined;
  /** How often the matrix and its adjoint multiply the columns, 4 by default: more where values decay slowly. */
  readonly powers?: number | undefined;
  /** The key of the random columns, that of the seed 0 by default. */
  readonly key?: KeyArgument | undefined;
}

/** Principal components of rows. */
export interface PCA<D extends DType> {
  /** The directions as rows, of length 1, that of the largest variance first: (k, columns). */
  readonly components: Lazy<D>;
  /** Each row in those directions: (rows, k). */
  readonly scores: Lazy<D>;
  /** The variance in each direction, over rows - 1. */
  readonly explainedVariance: Lazy<RealOf<D>>;
  /** Its part of all variance. */
  readonly explainedVarianceRatio: Lazy<RealOf<D>>;
  /** Of the rows less their mean. */
  readonly singularValues: Lazy<RealOf<D>>;
  /** The mean of the rows. */
  readonly mean: Lazy<D>;
}

/**
 * The k largest singular values of a matrix and their vectors, U (m, k), s (k) and Vᴴ (k, n), largest first, as
 * scikit-learn's `randomized_svd`; SciPy's `svds` has the smallest first. By products with k + `oversampling` random
 * columns (Halko, Martinsson and Tropp, 2011): the matrix is read 2 + 2 · `powers` times, by tiles of rows where it does not
 * fit. The error is that of a part of the next value, which shrinks with each power. Throws a ShapeError for what is no
 * matrix, and a RangeArgumentError for a k that is not from 1 to the least of its sizes.
 *
 * @example
 * const x = lazy([[3, 0, 0], [0, 2, 0], [0, 0, 1], [0, 0, 0]]);
 * const { s } = linalg.svds(x, 2);
 * await s.mul(1e6).round().div(1e6).compute()
 * //=> [3. 2.]
 */
export function svds<T extends ArrayLike>(
  x: T,
  k: number,
  options?: LowRankOptions,
): SVD<Linear<DTypeOf<T>>> {
  return called(svds, () => {
    const op = 'linalg.svds';
    const a = matrixOf(op, exprOf(op, x));
    const { u, s, vh } = largestSingular(op, a, searchOf(op, a, k, options));
    return { u: new Lazy(u), s: new Lazy(s), vh: new Lazy(vh) };
  });
}

/**
 * The k principal components of the rows of a matrix, as scikit-learn's `PCA` with its randomized solver: the directions of
 * the largest variance, the rows in them, and how much they explain. The element of the largest modulus of each direction
 * is positive. As `linalg.svds`, which it is of the rows less their mean; those are not stored. Errors are those of `svds`.
 *
 * @example
 * const { components, explainedVarianceRatio } = linalg.pca([[1, 1], [2, 2], [3, 3], [4, 4]], 1);
 * await components.mul(1e6).round().div(1e6).compute()
 * //=> [[0.707107 0.707107]]
 * await explainedVarianceRatio.mul(1e6).round().div(1e6).compute()
 * //=> [1.]
 */
export function pca<T extends ArrayLike>(x: T, k: number, options?: LowRankOptions): PCA<Linear<DTypeOf<T>>> {
  return called(pca, () => {
    const op = 'linalg.pca';
    const a = matrixOf(op, exprOf(op, x));
    const found = principal(op, a, searchOf(op, a, k, options));
    return {
      components: new Lazy(found.components),
      scores: new Lazy(found.scores),
      explainedVariance: new Lazy(found.explainedVariance),
      explainedVarianceRatio: new Lazy(found.explainedVarianceRatio),
      singularValues: new Lazy(found.singularValues),
      mean: new Lazy(found.mean),
    };
  });
}

function matrixOf(op: string, x: Expr): Expr {
  if (x.shape.length !== 2) throw new ShapeError(expected(op, 'a matrix', formatShape(x.shape)));
  return x;
}

function searchOf(op: string, { shape }: Expr, k: unknown, options: LowRankOptions | undefined): Search {
  checkOptions(op, options, ['oversampling', 'powers', 'key']);
  const count = checkInteger(op, 'the number of values', k);
  const most = Math.min(...shape);
  if (count < 1 || count > most)
    throw new RangeArgumentError(expected(op, `a number of values from 1 to ${most}`, `${count}`));
  const atLeastNone = (name: string, value: unknown): number => {
    const given = checkInteger(op, name, value);
    if (given < 0) throw new RangeArgumentError(expected(op, `${name} not to be negative`, `${given}`));
    return given;
  };
  const key = options?.key === undefined ? SEED_0 : bitsOf(op, options.key);
  return {
    count,
    oversampling: atLeastNone('oversampling', options?.oversampling ?? 10),
    powers: atLeastNone('powers', options?.powers ?? 4),
    key,
  };
}

const SEED_0 = { impl: 'philox4x32', words: constant(0n, 'uint64') } as const;
