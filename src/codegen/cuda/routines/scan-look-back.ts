/**
 * CUDA C of the value before a tile, combined in an order that the tiles alone decide: by groups of 32 tiles,
 * groups of 32 such groups and so on. At each level the values before a tile in its group are combined from left
 * to right, then the levels from the widest to the narrowest.
 *
 * A tile that looks back (Merrill and Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back",
 * 2016) tells the others its total and, as the last of a group, the group's; it waits for those before it, a
 * level a warp. Unlike there no sum depends on which of them came first, which would give other bits each time.
 * Values are published in words that are 0 before (`scan-numbers.ts`), without flags and fences.
 * Tiles are numbered as they begin, so none waits for one that may not have begun.
 *
 * Where tiles run apart, `scanBefore` combines the same values from the totals of all.
 */
import { BEGIN } from './look-back.js';
import { printNumbers, type ScanNumbers, toldWords } from './scan-numbers.js';

/** Tiles of a group, and groups of a wider one. */
export const GROUP = 32;
const GROUP_BITS = 5;
/** Levels of groups that a block of eight warps looks at: 2^40 tiles. */
export const LEVELS = 8;

/** Sizes of the levels that a line of so many tiles has. */
export function levelsOf(tiles: number): readonly number[] {
  const sizes = [tiles];
  while (sizes.at(-1)! > GROUP) sizes.push(Math.ceil(sizes.at(-1)! / GROUP));
  return sizes;
}

/** Bytes of the count of tiles that have begun, before the words. */
export const COUNT_BYTES = 256;

/** The workspace of tiles that look back, and how many values a line has. */
export const LOOK_BACK_PARAMETERS = 'char* state, long long states';
/** Those, as arguments, after the values of the levels that a block shares. */
export const LOOK_BACK = 'parts, state, states';

/** Shared memory of a block whose tiles look back; `width` as of `printLookBack`. */
export const printLookBackShared = (width: 1 | 32): string =>
  `  __shared__ weft_wide parts[${LEVELS * width}];\n  __shared__ unsigned int begun;\n`;

/** Values whose words a lane reads before it waits for any. */
const AHEAD = 8;

/** Reads of the last of so many tiles that wait for one another: those of its group, then those of each wider one. */
export const lookBackReads = (tiles: number): number =>
  levelsOf(tiles).reduce((sum, size) => sum + Math.ceil(Math.min(size, GROUP) / AHEAD), 0);

/** The value of each of `count` neighbours of a level, `apart` words from one another, as `use` takes them in order. */
const printHear = (words: 1 | 2, count: string, use: string): string => {
  const each = (text: (word: number) => string, between: string): string =>
    Array.from({ length: words }, (_, word) => text(word)).join(between);
  return `    for (int from_k = 0; from_k < ${count}; from_k += ${AHEAD}) {
      unsigned long long word[${AHEAD}][${words}];
      #pragma unroll
      for (int j = 0; j < ${AHEAD}; ++j)
        if (from_k + j < ${count}) {
          ${each((w) => `word[j][${w}] = weft_heard(near + (from_k + j) * apart + ${w});`, '\n          ')}
        }
      #pragma unroll
      for (int j = 0; j < ${AHEAD}; ++j) {
        const int k = from_k + j;
        if (k >= ${count}) break;
        while (${each((w) => `word[j][${w}] == 0`, ' || ')}) {
          __nanosleep(20);
          ${each((w) => `word[j][${w}] = weft_heard(near + k * apart + ${w});`, '\n          ')}
        }
        const weft_wide theirs = weft_told(${each((w) => `word[j][${w}]`, ', ')});
${use}      }
    }
`;
};

