/** Launches of scans of columns in rings of tiles, which tensor maps copy (`codegen/cuda/routines/scan-ring-columns.ts`). */

import { CLEAR_KERNEL } from '../../codegen/cuda/routines/look-back.js';
import { SCAN_NAME, type ScanForm } from '../../codegen/cuda/routines/scan.js';
import {
  MOST_STRIPE_TILES,
  printRingColumns,
  STRIPE_COLUMNS,
  STRIPE_SCHEDULE,
  STRIPE_SHARED_BYTES,
} from '../../codegen/cuda/routines/scan-ring-columns.js';
import { RING_BLOCKS, RING_THREADS } from '../../codegen/cuda/routines/scan-ring-warps.js';
import { byteLengthOf } from '../../graph/dtype.js';
import type { CallKernels } from './call-row.js';
import { clearLaunch } from './clear.js';
import { int32, int64 } from './launch-arguments.js';

/** Columns of `length` elements in tiles, `inner` beside one another, `outer` times. */
export interface ColumnScan {
  readonly form: ScanForm;
  readonly outer: number;
  readonly length: number;
  readonly inner: number;
  readonly tile: number;
  readonly tiles: number;
}

/** Multiprocessors of the largest GPUs of compute capability 9.0. */
const MULTIPROCESSORS = 132;
/** The least part of multiprocessors that have a block, on average over the rounds of a launch. */
const LEAST_USE = 0.9;

const groupsOf = (inner: number): number => Math.ceil(inner / STRIPE_COLUMNS);

/**
 * Blocks that share a stripe: each goes through the totals of all of its tiles, so they are as few as leave few
 * multiprocessors without a block.
 */
export function sharingOf(stripes: number): number {
  for (let sharing = Math.max(1, Math.floor(MULTIPROCESSORS / stripes)); ; ++sharing) {
    const rounds = (stripes * sharing) / MULTIPROCESSORS;
    if (rounds >= LEAST_USE * Math.ceil(rounds)) return sharing;
  }
}

/**
 * Blocks that share a stripe at most. 2^28 float32 took 0.58 ms on an H200 with 16 blocks a stripe, where blocks of columns took
 * 0.66; 0.68 with 33, and 1.02 with 132, where those took 0.67 and 0.71.
 */
const MOST_SHARING = 24;

/** Whether stripes are many enough, and sizes within the numbers of tiles and those of the driver's tensor maps. */
export function haveStripes({ form, outer, length, inner, tiles }: ColumnScan): boolean {
  const stripes = outer * groupsOf(inner);
  return (
    sharingOf(stripes) <= MOST_SHARING &&
    stripes * MULTIPROCESSORS < 2 ** 32 &&
    tiles <= MOST_STRIPE_TILES &&
    inner < 2 ** 31 &&
    length * inner * byteLengthOf(form.dtype) < 2 ** 40
  );
}

/** `input`, `output`: buffers; the workspace has so many words of each column, and bytes in all. */
export function columnRingKernels(
  { form, outer, length, inner, tile, tiles }: ColumnScan,
  input: number,
  output: number,
  workspace: { readonly buffer: number; readonly states: number; readonly byteLength: number },
): CallKernels {
  const elementBytes = byteLengthOf(form.dtype);
  const strides = [inner * elementBytes, length * inner * elementBytes];
  const layout = { elementBytes, sizes: [inner, length, outer], strides, box: [STRIPE_COLUMNS, tile, 1] };
  const maps = [input, output].map((buffer) => ({ tensorMap: { buffer, ...layout } }));
  const groups = groupsOf(inner);
  const stripes = outer * groups;
  const { states, byteLength } = workspace;
  const counts = [states, tiles, groups, stripes, sharingOf(stripes)].map(int32);
  const state = { buffer: workspace.buffer };
  const launch = {
    function: SCAN_NAME,
    blocks: Math.min(stripes * tiles, RING_BLOCKS),
    threads: RING_THREADS,
    sharedByteLength: STRIPE_SHARED_BYTES,
    args: [{ buffer: input }, { buffer: output }, ...maps, state, int64(length), int64(inner), ...counts],
  };
  return {
    source: printRingColumns(form) + CLEAR_KERNEL,
    launches: [clearLaunch(state, byteLength / 4), launch],
    schedule: STRIPE_SCHEDULE,
  };
}
