/**
 * CUDA C of radix selection: the keys of given ranks in rows, without sorting them (Alabi et al., "Fast k-selection
 * algorithms for graphics processing units", 2012). Digits of 11 bits are counted from the most significant one on,
 * each pass over those elements that begin with the digits found so far; the last block of a row to count finds the
 * digit. Counts are integers, so atomics give the same ones in any order. All passes are one launch: blocks take parts of
 * passes by turns, and wait for the digit before. Launches are made by `exec/calls/select.ts`.
 *
 * Of a long row two keys of a sample enclose each rank (`bracket.ts`): the row is read once for the elements between them,
 * and the passes are over those alone.
 *
 * The first elements of a row (`top.ts`) that cannot be narrowed down are selected so, too: those below the key of the
 * last one, and of those equal to it the first ones, for which the digits of their last position are found the same way.
 */
import { byteLengthOf, type DType } from '../../../graph/dtype.js';
import { BEGIN } from './look-back.js';
import { printKeys, type SortForm } from './sort-keys.js';

export interface SelectForm extends SortForm {
  /** Ranks that are looked for in each row. */
  readonly ranks: number;
  /** Whether counts take 64 bits. */
  readonly isLong: boolean;
  /** Whether passes may be over elements that were collected (`bracket.ts`). */
  readonly isNarrowed?: boolean;
}

export const SELECT_THREADS = 256;
/** Bits of a digit, and as many bins as it has values. */
export const DIGIT_BITS = 11;
export const BINS = 2 ** DIGIT_BITS;
/** Bytes of elements that a thread reads at once, a pack, and how many elements it reads before it looks at any. */
const PACK = 16;
const ITEMS = 8;

/** Digits of keys, and, where positions are wanted, of the positions of a row of so many elements. */
const keyDigits = ({ dtype }: Pick<SelectForm, 'dtype'>): number =>
  Math.ceil((8 * byteLengthOf(dtype)) / DIGIT_BITS);
export const placeBits = (length: number): number => Math.max(1, Math.ceil(Math.log2(length)));
export const selectDigits = (form: SelectForm, length: number): number =>
  keyDigits(form) + (form.indexBytes > 0 ? Math.ceil(placeBits(length) / DIGIT_BITS) : 0);

/** Bytes of a rank's state, and of its counts. */
export const STATE_BYTES = 32;
export const countBytes = ({ isLong }: Pick<SelectForm, 'isLong'>): number => BINS * (isLong ? 8 : 4);

export const BEGIN_NAME = 'weft_select_begin';
export const COUNT_NAME = 'weft_select_count';
export const VALUES_NAME = 'weft_select_values';

/** Blocks that a multiprocessor holds at once, so that one of 132 holds those of a launch (`exec/calls/select.ts`). */
const RESIDENT = 8;
export const HEAD = `
extern "C" __global__ void __launch_bounds__(${SELECT_THREADS}, ${RESIDENT})
`;
/** A row, of those that the blocks of a launch have by turns, and the number of the block in it. */
export const ROW = `  const long long row = ((long long)blockIdx.x + first_x) / blocks;
  const long long block = ((long long)blockIdx.x + first_x) % blocks;
`;
/** A row's part of the workspace: states, then counts. Its last block writes beside others that have read them. */
const work = (
  ranks: number,
): string => `  volatile weft_state* states = (volatile weft_state*)work + row * ${ranks};
  weft_count* counts = (weft_count*)(work + counts_at) + row * ${ranks * BINS};
`;
/** Elements of a pack, and packs that a thread reads before it looks at any. */
export function packsOf(dtype: DType): readonly [perPack: number, packs: number] {
  const perPack = PACK / byteLengthOf(dtype);
  return [perPack, Math.max(1, Math.min(2, ITEMS / perPack))];
}

/** Elements that a thread reads before it looks at any. */
export const elementsAtOnce = (dtype: DType): number => packsOf(dtype)[0] * packsOf(dtype)[1];

/**
 * The elements of a row by turns among its blocks, in packs where they lie so; `use` sees each with its key. With `warps`
 * all lanes of a warp do, which say by `is_there` whether they have one, while that condition holds; `behind` stands behind
 * those that a thread has read.
 */
