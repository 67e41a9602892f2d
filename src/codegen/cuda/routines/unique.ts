/**
 * CUDA C of the distinct integers of a line in order, by a bit for each value of their range where that is narrow, else by
 * a radix sort and a compaction. The range is known on the device, so that kernels of both ways are launched, and those of
 * the way that is not taken end at once:
 *
 *     range    the least and the greatest key, until a thread alone has seen keys too far apart for the table
 *     clear    the table, or the words of the sort
 *     mark     sets the bit of each element: in shared memory, which a block then adds to the table, where the range is short
 *     list     the values of the bits that are set, in order, in one pass over the table
 *     sort     `radix-sort.ts`, then the elements that differ from the one before (`compact.ts`)
 *
 * Bits lie in the second-level cache, where a word is read before a bit of it is set: most elements find theirs set, and a
 * read takes a fraction of an atomic operation. Words are read through the multiprocessor's own cache: one that is old there
 * lacks bits, which are then set once more. 2^26 elements below 2^20 take an H200 0.18 ms so, 0.70 without, where half of them
 * are equal, below 2^24, 0.96 and 1.13. Launches are made by `exec/calls/unique.ts`.
 */
import type { DType } from '../../../graph/dtype.js';
import { COUNT_AHEAD, type CompactForm, KEPT_BEFORE, printDistinct } from './compact.js';
import { BEGIN, CLEAR_THREADS, CLEARED, printCounts } from './look-back.js';
import type { RadixForm } from './radix-pass.js';
import { printRadixKernels } from './radix-sort.js';
import { eachElement, elementsAtOnce } from './select.js';
import { printKeys } from './sort-keys.js';

export interface UniqueForm {
  /** An integer or bool. */
  readonly dtype: DType;
  /** Bytes of a running count. */
  readonly countBytes: 4 | 8;
}

export const UNIQUE_NAMES = {
  begin: 'weft_unique_begin',
  range: 'weft_unique_range',
  clear: 'weft_unique_clear',
  mark: 'weft_unique_mark',
  list: 'weft_unique_list',
  clearAgain: 'weft_unique_clear_again',
  fill: 'weft_unique_fill',
} as const;
export const UNIQUE_THREADS = 256;
/** Words of the table in a tile: a thread has so many. */
const WORDS = 4;
/** Values of the table in a tile. */
export const LISTED = 32 * WORDS * UNIQUE_THREADS;
/** Elements that a block fills. */
export const UNIQUE_FILLED = 16 * UNIQUE_THREADS;
/**
 * Values of a range whose bits a block holds in shared memory: few words would be where all blocks read. 2^26 elements of
 * 2^17 values in global memory took 2.2 ms on an H100 by the host's clock, those of 2^16 in shared memory 1.2 ms.
 */
const SHARED_RANGE = 2 ** 18;
/** Where the range is in the workspace, behind what counts begun tiles: 3 numbers of 64 bits. */
const RANGE_AT = 128;
/** Bytes before the words that ways clear. */
export const UNIQUE_HEAD = 256;

export const HEAD = `extern "C" __global__ void __launch_bounds__(${UNIQUE_THREADS})
`;

/** The range: the greatest key, the greatest of the keys' complements, and how many values a table may have. */
const KEY_RANGE = `struct weft_range {
  unsigned long long high, low, most;
};
__device__ __forceinline__ weft_range weft_range_of(const char* work) { return *(const weft_range*)(work + ${RANGE_AT}); }
__device__ __forceinline__ bool weft_is_table(const weft_range& range) { return range.high - ~range.low < range.most; }
`;

/** The conditions on which kernels of a way end. */
export const SORT_ENDS = 'weft_is_table(weft_range_of(work))';
export const TABLE_ENDS = `  const weft_range range = weft_range_of(work);
  if (!weft_is_table(range)) return;
  const weft_key least = (weft_key)~range.low;
`;

