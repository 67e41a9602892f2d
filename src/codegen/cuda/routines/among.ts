/**
 * CUDA C of whether integers are among those of a set in order: by a bit for each value from the least one of the set to the
 * greatest, where those are few enough for the table, else by a search. Both ends are known on the device, so that all
 * kernels are launched, and those of the table do nothing where there is none:
 *
 *     clear   the words of the table
 *     mark    sets the bit of each value of the set
 *     look    of each element its bit; else by halves, the first ones among a sample in shared memory
 *
 * Launches are made by `exec/calls/among.ts`.
 */
import type { DType } from '../../../graph/dtype.js';
import { CLEAR_THREADS, CLEARED } from './look-back.js';
import { eachElement, elementsAtOnce, HEAD, packsOf, SELECT_THREADS } from './select.js';
import { printKeys } from './sort-keys.js';

export const AMONG_NAMES = {
  clear: 'weft_among_clear',
  mark: 'weft_among_mark',
  look: 'weft_among_look',
} as const;
export const AMONG_THREADS = SELECT_THREADS;
/** Values of the set that a search has in shared memory. */
const SAMPLED = 2 ** 11;

const TABLE = `struct weft_table {
  weft_key least;
  unsigned long long span;
  bool is_there;
  __device__ __forceinline__ weft_table(const weft_key* set, long long count, unsigned long long most) {
    least = weft_key_of(set[0]);
    span = (weft_key)(weft_key_of(set[count - 1]) - least);
    is_there = span < most;
  }
};
`;
const SET =
  'const weft_key* __restrict__ set, unsigned int* __restrict__ words, long long count, unsigned long long most';

const PRINT_CLEAR = `
extern "C" __global__ void __launch_bounds__(${CLEAR_THREADS})
${AMONG_NAMES.clear}(unsigned int first_x, ${SET}) {
  const weft_table table(set, count, most);
  if (!table.is_there) return;
  const long long size = (long long)(table.span / 32) + 1;
  const long long first = ((long long)blockIdx.x + first_x) * ${CLEARED};
  for (long long i = first + threadIdx.x; i < first + ${CLEARED} && i < size; i += ${CLEAR_THREADS}) words[i] = 0u;
}
`;

const PRINT_MARK = `${HEAD}${AMONG_NAMES.mark}(unsigned int first_x, ${SET}) {
  const weft_table table(set, count, most);
  if (!table.is_there) return;
  const long long i = ((long long)blockIdx.x + first_x) * ${AMONG_THREADS} + threadIdx.x;
  if (i >= count || (i + 1 < count && set[i + 1] == set[i])) return;
  const weft_key place = (weft_key)(weft_key_of(set[i]) - table.least);
  atomicOr(&words[place / 32], 1u << (unsigned int)(place % 32));
}
`;

/** The last value of the sample that is not above a key, then the last one of the set between that and the next. */
const SEARCH = `__device__ __forceinline__ bool weft_is_found(const weft_key* set, const weft_key* sample, int sampled, long long apart, long long count, weft_key key) {
  int last = 0;
  #pragma unroll
  for (int step = ${SAMPLED / 2}; step > 0; step /= 2)
    if (last + step < sampled && sample[last + step] <= key) last += step;
  long long at = last * apart;
  for (long long left = count - at < apart ? count - at : apart; left > 1;) {
    const long long half = left / 2;
    at += weft_key_of(set[at + half]) <= key ? half : 0;
    left -= half;
  }
  return weft_key_of(set[at]) == key;
}
`;

function printLook(dtype: DType): string {
  const items = elementsAtOnce(dtype);
  const [perPack, packs] = packsOf(dtype);
  const each = (found: string): string =>
    eachElement({ dtype }, `      found[item] = ${found} != is_inverse;\n`, {
      warps: 'true',
      behind: `    #pragma unroll
    for (int pack = 0; pack < ${packs}; ++pack) {
      const long long i = first + pack * ${SELECT_THREADS * perPack};
      if (isWhole) {
        weft_answers answers;
        #pragma unroll
        for (int e = 0; e < ${perPack}; ++e) answers.k[e] = found[pack * ${perPack} + e];
        *(weft_answers*)(out + i) = answers;
      } else {
        #pragma unroll
        for (int e = 0; e < ${perPack}; ++e)
          if (i + e < n) out[i + e] = found[pack * ${perPack} + e];
      }
    }
`,
    });
  return `${HEAD}${AMONG_NAMES.look}(unsigned int first_x, const weft_key* __restrict__ in, ${SET}, bool* __restrict__ out, long long n, long long blocks, int inverse) {
  const long long block = (long long)blockIdx.x + first_x;
  const weft_table table(set, count, most);
  const bool is_inverse = inverse != 0;
  struct __align__(${perPack}) weft_answers {
    bool k[${perPack}];
  };
  bool found[${items}];
  if (table.is_there) {
    const weft_key least = table.least;
${each('(is_there && (unsigned long long)(weft_key)(key - least) <= table.span && (words[(weft_key)(key - least) / 32] >> (unsigned int)((weft_key)(key - least) % 32) & 1u) != 0)')}    return;
  }
  __shared__ weft_key sample[${SAMPLED}];
  const long long apart = (count + ${SAMPLED - 1}) / ${SAMPLED};
  const int sampled = (int)((count + apart - 1) / apart);
  for (int i = threadIdx.x; i < sampled; i += ${AMONG_THREADS}) sample[i] = weft_key_of(set[i * apart]);
  __syncthreads();
${each('(is_there && weft_is_found(set, sample, sampled, apart, count, key))')}}
`;
}

/** The kernels for elements of an integer dtype. */
export const printAmong = (dtype: DType): string =>
  [
    printKeys({ dtype, descending: false, indexBytes: 0 }),
    TABLE,
    PRINT_CLEAR,
    PRINT_MARK,
    SEARCH,
    printLook(dtype),
  ].join('');
