/**
 * Chooses how the CPU walks a kernel's domain: which axes fill the lanes of a block, which axis its rows, and which are
 * looped over. A block is `rows` × `width` elements; every instruction runs over one block at a time.
 *
 * Lanes and rows may each lie on parallel or on reduced axes; what a reduction does follows from that. The choice is a
 * cost estimate over a few candidates and depends on the kernel alone. Called by `tape.ts`.
 */

import { type Access, type Affine, type Kernel, type Levels, product } from '../../fusion/kernel.js';
import { byteLengthOf } from '../../graph/dtype.js';
import { CHUNK, lanesPerBlock, neighboursInPlace } from './tape-lanes.js';

/** Rows on a parallel axis, at most: each has a chunk for its result. */
const MOST_RESULT_ROWS = 256;
/** Times as many rows where neighbours are read in place, without registers: those of a block are read a row after another. */
const NEIGHBOUR_ROWS = 4;
/** Rows that a lane of a reduction takes one after the other before they meet others in the tree. */
const LEAF_STEPS = 16;

export interface Layout {
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

/** How an affine map moves along the lanes. `table`: by no single stride. */
export type LaneMode =
  | { readonly type: 'splat' }
  | { readonly type: 'stride'; readonly stride: number }
  | { readonly type: 'table' };

export const sizesOf = (kernel: Kernel): readonly number[] => [...kernel.parallel, ...kernel.reduced];
export const paddedWidth = (layout: Layout): number => Math.ceil(layout.width / CHUNK) * CHUNK;

export function laneModeOf(affine: Affine, layout: Layout, sizes: readonly number[]): LaneMode {
  const axes = layout.laneAxes.filter((a, i) => (i === 0 ? layout.take : sizes[a]!) > 1);
  if (axes.every((a) => affine.strides[a] === 0)) return { type: 'splat' };
  const stride = affine.strides[axes[axes.length - 1]!]!;
  let run = stride;
  for (let i = axes.length - 1; i >= 0; i--) {
    if (affine.strides[axes[i]!] !== run) return { type: 'table' };
    run *= sizes[axes[i]!]!;
  }
  return { type: 'stride', stride };
}

/** What the lanes of a block lie on: parallel axes, reduced ones, or a reduced one and parallel ones inside it. */
export function laneKindOf(kernel: Kernel, { laneAxes }: Layout): 'parallel' | 'reduced' | 'both' {
  const first = kernel.parallel.length;
  if (laneAxes.length === 0) return first === 0 && kernel.reduced.length > 0 ? 'reduced' : 'parallel';
  const parallelLanes = laneAxes.filter((axis) => axis < first).length;
  if (parallelLanes === laneAxes.length) return 'parallel';
  return parallelLanes === 0 ? 'reduced' : 'both';
}

/** Elements between a row and the next. */
export const rowStrideOf = (affine: Affine, layout: Layout): number =>
  layout.rowAxis < 0
    ? 0
    : affine.strides[layout.rowAxis]! * (layout.rowAxis === layout.laneAxes[0] ? layout.take : 1);

/** A loop over an axis (or over the steps of lanes and rows along it) outside the block. */
export interface Loop {
  readonly axis: number;
  readonly count: number;
  /** What a step takes of the axis: one index, the lanes, the rows, or both at once. */
  readonly role: 'unit' | 'lanes' | 'rows' | 'shared';
}

export interface Loops {
  readonly tiles: readonly Loop[];
  readonly walks: readonly Loop[];
}

/**
 * Whether a load into a register can outlive its tile: what it gathers is the same for all steps of some loop, and no
 * other block of the tile overwrites it. Contiguous loads are read in place, and one element is spread faster than it is looked for.
 */
export function keepsLoad(
  access: Access,
  layout: Layout,
  sizes: readonly number[],
  { tiles, walks }: Loops,
): boolean {
  if (access.bounds.length > 0 || walks.length === 0 || walks.some((loop) => loop.count > 1)) return false;
  const mode = laneModeOf(access, layout, sizes);
  if (mode.type === 'splat' || (mode.type === 'stride' && mode.stride === 1)) return false;
  return tiles.some((loop) => loop.count > 1 && access.strides[loop.axis] === 0);
}

/** The loops over blocks, outermost first: those over parallel axes, then those over reduced axes. */
export function loopsOf(kernel: Kernel, layout: Layout): Loops {
  const lanes = layout.laneAxes[0];
  const loops = sizesOf(kernel).flatMap((extent, axis): Loop[] => {
    if (axis === lanes && axis === layout.rowAxis) {
      const full = Math.floor(extent / layout.take);
      const count = Math.ceil(full / layout.rows) + (extent % layout.take > 0 ? 1 : 0);
      return [{ axis, count, role: 'shared' }];
    }
    if (axis === lanes) return [{ axis, count: Math.ceil(extent / layout.take), role: 'lanes' }];
    if (axis === layout.rowAxis) return [{ axis, count: Math.ceil(extent / layout.rows), role: 'rows' }];
    return layout.laneAxes.includes(axis) ? [] : [{ axis, count: extent, role: 'unit' }];
  });
  const first = kernel.parallel.length;
  const tiles = loops.filter((l) => l.axis < first);
  const walks = loops.filter((l) => l.axis >= first);
  // Loops that kept loads do not depend on go inside: those are then gathered once for many tiles.
  const kept = kernel.tape.filter(
    (i) => i.kind === 'load' && keepsLoad(i.access, layout, sizesOf(kernel), { tiles, walks }),
  );
  const moves = ({ axis }: Loop): boolean =>
    kept.length > 0 && kept.every((i) => i.kind === 'load' && i.access.strides[axis] === 0);
  return { tiles: [...tiles.filter((l) => !moves(l)), ...tiles.filter(moves)], walks };
}

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));