const PRINT_BEGIN = `${HEAD}${UNIQUE_NAMES.begin}(unsigned int first_x, char* work, long long most) {
  if (threadIdx.x < ${RANGE_AT / 4}) ((unsigned int*)work)[threadIdx.x] = 0u;
  if (threadIdx.x == 0) *(weft_range*)(work + ${RANGE_AT}) = weft_range{0ull, 0ull, (unsigned long long)most};
}
`;

/** Of the warps' counts: those of warps before, `behind`, and of all, `whole`, which the tile tells. */
export const COUNTS_OF_WARPS = `  if (lane == 0) sums[warp] = count;
  __syncthreads();
  unsigned int behind = 0, whole = 0;
  #pragma unroll
  for (unsigned int w = 0; w < ${UNIQUE_THREADS / 32}; ++w) {
    behind += w < warp ? sums[w] : 0;
    whole += sums[w];
  }
  if (threadIdx.x == 0) weft_tell(told + tile, (tile > 0 ? WEFT_OWN : WEFT_ALL) | whole);
`;

export const BLOCKS = `  const long long block = (long long)blockIdx.x + first_x;
`;

/** Least and greatest of a thread's keys go to the workspace by warps. */
const printRange = ({
  dtype,
}: UniqueForm): string => `${HEAD}${UNIQUE_NAMES.range}(unsigned int first_x, const weft_key* __restrict__ in, char* work, long long n, long long blocks) {
${BLOCKS}  weft_range* range = (weft_range*)(work + ${RANGE_AT});
  const unsigned long long most = range->most;
  unsigned long long high = 0ull, low = ~0ull;
${eachElement(
  { dtype },
  `      if (is_there) {
        high = key > high ? key : high;
        low = key < low ? key : low;
      }
`,
  { warps: '(high < low || high - low < most)' },
)}  low = ~low;
  #pragma unroll
  for (unsigned int lanes = 16; lanes > 0; lanes /= 2) {
    const unsigned long long other_high = __shfl_down_sync(0xffffffffu, high, lanes);
    const unsigned long long other_low = __shfl_down_sync(0xffffffffu, low, lanes);
    high = other_high > high ? other_high : high;
    low = other_low > low ? other_low : low;
  }
  if (threadIdx.x % 32 != 0) return;
  if (__ldcg(&range->high) < high) atomicMax(&range->high, high);
  if (__ldcg(&range->low) < low) atomicMax(&range->low, low);
}
`;

/** Of the table the tiles' counts, then its words, as many as a range of `span` values and one more has. */
export const printClear = (
  words: string,
): string => `extern "C" __global__ void __launch_bounds__(${CLEAR_THREADS})
${UNIQUE_NAMES.clear}(unsigned int first_x, char* work, long long told_words, long long sort_words) {
  const weft_range range = weft_range_of(work);
  const unsigned long long span = range.high - ~range.low;
  const long long count = weft_is_table(range) ? told_words + (long long)(${words}) : sort_words;
  unsigned int* words = (unsigned int*)(work + ${UNIQUE_HEAD});
  const long long first = ((long long)blockIdx.x + first_x) * ${CLEARED};
  for (long long i = first + threadIdx.x; i < first + ${CLEARED} && i < count; i += ${CLEAR_THREADS}) words[i] = 0u;
}
`;

/** Bits that blocks may be setting; the simulator has no caches. */
const READ_BITS = `#ifdef __CUDA_ARCH__
__device__ __forceinline__ unsigned int weft_bits_at(const unsigned int* at) { return __ldca(at); }
#else
__device__ __forceinline__ unsigned int weft_bits_at(const unsigned int* at) { return __ldcg(at); }
#endif
`;

/**
 * Elements are read, then their words, then bits set, so that many reads are in flight. In shared memory atomic operations
 * take no longer than reads, but for those of lanes with a word in common.
 */
