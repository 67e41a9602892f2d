/**
 * CUDA C of radix selection: the keys of given ranks in rows, without sorting them (Alabi et al., "Fast k-selection
 * algorithms for graphics processing units", 2012). Digits of 11 bits are counted from the most significant one on,
 * each pass over those elements that begin with the digits found so far. Counts are integers, so atomics give the
 * same ones whatever runs first. Launches are made by `exec/calls/select.ts`.
 *
 * The elements up to a rank are those below its key, and of those equal to it the first ones: the digits of their
 * last position are found the same way. They are collected in any order, and then sorted.
 */
import { byteLengthOf } from '../../../graph/dtype.js';
import { printKeys, type SortForm } from './sort-keys.js';

export interface SelectForm extends SortForm {
  /** Ranks that are looked for in each row. */
  readonly ranks: number;
  /** Whether counts take 64 bits. */
  readonly isLong: boolean;
}

/** The bits of a pass's digit; of a key, or of a position among those of equal keys. */
export interface Digit {
  readonly isPlace: boolean;
  readonly low: number;
  readonly high: number;
}

export const SELECT_THREADS = 256;
const DIGIT_BITS = 11;
const BINS = 2 ** DIGIT_BITS;
/** Elements that a thread reads before it looks at any. */
const ITEMS = 8;
const BIN_ITEMS = BINS / SELECT_THREADS;

/** The digits of so many bits, the most significant one first. */
function digitsOf(bits: number, isPlace: boolean): Digit[] {
  return Array.from({ length: Math.ceil(bits / DIGIT_BITS) }, (_, k) => {
    const high = bits - DIGIT_BITS * k;
    return { isPlace, high, low: Math.max(0, high - DIGIT_BITS) };
  });
}

/** The digits of keys, then, where positions are wanted, those of a row's positions. */
export function selectDigits(form: SelectForm, length: number): readonly Digit[] {
  const keys = digitsOf(8 * byteLengthOf(form.dtype), false);
  return form.indexBytes > 0 ? [...keys, ...digitsOf(Math.ceil(Math.log2(length)), true)] : keys;
}

/** Bytes of what is known of a rank, and of its counts. */
export const STATE_BYTES = 32;
export const countBytes = ({ isLong }: Pick<SelectForm, 'isLong'>): number => BINS * (isLong ? 8 : 4);

export const BEGIN_NAME = 'weft_select_begin';
export const COUNT_NAME = 'weft_select_count';
export const PICK_NAME = 'weft_select_pick';
export const VALUES_NAME = 'weft_select_values';
export const COLLECT_NAME = 'weft_select_collect';
export const ORDER_NAME = 'weft_select_order';

const HEAD = `
extern "C" __global__ void __launch_bounds__(${SELECT_THREADS})
`;
/** A row's part of the workspace: states, then counts. */
const work = (ranks: number): string => `  weft_state* states = (weft_state*)work + row * ${ranks};
  weft_count* counts = (weft_count*)(work + counts_at) + row * ${ranks * BINS};
`;
/** The elements of a row by turns among its blocks; `use` sees each with its key. */
const eachElement = (
  use: string,
): string => `  for (long long from = block * ${SELECT_THREADS * ITEMS}; from < n; from += blocks * ${SELECT_THREADS * ITEMS}) {
    weft_key own[${ITEMS}];
    #pragma unroll
    for (int item = 0; item < ${ITEMS}; ++item) {
      const long long i = from + item * ${SELECT_THREADS} + threadIdx.x;
      own[item] = i < n ? in[i] : (weft_key)0;
    }
    #pragma unroll
    for (int item = 0; item < ${ITEMS}; ++item) {
      const long long i = from + item * ${SELECT_THREADS} + threadIdx.x;
      if (i >= n) continue;
      const unsigned long long key = weft_key_of(own[item]);
${use}    }
  }
`;

