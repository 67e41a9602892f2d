/**
 * Where matrix products on the CPU may be cut so that parts have the bits of the whole
 * (`native/cpu/gemm.cpp`): rows and columns anywhere, contracted indices at multiples of a granule. Called by
 * the planner of jobs that do not fit.
 */

import { type DType, isHalf } from '../../../graph/dtype.js';
import { DOT_SLOT, MANY_DOTS, MATMUL_GRANULE } from '../../../shared/layout.js';

/**
 * Contracted indices that a part has to begin at multiples of; `undefined`: a part takes them all. A BLAS
 * library, where one is in use, has its own order of sums, which is its own affair.
 */
export function matmulGranule(
  dtype: DType,
  m: number,
  n: number,
  k: number,
  batch: number,
): number | undefined {
  if (isHalf(dtype)) return undefined;
  const isDots = (m === 1 || n === 1) && k >= 2 * DOT_SLOT && batch * m * n < MANY_DOTS;
  return isDots ? undefined : MATMUL_GRANULE;
}
