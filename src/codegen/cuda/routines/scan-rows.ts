/**
 * CUDA C of scans of rows that fit a block, from compute capability 9.0 on: a block of one to four warps has a row in
 * shared memory, which one thread loads and stores by bulk copies, and 256 bytes of it a thread. As few threads hold as
 * much of a row, a multiprocessor has as many rows on their way as its shared memory holds, and begins the next one
 * where one ends: 131,072 rows of 2,048 float32 take 0.528 ms on an H200, by blocks of 256 threads (`printLineTiles`)
 * 0.612. Values are combined in the order of those, a warp in the places of several.
 */
import { byteLengthOf } from '../../../graph/dtype.js';
import { preludeFor } from '../prelude/prelude.js';
import { lineTile, SCAN_NAME, SCAN_THREADS, SCAN_WARPS, type ScanForm } from './scan.js';
import { printChunks } from './scan-chunks.js';
import { printNumbers } from './scan-numbers.js';

/** Bytes of a row that a thread has. */
const THREAD_BYTES = 256;
/** Warps of a multiprocessor, whose threads have 128 registers. */
const RESIDENT_WARPS = 16;

/** In `explain()`. */
export const ROW_SCHEDULE = 'by blocks of few warps that have a row each, copied in bulk';

/** Whether there is such a kernel: rows begin at 16 bytes, elements have 4 bytes or more and no maps. */
export const canCopyRows = (form: ScanForm, length: number): boolean =>
  byteLengthOf(form.dtype) >= 4 &&
  (length * byteLengthOf(form.dtype)) % 16 === 0 &&
  form.op !== 'logsumexp' &&
  !form.reverse &&
  [form.prologue, form.epilogue, form.fold].every((map) => map === undefined);

/** Threads of a block. */
export const rowThreads = ({ dtype }: ScanForm, length: number): number =>
  Math.max(32, (lineTile(dtype, length) * byteLengthOf(dtype)) / THREAD_BYTES);

/** How a row falls to the threads of a block. */
interface RowTile {
  readonly perChunk: number;
  /** Chunks of 16 bytes of the tile, of a thread in a part. */
  readonly chunks: number;
  readonly own: number;
  readonly warps: number;
  /** Parts that a warp has of a row, each of which is a warp's of a block of `SCAN_THREADS`. */
  readonly parts: number;
  /** Whether a row is a whole tile: chunks beyond its end are identities, and are not stored. */
  readonly isWhole: boolean;
}

function rowTileOf(form: ScanForm, length: number): RowTile {
  const tile = lineTile(form.dtype, length);
  const perChunk = 16 / byteLengthOf(form.dtype);
  const chunks = tile / perChunk;
  const warps = rowThreads(form, length) / 32;
  const parts = SCAN_WARPS / warps;
  return { perChunk, chunks, own: chunks / SCAN_THREADS, warps, parts, isWhole: length === tile };
}

/** Waits for the other threads of a row. */
const together = ({ warps }: RowTile): string => (warps === 1 ? '__syncwarp();' : '__syncthreads();');

const printHead = (tile: RowTile): string => {
  const { perChunk, chunks, own, warps, parts } = tile;
  return `
extern "C" __global__ void __launch_bounds__(${32 * warps}, ${RESIDENT_WARPS / warps})
${SCAN_NAME}(unsigned int first_x, const weft_element* in, weft_element* out, long long rows, int n) {
  __shared__ weft_elements held[${chunks}];
  __shared__ weft_wide sums[${SCAN_WARPS}];
  __shared__ unsigned long long full;
  const long long row = (long long)blockIdx.x + first_x;
  if (row >= rows) return;
  const weft_elements* from = (const weft_elements*)(in + row * n);
  weft_elements* to = (weft_elements*)(out + row * n);
  const unsigned int count = (unsigned int)n / ${perChunk}, barrier = (unsigned int)__cvta_generic_to_shared(&full);
  const unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const bool is_aligned = ((unsigned long long)in | (unsigned long long)out) % 16 == 0;
  if (is_aligned) {
    if (threadIdx.x == 0) {
      weft_barrier_begin(barrier, 1);
      weft_show_copies();
      weft_barrier_expect(barrier, 16 * count);
      weft_bulk_load((unsigned int)__cvta_generic_to_shared(held), from, 16 * count, barrier);
    }
    ${together(tile)}
    weft_barrier_wait(barrier, 0);
  } else {
    for (int i = (int)threadIdx.x; i < n; i += ${32 * warps}) held[i / ${perChunk}].e[i % ${perChunk}] = in[row * n + i];
    ${together(tile)}
  }
  const unsigned int mine = ${32 * own * parts} * warp + ${own} * lane;
`;
};

