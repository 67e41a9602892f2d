/**
 * CUDA C of compaction in one pass over memory: the elements of a line that are kept, or their places, in order. A
 * lane has ranks of four neighbouring elements from ballots, a tile finds the count before it by looking back, and
 * what is kept lies side by side in shared memory before it is written. Launches are made by `exec/calls/compact.ts`.
 */
import { byteLengthOf, type DType, isComplex, isFloat } from '../../../graph/dtype.js';
import { BEGIN, CLEAR_KERNEL, printCounts } from './look-back.js';
import { printKeys, UNSIGNED } from './sort-keys.js';

export interface CompactForm {
  /** Places or elements where a mask is true, or elements that differ from the one before. */
  readonly kept: 'places' | 'values' | 'distinct';
  /** Of the elements. */
  readonly dtype: DType;
  /** Bytes of a running count. */
  readonly countBytes: 4 | 8;
  /** Of distinct elements that are in the workspace: the condition on which the kernel ends at once (`unique.ts`). */
  readonly skip?: string;
  /** Whether places of such elements are written too, and in the workspace again each one in so many (`BOUNDARY`). */
  readonly hasPlaces?: boolean;
}

/** The elements that tiles before this one keep, `ahead`, by its first warp, which tells those up to its own end. */
export const COUNT_AHEAD = `  if (warp == 0) {
    const weft_count sum = tile > 0 ? weft_kept_before(told, tile) : 0;
    if (lane == 0) {
      if (tile > 0) weft_tell(told + tile, WEFT_ALL | (sum + whole));
      if (tile == tiles - 1) *length = (long long)(sum + whole);
      ahead = sum;
    }
  }
  __syncthreads();
`;

export const COMPACT_NAME = 'weft_compact';
export const FILL_NAME = 'weft_compact_fill';
export const COMPACT_THREADS = 256;
const WARPS = COMPACT_THREADS / 32;
/** Neighbouring elements of a lane. */
const SIDE = 4;
/** Elements of a warp in a step. */
const STEP = 32 * SIDE;
/** Kept elements from one whose place is in the workspace to the next one. */
export const BOUNDARY = 4096;
/** Elements that a block fills. */
export const FILLED_LENGTH = 16 * COMPACT_THREADS;

/** Steps of a warp over a tile: distinct elements stay in registers, of others a tile holds places of 16 bits. */
const stepsOf = ({ kept, dtype }: CompactForm): number =>
  kept === 'distinct' ? Math.max(1, Math.min(8, 32 / byteLengthOf(dtype))) : 16;

/** Elements of a tile. */
export const compactTile = (form: CompactForm): number => WARPS * STEP * stepsOf(form);

/** The type of elements, as bits; of distinct ones, whether two differ: NaN from all, -0 not from 0. */
function printElements({ kept, dtype }: CompactForm): string {
  if (kept === 'places') return 'typedef long long weft_key;\n';
  if (kept === 'values') {
    const bytes = byteLengthOf(dtype);
    if (bytes <= 8) return `typedef ${UNSIGNED[bytes]} weft_key;\n`;
    return 'struct __align__(16) weft_key {\n  unsigned long long re, im;\n};\n';
  }
  return `${printKeys({ dtype, descending: false, indexBytes: 4 })}${printDiffer(dtype)}`;
}

function printDiffer(dtype: DType): string {
  const differ = isComplex(dtype)
    ? 'x.re != y.re || x.im != y.im || weft_class(x) > 0'
    : `x != y${isFloat(dtype) ? ' || x == weft_last()' : ''}`;
  return `__device__ __forceinline__ bool weft_differ(weft_key a, weft_key b) {
  const weft_key x = weft_key_of(a), y = weft_key_of(b);
  return ${differ};
}
struct __align__(${Math.min(16, SIDE * byteLengthOf(dtype))}) weft_side {
  weft_key e[${SIDE}];
};
`;
}

