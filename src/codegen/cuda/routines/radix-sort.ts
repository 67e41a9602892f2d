/**
 * CUDA C of a stable radix sort of long rows, least significant digit first (Knuth, The Art of Computer Programming 3,
 * 5.2.5), in one pass over memory for each digit (Adinets and Merrill, "Onesweep", 2022). Launches are made by
 * `exec/calls/sort.ts`.
 *
 * One kernel counts all digits of a row; a digit that is the same in all elements needs no pass. In a pass a block
 * has a tile: ranks inside a warp come from ballots on the bits of a digit, a thread for each digit looks back at the
 * tiles before for the place of its first element, and elements are put in order in shared memory, so that those of
 * a digit are written side by side.
 */
import { BEGIN, CLEAR_KERNEL, printCounts } from './look-back.js';
import { digitsOf, movedBytes, printKeys, type SortForm, UNSIGNED } from './sort-keys.js';

export interface RadixForm extends SortForm {
  /** Bytes of a running count. */
  readonly countBytes: 4 | 8;
}

/** Values of a digit. */
export const DIGITS = 256;
const DIGIT_WARPS = DIGITS / 32;

/** Threads of a block, and elements of each. */
interface TileForm {
  readonly threads: number;
  readonly items: number;
}

/** A tile in shared memory stays below 40 KiB, and in the registers of two blocks. */
function tileForm(form: SortForm): TileForm {
  const bytes = movedBytes(form);
  if (bytes <= 4) return { threads: 512, items: 16 };
  if (bytes <= 8) return { threads: 256, items: 16 };
  return { threads: 256, items: bytes <= 12 ? 12 : bytes <= 16 ? 8 : 4 };
}

export const passThreads = (form: SortForm): number => tileForm(form).threads;

/** Elements of a tile. */
export function tileLength(form: SortForm): number {
  const { threads, items } = tileForm(form);
  return threads * items;
}

export const COUNT_NAME = 'weft_sort_count';
export const BEGIN_NAME = 'weft_sort_begin';
export const PASS_NAME = 'weft_sort_pass';

export const COUNT_THREADS = 256;
/** Elements of which a block counts the digits. */
export const COUNTED_LENGTH = 2 ** 15;
const COUNT_FLIGHT = 8;
/** Bytes of shared memory for the counts of a block and their copies. */
const COUNT_BYTES = 32768;

/** Values of a thread's neighbours before it, summed: a scan over a block (Hillis and Steele, 1986). */
const printScan = (warps: number): string => `
__device__ __forceinline__ weft_count weft_scan(weft_count value, weft_count* sums) {
  const unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  weft_count sum = value;
  #pragma unroll
  for (unsigned int far = 1; far < 32; far *= 2) {
    const weft_count other = __shfl_up_sync(0xffffffffu, sum, far);
    if (lane >= far) sum += other;
  }
  __syncthreads();
  if (lane == 31 && warp < ${warps}) sums[warp] = sum;
  __syncthreads();
  weft_count before = 0;
  #pragma unroll
  for (unsigned int w = 0; w < ${warps}; ++w) before += w < warp ? sums[w] : 0;
  return before + sum - value;
}
`;

