/**
 * CUDA C of the rows of stored elements: a thread finds that of its first element by bisection among the rows of its
 * block, whose ends two of its threads find among all, and goes on from there.
 * Launches are made by `exec/calls/sparse-rows.ts`.
 */

import { CUDA_TYPE } from '../../../graph/cuda-expressions.js';
import type { DType } from '../../../graph/dtype.js';

export const ROWS_NAME = 'weft_sparse_rows';
export const ROWS_THREADS = 256;
/** Neighbouring elements of a thread. */
const SIDE = 4;
/** Elements of a block, a unit. */
export const ROWS_UNIT = SIDE * ROWS_THREADS;

export const printSparseRows = (
  indexDType: DType,
  rowDType: DType,
): string => `typedef ${CUDA_TYPE[indexDType]} weft_index;
typedef ${CUDA_TYPE[rowDType]} weft_row;
/* The first of the rows [low, end) that begins behind an element; the end where none does. */
__device__ __forceinline__ long long weft_behind(const weft_index* starts, long long low, long long end, long long element) {
  while (low < end) {
    const long long half = low + (end - low) / 2;
    if (starts[half] <= element) low = half + 1;
    else end = half;
  }
  return low;
}
extern "C" __global__ void __launch_bounds__(${ROWS_THREADS})
${ROWS_NAME}(unsigned int first_x, const weft_index* __restrict__ starts, weft_row* __restrict__ out, long long rows, long long bound) {
  __shared__ long long ends[2];
  const long long begin = ((long long)blockIdx.x + first_x) * ${ROWS_UNIT};
  const long long first = begin + threadIdx.x * ${SIDE};
  if (threadIdx.x < 2) {
    const long long last = begin + ${ROWS_UNIT} < bound ? begin + ${ROWS_UNIT} : bound;
    ends[threadIdx.x] = weft_behind(starts, 0, rows + 1, threadIdx.x == 0 ? begin : last - 1);
  }
  __syncthreads();
  if (first >= bound) return;
  const long long low = weft_behind(starts, ends[0], ends[1], first);
  // The last row that begins at the element or before it; behind all, the number of rows.
  long long row = low > 0 ? low - 1 : 0;
  #pragma unroll
  for (int j = 0; j < ${SIDE}; ++j)
    if (first + j < bound) {
      while (row < rows && starts[row + 1] <= first + j) ++row;
      out[first + j] = (weft_row)row;
    }
}
`;
