/**
 * CUDA C of a scan of columns in one pass by specialised warps, from compute capability 9.0 on: as of lines
 * (`scan-ring.ts`), in tiles of 64 columns, which tensor maps copy in and out. Tiles of 64 columns below one another are a
 * stripe, which a few blocks share:
 *
 * - one thread takes the next tile of the block's stripe, loads it and stores what it becomes;
 * - eight warps combine a tile as soon as it is there, a lane two columns; one publishes its totals;
 * - one goes through the totals of the stripe in order, two columns a lane, and has the values before each tile;
 * - eight scan a tile in shared memory.
 *
 * A tile waits for tiles of its stripe that were taken before, by blocks that run: so any number of blocks come to an end.
 * The order in which values are combined is that of `printColumnTiles`, and so are the bits.
 *
 * Tiles of 32 columns are limited by their rows of 128 bytes: on an H200 copies alone of 131,072 × 2,048 float32 take
 * 0.591 ms in those, 0.542 in tiles of 64 columns, and 0.505 as they lie.
 */
import { byteLengthOf } from '../../../graph/dtype.js';
import { scanTile } from '../../../graph/scan-tiles.js';
import { preludeFor } from '../prelude/prelude.js';
import { SCAN_NAME, SCAN_WARPS, type ScanForm } from './scan.js';
import { COUNT_BYTES, GROUP } from './scan-look-back.js';
import { printNumbers } from './scan-numbers.js';
import {
  BARRIER_BYTES,
  printBarriers,
  printBarriersBegin,
  RING_THREADS,
  SCANNING,
  SHARED,
} from './scan-ring-warps.js';

/** Columns of a tile, whose rows have 256 bytes or more. */
export const STRIPE_COLUMNS = 64;
const OF_LANE = STRIPE_COLUMNS / 32;
/** Tiles of a ring, in nine tenths of a multiprocessor's shared memory. */
const RING = 3;
const TILE_BYTES = 2 ** 16;
/** Of copies by tensor maps, in shared memory. */
const COPY_ALIGNMENT = 128;
/** Levels of groups of tiles whose totals a lane keeps. */
const LEVELS = 4;
export const MOST_STRIPE_TILES = GROUP ** LEVELS;
/** Tiles whose totals are read at once. */
const AHEAD = 8;
export const STRIPE_SCHEDULE = `by specialised warps around a ring of ${RING} tiles of ${STRIPE_COLUMNS} columns`;

const printRing = (tile: number): string => `struct __align__(${COPY_ALIGNMENT}) weft_ring {
  weft_element held[${RING}][${tile}][${STRIPE_COLUMNS}];
  weft_wide sums[${RING}][${SCAN_WARPS}][${STRIPE_COLUMNS}];
  weft_wide before[${RING}][${STRIPE_COLUMNS}];
${printBarriers(RING)}
  unsigned int stripe[${RING}], at[${RING}];
};
#define NO_STRIPE 0xffffffffu
${SHARED}
`;

/** Dynamic shared memory of a block; a number that elements are combined as has 8 bytes at most. */
export const STRIPE_SHARED_BYTES =
  Math.ceil(
    (RING * (TILE_BYTES + (SCAN_WARPS + 1) * STRIPE_COLUMNS * 8 + BARRIER_BYTES + 2 * 4)) / COPY_ALIGNMENT,
  ) * COPY_ALIGNMENT;

/** The elements of a lane in a row, side by side. */
const printOwn = (size: number): string => `struct __align__(${OF_LANE * size}) weft_own {
  weft_element e[${OF_LANE}];
};
`;

const each = (indent: string, statement: string): string => `${indent}#pragma unroll
${indent}for (int e = 0; e < ${OF_LANE}; ++e) ${statement};
`;

