/**
 * Linear algebra with NumPy's and SciPy's names, over stacks of matrices along the last two axes: planned, cut into
 * tiles along the axes before them, and fused with what is around like everything else.
 */
import { eig, eigh, eigvals, eigvalsh, qr, svd, svdvals } from './linalg-decompositions.js';
import { lstsq, pinv } from './linalg-least-squares.js';
import { pca, svds } from './linalg-low-rank.js';
import { cond, det, matrixNorm, matrixRank, norm, slogdet } from './linalg-numbers.js';
import { cross, expm, matrixPower, multiDot } from './linalg-products.js';
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
  eig,
  eigh,
  eigvals,
  eigvalsh,
  expm,
  inv,
  lstsq,
  lu,
  luFactor,
  luSolve,
  matrixNorm,
  matrixPower,
  matrixRank,
  multiDot,
  norm,
  pca,
  pinv,
  qr,
  slogdet,
  solve,
  solveTriangular,
  svd,
  svds,
  svdvals,
  tensorinv,
  tensorsolve,
} as const;