export function eachElement(
  { dtype }: Pick<SelectForm, 'dtype'>,
  use: string,
  {
    warps,
    behind = '',
  }: {
    readonly warps?: string;
    readonly behind?: string;
  } = {},
): string {
  const [perPack, packs] = packsOf(dtype);
  const items = packs * perPack;
  const element = `own[item / ${perPack}].k[item % ${perPack}]`;
  const step = SELECT_THREADS * items;
  return `  struct __align__(${PACK}) weft_pack {
    weft_key k[${perPack}];
  };
  const bool isPacked = (unsigned long long)in % ${PACK} == 0;
  for (long long from = block * ${step}; from < n${warps === undefined ? '' : ` && ${warps}`}; from += blocks * ${step}) {
    const bool isWhole = isPacked && from + ${step} <= n;
    const long long first = from + threadIdx.x * ${perPack};
    weft_pack own[${packs}];
    #pragma unroll
    for (int pack = 0; pack < ${packs}; ++pack) {
      const long long i = first + pack * ${SELECT_THREADS * perPack};
      if (isWhole) {
        own[pack] = *(const weft_pack*)(in + i);
      } else {
        #pragma unroll
        for (int e = 0; e < ${perPack}; ++e) own[pack].k[e] = i + e < n ? in[i + e] : (weft_key)0;
      }
    }
    #pragma unroll
    for (int item = 0; item < ${items}; ++item) {
      const long long i = first + item / ${perPack} * ${SELECT_THREADS * perPack} + item % ${perPack};
      ${warps === undefined ? 'if (!isWhole && i >= n) break;' : 'const bool is_there = isWhole || i < n;'}
      const weft_key key = weft_key_of(${element});
${use}    }
${behind}  }
`;
}

/** Shared memory of blocks of so many threads that find bins. */
const printFindShared = (threads: number): string =>
  `  __shared__ unsigned long long find_sums[${threads / 32}];\n  __shared__ weft_found find_bin;\n`;
/** The bin of counts that a rank falls in, for all threads of a block: as many as divide the bins. */
const FIND = `struct weft_found {
  unsigned long long rank, count;
  unsigned int bin;
};
template <int THREADS, class C> __device__ __forceinline__ weft_found weft_find(unsigned long long* sums, weft_found* found, const C* counts, unsigned long long rank) {
  const int items = ${BINS} / THREADS;
  unsigned long long own[items], sum = 0;
  #pragma unroll
  for (int k = 0; k < items; ++k) {
    own[k] = counts[threadIdx.x * items + k];
    sum += own[k];
  }
  unsigned long long through = sum;
  #pragma unroll
  for (unsigned int lanes = 1; lanes < 32; lanes *= 2) {
    const unsigned long long lower = __shfl_up_sync(0xffffffffu, through, lanes);
    if (threadIdx.x % 32 >= lanes) through += lower;
  }
  if (threadIdx.x % 32 == 31) sums[threadIdx.x / 32] = through;
  __syncthreads();
  unsigned long long before = through - sum;
  for (unsigned int warp = 0; warp < threadIdx.x / 32; ++warp) before += sums[warp];
  if (rank >= before && rank < before + sum) {
    int k = 0;
    while (rank >= before + own[k]) before += own[k++];
    *found = weft_found{rank - before, own[k], threadIdx.x * items + k};
  }
  __syncthreads();
  return *found;
}
`;

/** Whether digits above `high` of so many bits are those that were found. */
const EQUAL_ABOVE = `__device__ __forceinline__ bool weft_equal_above(unsigned long long a, unsigned long long b, int high, int bits) {
  return high >= bits || a >> high == b >> high;
}
`;

/** Digits that are known of each rank, and the first rank that has the same ones, whose counts are its own, too. */
const printLeaders = (ranks: number): string => `  weft_key prefix[${ranks}];
  int leader[${ranks}];
  #pragma unroll
  for (int r = 0; r < ${ranks}; ++r) {
    prefix[r] = (weft_key)(states[r].key & above);
    leader[r] = r;
    #pragma unroll
    for (int q = r - 1; q >= 0; --q)
      if (prefix[q] == prefix[r]) leader[r] = q;
  }
`;

