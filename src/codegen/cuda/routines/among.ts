/**
 * CUDA C of whether integers are among those of a set in order: by a bit for each value from the least one of the set to the
 * greatest, where those are few enough for the table, else by a hash table with linear probing, half of which is empty at least.
 * Both ends are known on the device, which so knows the way:
 *
 *     clear   the bits, or the slots of the hash table
 *     mark    sets the bit of each value of the set, or puts it into a slot
 *     look    of each element its bit, or the slots from its own on up to an empty one
 *
 * An empty slot is the greatest key, which is a member if it is the set's last one. Launches are made by `exec/calls/among.ts`.
 */
import { byteLengthOf, type DType } from '../../../graph/dtype.js';
import { CLEAR_THREADS, CLEARED } from './look-back.js';
import { eachElement, elementsAtOnce, HEAD, packsOf, SELECT_THREADS } from './select.js';
import { printKeys } from './sort-keys.js';

export const AMONG_NAMES = {
  clear: 'weft_among_clear',
  mark: 'weft_among_mark',
  look: 'weft_among_look',
} as const;
export const AMONG_THREADS = SELECT_THREADS;
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
  'const weft_key* __restrict__ set, unsigned int* __restrict__ words, long long count, unsigned long long most, unsigned long long slots';

const PRINT_CLEAR = `
extern "C" __global__ void __launch_bounds__(${CLEAR_THREADS})
${AMONG_NAMES.clear}(unsigned int first_x, ${SET}) {
  const weft_table table(set, count, most);
  const long long size = table.is_there ? (long long)(table.span / 32) + 1 : (long long)(slots * sizeof(weft_key) / 4);
  const unsigned int empty = table.is_there ? 0u : ~0u;
  const long long first = ((long long)blockIdx.x + first_x) * ${CLEARED};
  for (long long i = first + threadIdx.x; i < first + ${CLEARED} && i < size; i += ${CLEAR_THREADS}) words[i] = empty;
}
`;

/** The finalizer of MurmurHash3 (Appleby), by which all bits of a key decide about its slot. */
const SLOT = `__device__ __forceinline__ unsigned long long weft_slot(unsigned long long key, unsigned long long slots) {
  key = (key ^ key >> 33) * 0xff51afd7ed558ccdull;
  key = (key ^ key >> 33) * 0xc4ceb9fe1a85ec53ull;
  return (key ^ key >> 33) & (slots - 1ull);
}
`;

/** Of short keys every range has a table of bits. */
const isHashed = (dtype: DType): boolean => byteLengthOf(dtype) >= 4;

const printMark = (dtype: DType): string => `${HEAD}${AMONG_NAMES.mark}(unsigned int first_x, ${SET}) {
  const weft_table table(set, count, most);
  const long long i = ((long long)blockIdx.x + first_x) * ${AMONG_THREADS} + threadIdx.x;
  if (i >= count || (i + 1 < count && set[i + 1] == set[i])) return;
  const weft_key key = weft_key_of(set[i]);
  if (table.is_there) {
    const weft_key place = (weft_key)(key - table.least);
    atomicOr(&words[place / 32], 1u << (unsigned int)(place % 32));
    return;
  }
${
  isHashed(dtype)
    ? `  if (key == (weft_key)~(weft_key)0) return;
  weft_key* keys = (weft_key*)words;
  unsigned long long at = weft_slot(key, slots);
  while (atomicCAS(keys + at, (weft_key)~(weft_key)0, key) != (weft_key)~(weft_key)0) at = (at + 1ull) & (slots - 1ull);
`
    : ''
}}
`;

const FOUND = `__device__ __forceinline__ bool weft_is_found(const weft_key* keys, unsigned long long slots, bool has_last, weft_key key) {
  if (key == (weft_key)~(weft_key)0) return has_last;
  for (unsigned long long at = weft_slot(key, slots);; at = (at + 1ull) & (slots - 1ull)) {
    const weft_key there = keys[at];
    if (there == key) return true;
    if (there == (weft_key)~(weft_key)0) return false;
  }
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
${
  isHashed(dtype)
    ? `  const bool has_last = weft_key_of(set[count - 1]) == (weft_key)~(weft_key)0;
  const weft_key* keys = (const weft_key*)words;
${each('(is_there && weft_is_found(keys, slots, has_last, key))')}`
    : ''
}}
`;
}

/** The kernels for elements of an integer dtype. */
export const printAmong = (dtype: DType): string =>
  [
    printKeys({ dtype, descending: false, indexBytes: 0 }),
    TABLE,
    PRINT_CLEAR,
    SLOT,
    printMark(dtype),
    FOUND,
    printLook(dtype),
  ].join('');
