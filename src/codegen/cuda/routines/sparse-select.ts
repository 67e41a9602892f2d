/**
 * CUDA C that selects stored elements of a sparse matrix by a mask: some lanes of a warp have a row, and count what they
 * keep by ballots. Launches are made by `exec/calls/sparse-select.ts`.
 */

import { CUDA_TYPE } from '../../../graph/cuda-expressions.js';
import type { DType } from '../../../graph/dtype.js';
import { printSparseTail, SPARSE_ELEMENTS, SPARSE_UNIT } from './sparse-units.js';

export const SELECT_NAME = 'weft_sparse_select';
export const SELECT_THREADS = 128;

export interface SelectForm {
  /** Whether the elements are counted. */
  readonly isCount: boolean;
  readonly indexDType: DType;
  /** Bytes of an element. */
  readonly elementBytes: number;
  /** Lanes that have a row. */
  readonly lanes: number;
}

const ALL = '0xffffffffu';

export function printSparseSelect({ isCount, indexDType, elementBytes, lanes }: SelectForm): string {
  const arrays = isCount
    ? 'const bool* __restrict__ mask, long long* counts'
    : `const weft_index* __restrict__ places, const weft_element* __restrict__ values,
    const bool* __restrict__ mask, const long long* __restrict__ begins, weft_index* out_places, weft_element* out_values`;
  const write = `    if (is_kept) {
      const long long at = begin + found + __popc(those & ((1u << lane) - 1u));
      out_places[at] = places[k];
      out_values[at] = values[k];
    }
`;
  const room = `  // A row that ends behind the bound, since rows overlap, has no room: it is left out.
  const bool has_room = is_there && begins[row + 1] <= bound;
`;
  const select = `typedef ${CUDA_TYPE[indexDType]} weft_index;
${SPARSE_ELEMENTS[elementBytes]!}
__device__ __forceinline__ long long weft_within(weft_index at, long long size) {
  return at < 0 ? 0 : at < size ? at : size;
}
${SPARSE_UNIT}
extern "C" __global__ void __launch_bounds__(${SELECT_THREADS})
${SELECT_NAME}(unsigned int first_x, const weft_index* __restrict__ starts, ${arrays}, long long rows, long long stored,
    long long bound, long long unit_rows, long long unit_blocks) {
  const unsigned int lane = threadIdx.x % ${lanes}u, base = threadIdx.x % 32u - lane;
  const long long block = (long long)blockIdx.x + first_x, unit = weft_unit(block, unit_blocks);
  const long long in_unit = (block - unit * unit_blocks) * ${SELECT_THREADS / lanes} + threadIdx.x / ${lanes}u;
  const long long row = unit * unit_rows + in_unit;
  const bool is_there = in_unit < unit_rows && row < rows;
${isCount ? '' : room}  const long long first = is_there ? weft_within(starts[row], stored) : 0;
  const long long last = ${isCount ? 'is_there' : 'has_room'} ? weft_within(starts[row + 1], stored) : 0;
${isCount ? '' : '  const long long begin = is_there ? begins[row] : 0;\n'}  long long found = 0;
  for (long long chunk = first; __ballot_sync(${ALL}, chunk < last) != 0; chunk += ${lanes}) {
    const long long k = chunk + lane;
    const bool is_kept = k < last && mask[k];
    const unsigned int those = __ballot_sync(${ALL}, is_kept) >> base & ${lanes === 32 ? ALL : `${2 ** lanes - 1}u`};
${isCount ? '' : write}    found += __popc(those);
  }
${isCount ? '  if (lane == 0 && is_there) counts[row] = found;\n' : ''}}
`;
  return isCount ? select : select + printSparseTail(['weft_index', 'weft_element']);
}
