/**
 * CUDA C of a pass of the radix sort over one digit (Adinets and Merrill, "Onesweep", 2022). A block has a tile:
 *
 * - warps count their digits, so that the tile tells its own counts before it ranks its elements;
 * - lanes of a warp that have a digit in common find each other by votes on its bits; the first of them takes places for all
 *   of them, item by item, so that the order of elements stays;
 * - a thread for each digit looks back at the tiles before for the place of the digit's first element;
 * - elements are put in order in shared memory, so that those of a digit are written side by side.
 */
import { digitsOf, movedBytes, type SortForm, UNSIGNED } from './sort-keys.js';

export interface RadixForm extends SortForm {
  /** Bytes of a running count. */
  readonly countBytes: 4 | 8;
  /**
   * The condition on which kernels end at once: of a routine of one row that decides on the device how it goes about it.
   */
  readonly skip?: string;
}

/** The statement by which a kernel of such a form ends. */
export const skipped = ({ skip }: { readonly skip?: string }): string =>
  skip === undefined ? '' : `  if (${skip}) return;\n`;

/** Values of a digit. */
export const DIGITS = 256;

export const PASS_THREADS = 384;
const PASS_WARPS = PASS_THREADS / 32;

/** Elements of a thread: a tile and the counts of its warps stay below 48 KiB, in the registers of `PASS_BLOCKS` blocks. */
function itemsOf(form: SortForm): number {
  const bytes = movedBytes(form);
  return bytes <= 4 ? 20 : bytes <= 8 ? 11 : bytes <= 12 ? 7 : bytes <= 16 ? 5 : 3;
}

/** Blocks of a multiprocessor: while one waits for the tiles before, others rank. */
const PASS_BLOCKS = 3;

/** Elements of a tile. */
export const tileLength = (form: SortForm): number => PASS_THREADS * itemsOf(form);

export const PASS_NAME = 'weft_sort_pass';
/**
 * The most blocks of a pass that may end at once, which go from tile to tile: a multiprocessor holds a few, so that a block
 * for each of thousands of tiles would be begun in tens of turns only to end.
 */
export const LOOPED_BLOCKS = 528;

const each = (items: number, body: string): string => `  #pragma unroll
  for (int item = 0; item < ${items}; ++item) {
${body}  }
`;

/**
 * The lanes of a warp that have the same digit. Bits are words of ones or zeros, so that each takes a vote and one instruction: as
 * conditions they took a fifth longer.
 */
const PEERS = `
__device__ __forceinline__ unsigned int weft_peers(unsigned int d) {
  unsigned int peers = 0xffffffffu;
  #pragma unroll
  for (int b = 0; b < 8; ++b) {
    const unsigned int is = (unsigned int)((int)(d << (31 - b)) >> 31);
    peers &= ~(__ballot_sync(0xffffffffu, is != 0) ^ is);
  }
  return peers;
}
`;

/** Counts of each warp's digits; places beyond the row's end have the last one. */
const printDigits = (items: number): string => `  #pragma unroll
  for (int i = 0; i < ${DIGITS / 32}; ++i) counted[warp * ${DIGITS} + i * 32 + lane] = 0;
  __syncwarp();
${each(
  items,
  `    atomicAdd(&counted[warp * ${DIGITS} + (first + item * 32 < size ? weft_digit(own[item], pass) : ${DIGITS - 1}u)], 1u);
