/**
 * How the CPU walks a kernel's domain: which axes fill the lanes of a block, which axis its rows, and which
 * are looped over. A block is `rows` × `width` elements; every instruction runs over one block at a time.
 *
 * Lanes and rows may each lie on parallel or on reduced axes; what a reduction does follows from that.
 * `tape-candidates.ts` has the blockings that are tried, `tape-cost.ts` takes the cheapest.
 */

import { loadsOf, sizesOf } from '../../fusion/kernel/algebra.js';
import type { Access, Affine, Kernel } from '../../fusion/kernel/kernel.js';
import { CHUNK, LEAF_STEPS } from '../../shared/layout.js';

export interface Blocking {
  /** Axes of the lanes, outermost first; [] gives one lane. All but the first are walked whole. */
  readonly laneAxes: readonly number[];
  /** Steps along the first lane axis in one block. */
  readonly take: number;
  /** Lanes of one such step. */
  readonly inner: number;
  /** Lanes of a full row: `take * inner`. */
  readonly width: number;
  /** Axis of the rows, or -1. The first lane axis itself: a row is then `take` steps further. */
  readonly rowAxis: number;
  /** Rows of a full block. */
  readonly rows: number;
}

/** `4096 lanes of axis 1 × 16 rows of axis 0` */
export function printBlocking({ laneAxes, width, rowAxis, rows }: Blocking): string {
  const lanes = laneAxes.length === 0 ? 'one lane' : `${width} lanes of ${axesText(laneAxes)}`;
  return rows > 1 ? `${lanes} × ${rows} rows of axis ${rowAxis}` : lanes;
}
const axesText = (axes: readonly number[]): string =>
  `${axes.length === 1 ? 'axis' : 'axes'} ${axes.join(', ')}`;

/** How an affine map moves along the lanes. `table`: by no single stride. */
export type LaneMode =
  | { readonly type: 'splat' }
  | { readonly type: 'stride'; readonly stride: number }
  | { readonly type: 'table' };

export const paddedWidth = (blocking: Blocking): number => Math.ceil(blocking.width / CHUNK) * CHUNK;

export function laneModeOf(affine: Affine, blocking: Blocking, sizes: readonly number[]): LaneMode {
  const axes = blocking.laneAxes.filter((a, i) => (i === 0 ? blocking.take : sizes[a]!) > 1);
  if (axes.every((a) => affine.strides[a] === 0)) return { type: 'splat' };
  const stride = affine.strides[axes[axes.length - 1]!]!;
  let run = stride;
  for (let i = axes.length - 1; i >= 0; i--) {
    if (affine.strides[axes[i]!] !== run) return { type: 'table' };
    run *= sizes[axes[i]!]!;
  }
  return { type: 'stride', stride };
}

/**
 * The axes of a block's lanes: parallel ones, reduced ones, or a reduced one and parallel ones inside
 * it.
 */
export function laneKindOf(kernel: Kernel, { laneAxes }: Blocking): 'parallel' | 'reduced' | 'both' {
  const first = kernel.parallel.length;
  if (laneAxes.length === 0) return first === 0 && kernel.reduced.length > 0 ? 'reduced' : 'parallel';
  const parallelLanes = laneAxes.filter((axis) => axis < first).length;
  if (parallelLanes === laneAxes.length) return 'parallel';
  return parallelLanes === 0 ? 'reduced' : 'both';
}

/** Whether each row of a block is reduced by itself, along its lanes. */
export const isSegmented = (kernel: Kernel, blocking: Blocking): boolean =>
  blocking.laneAxes.length > 0 &&
  laneKindOf(kernel, blocking) === 'reduced' &&
  blocking.rows > 1 &&
  blocking.rowAxis < kernel.parallel.length;

/** A blocking's rows as lanes: one value of each, side by side. */
export const acrossRows = ({ rowAxis, rows }: Blocking): Blocking => ({
  laneAxes: [rowAxis],
  take: rows,
  inner: 1,
  width: rows,
  rowAxis: -1,
  rows: 1,
});

/**
 * Reduced lanes of a block in tiles, of which the least is a block, and fewer where that is still large. Sums of 2^22
 * elements take up to 7 % longer with 16384 than with four times as many.
 */
const REDUCED_LANES = [16384, 1024];