const printTransfer = (): string => `  if (warp == 0) {
    if (lane > 0) return;
    unsigned int* counts = (unsigned int*)(values + (long long)stripes * states * ${STRIPE_COLUMNS});
    unsigned int stripe = NO_STRIPE, at = 0;
    for (unsigned int i = 0;; ++i) {
      const unsigned int slot = i % ${RING};
      if (i >= ${RING}) {
        const unsigned int last = ring.stripe[slot];
        if (last == NO_STRIPE) break;
        weft_barrier_wait(SHARED(scanned), (i / ${RING} - 1) & 1);
        if (is_aligned) weft_tensor_store(&out_map, SHARED(held), (int)(last % groups * ${STRIPE_COLUMNS}), (int)(ring.at[slot] * tile_rows), (int)(last / groups));
      }
      if (stripe != NO_STRIPE) at = atomicAdd(counts + stripe, 1u);
      while (stripe == NO_STRIPE || at >= tiles) {
        const unsigned int run = atomicAdd((unsigned int*)state, 1u);
        stripe = run < stripes * sharing ? run / sharing : NO_STRIPE;
        if (stripe == NO_STRIPE) break;
        at = atomicAdd(counts + stripe, 1u);
      }
      if (i >= ${RING}) weft_bulk_read();
      ring.stripe[slot] = stripe;
      ring.at[slot] = at;
      weft_barrier_arrive(SHARED(taken));
      if (stripe != NO_STRIPE && is_aligned) {
        weft_barrier_expect(SHARED(full), ${TILE_BYTES});
        weft_tensor_load(SHARED(held), &in_map, (int)(stripe % groups * ${STRIPE_COLUMNS}), (int)(at * tile_rows), (int)(stripe / groups), SHARED(full));
      } else {
        weft_barrier_arrive(SHARED(full));
      }
    }
    weft_bulk_written();
    return;
  }
`;

const PUBLISH = `  if (warp == 1) {
    for (unsigned int i = 0;; ++i) {
      const unsigned int slot = i % ${RING}, parity = i / ${RING} & 1;
      weft_barrier_wait(SHARED(taken), parity);
      const unsigned int stripe = ring.stripe[slot];
      if (stripe == NO_STRIPE) return;
      unsigned long long* told = values + ((long long)stripe * states + ring.at[slot]) * ${STRIPE_COLUMNS};
      weft_barrier_wait(SHARED(combined), parity);
      #pragma unroll
      for (unsigned int column = lane; column < ${STRIPE_COLUMNS}; column += 32) {
        weft_wide whole = ring.sums[slot][0][column];
        #pragma unroll
        for (int w = 1; w < ${SCAN_WARPS}; ++w) whole = weft_combine(whole, ring.sums[slot][w][column]);
        weft_write(told + column, whole);
      }
      __syncwarp();
      if (lane == 0) weft_barrier_arrive(SHARED(carried));
    }
  }
`;

/**
 * Combines the totals of the tiles [from, to) of a stripe, or of groups of them (`level` 1). `part` has the values of each level
 * so far, over groups that are not complete.
 */
const printTake = (): string => {
  const ends = Array.from({ length: LEVELS - 1 }, (_, k) => GROUP ** (k + 1))
    .map(
      (size, k) => `        if constexpr (level + ${k + 1} < ${LEVELS})
          if (done % ${size} == 0) {
            part[e][level + ${k + 1}] = weft_combine(part[e][level + ${k + 1}], part[e][level + ${k}]);
            part[e][level + ${k}] = weft_identity();
          }
`,
    )
    .join('');
  const heard = `weft_heard(told + (long long)(from + j) * ${STRIPE_COLUMNS} + 32 * e)`;
  return `template <int level>
__device__ __forceinline__ void weft_take(weft_wide (&part)[${OF_LANE}][${LEVELS}], const unsigned long long* told, unsigned int from, unsigned int to) {
  for (; from < to; from += ${AHEAD}) {
    unsigned long long word[${AHEAD}][${OF_LANE}];
    #pragma unroll
    for (int j = 0; j < ${AHEAD}; ++j) {
      if (from + j >= to) break;
${each('      ', `word[j][e] = ${heard}`)}    }
    #pragma unroll
    for (int j = 0; j < ${AHEAD}; ++j) {
      if (from + j >= to) break;
      const unsigned int done = from + j + 1;
      #pragma unroll
      for (int e = 0; e < ${OF_LANE}; ++e) {
        while (word[j][e] == 0) {
          __nanosleep(20);
          word[j][e] = ${heard};
        }
        part[e][level] = weft_combine(part[e][level], weft_told(word[j][e]));
${ends}      }
    }
  }
}
`;
};