/** Steps along an axis of `extent`, each of `inner` lanes, so that rows fill chunks and no last row is short without need. */
function takeOf(extent: number, inner: number, lanes: number): number {
  const most = Math.max(1, Math.floor(lanes / inner));
  if (extent <= most) return extent;
  const unit = CHUNK / gcd(CHUNK, inner);
  if (unit > most) return most;
  const pieces = Math.ceil(extent / most);
  const even = Math.ceil(extent / pieces / unit) * unit;
  return Math.max(unit, Math.min(even, Math.floor(most / unit) * unit));
}

/** Lanes along the innermost of `axes`, with as many of the next ones as it takes to fill a chunk. */
function lanesAlong(
  axes: readonly number[],
  sizes: readonly number[],
  lanes: number,
): Omit<Layout, 'rowAxis' | 'rows'> {
  let inner = 1;
  for (let i = axes.length - 1; i >= 0; i--) {
    const extent = sizes[axes[i]!]!;
    if (inner * extent >= CHUNK || i === 0) {
      const take = takeOf(extent, inner, Math.max(lanes, inner));
      return { laneAxes: axes.slice(i), take, inner, width: take * inner };
    }
    inner *= extent;
  }
  return { laneAxes: [], take: 1, inner: 1, width: 1 };
}

/** The same lanes with each possible axis of rows. */
function withRows(
  base: Omit<Layout, 'rowAxis' | 'rows'>,
  rowAxes: readonly number[],
  sizes: readonly number[],
  lanes: number,
  parallelCount: number,
): Layout[] {
  const padded = Math.ceil(base.width / CHUNK) * CHUNK;
  const fit = Math.max(1, Math.floor(lanes / padded));
  const layouts: Layout[] = [{ ...base, rowAxis: -1, rows: 1 }];
  for (const axis of rowAxes) {
    const shared = axis === base.laneAxes[0];
    if (base.laneAxes.includes(axis) && !shared) continue;
    const extent = shared ? Math.floor(sizes[axis]! / base.take) : sizes[axis]!;
    const whole = fit < LEAF_STEPS ? fit : fit - (fit % LEAF_STEPS);
    const rows = Math.min(whole, extent, axis < parallelCount ? MOST_RESULT_ROWS : whole);
    if (rows > 1) layouts.push({ ...base, rowAxis: axis, rows });
  }
  return layouts;
}

