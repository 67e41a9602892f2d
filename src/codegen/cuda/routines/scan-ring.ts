/**
 * CUDA C of a scan of lines in one pass by specialised warps, from compute capability 9.0 on. A block has a
 * multiprocessor, and a ring of tiles in shared memory:
 *
 * - one thread takes tiles in turn, loads each by a bulk copy, and stores what it becomes by another one;
 * - eight warps combine a tile as soon as it is there, one publishes its total;
 * - one goes through the totals of all tiles in order, and has the value before each tile of the block;
 * - eight scan a tile, in registers.
 *
 * So a tile waits for the totals before it alone. Where tiles look back at groups of others (`scan-look-back.ts`), a group's
 * total takes another turn through the second-level cache for each level: 2^28 float32 in such rings take 0.753 ms on an
 * H200 that way, 0.527 this way. The order in which values are combined is the same, and so are the bits.
 */
import { byteLengthOf } from '../../../graph/dtype.js';
import { scanTile } from '../../../graph/scan-tiles.js';
import { preludeFor } from '../prelude/prelude.js';
import { SCAN_NAME, SCAN_THREADS, SCAN_WARPS, type ScanForm } from './scan.js';
import { printChunks } from './scan-chunks.js';
import { COUNT_BYTES, GROUP, LEVELS, LOOK_BACK_PARAMETERS } from './scan-look-back.js';
import { printNumbers, toldWords } from './scan-numbers.js';
import {
  BARRIER_BYTES,
  printBarriers,
  printBarriersBegin,
  RING_THREADS,
  SCANNING,
  SHARED,
} from './scan-ring-warps.js';

/** Tiles of a ring, in nine tenths of a multiprocessor's shared memory. */
const RING = 6;
/** Chunks of 16 bytes of a thread that combines or scans, exchanged so that threads find them in other banks. */
const OWN = 8;
export const RING_SCHEDULE = `by specialised warps around a ring of ${RING} tiles`;
/** Groups whose totals are read at once. */
const GROUPS = 8;
/** Bytes of a tile. */
const TILE_BYTES = 16 * OWN * SCAN_THREADS;

/** Whether there is such a kernel: of elements without maps whose tile is a ring's, and whose totals are one word. */
export const canRing = (form: ScanForm): boolean =>
  form.op !== 'logsumexp' &&
  scanTile(form.dtype, 1) * byteLengthOf(form.dtype) === TILE_BYTES &&
  toldWords(form) === 1 &&
  !form.reverse &&
  [form.prologue, form.epilogue, form.fold].every((map) => map === undefined);

/** Dynamic shared memory of a block; a number that elements are combined as has 8 bytes at most. */
export const RING_SHARED_BYTES =
  RING * (TILE_BYTES + (SCAN_THREADS + 1) * 8 + BARRIER_BYTES) +
  GROUPS * (GROUP + 1) * 8 +
  8 * Math.ceil(RING / 2);

/**
 * Shared memory of a block: for each slot of the ring a tile, the values of the threads that combine it, the value before
 * it, and its number; totals of groups of tiles; and barriers.
 */
const RING_TYPE = `struct weft_ring {
  weft_elements held[${RING}][${OWN * SCAN_THREADS}];
  weft_wide own[${RING}][${SCAN_THREADS}];
  weft_wide before[${RING}];
  weft_wide totals[${GROUPS}][${GROUP + 1}];
${printBarriers(RING)}
  unsigned int number[${RING}];
};
#define NO_TILE 0xffffffffu
${SHARED}
`;

/**
 * A tile by its number. Whole ones that begin at 16 bytes are copied in bulk; of others each thread reads and writes its own
 * elements.
 */
const printTile = (tile: number): string => `struct weft_tile {
  long long base;
  int count;
  bool is_whole;
};
__device__ __forceinline__ weft_tile weft_tile_of(unsigned int number, const weft_element* in, const weft_element* out, long long tiles, long long n) {
  const long long row = number / (unsigned int)tiles, at = (long long)(number % (unsigned int)tiles) * ${tile};
  const long long base = row * n + at;
  const int count = (int)(n - at < ${tile} ? n - at : ${tile});
  const bool is_aligned = ((unsigned long long)(in + base) | (unsigned long long)(out + base)) % 16 == 0;
  return weft_tile{base, count, is_aligned && count == ${tile}};
}
`;

const printOwnChunks = (
  perChunk: number,
): string => `__device__ __forceinline__ void weft_own_chunks(weft_elements (&v)[${OWN}], const weft_elements* held, unsigned int lane, weft_tile tile, const weft_element* in, int mine) {
  if (tile.is_whole) {
    #pragma unroll
    for (unsigned int k = 0; k < ${OWN}; ++k) v[k] = held[weft_turned(k, lane)];
    weft_exchange(v, lane);
    return;
  }
  #pragma unroll
  for (int k = 0; k < ${OWN}; ++k) {
    #pragma unroll
    for (int e = 0; e < ${perChunk}; ++e) {
      const int i = ${OWN * perChunk} * mine + k * ${perChunk} + e;
      v[k].e[e] = i < tile.count ? in[tile.base + i] : weft_round(weft_identity());
    }
  }
}
`;