/** Counts the digit of an element that begins with the known ones, or of a position among those of the last key. */
const printCountElement = ({ ranks, indexBytes }: SelectForm): string =>
  `${indexBytes > 0 ? COUNT_PLACE : ''}      #pragma unroll
      for (int r = 0; r < ${ranks}; ++r)
        if (leader[r] == r && (weft_key)(key & above) == prefix[r]) atomicAdd(&own_counts[r * ${BINS} + ((unsigned int)(key >> low) & mask)], 1u);
`;

const COUNT_PLACE = `      if (is_place) {
        if (key == last_key && weft_equal_above((unsigned long long)i, place, high, place_bits)) atomicAdd(&own_counts[(unsigned int)(i >> low) & mask], 1u);
        continue;
      }
`;

/** Collects the positions of the elements up to the last one. */
const printCollect = (form: SelectForm): string => `    if (heard->found > digit) continue;
    const bool is_place = digit >= ${keyDigits(form)};
    const weft_key last_key = (weft_key)states[0].key;
    const unsigned long long place = states[0].place;
    if (digit == digits) {
${eachElement(
  form,
  `      if (key < last_key || (key == last_key && (unsigned long long)i <= place))
        taken[atomicAdd(&counters->taken, 1u)] = i;
`,
)}      continue;
    }
`;

/** A digit of the last one of the first elements: of its key, or of its position where more are equal to it. */
const FOUND_OF_FIRST = (ofKeys: number): string => `      if (is_place) {
        states[r].place |= own_digit;
      } else {
        states[r].key |= own_digit;
        if (next == ${ofKeys}) {
          if (found.rank + 1 == found.count) next = digits;
          else states[r].place = 0ull;
        }
      }
`;

/** The elements of a row between its brackets, where it was narrowed down to those. */
const CANDIDATES = `  const unsigned int few = counters->few;
  in = few > 0 ? (const weft_key*)(work + keys_at) + row * room : in + row * n;
  n = few > 0 ? few : n;`;

/** The parameters of `COUNT_NAME` beside those of all. */
function passParameters({ indexBytes, isNarrowed }: SelectForm): string {
  if (indexBytes > 0) return ', long long taken_at, long long room, long long k, int place_bits';
  return isNarrowed === true ? ', long long keys_at, long long room' : '';
}