/** Copies of the counts keep lanes with equal digits out of each other's way. */
function printCount(form: RadixForm): string {
  const digits = digitsOf(form.dtype);
  let copies = 32;
  while (copies * digits * DIGITS * 4 > COUNT_BYTES) copies /= 2;
  const step = COUNT_THREADS * COUNT_FLIGHT;
  return `
extern "C" __global__ void __launch_bounds__(${COUNT_THREADS})
${COUNT_NAME}(unsigned int first_x, const char* in_base, long long in_at, char* work, long long totals_at, long long n, unsigned int blocks) {
  __shared__ unsigned int counted[${digits * DIGITS * copies}];
  for (int i = (int)threadIdx.x; i < ${digits * DIGITS * copies}; i += ${COUNT_THREADS}) counted[i] = 0;
  __syncthreads();
  const unsigned int b = blockIdx.x + first_x;
  const long long row = b / blocks;
  const long long begin = (long long)(b % blocks) * ${COUNTED_LENGTH};
  const weft_key* in = (const weft_key*)(in_base + in_at) + row * n + begin;
  const int size = n - begin < ${COUNTED_LENGTH} ? (int)(n - begin) : ${COUNTED_LENGTH};
  const unsigned int copy = threadIdx.x % ${copies};
  for (int from = (int)threadIdx.x; from < size; from += ${step}) {
    weft_key k[${COUNT_FLIGHT}];
    #pragma unroll
    for (int j = 0; j < ${COUNT_FLIGHT}; ++j)
      if (from + j * ${COUNT_THREADS} < size) k[j] = in[from + j * ${COUNT_THREADS}];
    #pragma unroll
    for (int j = 0; j < ${COUNT_FLIGHT}; ++j) {
      if (from + j * ${COUNT_THREADS} >= size) break;
      const weft_key own = weft_key_of(k[j]);
      #pragma unroll
      for (int d = 0; d < ${digits}; ++d) atomicAdd(&counted[(d * ${DIGITS} + weft_digit(own, d)) * ${copies} + copy], 1u);
    }
  }
  __syncthreads();
  weft_count* totals = (weft_count*)(work + totals_at) + row * ${digits * DIGITS};
  for (int i = (int)threadIdx.x; i < ${digits * DIGITS}; i += ${COUNT_THREADS}) {
    unsigned int sum = 0;
    for (int c = 0; c < ${copies}; ++c) sum += counted[i * ${copies} + c];
    if (sum > 0) atomicAdd(&totals[i], (weft_count)sum);
  }
}
`;
}

/** A row's counts become the places where digits begin, and bits say which digits need a pass: one at least. */
function printBegin(form: RadixForm): string {
  const digits = digitsOf(form.dtype);
  return `${printScan(DIGIT_WARPS)}
extern "C" __global__ void __launch_bounds__(${DIGITS})
${BEGIN_NAME}(unsigned int first_x, char* work, long long totals_at, long long passes_at, long long n) {
  __shared__ weft_count sums[${DIGIT_WARPS}];
  __shared__ unsigned int passes;
  const long long row = (long long)blockIdx.x + first_x;
  weft_count* totals = (weft_count*)(work + totals_at) + row * ${digits * DIGITS} + threadIdx.x;
  if (threadIdx.x == 0) passes = ${2 ** digits - 1}u;
  for (int d = 0; d < ${digits}; ++d) {
    const weft_count own = totals[d * ${DIGITS}];
    totals[d * ${DIGITS}] = weft_scan(own, sums);
    if (own == (weft_count)n) passes &= ~(1u << d);
  }
  __syncthreads();
  if (threadIdx.x == 0) ((unsigned int*)(work + passes_at))[row] = passes == 0 ? 1u : passes;
}
`;
}

/**
 * Ranks of a tile's elements among those of equal digits before them in their warp, with the digits in the high
 * half, and counts by warp.
 */
const printRanks = ({ items }: TileForm): string => `  unsigned int rank[${items}];
  #pragma unroll
  for (int item = 0; item < ${items}; ++item) {
    const unsigned int d = first + item * 32 < size ? weft_digit(own[item], pass) : ${DIGITS - 1}u;
    unsigned int peers = 0xffffffffu;
    #pragma unroll
    for (int bit = 0; bit < 8; ++bit) {
      const bool isSet = (d >> bit & 1u) != 0;
      const unsigned int those = __ballot_sync(0xffffffffu, isSet);
      peers &= isSet ? those : ~those;
    }
    const unsigned int before = __popc(peers & ((1u << lane) - 1u));
    const unsigned int known = counted[warp * ${DIGITS} + d];
    __syncwarp();
    if (before == 0) counted[warp * ${DIGITS} + d] = known + __popc(peers);
    __syncwarp();
    rank[item] = known + before | d << 16;
  }
`;

/** Tiles whose counts a thread reads at once. */
const LOOKED = 4;