/**
 * The values before each tile. Where many tiles are new, as of few stripes, groups of them are read by their totals, each of
 * which is published where its last tile is scanned, before other groups are read: so no group's total waits for another.
 */
const CARRY = `  if (warp == 2) {
    weft_wide part[${OF_LANE}][${LEVELS}];
    unsigned int of = NO_STRIPE, next = 0;
    for (unsigned int i = 0;; ++i) {
      const unsigned int slot = i % ${RING};
      weft_barrier_wait(SHARED(taken), i / ${RING} & 1);
      const unsigned int stripe = ring.stripe[slot], at = ring.at[slot];
      if (stripe == NO_STRIPE) return;
      if (stripe != of) {
        of = stripe;
        next = 0;
        #pragma unroll
        for (int e = 0; e < ${OF_LANE}; ++e) {
          #pragma unroll
          for (int k = 0; k < ${LEVELS}; ++k) part[e][k] = weft_identity();
        }
      }
      unsigned long long* told = values + (long long)stripe * states * ${STRIPE_COLUMNS} + lane;
      unsigned long long* groups_told = told + (long long)tiles * ${STRIPE_COLUMNS};
      const bool is_far = at - next >= ${GROUP};
      if (is_far) {
${each('        ', 'part[e][0] = weft_identity()')}      }
      weft_take<0>(part, told, is_far ? at / ${GROUP} * ${GROUP} : next, at);
      if (at % ${GROUP} == ${GROUP - 1} && at + 1 < tiles) {
        #pragma unroll
        for (int e = 0; e < ${OF_LANE}; ++e) {
          unsigned long long word;
          while ((word = weft_heard(told + (long long)at * ${STRIPE_COLUMNS} + 32 * e)) == 0) __nanosleep(20);
          weft_write(groups_told + (long long)(at / ${GROUP}) * ${STRIPE_COLUMNS} + 32 * e, weft_combine(part[e][0], weft_told(word)));
        }
      }
      if (is_far) weft_take<1>(part, groups_told, next / ${GROUP}, at / ${GROUP});
      next = at;
      #pragma unroll
      for (int e = 0; e < ${OF_LANE}; ++e) {
        weft_wide sum = weft_identity();
        #pragma unroll
        for (int k = ${LEVELS - 1}; k >= 0; --k) sum = weft_combine(sum, part[e][k]);
        ring.before[slot][32 * e + lane] = sum;
      }
      __syncwarp();
      if (lane == 0) weft_barrier_arrive(SHARED(carried));
    }
  }
`;

/** Of arrays that do not begin at 16 bytes, each warp copies the rows that it has. */
const printCombine = (steps: number): string => `${SCANNING}  const int first = ${steps} * warp;
  for (unsigned int i = 0;; ++i) {
    const unsigned int slot = i % ${RING}, parity = i / ${RING} & 1;
    weft_barrier_wait(SHARED(full), parity);
    const unsigned int stripe = ring.stripe[slot], at = ring.at[slot];
    if (stripe == NO_STRIPE) return;
    weft_element(*held)[${STRIPE_COLUMNS}] = ring.held[slot] + first;
    const weft_rows rows = weft_rows_of(stripe, at, groups, n, inner, first);
    if (!scans) {
      if (!is_aligned) {
        for (int k = 0; k < ${steps}; ++k)
          for (int c = (int)lane; c < ${STRIPE_COLUMNS}; c += 32)
            held[k][c] = k < rows.count && c < rows.columns ? in[rows.base + k * inner + c] : weft_round(weft_identity());
        __syncwarp();
      }
      weft_wide sum[${OF_LANE}];
${each('      ', 'sum[e] = weft_identity()')}      #pragma unroll 16
      for (int k = 0; k < ${steps}; ++k) {
        const weft_own v = *(const weft_own*)&held[k][${OF_LANE} * lane];
${each('        ', 'sum[e] = weft_combine(sum[e], weft_widen(v.e[e]))')}      }
${each('      ', `ring.sums[slot][warp][${OF_LANE} * lane + e] = sum[e]`)}      __syncwarp();
      if (lane == 0) weft_barrier_arrive(SHARED(combined));
      continue;
    }
`;

