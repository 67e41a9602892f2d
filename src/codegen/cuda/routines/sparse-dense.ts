/**
 * CUDA C of the dense array of a sparse matrix: a block clears some rows, or a stretch of a long one, and then writes the
 * elements that are stored there. Launches are made by `exec/calls/sparse-dense.ts`.
 */

import { CUDA_TYPE } from '../../../graph/cuda-expressions.js';
import type { DType } from '../../../graph/dtype.js';
import { SPARSE_ELEMENTS } from './sparse-units.js';

export const DENSE_NAME = 'weft_sparse_dense';
export const DENSE_THREADS = 256;
/** Elements of a block, about: rows of so many together, or a stretch of one row. */
export const DENSE_BLOCK = 16 * DENSE_THREADS;

export interface DenseForm {
  readonly indexDType: DType;
  /** Bytes of an element. */
  readonly elementBytes: number;
  /** Whether a block has a stretch of one row. */
  readonly isStretch: boolean;
}

/** Threads that have a row, where a block has several. */
const LANES = 8;

export function printSparseDense({ indexDType, elementBytes, isStretch }: DenseForm): string {
  const lanes = isStretch ? DENSE_THREADS : LANES;
  const bisected = `    first = weft_column(places, first, last, from);
    last = weft_column(places, first, last, to);
`;
  return `typedef ${CUDA_TYPE[indexDType]} weft_index;
${SPARSE_ELEMENTS[elementBytes]!}
__device__ __forceinline__ long long weft_within(weft_index at, long long size) {
  return at < 0 ? 0 : at < size ? at : size;
}
/* The first of the elements [low, end) of a row whose column is a given one or behind it. */
__device__ __forceinline__ long long weft_column(const weft_index* places, long long low, long long end, long long column) {
  while (low < end) {
    const long long half = low + (end - low) / 2;
    if (places[half] < column) low = half + 1;
    else end = half;
  }
  return low;
}
extern "C" __global__ void __launch_bounds__(${DENSE_THREADS})
${DENSE_NAME}(unsigned int first_x, const weft_index* __restrict__ starts, const weft_index* __restrict__ places,
    const weft_element* __restrict__ values, weft_element* out, long long rows, long long stored, long long columns,
    long long unit_rows, long long unit_blocks) {
  const long long block = (long long)blockIdx.x + first_x, unit = block / unit_blocks;
  const long long begin = unit * unit_rows, end = begin + unit_rows < rows ? begin + unit_rows : rows;
  const long long from = (block - unit * unit_blocks) * ${isStretch ? DENSE_BLOCK : 'columns'};
  const long long to = ${isStretch ? `from + ${DENSE_BLOCK} < columns ? from + ${DENSE_BLOCK} : columns` : 'columns'};
  for (long long at = begin * columns + from + threadIdx.x; at < (end - 1) * columns + to; at += ${DENSE_THREADS})
    out[at] = weft_element{};
  __syncthreads();
  for (long long row = begin + threadIdx.x / ${lanes}u; row < end; row += ${DENSE_THREADS / lanes}) {
    long long first = weft_within(starts[row], stored), last = weft_within(starts[row + 1], stored);
${isStretch ? bisected : ''}    for (long long k = first + threadIdx.x % ${lanes}u; k < last; k += ${lanes}) {
      const long long column = places[k];
      if (column >= from && column < to) out[row * columns + column] = values[k];
    }
  }
}
`;
}