/** The kernels that find the keys of ranks. */
function printSelection(form: SelectForm): string {
  const { ranks, isLong, indexBytes } = form;
  const isDone = indexBytes > 0 ? '  if (states[0].isDone != 0) return;\n' : '';
  const rankList = Array.from({ length: ranks }, (_, k) => `long long rank${k}`).join(', ');
  const setRanks = Array.from(
    { length: ranks },
    (_, k) => `    states[${k}] = weft_state{0ull, ~0ull, (unsigned long long)rank${k}, 0ull};\n`,
  ).join('');
  return `${printKeys(form)}
typedef ${isLong ? 'unsigned long long' : 'unsigned int'} weft_count;
struct __align__(16) weft_state {
  unsigned long long key, place, rank, isDone;
};
__device__ __forceinline__ bool weft_equal_above(unsigned long long a, unsigned long long b, int high, int bits) {
  return high >= bits || a >> high == b >> high;
}
${HEAD}${BEGIN_NAME}(unsigned int first_x, char* work, long long counts_at, long long taken_at, ${rankList}) {
  const long long row = (long long)blockIdx.x + first_x;
${work(ranks)}  for (int i = (int)threadIdx.x; i < ${ranks * BINS}; i += ${SELECT_THREADS}) counts[i] = 0;
  if (threadIdx.x == 0) {
${indexBytes > 0 ? '    ((unsigned int*)(work + taken_at))[row] = 0u;\n' : ''}${setRanks}  }
}
${HEAD}${COUNT_NAME}(unsigned int first_x, const weft_key* __restrict__ in, char* work, long long counts_at, long long n, long long blocks, int is_place, int low, int high, int bits) {
  const long long row = ((long long)blockIdx.x + first_x) / blocks;
  const long long block = ((long long)blockIdx.x + first_x) % blocks;
${work(ranks)}${isDone}  __shared__ unsigned int own_counts[${ranks * BINS}];
  for (int i = (int)threadIdx.x; i < ${ranks * BINS}; i += ${SELECT_THREADS}) own_counts[i] = 0u;
  __syncthreads();
  unsigned long long keys[${ranks}], places[${ranks}];
  #pragma unroll
  for (int r = 0; r < ${ranks}; ++r) {
    keys[r] = states[r].key;
    places[r] = states[r].place;
  }
  in += row * n;
  const unsigned int mask = (1u << (high - low)) - 1u;
${eachElement(`      #pragma unroll
      for (int r = 0; r < ${ranks}; ++r) {
        const bool matches = is_place != 0 ? key == keys[r] && weft_equal_above((unsigned long long)i, places[r], high, bits) : weft_equal_above(key, keys[r], high, bits);
        const unsigned long long from_bits = is_place != 0 ? (unsigned long long)i : key;
        if (matches) atomicAdd(&own_counts[r * ${BINS} + ((unsigned int)(from_bits >> low) & mask)], 1u);
      }
`)}  __syncthreads();
  for (int i = (int)threadIdx.x; i < ${ranks * BINS}; i += ${SELECT_THREADS})
    if (own_counts[i] != 0u) atomicAdd(&counts[i], (weft_count)own_counts[i]);
}
${HEAD}${PICK_NAME}(unsigned int first_x, char* work, long long counts_at, int is_place, int low, int is_last_of_key) {
  const long long row = (long long)blockIdx.x + first_x;
${work(ranks)}${isDone}  __shared__ unsigned long long sums[${SELECT_THREADS}];
  for (int r = 0; r < ${ranks}; ++r) {
    weft_count own[${BIN_ITEMS}];
    unsigned long long sum = 0;
    #pragma unroll
    for (int k = 0; k < ${BIN_ITEMS}; ++k) {
      weft_count* count = counts + r * ${BINS} + threadIdx.x * ${BIN_ITEMS} + k;
      own[k] = *count;
      *count = 0;
      sum += own[k];
    }
    sums[threadIdx.x] = sum;
    __syncthreads();
    unsigned long long before = 0;
    for (unsigned int t = 0; t < threadIdx.x; ++t) before += sums[t];
    const unsigned long long rank = states[r].rank;
    __syncthreads();
    if (rank >= before && rank < before + sum) {
      int k = 0;
      while (rank >= before + own[k]) before += own[k++];
      const unsigned long long digit = (unsigned long long)(threadIdx.x * ${BIN_ITEMS} + k) << low;
      if (is_place != 0) {
        states[r].place |= digit;
      } else {
        states[r].key |= digit;
      }
      states[r].rank = rank - before;
      if (is_last_of_key != 0) {
        /* All that are equal, or those up to a position that is not known yet. */
        const bool isAll = rank - before + 1 == own[k];
        states[r].isDone = isAll ? 1ull : 0ull;
        if (!isAll) states[r].place = 0ull;
      }
    }
    __syncthreads();
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

/**
 * The first `k` elements in their order, and their positions: those that are not behind the last one are collected,
 * then sorted by a bitonic network, of `padded` elements.
 */
export function printTop(form: SelectForm, padded: number): string {
  return `${printSelection(form)}${HEAD}${COLLECT_NAME}(unsigned int first_x, const weft_key* __restrict__ in, char* work, long long taken_at, long long found_at, long long n, long long blocks, long long k) {
  unsigned int* taken = (unsigned int*)(work + taken_at);
  long long* found = (long long*)(work + found_at);
  const long long row = ((long long)blockIdx.x + first_x) / blocks;
  const long long block = ((long long)blockIdx.x + first_x) % blocks;
  const weft_state last = ((const weft_state*)work)[row];
  in += row * n;
${eachElement(`      if (key < last.key || (key == last.key && (unsigned long long)i <= last.place))
        found[row * k + atomicAdd(&taken[row], 1u)] = i;
`)}}
${HEAD}${ORDER_NAME}(unsigned int first_x, const weft_key* in, const char* work, long long found_at, weft_key* values, long long* indices, long long n, int k) {
  const long long row = (long long)blockIdx.x + first_x;
  __shared__ weft_key keys[${padded}];
  __shared__ long long at[${padded}];
  const long long* found = (const long long*)(work + found_at);
  in += row * n;
  for (int i = (int)threadIdx.x; i < ${padded}; i += ${SELECT_THREADS}) {
    at[i] = i < k ? found[row * k + i] : 0x7fffffffffffffffll;
    keys[i] = i < k ? weft_key_of(in[at[i]]) : weft_last();
  }
  for (unsigned int size = 2; size <= ${padded}; size *= 2) {
    for (unsigned int stride = size / 2; stride > 0; stride /= 2) {
      __syncthreads();
      for (unsigned int pair = threadIdx.x; pair < ${padded / 2}; pair += ${SELECT_THREADS}) {
        const unsigned int low = pair / stride * 2 * stride + pair % stride;
        const bool isUp = (low & size) == 0;
        const unsigned int i = isUp ? low : low + stride;
        const unsigned int j = isUp ? low + stride : low;
        if (keys[j] < keys[i] || (keys[i] == keys[j] && at[j] < at[i])) {
          const weft_key key = keys[i];
          keys[i] = keys[j];
          keys[j] = key;
          const long long place = at[i];
          at[i] = at[j];
          at[j] = place;
        }
      }
    }
  }
  __syncthreads();
  for (int i = (int)threadIdx.x; i < k; i += ${SELECT_THREADS}) {
    values[row * k + i] = in[at[i]];
    indices[row * k + i] = at[i];
  }
}
`;
}