/** The blocking with narrower blocks of the same order of sums, wider ones first. */
export function narrowed(kernel: Kernel, blocking: Blocking): readonly Blocking[] {
  const [first] = blocking.laneAxes;
  if (first === undefined || laneKindOf(kernel, blocking) !== 'reduced') return [blocking];
  if (blocking.take === sizesOf(kernel)[first]) return [blocking];
  const leaf = CHUNK * LEAF_STEPS;
  const takes = REDUCED_LANES.map((lanes) => {
    let { take } = blocking;
    const canHalve = (): boolean => take % 2 === 0 && ((take / 2) * blocking.inner) % leaf === 0;
    while (take * blocking.inner > lanes && canHalve()) take /= 2;
    return take;
  });
  return [...new Set(takes)].map((take) => ({ ...blocking, take, width: take * blocking.inner }));
}

/** Elements between a row and the next. */
export const rowStrideOf = (affine: Affine, blocking: Blocking): number =>
  blocking.rowAxis < 0
    ? 0
    : affine.strides[blocking.rowAxis]! * (blocking.rowAxis === blocking.laneAxes[0] ? blocking.take : 1);

/** A loop over an axis (or over the steps of lanes and rows along it) outside the block. */
export interface Loop {
  readonly axis: number;
  readonly count: number;
  /** The part of the axis that a step covers: one index, the lanes, the rows, or both at once. */
  readonly role: 'unit' | 'lanes' | 'rows' | 'shared';
}

export interface Loops {
  readonly tiles: readonly Loop[];
  readonly walks: readonly Loop[];
}

/**
 * Whether a load into a register can outlive its tile: what it gathers is the same for all steps of some
 * loop, and no other block of the tile overwrites it. Contiguous loads are read in place, and one element is
 * spread faster than it is looked for.
 */
export function keepsLoad(
  access: Access,
  blocking: Blocking,
  sizes: readonly number[],
  { tiles, walks }: Loops,
): boolean {
  if (
    access.index !== undefined ||
    access.bounds.length > 0 ||
    walks.length === 0 ||
    walks.some((loop) => loop.count > 1)
  )
    return false;
  const mode = laneModeOf(access, blocking, sizes);
  if (mode.type === 'splat' || (mode.type === 'stride' && mode.stride === 1)) return false;
  return tiles.some((loop) => loop.count > 1 && access.strides[loop.axis] === 0);
}

/** Where a step of a loop starts on its axis; step `count` is the axis' end. */
export function startOf({ role, count }: Loop, step: number, extent: number, blocking: Blocking): number {
  if (step === count) return extent;
  switch (role) {
    case 'unit':
      return step;
    case 'lanes':
      return step * blocking.take;
    case 'rows':
      return step * blocking.rows;
    case 'shared':
      // Rows of whole lanes first; what is left over is one short row.
      return Math.min(step * blocking.rows, Math.floor(extent / blocking.take)) * blocking.take;
  }
}

/** The loops over blocks, outermost first: those over parallel axes, then those over reduced axes. */
export function loopsOf(kernel: Kernel, blocking: Blocking): Loops {
  const lanes = blocking.laneAxes[0];
  const loops = sizesOf(kernel).flatMap((extent, axis): Loop[] => {
    if (axis === lanes && axis === blocking.rowAxis) {
      const full = Math.floor(extent / blocking.take);
      const count = Math.ceil(full / blocking.rows) + (extent % blocking.take > 0 ? 1 : 0);
      return [{ axis, count, role: 'shared' }];
    }
    if (axis === lanes) return [{ axis, count: Math.ceil(extent / blocking.take), role: 'lanes' }];
    if (axis === blocking.rowAxis) return [{ axis, count: Math.ceil(extent / blocking.rows), role: 'rows' }];
    return blocking.laneAxes.includes(axis) ? [] : [{ axis, count: extent, role: 'unit' }];
  });
  const first = kernel.parallel.length;
  const tiles = loops.filter((l) => l.axis < first);
  const walks = loops.filter((l) => l.axis >= first);
  // Loops that kept loads do not depend on go inside: those are then gathered once for many tiles.
  const kept = loadsOf(kernel).filter(({ access }) =>
    keepsLoad(access, blocking, sizesOf(kernel), { tiles, walks }),
  );
  const moves = ({ axis }: Loop): boolean =>
    kept.length > 0 && kept.every(({ access }) => access.strides[axis] === 0);
  return { tiles: [...tiles.filter((l) => !moves(l)), ...tiles.filter(moves)], walks };
}