/** Part `p` of a warp's in registers. */
const printLoad = ({ perChunk, own, isWhole }: RowTile): string => {
  const identities = `      else {
        #pragma unroll
        for (int e = 0; e < ${perChunk}; ++e) v[k].e[e] = weft_round(weft_identity());
      }
`;
  return `    weft_elements v[${own}];
    #pragma unroll
    for (unsigned int k = 0; k < ${own}; ++k) {
      const unsigned int chunk = mine + ${32 * own} * p + weft_turned(k, lane);
      ${isWhole ? '' : 'if (chunk < count) '}v[k] = held[chunk];
${isWhole ? '' : identities}    }
    weft_exchange(v, lane);
`;
};

const printScan = (tile: RowTile): string => {
  const { perChunk, own, warps, parts, isWhole } = tile;
  const each = (statement: string): string => `    #pragma unroll
    for (int k = 0; k < ${own}; ++k) {
      #pragma unroll
      for (int e = 0; e < ${perChunk}; ++e) {
        ${statement}
      }
    }
`;
  const totalsBefore = `  #pragma unroll
  for (unsigned int w = 0; w < ${SCAN_WARPS - parts}; ++w)
    if (w < ${parts} * warp) ahead = weft_combine(ahead, sums[w]);
`;
  return `  weft_wide total[${parts}];
  #pragma unroll
  for (unsigned int p = 0; p < ${parts}; ++p) {
${printLoad(tile)}    total[p] = weft_identity();
${each('total[p] = weft_combine(total[p], weft_widen(v[k].e[e]));')}  }
  #pragma unroll
  for (unsigned int lanes = 1; lanes < 32; lanes *= 2) {
    #pragma unroll
    for (int p = 0; p < ${parts}; ++p) {
      const weft_wide lower = weft_up(total[p], lanes);
      if (lane >= lanes) total[p] = weft_combine(lower, total[p]);
    }
  }
  if (lane == 31) {
    #pragma unroll
    for (int p = 0; p < ${parts}; ++p) sums[${parts} * warp + p] = total[p];
  }
  ${together(tile)}
  weft_wide ahead = weft_identity();
${warps === 1 ? '' : totalsBefore}  #pragma unroll
  for (unsigned int p = 0; p < ${parts}; ++p) {
${printLoad(tile)}    const weft_wide lower = weft_up(total[p], 1);
    weft_wide sum = lane == 0 ? ahead : weft_combine(ahead, lower);
    ahead = weft_combine(ahead, sums[${parts} * warp + p]);
${each('v[k].e[e] = weft_round(sum = weft_combine(sum, weft_widen(v[k].e[e])));')}    weft_exchange(v, lane);
    #pragma unroll
    for (unsigned int k = 0; k < ${own}; ++k) {
      const unsigned int chunk = mine + ${32 * own} * p + weft_turned(k, lane);
      ${isWhole ? '' : 'if (chunk < count) '}held[chunk] = v[k];
    }
  }
`;
};

const printStore = (tile: RowTile): string => `  if (is_aligned) {
    weft_show_copies();
    ${together(tile)}
    if (threadIdx.x > 0) return;
    weft_bulk_store(to, (unsigned int)__cvta_generic_to_shared(held), 16 * count);
    weft_bulk_read();
  } else {
    ${together(tile)}
    for (int i = (int)threadIdx.x; i < n; i += ${32 * tile.warps}) out[row * n + i] = held[i / ${tile.perChunk}].e[i % ${tile.perChunk}];
  }
}
`;

export function printCopiedRows(form: ScanForm, length: number): string {
  const tile = rowTileOf(form, length);
  const [head, store] = [printHead(tile), printStore(tile)];
  const before = `${preludeFor(head + store)}${printNumbers(form)}${printChunks(tile.own, tile.perChunk)}`;
  return `${before}${head}${printScan(tile)}${store}`;
}
