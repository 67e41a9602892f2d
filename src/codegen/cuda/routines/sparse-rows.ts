/**
 * CUDA C of the rows of stored elements: a thread finds that of its first element by bisection, and goes on from there.
 * Launches are made by `exec/calls/sparse-rows.ts`.
 */
import type { DType } from '../../../graph/dtype.js';
import { CUDA_TYPE } from '../../../graph/ops.js';

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
extern "C" __global__ void __launch_bounds__(${ROWS_THREADS})
${ROWS_NAME}(unsigned int first_x, const weft_index* __restrict__ starts, weft_row* __restrict__ out, long long rows, long long bound) {
  const long long first = (((long long)blockIdx.x + first_x) * ${ROWS_THREADS} + threadIdx.x) * ${SIDE};
  if (first >= bound) return;
  long long low = 0;
  for (long long end = rows + 1; low < end;) {
    const long long half = low + (end - low) / 2;
    if (starts[half] <= first) low = half + 1;
    else end = half;
  }
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
