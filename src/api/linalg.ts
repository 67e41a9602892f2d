/**
 * Linear algebra with NumPy's and SciPy's names, over stacks of matrices along the last two axes: planned, cut into
 * tiles along the axes before them, and fused with what is around like everything else.
 */
import { eigh, eigvalsh, qr, svd, svdvals } from './linalg-decompositions.js';
import { lstsq, pinv } from './linalg-least-squares.js';
import { cond, det, matrixNorm, matrixRank, norm, slogdet } from './linalg-numbers.js';
import { cross, matrixPower } from './linalg-products.js';
import {
  cholesky,
  inv,
  lu,
  luFactor,
  luSolve,
  solve,
  solveTriangular,
  tensorinv,
  tensorsolve,
} from './linalg-systems.js';

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
