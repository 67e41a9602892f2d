/**
 * CUDA C that routines share which count or fill the rows of a sparse result in units (`exec/calls/sparse-units.ts`): the
 * unit of a block, and the zeros behind the last element.
 */

export const SPARSE_TAIL_NAME = 'weft_sparse_tail';
export const SPARSE_TAIL_THREADS = 256;
/** Elements that a block clears. */
export const SPARSE_TAIL = 16 * SPARSE_TAIL_THREADS;

/** Elements as bits, by their bytes. */
export const SPARSE_ELEMENTS: Readonly<Record<number, string>> = {
  1: 'typedef unsigned char weft_element;',
  2: 'typedef unsigned short weft_element;',
  4: 'typedef unsigned int weft_element;',
  8: 'typedef unsigned long long weft_element;',
  16: 'struct __align__(16) weft_element { unsigned long long low, high; };',
};

/** Every unit has as many blocks. */
export const SPARSE_UNIT = `
__device__ __forceinline__ long long weft_unit(long long block, long long unit_blocks) {
  return block < unit_blocks ? 0 : block / unit_blocks;
}
`;

/** Zeros in lines of those types, from the last start on up to the bound, by the units behind those of rows. */
export function printSparseTail(types: readonly string[]): string {
  const lines = types.map((type, k) => `${type}* out_${k}, `).join('');
  const zeros = types.map((type, k) => `    out_${k}[at] = ${type}{};\n`).join('');
  return `
extern "C" __global__ void __launch_bounds__(${SPARSE_TAIL_THREADS})
${SPARSE_TAIL_NAME}(unsigned int first_x, const long long* begins, ${lines}long long rows, long long bound, long long row_units, long long unit_tail, long long unit_blocks) {
  const long long block = (long long)blockIdx.x + first_x, unit = weft_unit(block, unit_blocks);
  if (unit < row_units) return;
  const long long begin = begins[rows] + (unit - row_units) * unit_tail;
  const long long first = begin + (block - unit * unit_blocks) * ${SPARSE_TAIL};
  long long end = begin + unit_tail < bound ? begin + unit_tail : bound;
  end = first + ${SPARSE_TAIL} < end ? first + ${SPARSE_TAIL} : end;
  for (long long at = first + threadIdx.x; at < end; at += ${SPARSE_TAIL_THREADS}) {
${zeros}  }
}
`;
}
