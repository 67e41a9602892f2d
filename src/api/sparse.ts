import { formatShape } from '../graph/format.js';
import type { SparseParts } from '../graph/sparse.js';
import { kronecker, sideBySide, stacked } from '../graph/sparse-joins.js';
import { expected, ShapeError } from '../host/errors.js';
import { called } from '../host/site.js';
import { partsOf, sizes } from './sparse-arguments.js';
import { cholesky } from './sparse-cholesky.js';
import { coo, csc, csr, diags, eye, fromDense } from './sparse-construction.js';
import { factorized, splu, spsolve } from './sparse-direct.js';
import { eigsh, svds } from './sparse-eigen.js';
import { loadNpz, saveNpz } from './sparse-files.js';
import { gmres } from './sparse-gmres.js';
import { lsmr } from './sparse-lsmr.js';
import { lsqr } from './sparse-lsqr.js';
import { SparseMatrix } from './sparse-matrix.js';
import { minres } from './sparse-minres.js';
import { random } from './sparse-random.js';
import { bicgstab, cg } from './sparse-solvers.js';
import { jacobi, solveTriangular } from './sparse-triangular.js';

/**
 * The matrices one above another, as SciPy's `vstack`. Throws a ShapeError where numbers of columns differ.
 *
 * @example
 * await sparse.vstack([sparse.eye(2), sparse.diags([[3, 4]])]).toDense().compute()
 * //=> [[1. 0.]
 * //=>  [0. 1.]
 * //=>  [3. 0.]
 * //=>  [0. 4.]]
 */
function vstack(matrices: readonly SparseMatrix[]): SparseMatrix {
  return called(vstack, () => {
    const op = 'sparse.vstack';
    const parts = partsOf(op, matrices);
    const columns = parts[0]!.shape[1];
    for (const { shape } of parts)
      if (shape[1] !== columns)
        throw new ShapeError(expected(op, `matrices of ${columns} columns`, formatShape(shape)));
    return new SparseMatrix(stacked(op, parts, columns));
  });
}

/**
 * The matrices side by side, as SciPy's `hstack`. Throws a ShapeError where numbers of rows differ.
 *
 * @example
 * await sparse.hstack([sparse.eye(2), sparse.diags([[3, 4]])]).toDense().compute()
 * //=> [[1. 0. 3. 0.]
 * //=>  [0. 1. 0. 4.]]
 */
function hstack(matrices: readonly SparseMatrix[]): SparseMatrix {
  return called(hstack, () => {
    const op = 'sparse.hstack';
    const parts = partsOf(op, matrices);
    const rows = parts[0]!.shape[0];
    for (const { shape } of parts)
      if (shape[0] !== rows)
        throw new ShapeError(expected(op, `matrices of ${rows} rows`, formatShape(shape)));
    return new SparseMatrix(sideBySide(op, parts, rows));
  });
}

/**
 * The Kronecker product, as SciPy's `kron`: (rows · rows, columns · columns).
 *
 * @example
 * await sparse.kron(sparse.eye(2), sparse.fromDense([[1, 2]])).toDense().compute()
 * //=> [[1. 2. 0. 0.]
 * //=>  [0. 0. 1. 2.]]
 */
function kron(a: SparseMatrix, b: SparseMatrix): SparseMatrix {
  return called(kron, () => {
    const op = 'sparse.kron';
    const [first, second] = [a, b].map((each) => partsOf(op, [each])[0]!) as [SparseParts, SparseParts];
    const size = sizes(op, [first.shape[0] * second.shape[0], first.shape[1] * second.shape[1]]);
    return new SparseMatrix(kronecker(op, first, second, size));
  });
}

/** Sparse matrices and solvers with them. */
export const sparse = {
  bicgstab,
  cg,
  cholesky,
  coo,
  csc,
  csr,
  diags,
  eigsh,
  eye,
  factorized,
  fromDense,
  gmres,
  hstack,
  jacobi,
  kron,
  loadNpz,
  lsmr,
  lsqr,
  minres,
  random,
  saveNpz,
  solveTriangular,
  splu,
  spsolve,
  svds,
  vstack,
} as const;
