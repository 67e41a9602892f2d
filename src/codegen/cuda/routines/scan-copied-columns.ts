/**
 * CUDA C of scans of columns in one pass, from compute capability 9.0 on: tiles as of `printColumnTiles`, of twice as many
 * columns, whose rows of 256 bytes (of 4-byte elements) are copied to shared memory without passing registers. A lane has
 * two columns; between tiles it is a thread for each column that looks back, at a level for each 64 threads.
 *
 * Narrower tiles are limited by their rows of 128 bytes: on an H200 copies alone of 131,072 × 2,048 float32 take 0.591 ms in
 * tiles of 32 columns, 0.542 in those of 64, and 0.505 as they lie.
 */
import { byteLengthOf } from '../../../graph/dtype.js';
import { scanTile } from '../../../graph/scan-tiles.js';
import { preludeFor } from '../prelude/prelude.js';
import { SCAN_NAME, SCAN_THREADS, SCAN_WARPS, type ScanForm } from './scan.js';
import { LOOK_BACK, LOOK_BACK_PARAMETERS, levelsIn, printLookBack } from './scan-look-back.js';
import { printNumbers } from './scan-numbers.js';

/** Columns of a block. */
export const COPIED_COLUMNS = 64;
const OF_LANE = COPIED_COLUMNS / 32;
/** Blocks of a multiprocessor, by their shared memory. */
const RESIDENT_BLOCKS = 3;

export const COLUMN_SCHEDULE = `by tiles of ${COPIED_COLUMNS} columns, copied past registers`;
/** The most tiles of a column, of which so many levels of groups know. */
export const MOST_COPIED_TILES = 32 ** levelsIn(COPIED_COLUMNS);

/** Dynamic shared memory of a block; a number that elements are combined as has 8 bytes at most. */
export const COLUMN_SHARED_BYTES = 2 ** 16 + SCAN_WARPS * COPIED_COLUMNS * 8 + SCAN_THREADS * 8 + 16;

const printShared = (tile: number): string => `struct __align__(16) weft_shared {
  weft_element held[${tile}][${COPIED_COLUMNS}];
  weft_wide sums[${SCAN_WARPS}][${COPIED_COLUMNS}];
  weft_wide parts[${SCAN_THREADS}];
  unsigned int begun;
};
`;

/** The elements of a lane in a row, side by side. */
const printOwn = (size: number): string => `struct __align__(${OF_LANE * size}) weft_own {
  weft_element e[${OF_LANE}];
};
`;

const each = (indent: string, statement: string): string => `${indent}#pragma unroll
${indent}for (int e = 0; e < ${OF_LANE}; ++e) ${statement};
`;

/** Each warp copies the rows that it combines. Beyond an end are zeros, of which no total is used. */
function printCopies(tile: number, perChunk: number): string {
  const chunks = COPIED_COLUMNS / perChunk;
  const rows = 32 / chunks;
  const steps = tile / SCAN_WARPS;
  return `  const int first = ${steps} * warp;
  if (is_aligned) {
    const int mine = first + lane / ${chunks}, column = ${perChunk} * (lane % ${chunks});
    #pragma unroll
    for (int k = 0; k < ${steps}; k += ${rows}) {
      const bool is_there = mine + k < count && column < columns;
      const weft_element* from = is_there ? in + base + (mine + k) * inner + column : in;
      weft_copy_row_part((unsigned int)__cvta_generic_to_shared(&shared.held[mine + k][column]), from, is_there);
    }
    weft_end_group();
    weft_wait_groups<0>();
  } else {
    for (int i = first; i < first + ${steps}; ++i)
      for (int c = lane; c < ${COPIED_COLUMNS}; c += 32)
        shared.held[i][c] = i < count && c < columns ? in[base + i * inner + c] : weft_round(weft_identity());
  }
  __syncwarp();
`;
}

