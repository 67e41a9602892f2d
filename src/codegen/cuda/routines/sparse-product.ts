/**
 * CUDA C of a sparse matrix times dense columns: `lanes` neighbouring threads have one element of the result, each
 * every `lanes`-th stored element of its row, whose sums are then halved. Products are rounded before they are
 * added, those of float32 are exact in float64; so the bits depend on the row and the number of lanes alone.
 * A map of the dense elements is computed where each is read, one of the result where it is written. Launches are made by
 * `exec/calls/sparse-product.ts`.
 */

import { CUDA_TYPE } from '../../../graph/cuda-expressions.js';
import { type DType, isComplex, isFloat } from '../../../graph/dtype.js';
import { type ElementFunction, withPrelude } from './element-function.js';
import { printNumbers } from './scan-numbers.js';

export const SPARSE_PRODUCT_NAME = 'weft_sparse_product';
export const SPARSE_THREADS = 256;

export interface SparseForm {
  /** Of the stored elements, the dense ones and the result. */
  readonly dtype: DType;
  readonly indexDType: DType;
  readonly lanes: number;
  /** Whether there is one dense column. */
  readonly isVector: boolean;
  /** Whether there is one dense row, which every column has. */
  readonly isOneRow: boolean;
  /** Whether a row of dense elements has more of them than 32 bits count. */
  readonly isLong: boolean;
  /** Gives the dense elements, which are then not among the arrays. */
  readonly prologue?: ElementFunction | undefined;
  /** Takes the elements of the result. */
  readonly epilogue?: ElementFunction | undefined;
}

const timesOf = (dtype: DType): string => {
  if (isComplex(dtype))
    return `  return weft_wide{__dmul_rn(a.re, b.re) - __dmul_rn(a.im, b.im), __dmul_rn(a.re, b.im) + __dmul_rn(a.im, b.re)};`;
  return `  return ${isFloat(dtype) ? '__dmul_rn(a, b)' : 'a * b'};`;
};

export function printSparseProduct(form: SparseForm): string {
  const { dtype, indexDType, lanes, isVector, isOneRow, isLong, prologue, epilogue } = form;
  const index = CUDA_TYPE[indexDType];
  const functions = [prologue, epilogue].filter((each) => each !== undefined);
  const maps = functions.length === 0 ? '' : withPrelude(functions);
  const dense = prologue === undefined ? ' const weft_element* __restrict__ dense,' : '';
  const factorAt = isVector ? '(long long)place' : '(long long)place * width + column';
  const resultAt = isVector ? 'row' : 'row * width + column';
  const rounded = 'weft_round(sum)';
  return `${maps}${printNumbers({ dtype, op: 'sum' })}typedef ${index} weft_index;
typedef ${isLong ? 'unsigned long long' : 'unsigned int'} weft_place;
__device__ __forceinline__ weft_wide weft_times(weft_wide a, weft_wide b) {
${timesOf(dtype)}
}
// Indices that are none are found before anything runs; here they read within their arrays.
__device__ __forceinline__ long long weft_within(long long at, long long size) {
  return at < 0 ? 0 : at < size ? at : size;
}
extern "C" __global__ void __launch_bounds__(${SPARSE_THREADS})
${SPARSE_PRODUCT_NAME}(unsigned int first_x,${dense} const weft_index* __restrict__ starts,
    const weft_index* __restrict__ places, const weft_element* __restrict__ values,
    ${epilogue?.type ?? 'weft_element'}* __restrict__ out, long long rows, long long stored, long long inner,
    long long width, long long unit_rows, long long unit_blocks${functions.map(({ parameters }) => parameters).join('')}) {
  const long long block = (long long)blockIdx.x + first_x;
  const long long unit = unit_blocks == 1 ? block : block / unit_blocks;
  const weft_place in_unit = (weft_place)(block - unit * unit_blocks) * ${SPARSE_THREADS / lanes}u + threadIdx.x / ${lanes}u;
${
  isVector
    ? '  const weft_place unit_row = in_unit;'
    : '  const weft_place unit_row = in_unit / (weft_place)width, column = in_unit - unit_row * (weft_place)width;'
}
  const long long row = unit * unit_rows + unit_row;
  const unsigned int lane = threadIdx.x % ${lanes}u;
  const bool is_there = unit_row < unit_rows && row < rows;
  weft_wide sum = {};
  if (is_there) {
${isOneRow ? '' : '    const weft_index most = (weft_index)(inner - 1);\n'}    const long long first = weft_within(starts[row], stored), last = weft_within(starts[row + 1], stored);
#pragma unroll 4
    for (long long k = first + lane; k < last; k += ${lanes}) {
      ${
        isOneRow
          ? 'const weft_index place = 0;'
          : 'const weft_index at = places[k], place = at < 0 ? 0 : at < most ? at : most;'
      }
      const weft_element factor = ${prologue === undefined ? `dense[${factorAt}]` : prologue.call(factorAt)};
      sum = weft_combine(sum, weft_times(weft_widen(values[k]), weft_widen(factor)));
    }
  }
${
  lanes === 1
    ? ''
    : `  for (int apart = ${lanes / 2}; apart > 0; apart /= 2)
    sum = weft_combine(sum, weft_of_lane(sum, (threadIdx.x & 31) + apart & 31));
`
}  if (is_there && lane == 0) out[${resultAt}] = ${epilogue === undefined ? rounded : epilogue.call(resultAt, rounded)};
}
`;
}
