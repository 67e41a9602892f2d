/**
 * The parts that scans of lines and of columns around rings of tiles share (`scan-ring.ts`, `scan-ring-columns.ts`): a block's
 * warps, and the barriers of each slot of its ring, whose phases end when a tile's number is there (`taken`), its elements
 * (`full`), the values of threads, the value before it, its results (`scanned`).
 */
import { SCAN_THREADS, SCAN_WARPS } from './scan.js';

/** Warps that load and store, that publish, and that go through the totals. */
export const ROLES = 3;
/** Beside those, as many combine tiles as scan them. */
export const RING_THREADS = 32 * ROLES + 2 * SCAN_THREADS;
/** Blocks of a launch: one for each multiprocessor of the largest GPUs; those that begin later find no tile left. */
export const RING_BLOCKS = 160;

const ARRIVING = { taken: 1, full: 1, combined: SCAN_WARPS, carried: 2, scanned: SCAN_WARPS };
/** Bytes of the barriers of a slot. */
export const BARRIER_BYTES = 8 * Object.keys(ARRIVING).length;

/** Members of a ring of so many tiles. */
export const printBarriers = (ring: number): string =>
  `  unsigned long long ${Object.keys(ARRIVING)
    .map((name) => `${name}[${ring}]`)
    .join(', ')};`;

/** The address of a slot's member, as barriers and copies take it. */
export const SHARED = '#define SHARED(x) ((unsigned int)__cvta_generic_to_shared(&ring.x[slot]))';

/** Begins the barriers of all slots. */
export const printBarriersBegin = (ring: number): string => `  if (threadIdx.x < ${ring}) {
    const unsigned int slot = threadIdx.x;
${Object.entries(ARRIVING)
  .map(([name, count]) => `    weft_barrier_begin(SHARED(${name}), ${count});\n`)
  .join('')}    weft_show_copies();
  }
  __syncthreads();
`;

/** The role of the warps that combine a tile, and scan it. */
export const SCANNING = `  const bool scans = warp >= ${ROLES + SCAN_WARPS};
  warp = (warp - ${ROLES}) % ${SCAN_WARPS};
`;