const printScan = (tile: number): string => {
  const steps = tile / SCAN_WARPS;
  return `  weft_wide sum[${OF_LANE}];
${each('  ', 'sum[e] = weft_identity()')}  #pragma unroll 8
  for (int i = first; i < first + ${steps}; ++i) {
    const weft_own v = *(const weft_own*)&shared.held[i][${OF_LANE} * lane];
${each('    ', 'sum[e] = weft_combine(sum[e], weft_widen(v.e[e]))')}  }
${each('  ', `shared.sums[warp][${OF_LANE} * lane + e] = sum[e]`)}  __syncthreads();
  const int own = (int)threadIdx.x % ${COPIED_COLUMNS};
  weft_wide whole = shared.sums[0][own];
  #pragma unroll
  for (int w = 1; w < ${SCAN_WARPS}; ++w) whole = weft_combine(whole, shared.sums[w][own]);
  weft_wide* parts = shared.parts;
  weft_look_back(${LOOK_BACK}, whole, row, at, tiles, group, groups);
  #pragma unroll
  for (int e = 0; e < ${OF_LANE}; ++e) {
    const int column = ${OF_LANE} * lane + e;
    weft_wide ahead = weft_identity();
    #pragma unroll
    for (int w = 0; w < ${SCAN_WARPS - 1}; ++w)
      if (w < warp) ahead = weft_combine(ahead, shared.sums[w][column]);
    sum[e] = weft_combine(weft_over_levels(parts, column), ahead);
  }
`;
};

/** Whole tiles by the elements of a lane, others one by one. */
const printStores = (tile: number): string => {
  const steps = tile / SCAN_WARPS;
  const element = (indent: string): string =>
    `${indent}weft_own v = *(const weft_own*)&shared.held[i][${OF_LANE} * lane];
${each(indent, 'v.e[e] = weft_round(sum[e] = weft_combine(sum[e], weft_widen(v.e[e])))')}`;
  return `  weft_element* to = out + base + ${OF_LANE} * lane;
  if (is_aligned && count == ${tile} && columns == ${COPIED_COLUMNS}) {
    #pragma unroll 8
    for (int i = first; i < first + ${steps}; ++i) {
${element('      ')}      *(weft_own*)(to + i * inner) = v;
    }
    return;
  }
  for (int i = first; i < first + ${steps} && i < count; ++i) {
${element('    ')}    for (int e = 0; e < ${OF_LANE} && ${OF_LANE} * lane + e < columns; ++e) to[i * inner + e] = v.e[e];
  }
`;
};

export function printCopiedColumns(form: ScanForm): string {
  const size = byteLengthOf(form.dtype);
  const tile = scanTile(form.dtype, COPIED_COLUMNS);
  const copies = printCopies(tile, 16 / size);
  const before = `${printNumbers(form)}${printLookBack(form, COPIED_COLUMNS)}${printShared(tile)}${printOwn(size)}`;
  return `${preludeFor(copies)}${before}
extern "C" __global__ void __launch_bounds__(${SCAN_THREADS}, ${RESIDENT_BLOCKS})
${SCAN_NAME}(unsigned int first_x, const weft_element* in, weft_element* out, ${LOOK_BACK_PARAMETERS}, long long lines, long long tiles, long long n, long long inner, long long groups) {
  extern __shared__ weft_shared memory[];
  weft_shared& shared = memory[0];
  const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
  const unsigned int block = weft_begin((unsigned int*)state, &shared.begun);
  const long long group = block % (unsigned int)groups;
  const long long row = block / (unsigned int)groups / (unsigned int)tiles;
  if (row >= lines) return;
  const long long at = block / (unsigned int)groups % (unsigned int)tiles;
  const int count = (int)(n - at * ${tile} < ${tile} ? n - at * ${tile} : ${tile});
  const long long left = inner - group * ${COPIED_COLUMNS};
  const int columns = (int)(left < ${COPIED_COLUMNS} ? left : ${COPIED_COLUMNS});
  const long long base = (row * n + at * ${tile}) * inner + group * ${COPIED_COLUMNS};
  const bool is_aligned = ((unsigned long long)in | (unsigned long long)out) % 16 == 0;
${copies}${printScan(tile)}${printStores(tile)}}
`;
}
