/** Cholesky factors of sparse matrices, for solves: by cuDSS on a GPU, else the CPU's LU factors with pivots of the diagonal. */
import type { ComputeOptions } from '../exec/run/compute-options.js';
import { checkOptions, refuseMore } from '../graph/arguments.js';
import { isComplex } from '../graph/dtype.js';
import { formatShape } from '../graph/format.js';
import { expected, LinalgError, ShapeError } from '../host/errors.js';
import { called, calledAsync } from '../host/site.js';
import { compute } from './compute.js';
import { COMPUTE_OPTIONS } from './computing.js';
import type { ArrayLike } from './fluent-types.js';
import type { Lazy } from './lazy.js';
import { partsOf } from './sparse-arguments.js';
import { factorsOf, rightSides, type SparseLU } from './sparse-direct.js';
import { type DirectSolve, gpuFactors } from './sparse-factors.js';
import type { SparseMatrix } from './sparse-matrix.js';

/** The Cholesky factors of a sparse matrix, as scikit-sparse's `Factor`. Made by `sparse.cholesky`. */
export class SparseCholesky {
  /**
   * Rows and columns.
   *
   * @example
   * (await sparse.cholesky(sparse.eye(3))).shape
   * //=> [ 3, 3 ]
   */
  readonly shape: readonly [rows: number, columns: number];
  readonly #solve: DirectSolve;

  /** Factors are made by `sparse.cholesky`. */
  constructor(shape: readonly [number, number], solve: DirectSolve) {
    this.shape = shape;
    this.#solve = solve;
  }

  /**
   * X of A X = B, B of shape (n) or (n, k). Throws a ShapeError for other shapes.
   *
   * @example
   * const factor = await sparse.cholesky(sparse.fromDense([[2, 1], [1, 4]]))
   * await factor.solve([4, 9]).compute()
   * //=> [1. 2.]
   */
  solve(b: ArrayLike): Lazy {
    return called(this.solve, () => this.#solve(rightSides('sparse.cholesky.solve', b, this.shape[0])));
  }
}

/**
 * The Cholesky factors of a sparse matrix that is symmetric, or Hermitian, and positive definite, as scikit-sparse's
 * `cholesky`: the lower triangle is read, what is above it is not. On a GPU cuDSS makes them, where it is found (`weft doctor`),
 * within `memory`, and solves are computed on that GPU; else the CPU does, as `splu`. Rejects with a ShapeError for a matrix
 * that is not square, with a LinalgError for one that is not positive definite.
 *
 * @example
 * const factor = await sparse.cholesky(sparse.diags([-1, 2, -1], [-1, 0, 1], [4, 4]))
 * await factor.solve([0, 0, 0, 5]).compute()
 * //=> [1. 2. 3. 4.]
 */
export function cholesky(
  a: SparseMatrix,
  options: ComputeOptions = {},
  ...more: readonly unknown[]
): Promise<SparseCholesky> {
  return calledAsync(cholesky, async () => {
    const op = 'sparse.cholesky';
    refuseMore(op, 2, [a, options, ...more]);
    checkOptions(op, options, COMPUTE_OPTIONS);
    const { shape } = partsOf(op, [a])[0]!;
    if (shape[0] !== shape[1]) throw new ShapeError(expected(op, 'a square matrix', formatShape(shape)));
    const below = a.tril(-1);
    const matrix = a.tril().add(isComplex(a.dtype) ? below.T.conj() : below.T);
    const made = await gpuFactors(op, matrix, { isPositive: true, options });
    if (made.solve !== undefined) return new SparseCholesky(shape, made.solve);
    if (made.reason === 'failed') throw notPositive(op);
    const lu = await factorsOf(op, matrix, { ...options, pivotThreshold: 0 }).catch((error: unknown) => {
      throw error instanceof LinalgError ? notPositive(op) : error;
    });
    if (shape[0] > 0 && !(await isPositive(lu, options))) throw notPositive(op);
    return new SparseCholesky(shape, (right) => lu.solve(right));
  });
}

const notPositive = (op: string): LinalgError =>
  new LinalgError(expected(op, 'a matrix that is positive definite', 'it is not, to working precision'), 0);

/** Whether all pivots of a Hermitian matrix are positive, and of the diagonal: rows are in the order of columns then. */
async function isPositive(lu: SparseLU, options: ComputeOptions): Promise<boolean> {
  const pivots = lu.U.diagonal();
  const [isInOrder, least] = await compute(
    [lu.permR.equal(lu.permC).all(), (isComplex(pivots.dtype) ? pivots.real() : pivots).min()],
    options,
  );
  return isInOrder!.item() === true && Number(least!.item()) > 0;
}