function printMark(form: UniqueForm): string {
  const items = elementsAtOnce(form.dtype);
  const eachPlace = (body: string): string => `    #pragma unroll
    for (int item = 0; item < ${items}; ++item) {
      const unsigned int bit = 1u << places[item] % 32;
${body}    }
`;
  const inMemory = eachElement(
    form,
    `      places[item] = (unsigned int)(weft_key)(key - least);
      words[item] = is_there ? weft_bits_at(bits + places[item] / 32) : ~0u;
`,
    {
      warps: 'true',
      behind: eachPlace('      if ((words[item] & bit) == 0) atomicOr(&bits[places[item] / 32], bit);\n'),
    },
  );
  const inBlock = eachElement(
    form,
    '      places[item] = is_there ? (unsigned int)(weft_key)(key - least) : 0u;\n',
    {
      warps: 'true',
      behind: eachPlace('      atomicOr(&held[(places[item] / 32 << copies) + copy], bit);\n'),
    },
  );
  return `${READ_BITS}${HEAD}${UNIQUE_NAMES.mark}(unsigned int first_x, const weft_key* __restrict__ in, char* work, long long bits_at, long long n, long long blocks) {
${TABLE_ENDS}${BLOCKS}  const unsigned int span = (unsigned int)(range.high - ~range.low);
  unsigned int* bits = (unsigned int*)(work + bits_at);
  __shared__ unsigned int held[${SHARED_RANGE / 32}];
  unsigned int places[${items}];
  if (span >= ${SHARED_RANGE}u) {
    unsigned int words[${items}];
${inMemory}    return;
  }
  // Of few words a copy for each lane.
  const unsigned int copies = span < ${SHARED_RANGE / 32}u ? 5u : 0u;
  const unsigned int copy = threadIdx.x % (1u << copies);
  const unsigned int size = span / 32 + 1;
  for (unsigned int i = threadIdx.x; i < size << copies; i += ${UNIQUE_THREADS}) held[i] = 0u;
  __syncthreads();
${inBlock}  __syncthreads();
  for (unsigned int i = threadIdx.x; i < size; i += ${UNIQUE_THREADS}) {
    unsigned int all = 0u;
    for (unsigned int c = 0; c < 1u << copies; ++c) all |= held[(i << copies) + c];
    if ((all & ~__ldcg(bits + i)) != 0) atomicOr(&bits[i], all);
  }
}
`;
}

/** A warp writes the values of a word side by side. */
const PRINT_LIST = `${HEAD}${UNIQUE_NAMES.list}(unsigned int first_x, weft_key* __restrict__ out, long long* length, char* work, long long bits_at) {
${TABLE_ENDS}  __shared__ unsigned int sums[${UNIQUE_THREADS / 32}];
  __shared__ weft_count ahead;
  __shared__ unsigned int begun;
  const unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const long long words = (long long)((range.high - ~range.low) / 32) + 1;
  const long long tiles = (words + ${WORDS * UNIQUE_THREADS - 1}) / ${WORDS * UNIQUE_THREADS};
  const long long tile = weft_begin((unsigned int*)work, &begun);
  if (tile >= tiles) return;
  const unsigned int* bits = (const unsigned int*)(work + bits_at);
  weft_count* told = (weft_count*)(work + ${UNIQUE_HEAD});
  const long long first = tile * ${WORDS * UNIQUE_THREADS} + warp * ${WORDS * 32} + lane;
  unsigned int word[${WORDS}], before[${WORDS}];
  unsigned int count = 0;
  #pragma unroll
  for (int k = 0; k < ${WORDS}; ++k) word[k] = first + k * 32 < words ? bits[first + k * 32] : 0u;
  #pragma unroll
  for (int k = 0; k < ${WORDS}; ++k) {
    unsigned int through = __popc(word[k]);
    #pragma unroll
    for (unsigned int far = 1; far < 32; far *= 2) {
      const unsigned int other = __shfl_up_sync(0xffffffffu, through, far);
      if (lane >= far) through += other;
    }
    before[k] = count + through - __popc(word[k]);
    count += __shfl_sync(0xffffffffu, through, 31);
  }
${COUNTS_OF_WARPS}${COUNT_AHEAD}  out += ahead + behind;
  const unsigned int below = (1u << lane) - 1u;
  #pragma unroll
  for (int k = 0; k < ${WORDS}; ++k) {
    const weft_key value = (weft_key)(least + (weft_key)(32 * (first + k * 32 - lane) + lane));
    #pragma unroll 8
    for (int source = 0; source < 32; ++source) {
      const unsigned int own = __shfl_sync(0xffffffffu, word[k], source);
      const unsigned int to = __shfl_sync(0xffffffffu, before[k], source);
      if ((own >> lane & 1u) != 0) out[to + __popc(own & below)] = weft_element_of((weft_key)(value + 32 * source));
    }
  }
}
`;

