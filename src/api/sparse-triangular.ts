/** Solves with triangles of sparse matrices, and preconditioners of them. */
import { checkOptions } from '../graph/arguments.js';
import { formatShape } from '../graph/format.js';
import { triangularSolution } from '../graph/sparse-triangular.js';
import { reshape } from '../graph/view-nodes.js';
import { expected, ShapeError } from '../host/errors.js';
import { called } from '../host/site.js';
import type { ArrayLike } from './fluent-types.js';
import { exprOf, Lazy } from './lazy.js';
import { partsOf } from './sparse-arguments.js';
import type { SparseMatrix } from './sparse-matrix.js';
import type { LinearOperator } from './sparse-operators.js';

/** Options of `sparse.solveTriangular`. */
export interface SparseTriangularOptions {
  /** Whether A is the lower triangle of the matrix, true by default, or the upper one. */
  readonly lower?: boolean | undefined;
  /** Whether the diagonal counts as ones. */
  readonly unitDiagonal?: boolean | undefined;
}

/**
 * X of A X = B, A the lower or upper triangle of a square sparse matrix, as SciPy's `spsolve_triangular`: B of shape (n)
 * or (n, k). Elements beside the triangle are not read, where SciPy refuses them. Rows are solved as soon as those
 * that they need are; sums are in float64, in the order of the row. Throws a ShapeError for other shapes; rejects with
 * a LinalgError for a zero on the diagonal.
 *
 * @example
 * const a = sparse.fromDense([[2, 0], [1, 4]])
 * await sparse.solveTriangular(a, [2, 9]).compute()
 * //=> [1. 2.]
 */
export function solveTriangular(a: SparseMatrix, b: ArrayLike, options?: SparseTriangularOptions): Lazy {
  return called(solveTriangular, () => {
    const op = 'sparse.solveTriangular';
    checkOptions(op, options, ['lower', 'unitDiagonal']);
    const [matrix] = partsOf(op, [a]);
    const [rows, columns] = matrix!.shape;
    if (rows !== columns) throw new ShapeError(expected(op, 'a square matrix', formatShape(matrix!.shape)));
    const right = exprOf(op, b);
    const { shape } = right;
    if (shape.length < 1 || shape.length > 2 || shape[0] !== rows)
      throw new ShapeError(
        expected(op, `right-hand sides of shape (${rows}) or (${rows}, k)`, formatShape(shape)),
      );
    const lines = reshape(right, [rows, shape[1] ?? 1]);
    const triangle = { isUpper: options?.lower === false, isUnit: options?.unitDiagonal === true };
    return new Lazy(reshape(triangularSolution(op, matrix!, lines, triangle), shape));
  });
}

/**
 * The preconditioner that divides by the diagonal of a square matrix (Jacobi), ones where it is 0: an operator for `M`
 * of the solvers.
 *
 * @example
 * const a = sparse.diags([-1, 4, -1], [-1, 0, 1], [3, 3])
 * const { x } = sparse.cg(a, [2, 4, 10], { M: sparse.jacobi(a) })
 * await x.mul(100).round().compute()
 * //=> [100. 200. 300.]
 */
export function jacobi(a: SparseMatrix): LinearOperator {
  return called(jacobi, () => {
    const op = 'sparse.jacobi';
    const { shape } = partsOf(op, [a])[0]!;
    if (shape[0] !== shape[1]) throw new ShapeError(expected(op, 'a square matrix', formatShape(shape)));
    const diagonal = a.diagonal();
    const divisor = diagonal.equal(0).where(1, diagonal);
    return { shape, matvec: (x) => x.divide(divisor), rmatvec: (y) => y.divide(divisor.conj()) };
  });
}
