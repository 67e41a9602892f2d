/**
 * CUDA C that merges the rows of two sparse matrices by their columns: some lanes of a warp have a row, and each finds
 * the place of its element among those of the other matrix's row by bisection. Launches are made by
 * `exec/calls/sparse-merge.ts`.
 */

import { CUDA_TYPE } from '../../../graph/cuda-expressions.js';
import type { DType } from '../../../graph/dtype.js';
import { printSparseTail, SPARSE_ELEMENTS, SPARSE_UNIT } from './sparse-units.js';

export const MERGE_NAME = 'weft_sparse_merge';
export const MERGE_THREADS = 128;

export interface MergeForm {
  /** Whether the elements are counted. */
  readonly isCount: boolean;
  /** Of elements that both matrices have, or of those of either. */
  readonly isOfBoth: boolean;
  readonly indexDType: DType;
  /** Of the result's columns. */
  readonly placeDType: DType;
  /** Bytes of an element. */
  readonly elementBytes: number;
  /** Lanes that have a row. */
  readonly lanes: number;
}

const ALL = '0xffffffffu';

/** Goes through a row's elements of one matrix, and finds each in the other one's row. */
const printSide = (
  lanes: number,
  { own, other }: { readonly own: string; readonly other: string },
  each: string,
): string => `  before = 0;
  for (weft_at chunk = first_${own}; __ballot_sync(${ALL}, chunk < last_${own}) != 0; chunk += ${lanes}) {
    const weft_at k = chunk + lane;
    weft_at below = first_${other};
    weft_index column = 0;
    bool meets = false;
    if (k < last_${own}) {
      column = places_${own}[k];
      for (weft_at end = last_${other}; below < end;) {
        const weft_at half = below + (end - below) / 2;
        if (places_${other}[half] < column) below = half + 1;
        else end = half;
      }
      meets = below < last_${other} && places_${other}[below] == column;
    }
    const unsigned int those = __ballot_sync(${ALL}, meets) >> base & ${lanes === 32 ? ALL : `${2 ** lanes - 1}u`};
${each}    before += __popc(those);
  }
`;

/** Writes an element where it belongs; `met`: those before it that both matrices have. */
const printWrite = (
  condition: string,
  at: string,
  ofA: string,
  ofB: string,
): string => `    if (${condition}) {
      const weft_at met = before + __popc(those & ((1u << lane) - 1u));
      const long long at = begin + (${at});
      out_places[at] = (weft_place)column;
      of_a[at] = ${ofA};
      of_b[at] = ${ofB};
    }
`;

export function printSparseMerge(form: MergeForm): string {
  const { isCount, isOfBoth, indexDType, placeDType, elementBytes, lanes } = form;
  const a = { own: 'a', other: 'b' };
  const b = { own: 'b', other: 'a' };
  const head = `typedef ${CUDA_TYPE[indexDType]} weft_index;
typedef ${CUDA_TYPE[placeDType]} weft_place;
${SPARSE_ELEMENTS[elementBytes]!}
/* Of int32 lines places take 32 bits, with those of the lanes beyond an end. */
typedef ${indexDType === 'int32' ? 'unsigned int' : 'long long'} weft_at;
__device__ __forceinline__ weft_at weft_within(weft_index at, weft_at size) {
  return at < 0 ? (weft_at)0 : (weft_at)at < size ? (weft_at)at : size;
}
${SPARSE_UNIT}`;
  const values = (name: string): string =>
    isCount ? '' : ` const weft_element* __restrict__ values_${name},`;
  const outputs = isCount
    ? 'long long* counts'
    : 'const long long* __restrict__ begins, weft_place* out_places, weft_element* of_a, weft_element* of_b';
  const counted = `${printSide(lanes, a, '')}  if (lane == 0 && is_there) counts[row] = ${
    isOfBoth ? 'before' : 'last_a - first_a + last_b - first_b - before'
  };
`;
  const both = printSide(lanes, a, printWrite('meets', 'met', 'values_a[k]', 'values_b[below]'));
  const either =
    printSide(
      lanes,
      a,
      printWrite(
        'k < last_a',
        '(k - first_a) + (below - first_b) - met',
        'values_a[k]',
        'meets ? values_b[below] : weft_element{}',
      ),
    ) +
    printSide(
      lanes,
      b,
      printWrite(
        'k < last_b && !meets',
        '(k - first_b) + (below - first_a) - met',
        'weft_element{}',
        'values_b[k]',
      ),
    );
  const row = (
    name: string,
  ): string => `  const weft_at first_${name} = is_there ? weft_within(starts_${name}[row], (weft_at)stored_${name}) : 0;
  const weft_at last_${name} = is_there ? weft_within(starts_${name}[row + 1], (weft_at)stored_${name}) : 0;
`;
  const merge = `
extern "C" __global__ void __launch_bounds__(${MERGE_THREADS})
${MERGE_NAME}(unsigned int first_x, const weft_index* __restrict__ starts_a, const weft_index* __restrict__ places_a,${values('a')}
    const weft_index* __restrict__ starts_b, const weft_index* __restrict__ places_b,${values('b')} ${outputs}, long long rows, long long stored_a, long long stored_b,
    long long unit_rows, long long unit_blocks) {
  const unsigned int lane = threadIdx.x % ${lanes}u, base = threadIdx.x % 32u - lane;
  const long long block = (long long)blockIdx.x + first_x, unit = weft_unit(block, unit_blocks);
  const long long in_unit = (block - unit * unit_blocks) * ${MERGE_THREADS / lanes} + threadIdx.x / ${lanes}u;
  const long long row = unit * unit_rows + in_unit;
  const bool is_there = in_unit < unit_rows && row < rows;
${row('a')}${row('b')}${isCount ? '' : '  const long long begin = is_there ? begins[row] : 0;\n'}  weft_at before = 0;
${isCount ? counted : isOfBoth ? both : either}}
`;
  if (isCount) return head + merge;
  return head + merge + printSparseTail(['weft_place', 'weft_element', 'weft_element']);
}