/** Elements of a digit in the tiles before: the nearest tile that tells all of them, and those behind it. */
const LOOK_BACK = `
__device__ __forceinline__ weft_count weft_before(const weft_count* told, unsigned int tile) {
  weft_count sum = 0;
  for (long long at = (long long)tile - 1;;) {
    weft_count words[${LOOKED}];
    #pragma unroll
    for (int k = 0; k < ${LOOKED}; ++k) words[k] = at >= k ? weft_heard(told + (at - k) * ${DIGITS}) : 0;
    #pragma unroll
    for (int k = 0; k < ${LOOKED}; ++k) {
      if (words[k] == 0) {
        __nanosleep(20);
        break;
      }
      sum += words[k] & WEFT_COUNTED;
      if (words[k] & WEFT_ALL) return sum;
      --at;
    }
  }
}
`;

/** Keys go to and fro between the result, or other keys, and keys in the workspace, and so do positions. */
interface Buffers {
  readonly parameters: string;
  readonly keys: (place: string) => string;
  readonly indices: (place: string) => string;
}

function buffersOf({ indexBytes }: SortForm): Buffers {
  const numbers =
    indexBytes === 0 ? ['keys_at'] : ['keys_at', 'more_keys_at', 'indices_at', 'more_indices_at'];
  const other = indexBytes === 0 ? 'out_base + out_at' : 'work + more_keys_at';
  return {
    parameters: numbers.map((name) => `long long ${name}`).join(', '),
    keys: (place) => `(weft_key*)(${place} % 2 == 0 ? ${other} : work + keys_at)`,
    indices: (place) => `(weft_index*)(${place} % 2 == 0 ? work + more_indices_at : work + indices_at)`,
  };
}