/** The kernels that find the keys of ranks; `skip`: the condition of rows that have none to find. */
export function printSelection(form: SelectForm, skip = ''): string {
  const { ranks, isLong, indexBytes, isNarrowed } = form;
  const isTop = indexBytes > 0;
  const [bits, ofKeys] = [8 * byteLengthOf(form.dtype), keyDigits(form)];
  const rankList = Array.from({ length: ranks }, (_, k) => `long long rank${k}`).join(', ');
  const setRanks = Array.from(
    { length: ranks },
    (_, k) =>
      `    ((weft_state*)work)[row * ${ranks} + ${k}] = weft_state{0ull, ~0ull, (unsigned long long)rank${k}};\n`,
  ).join('');
  return `${printKeys(form)}
typedef ${isLong ? 'unsigned long long' : 'unsigned int'} weft_count;
struct __align__(16) weft_state {
  unsigned long long key, place, rank;
};
/* Of a row: parts of passes that were begun, and of the last one those that were counted, and digits that were found; blocks
   that have sampled; elements that were collected, and that may be among the first; parts that were begun on the way to
   those, and tiles that were passed. */
struct __align__(16) weft_row {
  unsigned int begun, counted, found, sampled, taken, few, parts, passed;
};
${EQUAL_ABOVE}${FIND}${BEGIN}/* Whether a block is the last one of its row, which sees what the others have written. */
__device__ __forceinline__ bool weft_last_block(unsigned int* before, unsigned int* count, long long blocks) {
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) *before = atomicAdd(count, 1u);
  __syncthreads();
  const bool isLast = *before == (unsigned int)(blocks - 1);
  if (isLast) __threadfence();
  return isLast;
}
/* Sets the states of a row to ranks, and its counts and counters to 0. */
template <int THREADS> __device__ __forceinline__ void weft_set_row(char* work, long long row, long long counts_at, long long rows_at, ${rankList}) {
  weft_count* counts = (weft_count*)(work + counts_at) + row * ${ranks * BINS};
  for (int i = (int)threadIdx.x; i < ${ranks * BINS}; i += THREADS) counts[i] = 0;
  if (threadIdx.x == 0) {
    ((weft_row*)(work + rows_at))[row] = weft_row{0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u};
${setRanks}  }
}
${HEAD}${BEGIN_NAME}(unsigned int first_x, char* work, long long counts_at, long long rows_at, ${rankList}) {
  weft_set_row<${SELECT_THREADS}>(work, (long long)blockIdx.x + first_x, counts_at, rows_at, ${Array.from({ length: ranks }, (_, k) => `rank${k}`).join(', ')});
}
${HEAD}${COUNT_NAME}(unsigned int first_x, const weft_key* __restrict__ in, char* work, long long counts_at, long long rows_at, long long n, long long blocks${passParameters(form)}) {
  const long long row = ((long long)blockIdx.x + first_x) / blocks;
${work(ranks)}  weft_row* counters = (weft_row*)(work + rows_at) + row;
  const volatile weft_row* heard = counters;
${skip}${printFindShared(SELECT_THREADS)}  __shared__ unsigned int own_counts[${ranks * BINS}];
  __shared__ unsigned int begun, counted;
${isTop ? `  long long* taken = (long long*)(work + taken_at) + row * k;\n  const unsigned int digits = ${ofKeys} + (place_bits + ${DIGIT_BITS - 1}) / ${DIGIT_BITS};\n` : `  const unsigned int digits = ${ofKeys};\n`}${isNarrowed === true ? CANDIDATES : '  in += row * n;'}
  for (;;) {
    const unsigned int part = weft_begin(&counters->begun, &begun);
    const unsigned int digit = part / (unsigned int)blocks;
    const long long block = part % (unsigned int)blocks;
    if (digit ${isTop ? '>' : '>='} digits) return;
    /* The blocks that find the digit before have all begun. */
    if (threadIdx.x == 0) {
      while (heard->found < digit) __nanosleep(20);
      __threadfence();
    }
    for (int i = (int)threadIdx.x; i < ${ranks * BINS}; i += ${SELECT_THREADS}) own_counts[i] = 0u;
    __syncthreads();
${isTop ? printCollect(form) : ''}    const int high = ${isTop ? `is_place ? place_bits - ${DIGIT_BITS} * (int)(digit - ${ofKeys}) : ` : ''}${bits} - ${DIGIT_BITS} * (int)digit;
    const int low = high > ${DIGIT_BITS} ? high - ${DIGIT_BITS} : 0;
    const unsigned int mask = (1u << (high - low)) - 1u;
    const weft_key above = high >= ${bits} ? (weft_key)0 : (weft_key)(~0ull << high);
${printLeaders(ranks)}${eachElement(form, printCountElement(form))}    __syncthreads();
    for (int i = (int)threadIdx.x; i < ${ranks * BINS}; i += ${SELECT_THREADS})
      if (own_counts[i] != 0u) atomicAdd(&counts[i], (weft_count)own_counts[i]);
    if (!weft_last_block(&counted, &counters->counted, blocks)) continue;
    unsigned int next = digit + 1;
    #pragma unroll
    for (int r = 0; r < ${ranks}; ++r) {
      const weft_found found = weft_find<${SELECT_THREADS}>(find_sums, &find_bin, (const volatile weft_count*)counts + leader[r] * ${BINS}, states[r].rank);
      if (threadIdx.x > 0) continue;
      const unsigned long long own_digit = (unsigned long long)found.bin << low;
      states[r].rank = found.rank;
${isTop ? FOUND_OF_FIRST(ofKeys) : '      states[r].key |= own_digit;\n'}    }
    __syncthreads();
    for (int i = (int)threadIdx.x; i < ${ranks * BINS}; i += ${SELECT_THREADS}) ((volatile weft_count*)counts)[i] = 0;
    if (threadIdx.x == 0) *(volatile unsigned int*)&counters->counted = 0u;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) *(volatile unsigned int*)&counters->found = next;
  }
}
`;
}

/** The elements of ranks, in their order. */
export function printRanks(form: SelectForm): string {
  return `${printSelection(form)}${HEAD}${VALUES_NAME}(unsigned int first_x, const char* work, weft_key* out) {
  const long long row = (long long)blockIdx.x + first_x;
  const weft_state* states = (const weft_state*)work + row * ${form.ranks};
  if (threadIdx.x < ${form.ranks}) out[row * ${form.ranks} + threadIdx.x] = weft_element_of((weft_key)states[threadIdx.x].key);
}
`;
}
