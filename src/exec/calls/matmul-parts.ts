/**
 * Where matrix products on the CPU may be cut so that parts have the bits of the whole
 * (`native/cpu/gemm.cpp`): rows and columns anywhere, contracted indices at multiples of a granule. Called by
 * the planner of jobs that do not fit.
 */
import { type DType, isHalf } from '../../graph/dtype.js';

/** `kMatmulGranule` of native/cpu/cpu.h: sums of this many products are added up in order. */
export const MATMUL_GRANULE = 2048;
/**
 * Few dot products of at least this length are summed in a tree instead: `longDots` of native/cpu/gemm.cpp.
 */
const LONG_DOT = 131_072;
const FEW_DOTS = 64;

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
  const isDots = (m === 1 || n === 1) && k >= LONG_DOT && batch * m * n < FEW_DOTS;
  return isDots ? undefined : MATMUL_GRANULE;
}