/** The count of what is kept in all tiles before: a lane looks at one of 32 tiles, the nearest one first. */
export const KEPT_BEFORE = `
__device__ __forceinline__ weft_count weft_kept_before(const weft_count* told, long long tile) {
  const unsigned int lane = threadIdx.x % 32;
  weft_count sum = 0;
  for (long long last = tile - 1;; last -= 32) {
    const long long at = last - lane;
    weft_count word = WEFT_ALL;
    while (at >= 0 && (word = weft_heard(told + at)) == 0) __nanosleep(20);
    const unsigned int all = __ballot_sync(0xffffffffu, (word & WEFT_ALL) != 0);
    // Lanes up to the first one that tells all.
    weft_count part = (all & ((1u << lane) - 1u)) == 0 ? word & WEFT_COUNTED : 0;
    #pragma unroll
    for (unsigned int far = 1; far < 32; far *= 2) part += __shfl_sync(0xffffffffu, part, (int)(lane ^ far));
    sum += part;
    if (all != 0) return sum;
  }
}
`;

/** Bits of the elements of a lane in a step that are kept; `e` is the first one. */
const MASKED = `    if (isWhole && (unsigned long long)mask % ${SIDE} == 0) {
      const unsigned int four = *(const unsigned int*)(mask + e);
      keeps[step] = (four & 0xffu ? 1u : 0u) | (four & 0xff00u ? 2u : 0u) | (four & 0xff0000u ? 4u : 0u) | (four & 0xff000000u ? 8u : 0u);
    } else {
      #pragma unroll
      for (int j = 0; j < ${SIDE}; ++j)
        if (e + j < n && mask[e + j] != 0) keeps[step] |= 1u << j;
    }
`;

const DISTINCT = `    if (isWhole && (unsigned long long)values % sizeof(weft_side) == 0) {
      v[step] = *(const weft_side*)(values + e);
    } else {
      #pragma unroll
      for (int j = 0; j < ${SIDE}; ++j)
        if (e + j < n) v[step].e[j] = values[e + j];
    }
    if (e < n && (e == 0 || weft_differ(v[step].e[0], values[e - 1]))) keeps[step] = 1u;
    #pragma unroll
    for (int j = 1; j < ${SIDE}; ++j)
      if (e + j < n && weft_differ(v[step].e[j], v[step].e[j - 1])) keeps[step] |= 1u << j;
`;

/** Ranks of a lane's first elements in each step among those that its warp keeps, and how many those are. */
const printRanks = (steps: number): string => `  unsigned int rank[${steps}];
  unsigned int count = 0;
  #pragma unroll
  for (int step = 0; step < ${steps}; ++step) {
    rank[step] = count;
    #pragma unroll
    for (int j = 0; j < ${SIDE}; ++j) {
      const unsigned int those = __ballot_sync(0xffffffffu, (keeps[step] >> j & 1u) != 0);
      rank[step] += __popc(those & ((1u << lane) - 1u));
      count += __popc(those);
    }
  }
  if (lane == 0) sums[warp] = count;
  __syncthreads();
  unsigned int before = 0, whole = 0;
  #pragma unroll
  for (unsigned int w = 0; w < ${WARPS}; ++w) {
    before += w < warp ? sums[w] : 0;
    whole += sums[w];
  }
`;

const PLACES = `  long long* boundaries = (long long*)(work + boundaries_at);
  for (unsigned int i = threadIdx.x; i < whole; i += ${COMPACT_THREADS}) {
    const unsigned long long to = ahead + i;
    places[to] = begin + kept[i];
    if (to % ${BOUNDARY} == 0) boundaries[to / ${BOUNDARY}] = begin + kept[i];
  }
`;