function candidates(kernel: Kernel, levels: Levels): Layout[] {
  const sizes = sizesOf(kernel);
  const parallel = kernel.parallel.map((_, k) => k);
  const reduced = kernel.reduced.map((_, k) => kernel.parallel.length + k);
  const lanes = lanesPerBlock(kernel, levels, false);
  const parallelLanes = lanesPerBlock(kernel, levels, true);
  const inPlace = neighboursInPlace(kernel);
  const hasNeighbours = reduced.length === 0 && kernel.tape.some((_, i) => inPlace(i));
  const rowLanes = hasNeighbours ? NEIGHBOUR_ROWS * lanes : lanes;
  const found: Layout[] = [];
  // Long rows of neighbours have few edges.
  for (const share of hasNeighbours ? [1] : [1, 16, 64]) {
    const width = Math.max(CHUNK, lanes / share);
    if (reduced.length === 0) {
      found.push(...withRows(lanesAlong(parallel, sizes, width), parallel, sizes, rowLanes, parallel.length));
      continue;
    }
    // Lanes on parallel axes, rows on a reduced one or none.
    if (parallel.length > 0) {
      const base = lanesAlong(parallel, sizes, Math.max(CHUNK, parallelLanes / share));
      found.push(...withRows(base, reduced, sizes, parallelLanes, parallel.length));
    }
    // Lanes on reduced axes: rows on reduced ones, or on a parallel one if a row holds all there is to reduce.
    const base = lanesAlong(reduced, sizes, width);
    const whole = base.width === product(kernel.reduced);
    found.push(...withRows(base, whole ? parallel : reduced, sizes, lanes, parallel.length));
    // Steps along the last reduced axis side by side with short parallel axes.
    for (let i = 0; i < parallel.length; i++) {
      const inner = product(kernel.parallel.slice(i));
      if (inner >= CHUNK || inner === 0) continue;
      const axis = reduced[reduced.length - 1]!;
      const unit = CHUNK / gcd(CHUNK, inner);
      const take = Math.min(unit, sizes[axis]!);
      if (take < 2) continue;
      const laneAxes = [axis, ...parallel.slice(i)];
      found.push(
        ...withRows({ laneAxes, take, inner, width: take * inner }, [axis], sizes, lanes, parallel.length),
      );
    }
  }
  return found;
}

/** Estimated time of one element of the domain, in lanes of one cheap operation. */
function costOf(kernel: Kernel, levels: Levels, layout: Layout): number {
  const sizes = sizesOf(kernel);
  const isMap = kernel.reduced.length === 0;
  const padded = paddedWidth(layout);
  const block = layout.rows * layout.width;
  const loops = loopsOf(kernel, layout);
  // Blocks that do not hold all there is to reduce are loaded again in each phase.
  const walks = loops.walks.some((loop) => loop.count > 1) ? levels.phases : 1;
  let instructions = 0;
  let lanes = 0;
  const gathered = (access: Access, cost: number): void => {
    const repeats = keepsLoad(access, layout, sizes, loops)
      ? product(loops.tiles.filter((loop) => access.strides[loop.axis] === 0).map((loop) => loop.count))
      : 1;
    lanes += (cost * walks) / Math.min(repeats, 64);
  };
  const access = (affine: Access, bytes: number): void => {
    const mode = laneModeOf(affine, layout, sizes);
    const row = rowStrideOf(affine, layout);
    if (mode.type === 'splat') gathered(affine, row === 0 ? 0 : (0.2 * CHUNK) / layout.width);
    else if (mode.type === 'table') gathered(affine, (row === 0 ? 2 / layout.rows : 2) + 0.05);
    else if (mode.stride === 1) lanes += 0.1;
    else {
      const apart = Math.abs(mode.stride * bytes);
      const tiled = Math.abs(row) === 1 && layout.rows >= 8;
      // Memory comes in lines of 64 bytes, and those in pairs.
      gathered(affine, tiled ? 0.8 + 25 / (layout.rows * bytes) : apart >= CHUNK ? 6 : 1.5);
    }
    // A load that reaches its buffer's rows one by one is cheap only while rows are long.
    lanes += (2 * layout.rows) / block;
  };
  kernel.tape.forEach((instruction, i) => {
    if (instruction.kind === 'const' || !(isMap || levels.element[i] || instruction.kind === 'reduce'))
      return;
    instructions++;
    if (instruction.kind === 'load') access(instruction.access, byteLengthOf(instruction.dtype));
    else lanes += padded / layout.width;
    if (instruction.kind === 'reduce') {
      const first = kernel.parallel.length;
      const across = layout.laneAxes.length > 0 && layout.laneAxes.every((a) => a >= first);
      // Folding the lanes into one value, for each row of a block or for a whole tile.
      const isRow = layout.width === product(kernel.reduced) && layout.rows > 1;
      if (across) lanes += (isRow ? 256 : 1000) / product(kernel.reduced);
      // What lanes have so far is read and written anew in each block.
      else lanes += 0.5 / Math.min(layout.rows, LEAF_STEPS);
    }
  });
  for (const store of kernel.stores) {
    if (isMap || levels.element[store.value]) {
      access(store.access, byteLengthOf(kernel.tape[store.value]!.dtype));
    }
  }
  return lanes + (instructions * 24) / block;
}

/** The layout with the least estimated cost; the earliest candidate among equals. */
export function layoutOf(kernel: Kernel, levels: Levels): Layout {
  let best: Layout | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const layout of candidates(kernel, levels)) {
    const cost = costOf(kernel, levels, layout);
    if (cost < least) {
      least = cost;
      best = layout;
    }
  }
  return best ?? { laneAxes: [], take: 1, inner: 1, width: 1, rowAxis: -1, rows: 1 };
}
