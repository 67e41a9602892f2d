/**
 * CUDA C of products of runs of rows: a warp has one column of one run. Its lanes multiply every 32nd row, then
 * lanes 16, 8, 4, 2 and 1 apart: an order that the length of the run alone decides. In windows of runs, a tile has
 * the runs of its window that begin in its part of the rows. Launches are made by `exec/calls/run-products.ts`.
 */
import type { DType } from '../../../graph/dtype.js';
import { printNumbers } from './scan-numbers.js';

export const RUN_PRODUCTS_NAME = 'weft_run_products';
export const RUN_THREADS = 256;
export const RUN_WARPS = RUN_THREADS / 32;

/** A warp for each column of each run. */
const printWhole = `long long runs, long long width) {
  const long long at = ((long long)blockIdx.x + first_x) * ${RUN_WARPS} + threadIdx.x / 32;
  const int lane = threadIdx.x & 31;
  if (at >= runs * width) return;
  weft_product(values, ends, out, at / width, at % width, width, lane);
}
`;

/** Runs without rows at the end of all belong to the last part. */
const printWindowed = `long long runs, long long width, long long rows, long long tile_blocks, long long windows, long long parts) {
  const long long block = (long long)blockIdx.x + first_x, tile = block / tile_blocks;
  const long long window = tile / parts, part = tile % parts;
  const long long low = runs * window / windows, high = runs * (window + 1) / windows;
  const long long from = rows * part / parts, to = rows * (part + 1) / parts;
  const int lane = threadIdx.x & 31;
  for (long long at = low * width + block % tile_blocks * ${RUN_WARPS} + threadIdx.x / 32; at < high * width;
       at += tile_blocks * ${RUN_WARPS}) {
    const long long run = at / width, first = run == 0 ? 0 : ends[run - 1];
    if (first >= from && (first < to || to == rows))
      weft_product(values, ends, out, run, at % width, width, lane);
  }
}
`;

export const printRunProducts = (
  dtype: DType,
  isWindowed: boolean,
): string => `${printNumbers({ dtype, op: 'prod' })}static __device__ __forceinline__ void
weft_product(const weft_element* values, const long long* ends, weft_wide* out, long long run, long long column,
    long long width, int lane) {
  const long long first = run == 0 ? 0 : ends[run - 1], last = ends[run];
  weft_wide product = weft_identity();
  for (long long row = first + lane; row < last; row += 32)
    product = weft_combine(product, weft_widen(values[row * width + column]));
  for (int apart = 16; apart > 0; apart /= 2)
    product = weft_combine(product, weft_of_lane(product, (lane + apart) & 31));
  if (lane == 0) out[run * width + column] = product;
}

extern "C" __global__ void __launch_bounds__(${RUN_THREADS})
${RUN_PRODUCTS_NAME}(unsigned int first_x, const weft_element* values, const long long* ends, weft_wide* out,
    ${isWindowed ? printWindowed : printWhole}`;