function printPass(form: CompactForm): string {
  const { kept, skip, hasPlaces = false } = form;
  const steps = stepsOf(form);
  const tile = compactTile(form);
  const isDistinct = kept === 'distinct';
  const place = `(unsigned short)(warp * ${STEP * steps} + step * ${STEP} + lane * ${SIDE} + j)`;
  const holdsElements = isDistinct && !hasPlaces;
  const [held, own] = holdsElements ? ['weft_key', 'v[step].e[j]'] : ['unsigned short', place];
  const written = holdsElements
    ? 'kept[i]'
    : kept === 'places'
      ? 'begin + kept[i]'
      : 'values[begin + kept[i]]';
  const parameters = [
    ...(isDistinct ? [] : ['const unsigned char* __restrict__ mask']),
    ...(kept === 'places'
      ? []
      : [skip === undefined ? 'const weft_key* __restrict__ values' : 'long long values_at']),
  ].join(', ');
  const begin =
    skip === undefined
      ? ''
      : `  if (${skip}) return;\n  const weft_key* values = (const weft_key*)(work + values_at);\n`;
  return `
extern "C" __global__ void __launch_bounds__(${COMPACT_THREADS}, ${isDistinct ? 3 : 5})
${COMPACT_NAME}(unsigned int first_x, ${parameters}, weft_key* __restrict__ out, ${hasPlaces ? 'long long* __restrict__ places, ' : ''}long long* length, char* work, long long told_at, ${hasPlaces ? 'long long boundaries_at, ' : ''}long long tiles, long long n) {
${begin}  __shared__ ${held} kept[${tile}];
  __shared__ unsigned int sums[${WARPS}];
  __shared__ weft_count ahead;
  __shared__ unsigned int begun;
  const unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const long long tile = weft_begin((unsigned int*)work, &begun);
  const long long begin = tile * ${tile};
  const bool isWhole = begin + ${tile} <= n;
  weft_count* told = (weft_count*)(work + told_at);
${isDistinct ? `  weft_side v[${steps}];\n` : ''}  unsigned int keeps[${steps}];
  #pragma unroll
  for (int step = 0; step < ${steps}; ++step) {
    const long long e = begin + warp * ${STEP * steps} + step * ${STEP} + lane * ${SIDE};
    keeps[step] = 0;
${isDistinct ? DISTINCT : MASKED}  }
${printRanks(steps)}  if (threadIdx.x == 0) weft_tell(told + tile, (tile > 0 ? WEFT_OWN : WEFT_ALL) | whole);
  #pragma unroll
  for (int step = 0; step < ${steps}; ++step) {
    unsigned int to = before + rank[step];
    #pragma unroll
    for (int j = 0; j < ${SIDE}; ++j)
      if (keeps[step] >> j & 1u) kept[to++] = ${own};
  }
${COUNT_AHEAD}  out += ahead;
  #pragma unroll 4
  for (unsigned int i = threadIdx.x; i < whole; i += ${COMPACT_THREADS}) out[i] = ${written};
${hasPlaces ? PLACES : ''}}
`;
}

/** Behind what is kept is the last place, or element, of the line. */
const printFill = ({ kept }: CompactForm): string => `
extern "C" __global__ void __launch_bounds__(${COMPACT_THREADS})
${FILL_NAME}(unsigned int first_x, ${kept === 'places' ? '' : 'const weft_key* __restrict__ values, '}weft_key* __restrict__ out, const long long* length, long long n) {
  const long long first = ((long long)blockIdx.x + first_x) * ${FILLED_LENGTH} + threadIdx.x;
  const long long end = first - threadIdx.x + ${FILLED_LENGTH} < n ? first - threadIdx.x + ${FILLED_LENGTH} : n;
  const long long count = *length;
  if (count >= end) return;
  const weft_key last = ${kept === 'places' ? 'n - 1' : 'values[n - 1]'};
  for (long long i = first; i < end; i += ${COMPACT_THREADS})
    if (i >= count) out[i] = last;
}
`;

/** The kernel of distinct elements in the workspace, before which stand the types of keys and counts. */
export const printDistinct = (form: CompactForm): string =>
  [printDiffer(form.dtype), KEPT_BEFORE, printPass(form)].join('');

export const printCompact = (form: CompactForm): string =>
  [
    printElements(form),
    BEGIN,
    printCounts(form.countBytes),
    CLEAR_KERNEL,
    KEPT_BEFORE,
    printPass(form),
    printFill(form),
  ].join('');