`,
)}  __syncthreads();
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

/** Keys go to and fro between the result, or other keys, and further keys, and so do positions. */
interface Buffers {
  readonly parameters: string;
  readonly keys: (place: string) => string;
  readonly indices: (place: string) => string;
}

function buffersOf({ indexBytes }: SortForm): Buffers {
  if (indexBytes === 0)
    return {
      parameters: 'char* keys_base, long long keys_at',
      keys: (place) => `(weft_key*)(${place} % 2 == 0 ? out_base + out_at : keys_base + keys_at)`,
      indices: () => '',
    };
  const numbers = ['keys_at', 'more_keys_at', 'indices_at', 'more_indices_at'];
  return {
    parameters: numbers.map((name) => `long long ${name}`).join(', '),
    keys: (place) => `(weft_key*)(${place} % 2 == 0 ? work + more_keys_at : work + keys_at)`,
    indices: (place) => `(weft_index*)(${place} % 2 == 0 ? work + more_indices_at : work + indices_at)`,
  };
}

/** Where a block stands, and its keys: elements in the first pass, else keys of the pass before. */
function printLoad(form: RadixForm, items: number): string {
  const length = PASS_THREADS * items;
  const isLooped = form.skip !== undefined;
  return `${skipped(form)}  const unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
${isLooped ? '  for (;;) {\n  __syncthreads();\n' : ''}  if (threadIdx.x == 0) again = pass;
  const unsigned int b = weft_begin((unsigned int*)work + pass, &begun);
${isLooped ? '  if (b >= tiles) return;\n' : ''}  const unsigned int tile = b % tiles;
  const long long row = b / tiles;
  const unsigned int passes = ((const unsigned int*)(work + passes_at))[row];
  if ((passes >> pass & 1u) == 0) return;
  const int done = __popc(passes & ((1u << pass) - 1u));
  const int left = __popc(passes >> pass) - 1;
  const long long begin = row * n + (long long)tile * ${length};
  const long long rest = n - (long long)tile * ${length};
  const unsigned int size = rest < ${length} ? (unsigned int)rest : ${length}u;
  const unsigned int first = warp * ${32 * items} + lane;
  const weft_key* from = (done == 0 ? (const weft_key*)(in_base + in_at) : ${buffersOf(form).keys('(left + 1)')}) + begin;
  weft_key own[${items}];
${each(
  items,
  `    own[item] = weft_last();
    if (first + item * 32 < size) own[item] = from[first + item * 32];
`,
)}  if (done == 0) {
${each(
  items,
  `    if (first + item * 32 < size) own[item] = weft_key_of(own[item]);
`,
)}  }
`;
}

/** Counts of digits become the places of each warp's elements in the tile, and the tile tells its own. */
const printPlaces = (items: number): string => `  const unsigned int digit = threadIdx.x;
  const bool isDigit = digit < ${DIGITS};
  weft_count* told = (weft_count*)(work + told_at + done % 2 * told_size) + row * tiles * ${DIGITS} + digit;
  unsigned int total = 0;
  if (isDigit) {
    #pragma unroll
    for (int w = 0; w < ${PASS_WARPS}; ++w) {
      const unsigned int count = counted[w * ${DIGITS} + digit];
      counted[w * ${DIGITS} + digit] = total;
      total += count;
    }
  }
  // Places beyond the row's end have the last digit.
  const weft_count own_count = total - (digit == ${DIGITS - 1} ? ${PASS_THREADS * items} - size : 0);
  if (isDigit && tile > 0) weft_tell(told + (long long)tile * ${DIGITS}, WEFT_OWN | own_count);
  const unsigned int start = (unsigned int)weft_scan(total, sums);
  if (isDigit) {
    #pragma unroll
    for (int w = 0; w < ${PASS_WARPS}; ++w) counted[w * ${DIGITS} + digit] += start;
  }
  __syncthreads();
`;

/**
 * Keys, and positions, go to their places in shared memory. Digits are computed again from a number that the compiler does not
 * know to be the same, or it would keep those that were counted in registers.
 */
function printOrder(form: RadixForm, items: number): string {
  const length = PASS_THREADS * items;
  const hasIndex = form.indexBytes > 0;
  const indices = hasIndex
    ? `  const weft_index* indices = ${buffersOf(form).indices('(left + 1)')} + begin;
  weft_index index[${items}];
${each(
  items,
  `    const unsigned int e = first + item * 32;
    index[item] = (weft_index)((long long)tile * ${length} + e);
    if (done > 0 && e < size) index[item] = indices[e];
`,
)}`
    : '';
  return `${indices}  const int turn = again;
  weft_key* sorted = (weft_key*)held;