const printScan = (steps: number): string => `    weft_barrier_wait(SHARED(combined), parity);
    weft_wide sum[${OF_LANE}];
${each('    ', 'sum[e] = weft_identity()')}    #pragma unroll
    for (int w = 0; w < ${SCAN_WARPS - 1}; ++w) {
      if (w >= warp) break;
${each('      ', `sum[e] = weft_combine(sum[e], ring.sums[slot][w][${OF_LANE} * lane + e])`)}    }
    weft_barrier_wait(SHARED(carried), parity);
${each('    ', `sum[e] = weft_combine(ring.before[slot][${OF_LANE} * lane + e], sum[e])`)}    #pragma unroll 16
    for (int k = 0; k < ${steps}; ++k) {
      weft_own v = *(const weft_own*)&held[k][${OF_LANE} * lane];
${each('      ', 'v.e[e] = weft_round(sum[e] = weft_combine(sum[e], weft_widen(v.e[e])))')}      *(weft_own*)&held[k][${OF_LANE} * lane] = v;
    }
    if (is_aligned) {
      weft_show_copies();
      __syncwarp();
    } else {
      __syncwarp();
      for (int k = 0; k < ${steps} && k < rows.count; ++k)
        for (int c = (int)lane; c < rows.columns; c += 32) out[rows.base + k * inner + c] = held[k][c];
      __syncwarp();
    }
    if (lane == 0) weft_barrier_arrive(SHARED(scanned));
  }
`;

/** The rows of a warp, of which some of a last tile's, and some of their columns, may not be there. */
const printRows = (tile: number): string => `struct weft_rows {
  long long base;
  int count, columns;
};
__device__ __forceinline__ weft_rows weft_rows_of(unsigned int stripe, unsigned int at, unsigned int groups, long long n, long long inner, int first) {
  const long long row = (long long)at * ${tile} + first, column = (long long)(stripe % groups) * ${STRIPE_COLUMNS};
  const long long rows = n - row, columns = inner - column;
  return weft_rows{(stripe / groups * n + row) * inner + column, (int)(rows < ${tile} ? rows : ${tile}), (int)(columns < ${STRIPE_COLUMNS} ? columns : ${STRIPE_COLUMNS})};
}
`;

const HEAD = `
extern "C" __global__ void __launch_bounds__(${RING_THREADS}, 1)
${SCAN_NAME}(const weft_element* in, weft_element* out, const __grid_constant__ weft_tensor_map in_map, const __grid_constant__ weft_tensor_map out_map, char* state, long long n, long long inner, unsigned int states, unsigned int tiles, unsigned int groups, unsigned int stripes, unsigned int sharing) {
  extern __shared__ weft_ring shared[];
  weft_ring& ring = shared[0];
  const unsigned int lane = threadIdx.x % 32;
  int warp = (int)threadIdx.x / 32;
  unsigned long long* values = (unsigned long long*)(state + ${COUNT_BYTES});
  const bool is_aligned = ((unsigned long long)in | (unsigned long long)out) % 16 == 0;
${printBarriersBegin(RING)}`;

export function printRingColumns(form: ScanForm): string {
  const size = byteLengthOf(form.dtype);
  const tile = scanTile(form.dtype, STRIPE_COLUMNS);
  const steps = tile / SCAN_WARPS;
  const transfer = printTransfer().replaceAll('tile_rows', `${tile}u`);
  const roles = [transfer, PUBLISH, CARRY, printCombine(steps), printScan(steps)].join('');
  const types = [printNumbers(form), printOwn(size), printRing(tile), printRows(tile), printTake()].join('');
  return `${preludeFor(HEAD + transfer)}${types}${HEAD}${roles}}\n`;
}
