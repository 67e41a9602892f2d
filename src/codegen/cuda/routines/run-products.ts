/**
 * CUDA C of products of runs of rows: a warp has one column of one run. Its lanes multiply every 32nd row, then
 * lanes 16, 8, 4, 2 and 1 apart: an order that the length of the run alone decides. Launches are made by
 * `exec/calls/run-products.ts`.
 */
import type { DType } from '../../../graph/dtype.js';
import { printNumbers } from './scan-numbers.js';

export const RUN_PRODUCTS_NAME = 'weft_run_products';
export const RUN_THREADS = 256;
export const RUN_WARPS = RUN_THREADS / 32;

export const printRunProducts = (
  dtype: DType,
): string => `${printNumbers({ dtype, op: 'prod' })}extern "C" __global__ void __launch_bounds__(${RUN_THREADS})
${RUN_PRODUCTS_NAME}(unsigned int first_x, const weft_element* values, const long long* ends, weft_wide* out,
    long long runs, long long width) {
  const long long at = ((long long)blockIdx.x + first_x) * ${RUN_WARPS} + threadIdx.x / 32;
  const int lane = threadIdx.x & 31;
  if (at >= runs * width) return;
  const long long run = at / width, column = at - run * width;
  const long long first = run == 0 ? 0 : ends[run - 1], last = ends[run];
  weft_wide product = weft_identity();
  for (long long row = first + lane; row < last; row += 32)
    product = weft_combine(product, weft_widen(values[row * width + column]));
  for (int apart = 16; apart > 0; apart /= 2)
    product = weft_combine(product, weft_of_lane(product, (lane + apart) & 31));
  if (lane == 0) out[at] = product;
}
`;