/** `width`: values of a tile side by side, one or as many as lanes. */
export function printLookBack(numbers: ScanNumbers, width: 1 | 32): string {
  const words = toldWords(numbers);
  const isWide = width > 1;
  const hear = isWide
    ? printHear(
        words,
        'digit + isLast',
        '        last = weft_combine(last, theirs);\n        if (k < digit) part = last;\n',
      )
    : `    weft_wide theirs = weft_identity();
    if (lane < digit + isLast) {
      ${Array.from({ length: words }, (_, w) => `unsigned long long word${w};`).join('\n      ')}
      while (${Array.from({ length: words }, (_, w) => `(word${w} = weft_heard(near + lane * apart + ${w})) == 0`).join(' || ')}) __nanosleep(20);
      theirs = weft_told(${Array.from({ length: words }, (_, w) => `word${w}`).join(', ')});
    }
    __syncwarp();
    // All of them, those from the tile itself on as identities, so that no exchange waits for a sum.
    const weft_wide before = lane < digit ? theirs : weft_identity();
    #pragma unroll
    for (int k = 0; k < ${GROUP - 1}; ++k) part = weft_combine(part, weft_of_lane(before, k));
    const weft_wide last = weft_combine(part, weft_of_lane(theirs, ${GROUP - 1}));
`;
  return `${BEGIN}__device__ __forceinline__ weft_wide weft_look_back(weft_wide* parts, ${LOOK_BACK_PARAMETERS}, weft_wide whole, long long line, long long at, long long tiles, long long group, long long groups) {
  const int lane = (int)threadIdx.x % 32;
  const int level = (int)threadIdx.x / 32;
  const long long apart = groups * ${width * words};
  unsigned long long* values = (unsigned long long*)(state + ${COUNT_BYTES}) + (line * states * groups + group) * ${width * words}${isWide ? ` + lane * ${words}` : ''};
  if (level == 0${isWide ? '' : ' && lane == 0'}) weft_write(values + at * apart, whole);
  weft_wide part = weft_identity();
  if (level == 0 || (tiles - 1) >> (${GROUP_BITS} * level) > 0) {
    long long first = 0, size = tiles;
    for (int k = 0; k < level; ++k) {
      first += size;
      size = (size + ${GROUP - 1}) / ${GROUP};
    }
    const long long own = at >> (${GROUP_BITS} * level);
    const int digit = (int)(own % ${GROUP});
    const int isLast = (at + 1) % (1ll << (${GROUP_BITS} * (level + 1))) == 0 ? 1 : 0;
    const unsigned long long* near = values + (first + own - digit) * apart;
${isWide ? '    weft_wide last = part;\n' : ''}${hear}    if (isLast != 0 && (tiles - 1) >> (${GROUP_BITS} * (level + 1)) > 0${isWide ? '' : ' && lane == 0'})
      weft_write(values + (first + size + (own >> ${GROUP_BITS})) * apart, last);
  }
${isWide ? '  parts[level * 32 + lane] = part;' : '  if (lane == 0) parts[level] = part;'}
  __syncthreads();
  weft_wide sum = weft_identity();
  for (int k = ${LEVELS - 1}; k >= 0; --k) sum = weft_combine(sum, parts[${isWide ? 'k * 32 + lane' : 'k'}]);
  return sum;
}
`;
}

export const GROUPS_NAME = 'weft_scan_groups';
export const BEFORE_NAME = 'weft_scan_before';

/**
 * The values before all tiles of a line, from their totals: `weft_scan_groups` combines 32 of a level for the
 * next one, `weft_scan_before` the values before each tile. A thread for each value of the result; blocks go
 * through `columns` of a line, then of the next line, then through the next columns.
 */
export function printBefore(numbers: ScanNumbers, reverse: boolean, threads: number): string {
  const total = (tile: string, pitch: string): string =>
    `(row * tiles + ${reverse ? `tiles - 1 - (${tile})` : tile}) * ${pitch} + column`;
  const lines = 'long long line_blocks, long long rows, long long tiles, long long inner, long long columns';
  const head = `  const long long block = (long long)blockIdx.x + first_x;
  const long long line = block / line_blocks, row = line % rows;
  const long long own = block % line_blocks * ${threads} + threadIdx.x;
  const long long column = line / rows * columns + own % columns, at = own / columns;
  if (column >= inner) return;
`;
  return `${printNumbers(numbers)}
extern "C" __global__ void __launch_bounds__(${threads})
${GROUPS_NAME}(unsigned int first_x, const weft_wide* totals, weft_wide* groups, ${lines}, long long totals_pitch, long long from_at, long long from_size, long long to_at, long long to_size) {
${head}  if (at >= to_size) return;
  weft_wide sum = weft_identity();
  for (long long k = at * ${GROUP}; k < (at + 1) * ${GROUP} && k < from_size; ++k)
    sum = weft_combine(sum, from_at < 0 ? totals[${total('k', 'totals_pitch')}] : groups[from_at + (row * from_size + k) * inner + column]);
  groups[to_at + (row * to_size + at) * inner + column] = sum;
}
extern "C" __global__ void __launch_bounds__(${threads})
${BEFORE_NAME}(unsigned int first_x, const weft_wide* totals, const weft_wide* groups, weft_wide* before, ${lines}, long long totals_pitch, long long before_pitch) {
${head}  if (at >= tiles) return;
  weft_wide sum = weft_identity();
  for (int level = ${LEVELS - 1}; level >= 0; --level) {
    if (level > 0 && (tiles - 1) >> (${GROUP_BITS} * level) == 0) continue;
    long long first = 0, size = tiles;
    for (int k = 0; k < level; ++k) {
      if (k > 0) first += size;
      size = (size + ${GROUP - 1}) / ${GROUP};
    }
    const long long last = at >> (${GROUP_BITS} * level);
    weft_wide part = weft_identity();
    for (long long k = last - last % ${GROUP}; k < last; ++k)
      part = weft_combine(part, level == 0 ? totals[${total('k', 'totals_pitch')}] : groups[(rows * first + row * size + k) * inner + column]);
    sum = weft_combine(sum, part);
  }
  before[${total('at', 'before_pitch')}] = sum;
}
`;
}