/** A slot's results are stored before its next tile is loaded; numbers are taken in turn, so that no tile waits for a later one. */
const TRANSFER = `  if (warp == 0) {
    if (lane > 0) return;
    for (unsigned int i = 0;; ++i) {
      const unsigned int slot = i % ${RING};
      bool stores = false;
      if (i >= ${RING}) {
        if (ring.number[slot] == NO_TILE) break;
        const weft_tile last = weft_tile_of(ring.number[slot], in, out, tiles, n);
        weft_barrier_wait(SHARED(scanned), (i / ${RING} - 1) & 1);
        stores = last.is_whole;
        if (stores) weft_bulk_store(out + last.base, SHARED(held), ${TILE_BYTES});
      }
      const unsigned int number = atomicAdd((unsigned int*)state, 1u);
      if (stores) weft_bulk_read();
      ring.number[slot] = number < all ? number : NO_TILE;
      weft_barrier_arrive(SHARED(taken));
      const weft_tile tile = weft_tile_of(number, in, out, tiles, n);
      if (number < all && tile.is_whole) {
        weft_barrier_expect(SHARED(full), ${TILE_BYTES});
        weft_bulk_load(SHARED(held), in + tile.base, ${TILE_BYTES}, SHARED(full));
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
      const unsigned int number = ring.number[slot];
      if (number == NO_TILE) return;
      weft_barrier_wait(SHARED(combined), parity);
      weft_wide whole = ring.own[slot][31];
      #pragma unroll
      for (int w = 1; w < ${SCAN_WARPS}; ++w) whole = weft_combine(whole, ring.own[slot][32 * w + 31]);
      if (lane == 0) weft_write(values + number / (unsigned int)tiles * states + number % (unsigned int)tiles, whole);
      __syncwarp();
      if (lane == 0) weft_barrier_arrive(SHARED(carried));
    }
  }
`;

/**
 * The value before each tile. A lane combines the totals of a group from left to right, those from the tile itself on as
 * identities; `part` of lane k is the value over the groups of level k so far, of those that are not complete.
 */
const CARRY = `  if (warp == 2) {
    weft_wide part = weft_identity();
    unsigned int line = 0, group = 0;
    for (unsigned int i = 0;; ++i) {
      const unsigned int slot = i % ${RING};
      weft_barrier_wait(SHARED(taken), i / ${RING} & 1);
      const unsigned int number = ring.number[slot];
      if (number == NO_TILE) return;
      const unsigned int at = number % (unsigned int)tiles;
      if (number / (unsigned int)tiles != line) {
        line = number / (unsigned int)tiles;
        group = 0;
        part = weft_identity();
      }
      const unsigned long long* told = values + line * states;
      for (bool is_near = false; !is_near;) {
        unsigned long long word[${GROUPS}];
        #pragma unroll
        for (int j = 0; j < ${GROUPS}; ++j) {
          const unsigned int k = ${GROUP} * (group + j) + lane;
          word[j] = k < at ? weft_heard(told + k) : 1ull;
        }
        for (bool is_missing = true; is_missing;) {
          is_missing = false;
          #pragma unroll
          for (int j = 0; j < ${GROUPS}; ++j) {
            if (word[j] != 0) continue;
            is_missing = true;
            word[j] = weft_heard(told + ${GROUP} * (group + j) + lane);
          }
        }
        #pragma unroll
        for (int j = 0; j < ${GROUPS}; ++j)
          ring.totals[j][lane] = ${GROUP} * (group + j) + lane < at ? weft_told(word[j]) : weft_identity();
        __syncwarp();
        weft_wide sum = weft_identity();
        if (lane < ${GROUPS}) {
          #pragma unroll
          for (int k = 0; k < ${GROUP}; ++k) sum = weft_combine(sum, ring.totals[lane][k]);
        }
        __syncwarp();
        const unsigned int whole = at / ${GROUP} - group < ${GROUPS}u ? at / ${GROUP} - group : ${GROUPS}u;
        for (unsigned int j = 0; j < whole; ++j) {
          const weft_wide total = weft_of_lane(sum, (int)j);
          if (lane == 1) part = weft_combine(part, total);
          unsigned int level = 1;
          for (unsigned int groups = group + j + 1; groups % ${GROUP} == 0; groups /= ${GROUP}, ++level) {
            const weft_wide over = weft_of_lane(part, (int)level);
            if (lane == level) part = weft_identity();
            if (lane == level + 1) part = weft_combine(part, over);
          }
        }
        group += whole;
        const weft_wide rest = weft_of_lane(sum, (int)(whole % ${GROUPS}));
        if (lane == 0) part = rest;
        is_near = whole < ${GROUPS};
      }
      weft_wide sum = weft_identity();
      #pragma unroll
      for (int level = ${LEVELS - 1}; level >= 0; --level) sum = weft_combine(sum, weft_of_lane(part, level));
      if (lane > 0) continue;
      ring.before[slot] = sum;
      weft_barrier_arrive(SHARED(carried));
    }
  }
`;