/** Tiles of the compaction count in the place of those of the sort. */
const PRINT_CLEAR_AGAIN = `extern "C" __global__ void __launch_bounds__(${CLEAR_THREADS})
${UNIQUE_NAMES.clearAgain}(unsigned int first_x, char* work, long long told_at, long long count) {
  if (${SORT_ENDS}) return;
  unsigned int* words = (unsigned int*)(work + told_at);
  const long long first = ((long long)blockIdx.x + first_x) * ${CLEARED};
  if (first + threadIdx.x == 0) *(unsigned int*)work = 0u;
  for (long long i = first + threadIdx.x; i < first + ${CLEARED} && i < count; i += ${CLEAR_THREADS}) words[i] = 0u;
}
`;

/**
 * Behind the distinct elements is one of them, which occurs 0 times more: the greatest one of a narrow range, of a wide one the
 * greatest that was read while its ends were looked for.
 */
export const printUniqueFill = (
  hasCounts: boolean,
): string => `${HEAD}${UNIQUE_NAMES.fill}(unsigned int first_x, weft_key* __restrict__ out, ${hasCounts ? 'long long* __restrict__ counts, ' : ''}const long long* length, const char* work, long long n) {
  const long long first = ((long long)blockIdx.x + first_x) * ${UNIQUE_FILLED} + threadIdx.x;
  const long long end = first - threadIdx.x + ${UNIQUE_FILLED} < n ? first - threadIdx.x + ${UNIQUE_FILLED} : n;
  const long long count = *length;
  if (count >= end) return;
  const weft_key last = weft_element_of((weft_key)weft_range_of(work).high);
  for (long long i = first; i < end; i += ${UNIQUE_THREADS}) {
    if (i < count) continue;
    out[i] = last;
${hasCounts ? '    counts[i] = 0;\n' : ''}  }
}
`;

/**
 * Sources that are compiled at a time, by what they have: in one, NVRTC takes 2.5 times as long as for a sort of the same
 * elements.
 */
export interface UniqueSources {
  readonly table: string;
  /** The same for both routines. */
  readonly sort: string;
  readonly compaction: string;
}

/** `table`: the kernels of the table; `compaction`: those behind the sort. */
export function printSources(
  { dtype, countBytes }: UniqueForm,
  table: readonly string[],
  compaction: (keys: CompactForm & RadixForm) => readonly string[],
): UniqueSources {
  const keys = {
    dtype,
    descending: false,
    indexBytes: 0,
    countBytes,
    skip: SORT_ENDS,
    kept: 'distinct',
  } as const;
  const head = [printKeys(keys), BEGIN, printCounts(countBytes), KEY_RANGE].join('');
  return {
    table: [head, KEPT_BEFORE, PRINT_BEGIN, printRange({ dtype, countBytes }), ...table].join(''),
    sort: head + printRadixKernels(keys),
    compaction: [head, PRINT_CLEAR_AGAIN, ...compaction(keys)].join(''),
  };
}

export const printUnique = (form: UniqueForm): UniqueSources =>
  printSources(
    form,
    [printClear('span / 32 + 1'), printMark(form), PRINT_LIST, printUniqueFill(false)],
    (keys) => [printDistinct(keys)],
  );
