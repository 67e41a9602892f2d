/** The kernel that computes attention of a form. Launches are made by `exec/calls/attention.ts`. */
import { isHalf } from '../../../graph/dtype.js';
import { preludeFor } from '../prelude/prelude.js';
import type { DeviceLimits } from '../schedules/schedule-rows.js';
import {
  printSlices,
  type SlicesTile,
  slicesColumns,
  slicesRows,
  slicesSharedBytes,
  slicesThreads,
  slicesTiles,
} from './attention-float-slices.js';
import {
  FLOATS_THREADS,
  FLOATS_TILES,
  type FloatsTile,
  floatsColumns,
  floatsRows,
  floatsSharedBytes,
  printFloats,
} from './attention-floats.js';
import type { AttentionForm } from './attention-form.js';
import {
  type HalvesTile,
  halvesRows,
  halvesSharedBytes,
  halvesTiles,
  printHalves,
} from './attention-halves.js';
import {
  isForWarpgroups,
  warpgroupsRows,
  warpgroupsSharedBytes,
  warpgroupsThreads,
  warpgroupsTile,
} from './attention-warpgroup-tile.js';
import { printWarpgroups } from './attention-warpgroups.js';
import { withoutPrelude } from './element-function.js';

export { ATTENTION_NAME, type AttentionForm } from './attention-form.js';

export interface AttentionKernel {
  readonly source: string;
  /** Of Q, that a block has. */
  readonly rows: number;
  readonly threads: number;
  readonly sharedByteLength: number;
  /** As of `CudaSource`. */
  readonly isSpecific: boolean;
  /** One line, for `explain()`. */
  readonly schedule: string;
}

/** Rows of a unit: those of blocks of every size. */
export const UNIT_ROWS = 256;

/** The most elements of a row of Q or V. */
export const MOST_WIDTH = 256;

/** Shared memory of a block that the driver reserves. */
const RESERVED_BYTES = 1024;

/** The kernel on devices with such limits; `batch` and `m` of the problem. */
export function attentionKernel(
  form: AttentionForm,
  { batch, m }: { readonly batch: number; readonly m: number },
  { sharedByteLength, hasWarpgroups = false }: DeviceLimits,
): AttentionKernel {
  const { dtype, inner, width, map } = form;
  const blockCount = batch * Math.ceil(m / UNIT_ROWS);
  const all: readonly Candidate[] = !isHalf(dtype)
    ? [
        ...slicesTiles(form, { batch, m }).map((tile) => slicesKernel(form, tile)),
        ...FLOATS_TILES.map((tile) => floatsKernel(form, tile)),
      ]
    : [
        ...(hasWarpgroups && isForWarpgroups(form) ? [warpgroupsKernel(form, blockCount)] : []),
        ...halvesTiles(inner, width, blockCount).map((tile) => halvesKernel(form, tile)),
      ];
  const fitting = all.find(
    ({ blocks = 1, ...each }) =>
      blocks * (each.sharedByteLength + RESERVED_BYTES) <= sharedByteLength + RESERVED_BYTES,
  );
  const chosen = fitting ?? all.at(-1)!;
  const { print, columns, units, blocks: _, isSpecific = false, ...sizes } = chosen;
  const text = (map === undefined ? '' : withoutPrelude([map])) + print();
  const schedule = `tiles of ${sizes.rows} × ${columns} by ${units}`;
  return { source: preludeFor(text) + text, ...sizes, isSpecific, schedule };
}

type Candidate = Omit<AttentionKernel, 'source' | 'isSpecific' | 'schedule'> & {
  readonly isSpecific?: boolean;
  /** Columns of a tile of scores, and by what they are computed. */
  readonly columns: number;
  readonly units: string;
  /** Blocks that a multiprocessor should have room for. */
  readonly blocks?: number;
  readonly print: () => string;
};

function warpgroupsKernel(form: AttentionForm, blockCount: number): Candidate {
  const tile = warpgroupsTile(form, blockCount);
  return {
    print: () => printWarpgroups(form, tile),
    rows: warpgroupsRows(tile),
    columns: tile.columns,
    units: 'warpgroups (wgmma)',
    threads: warpgroupsThreads(tile),
    sharedByteLength: warpgroupsSharedBytes(form, tile),
    isSpecific: true,
  };
}

function halvesKernel(form: AttentionForm, tile: HalvesTile): Candidate {
  return {
    print: () => printHalves(form, tile),
    rows: halvesRows(tile),
    columns: tile.columns,
    units: 'warps (mma)',
    threads: tile.warps * 32,
    sharedByteLength: halvesSharedBytes(form, tile),
  };
}

function slicesKernel(form: AttentionForm, tile: SlicesTile): Candidate {
  return {
    print: () => printSlices(form, tile),
    rows: slicesRows(tile),
    columns: slicesColumns(tile),
    units: 'float32 units',
    blocks: tile.blocks,
    threads: slicesThreads(tile),
    sharedByteLength: slicesSharedBytes(form, tile),
  };
}

function floatsKernel(form: AttentionForm, tile: FloatsTile): Candidate {
  return {
    print: () => printFloats(form, tile),
    rows: floatsRows(tile),
    columns: floatsColumns(tile),
    units: 'float32 units',
    threads: FLOATS_THREADS,
    sharedByteLength: floatsSharedBytes(form, tile),
  };
}