${hasIndex ? `  weft_index* at = (weft_index*)(sorted + ${length});\n` : ''}${each(
  items,
  `    const unsigned int d = first + item * 32 < size ? weft_digit(own[item], turn) : ${DIGITS - 1}u;
    const unsigned int peers = weft_peers(d);
    const unsigned int before = __popc(peers & ((1u << lane) - 1u));
    unsigned int place = 0;
    if (before == 0) place = atomicAdd(&counted[warp * ${DIGITS} + d], (unsigned int)__popc(peers));
    place = __shfl_sync(0xffffffffu, place, __popc((peers - 1u) & ~peers)) + before;
    sorted[place] = own[item];
${hasIndex ? '    at[place] = index[item];\n' : ''}`,
)}`;
}

/** Elements of a digit go behind those of the tiles before. */
function printWrites(form: RadixForm, items: number): string {
  const buffers = buffersOf(form);
  const head = `    const unsigned int i = threadIdx.x + item * ${PASS_THREADS};
    if (i < size) {
      const weft_key k = sorted[i];
`;
  if (form.indexBytes === 0)
    return `  weft_key* out = ${buffers.keys('left')} + row * n;
${each(
  items,
  `${head}      out[offsets[weft_digit(k, pass)] + i] = left == 0 ? weft_element_of(k) : k;
    }
`,
)}`;
  return `  long long* out = (long long*)(out_base + out_at) + row * n;
  weft_key* keys = ${buffers.keys('left')} + row * n;
  weft_index* moved = ${buffers.indices('left')} + row * n;
${each(
  items,
  `${head}      const weft_count to = offsets[weft_digit(k, pass)] + i;
      if (left == 0) {
        out[to] = (long long)at[i];
      } else {
        keys[to] = k;
        moved[to] = at[i];
      }
    }
`,
)}`;
}

/** The kernel of a pass; `weft_scan` and the types of keys and counts stand before it. */
export function printPass(form: RadixForm): string {
  const items = itemsOf(form);
  const bytes = tileLength(form) * movedBytes(form);
  return `${LOOK_BACK}${PEERS}
struct __align__(16) weft_held {
  unsigned int words[4];
};
${form.indexBytes > 0 ? `typedef ${UNSIGNED[form.indexBytes]} weft_index;\n` : ''}
extern "C" __global__ void __launch_bounds__(${PASS_THREADS}, ${PASS_BLOCKS})
${PASS_NAME}(unsigned int first_x, const char* in_base, long long in_at, char* out_base, long long out_at, char* work, long long totals_at, long long passes_at, long long told_at, long long told_size, ${buffersOf(form).parameters}, long long n, unsigned int tiles, int pass) {
  __shared__ weft_held held[${Math.ceil(bytes / 16)}];
  __shared__ unsigned int counted[${PASS_WARPS * DIGITS}];
  __shared__ weft_count offsets[${DIGITS}];
  __shared__ weft_count sums[${DIGITS / 32}];
  __shared__ unsigned int begun;
  __shared__ int again;
${printLoad(form, items)}${printDigits(items)}${printPlaces(items)}${printOrder(form, items)}  if (isDigit) {
    const weft_count before = tile > 0
      ? weft_before(told, tile)
      : ((const weft_count*)(work + totals_at))[(row * ${digitsOf(form.dtype)} + pass) * ${DIGITS} + digit];
    weft_tell(told + (long long)tile * ${DIGITS}, WEFT_ALL | (before + own_count));
    offsets[digit] = before - start;
    // The words of the next pass.
    weft_count* next = (weft_count*)(work + told_at + (done + 1) % 2 * told_size);
    next[(row * tiles + tile) * ${DIGITS} + digit] = 0;
  }
  __syncthreads();
${printWrites(form, items)}${form.skip === undefined ? '' : '  }\n'}}
`;
}