function printPass(form: RadixForm): string {
  const tile = tileForm(form);
  const { threads, items } = tile;
  const length = threads * items;
  const warps = threads / 32;
  const digits = digitsOf(form.dtype);
  const hasIndex = form.indexBytes > 0;
  const buffers = buffersOf(form);
  const bytes = Math.max(length * movedBytes(form), warps * DIGITS * 4);
  const each = (body: string): string => `  #pragma unroll
  for (int item = 0; item < ${items}; ++item) {
${body}  }
`;
  const staged = hasIndex
    ? `  const weft_index* indices = ${buffers.indices('(left + 1)')} + begin;
  weft_index index[${items}];
${each(`    const unsigned int e = first + item * 32;
    index[item] = (weft_index)((long long)tile * ${length} + e);
    if (done > 0 && e < size) index[item] = indices[e];
`)}`
    : '';
  const out = hasIndex
    ? `  long long* out = (long long*)(out_base + out_at) + row * n;
  weft_key* keys = ${buffers.keys('left')} + row * n;
  weft_index* moved = ${buffers.indices('left')} + row * n;
${each(`    const unsigned int i = threadIdx.x + item * ${threads};
    if (i < size) {
      const weft_key k = sorted[i];
      const weft_count to = offsets[weft_digit(k, pass)] + i;
      if (left == 0) {
        out[to] = (long long)at[i];
      } else {
        keys[to] = k;
        moved[to] = at[i];
      }
    }
`)}`
    : `  weft_key* out = ${buffers.keys('left')} + row * n;
${each(`    const unsigned int i = threadIdx.x + item * ${threads};
    if (i < size) {
      const weft_key k = sorted[i];
      out[offsets[weft_digit(k, pass)] + i] = left == 0 ? weft_element_of(k) : k;
    }
`)}`;
  return `${LOOK_BACK}
struct __align__(16) weft_held {
  unsigned int words[4];
};
${hasIndex ? `typedef ${UNSIGNED[form.indexBytes]} weft_index;\n` : ''}
extern "C" __global__ void __launch_bounds__(${threads}, 2)
${PASS_NAME}(unsigned int first_x, const char* in_base, long long in_at, char* out_base, long long out_at, char* work, long long totals_at, long long passes_at, long long told_at, long long told_size, ${buffers.parameters}, long long n, unsigned int tiles, int pass) {
  __shared__ weft_held held[${Math.ceil(bytes / 16)}];
  __shared__ weft_count offsets[${DIGITS}];
  __shared__ weft_count sums[${DIGIT_WARPS}];
  __shared__ unsigned int begun;
  const unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const unsigned int b = weft_begin((unsigned int*)work + pass, &begun);
  const unsigned int tile = b % tiles;
  const long long row = b / tiles;
  const unsigned int passes = ((const unsigned int*)(work + passes_at))[row];
  if ((passes >> pass & 1u) == 0) return;
  const int done = __popc(passes & ((1u << pass) - 1u));
  const int left = __popc(passes >> pass) - 1;
  const long long begin = row * n + (long long)tile * ${length};
  const long long rest = n - (long long)tile * ${length};
  const unsigned int size = rest < ${length} ? (unsigned int)rest : ${length}u;
  const unsigned int first = warp * ${32 * items} + lane;
  const weft_key* from = (done == 0 ? (const weft_key*)(in_base + in_at) : ${buffers.keys('(left + 1)')}) + begin;
  weft_key own[${items}];
${each(`    own[item] = weft_last();
    if (first + item * 32 < size) own[item] = from[first + item * 32];
`)}  if (done == 0)
  ${each(`    if (first + item * 32 < size) own[item] = weft_key_of(own[item]);
`)}
  unsigned int* counted = (unsigned int*)held;
  #pragma unroll
  for (int i = 0; i < ${DIGIT_WARPS}; ++i) counted[warp * ${DIGITS} + i * 32 + lane] = 0;
  __syncwarp();
${printRanks(tile)}  __syncthreads();
  const unsigned int digit = threadIdx.x;
  const bool isDigit = digit < ${DIGITS};
  weft_count* told = (weft_count*)(work + told_at + done % 2 * told_size) + row * tiles * ${DIGITS} + digit;
  unsigned int total = 0;
  if (isDigit) {
    #pragma unroll
    for (int w = 0; w < ${warps}; ++w) {
      const unsigned int count = counted[w * ${DIGITS} + digit];
      counted[w * ${DIGITS} + digit] = total;
      total += count;
    }
  }
  // Places beyond the row's end have the last digit.
  const weft_count own_count = total - (digit == ${DIGITS - 1} ? ${length} - size : 0);
  if (isDigit && tile > 0) weft_tell(told + (long long)tile * ${DIGITS}, WEFT_OWN | own_count);
  const unsigned int start = (unsigned int)weft_scan(total, sums);
  if (isDigit) {
    #pragma unroll
    for (int w = 0; w < ${warps}; ++w) counted[w * ${DIGITS} + digit] += start;
  }
  __syncthreads();
${each(`    rank[item] = (rank[item] & 0xffffu) + counted[warp * ${DIGITS} + (rank[item] >> 16)];
`)}  __syncthreads();
${staged}  weft_key* sorted = (weft_key*)held;
${hasIndex ? `  weft_index* at = (weft_index*)(sorted + ${length});\n` : ''}${each(`    sorted[rank[item]] = own[item];
${hasIndex ? '    at[rank[item]] = index[item];\n' : ''}`)}  if (isDigit) {
    const weft_count before = tile > 0
      ? weft_before(told, tile)
      : ((const weft_count*)(work + totals_at))[(row * ${digits} + pass) * ${DIGITS} + digit];
    weft_tell(told + (long long)tile * ${DIGITS}, WEFT_ALL | (before + own_count));
    offsets[digit] = before - start;
    // The words of the next pass.
    weft_count* next = (weft_count*)(work + told_at + (done + 1) % 2 * told_size);
    next[(row * tiles + tile) * ${DIGITS} + digit] = 0;
  }
  __syncthreads();
${out}}
`;
}

/** All kernels of a radix sort. */
export const printRadixSort = (form: RadixForm): string =>
  [
    printKeys(form),
    BEGIN,
    printCounts(form.countBytes),
    CLEAR_KERNEL,
    printCount(form),
    printBegin(form),
    printPass(form),
  ].join('');
