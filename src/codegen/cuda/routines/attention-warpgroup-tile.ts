/** How blocks of warpgroups compute attention: their rows and columns, and where parts of their shared memory lie. */
import type { AttentionForm } from './attention-form.js';

export interface WarpgroupsTile {
  /** Warpgroups that compute. */
  readonly groups: number;
  /** Rows of K and V of a tile. */
  readonly columns: number;
  /** Tiles of K, and of V, that are in shared memory at a time. */
  readonly stages: number;
}

/** Registers of a thread that computes, and of one that copies, where two or four warpgroups compute. */
export function registersOf(groups: number): { readonly computing: number; readonly copying: number } {
  const [computing, copying] = groups === 2 ? [232, 40] : [112, 32];
  return { computing, copying };
}

export const GROUP = 128;
export const GROUP_ROWS = 64;
/** Bytes of a row of a panel (`prelude-warpgroup.ts`), and of 8 of them, at whose multiples panels begin. */
export const PANEL_ROW = 128;
export const ALIGNMENT = 1024;
export const BARRIER_BYTES = 8;

const HEAD_SIZES: readonly number[] = [64, 128];

/** Whether there is such a kernel of a form. */
export const isForWarpgroups = ({ inner, width }: Pick<AttentionForm, 'inner' | 'width'>): boolean =>
  HEAD_SIZES.includes(inner) && HEAD_SIZES.includes(width);

/** The fastest, as measured on an H100; `blockCount`: how many blocks of 256 rows there are. */
export function warpgroupsTile(form: AttentionForm, blockCount: number): WarpgroupsTile {
  const { inner, width, isCausal, map } = form;
  // Registers of a map are beside those of scores.
  if (Math.max(inner, width) > 64) return { groups: 2, columns: map === undefined ? 160 : 128, stages: 2 };
  // Most tiles of causal rows end somewhere in a block of 256.
  const isLow = isCausal || map !== undefined || blockCount <= FEW_BLOCKS;
  return isLow ? { groups: 2, columns: 128, stages: 3 } : { groups: 4, columns: 64, stages: 3 };
}

/** As many fill half of an H100; fewer are better halved. */
const FEW_BLOCKS = 66;

export const warpgroupsRows = ({ groups }: WarpgroupsTile): number => groups * GROUP_ROWS;
export const warpgroupsThreads = ({ groups }: WarpgroupsTile): number => (groups + 1) * GROUP;

/** Where parts of shared memory begin, in bytes. */
export function placesOf({ inner, width }: AttentionForm, { groups, columns, stages }: WarpgroupsTile) {
  const [query, key, value] = [2 * GROUP_ROWS * inner, 2 * columns * inner, 2 * columns * width];
  const keys = groups * query;
  const values = keys + stages * key;
  const barriers = values + stages * value;
  return { query, key, value, keys, values, barriers, end: barriers + 4 * stages * BARRIER_BYTES };
}

export const warpgroupsSharedBytes = (form: AttentionForm, tile: WarpgroupsTile): number =>
  ALIGNMENT + placesOf(form, tile).end;