const printCombine = (perChunk: number): string => `${SCANNING}  const int mine = 32 * warp + (int)lane;
  for (unsigned int i = 0;; ++i) {
    const unsigned int slot = i % ${RING}, parity = i / ${RING} & 1;
    weft_barrier_wait(SHARED(full), parity);
    if (ring.number[slot] == NO_TILE) return;
    const weft_tile tile = weft_tile_of(ring.number[slot], in, out, tiles, n);
    weft_elements* held = &ring.held[slot][${OWN} * mine];
    weft_elements v[${OWN}];
    weft_own_chunks(v, held, lane, tile, in, mine);
    if (!scans) {
      weft_wide total = weft_identity();
      #pragma unroll
      for (int k = 0; k < ${OWN}; ++k) {
        #pragma unroll
        for (int e = 0; e < ${perChunk}; ++e) total = weft_combine(total, weft_widen(v[k].e[e]));
      }
      #pragma unroll
      for (unsigned int lanes = 1; lanes < 32; lanes *= 2) {
        const weft_wide lower = weft_up(total, lanes);
        if (lane >= lanes) total = weft_combine(lower, total);
      }
      ring.own[slot][mine] = total;
      __syncwarp();
      if (lane == 0) weft_barrier_arrive(SHARED(combined));
      continue;
    }
`;

const printScan = (perChunk: number): string => `    weft_barrier_wait(SHARED(combined), parity);
    weft_wide ahead = weft_identity();
    #pragma unroll
    for (int w = 0; w < ${SCAN_WARPS - 1}; ++w)
      if (w < warp) ahead = weft_combine(ahead, ring.own[slot][32 * w + 31]);
    const weft_wide lower = ring.own[slot][lane == 0 ? mine : mine - 1];
    weft_barrier_wait(SHARED(carried), parity);
    const weft_wide carry = weft_combine(ring.before[slot], ahead);
    weft_wide sum = lane == 0 ? carry : weft_combine(carry, lower);
    #pragma unroll
    for (int k = 0; k < ${OWN}; ++k) {
      #pragma unroll
      for (int e = 0; e < ${perChunk}; ++e) {
        sum = weft_combine(sum, weft_widen(v[k].e[e]));
        v[k].e[e] = weft_round(sum);
      }
    }
    if (tile.is_whole) {
      weft_exchange(v, lane);
      #pragma unroll
      for (unsigned int k = 0; k < ${OWN}; ++k) held[weft_turned(k, lane)] = v[k];
      weft_show_copies();
    } else {
      #pragma unroll
      for (int k = 0; k < ${OWN}; ++k) {
        #pragma unroll
        for (int e = 0; e < ${perChunk}; ++e) {
          const int i = ${OWN * perChunk} * mine + k * ${perChunk} + e;
          if (i < tile.count) out[tile.base + i] = v[k].e[e];
        }
      }
    }
    __syncwarp();
    if (lane == 0) weft_barrier_arrive(SHARED(scanned));
  }
`;

const HEAD = `
extern "C" __global__ void __launch_bounds__(${RING_THREADS}, 1)
${SCAN_NAME}(unsigned int first_x, const weft_element* in, weft_element* out, ${LOOK_BACK_PARAMETERS}, long long lines, long long tiles, long long n) {
  extern __shared__ weft_elements shared[];
  weft_ring& ring = *(weft_ring*)shared;
  const unsigned int lane = threadIdx.x % 32;
  int warp = (int)threadIdx.x / 32;
  const unsigned int all = (unsigned int)(lines * tiles);
  unsigned long long* values = (unsigned long long*)(state + ${COUNT_BYTES});
${printBarriersBegin(RING)}`;

/** Besides numbers, which have names that the prelude has as well, of its pieces only copies and barriers are needed. */
export function printRingScan(form: ScanForm): string {
  const perChunk = 16 / byteLengthOf(form.dtype);
  const functions = [
    printChunks(OWN, perChunk),
    RING_TYPE,
    printTile(scanTile(form.dtype, 1)),
    printOwnChunks(perChunk),
  ].join('');
  const roles = [TRANSFER, PUBLISH, CARRY, printCombine(perChunk), printScan(perChunk)].join('');
  return `${preludeFor(HEAD + TRANSFER)}${printNumbers(form)}${functions}${HEAD}${roles}}\n`;
}
