/**
 * Chooses how the CPU walks a kernel's domain: which axes fill the lanes of a block, which axis its rows, and which are
 * looped over. A block is `rows` × `width` elements; every instruction runs over one block at a time.
 *
 * Lanes and rows may each lie on parallel or on reduced axes; what a reduction does follows from that. The choice is a
 * cost estimate over a few candidates and depends on the kernel alone. Called by `tape.ts`.
 */

import { type Affine, argumentsOf, type Kernel, type Levels, product } from '../fusion/kernel.js';
import { byteLengthOf } from '../graph/dtype.js';

/** Lanes of the smallest unit a CPU function works on; widths are padded to it. */
export const CHUNK = 64;
/** Bytes that the live registers of a block may take: about half of a first-level cache. */
const REGISTER_BYTES = 24 * 1024;
const MOST_LANES = 4096;
const LEAST_LANES = 128;

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

/** Elements between a row and the next. */
export const rowStrideOf = (affine: Affine, layout: Layout): number =>
  layout.rowAxis < 0
    ? 0
    : affine.strides[layout.rowAxis]! * (layout.rowAxis === layout.laneAxes[0] ? layout.take : 1);

/** Lanes of a block such that the live values of all instructions stay in the first-level cache. */
export function lanesPerBlock(kernel: Kernel, levels: Levels): number {
  const isMap = kernel.reduced.length === 0;
  const lastUse = kernel.tape.map((_, i) => i);
  kernel.tape.forEach((instruction, i) => {
    for (const arg of argumentsOf(instruction)) lastUse[arg] = i;
  });
  const dying = kernel.tape.map((): number[] => []);
  lastUse.forEach((use, i) => {
    dying[use]!.push(i);
  });
  const bytesOf = (i: number): number => {
    const { kind, dtype } = kernel.tape[i]!;
    return kind === 'const' || kind === 'reduce' || !(isMap || levels.element[i]) ? 0 : byteLengthOf(dtype);
  };
  let live = 0;
  let most = 1;
  kernel.tape.forEach((_, i) => {
    live += bytesOf(i);
    most = Math.max(most, live);
    for (const dead of dying[i]!) live -= bytesOf(dead);
  });
  const lanes = 2 ** Math.floor(Math.log2(REGISTER_BYTES / most));
  return Math.min(MOST_LANES, Math.max(LEAST_LANES, lanes));
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
): Layout[] {
  const padded = Math.ceil(base.width / CHUNK) * CHUNK;
  const fit = Math.max(1, Math.floor(lanes / padded));
  const layouts: Layout[] = [{ ...base, rowAxis: -1, rows: 1 }];
  for (const axis of rowAxes) {
    const shared = axis === base.laneAxes[0];
    if (base.laneAxes.includes(axis) && !shared) continue;
    const extent = shared ? Math.floor(sizes[axis]! / base.take) : sizes[axis]!;
    const rows = Math.min(fit, extent);
    if (rows > 1) layouts.push({ ...base, rowAxis: axis, rows });
  }
  return layouts;
}

function candidates(kernel: Kernel, lanes: number): Layout[] {
  const sizes = sizesOf(kernel);
  const parallel = kernel.parallel.map((_, k) => k);
  const reduced = kernel.reduced.map((_, k) => kernel.parallel.length + k);
  const widths = [lanes, Math.max(CHUNK, lanes / 16), CHUNK];
  const found: Layout[] = [];
  const along = (axes: readonly number[], rowAxes: readonly number[], width: number): void => {
    const base = lanesAlong(axes, sizes, width);
    found.push(...withRows(base, rowAxes, sizes, lanes));
  };
  for (const width of widths) {
    if (reduced.length === 0) {
      along(parallel, parallel, width);
      continue;
    }
    // Lanes on parallel axes, rows on a reduced one or none.
    if (parallel.length > 0) along(parallel, reduced, width);
    // Lanes on reduced axes: rows on reduced ones, or on a parallel one if a row holds all there is to reduce.
    const base = lanesAlong(reduced, sizes, width);
    const whole = base.width === product(kernel.reduced);
    found.push(...withRows(base, whole ? parallel : reduced, sizes, lanes));
    // Steps along the last reduced axis side by side with short parallel axes.
    for (let i = 0; i < parallel.length; i++) {
      const inner = product(kernel.parallel.slice(i));
      if (inner >= CHUNK || inner === 0) continue;
      const axis = reduced[reduced.length - 1]!;
      const unit = CHUNK / gcd(CHUNK, inner);
      const take = Math.min(unit, sizes[axis]!);
      if (take < 2) continue;
      const laneAxes = [axis, ...parallel.slice(i)];
      found.push(...withRows({ laneAxes, take, inner, width: take * inner }, [axis], sizes, lanes));
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
  let instructions = 0;
  let lanes = 0;
  const access = (affine: Affine, bytes: number): void => {
    const mode = laneModeOf(affine, layout, sizes);
    const row = rowStrideOf(affine, layout);
    if (mode.type === 'splat') lanes += row === 0 ? 0 : (0.2 * CHUNK) / layout.width;
    else if (mode.type === 'table') lanes += (row === 0 ? 2 / layout.rows : 2) + 0.05;
    else if (mode.stride === 1) lanes += 0.1;
    else {
      const apart = Math.abs(mode.stride * bytes);
      const tiled = Math.abs(row) === 1 && layout.rows >= 8;
      lanes += tiled ? 1.2 : apart >= CHUNK ? 6 : 1.5;
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
      // Folding the lanes of each row into one value.
      const whole = layout.width === product(kernel.reduced);
      if (across && whole) lanes += 24 / layout.width;
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
  const lanes = lanesPerBlock(kernel, levels);
  let best: Layout | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const layout of candidates(kernel, lanes)) {
    const cost = costOf(kernel, levels, layout);
    if (cost < least) {
      least = cost;
      best = layout;
    }
  }
  return best ?? { laneAxes: [], take: 1, inner: 1, width: 1, rowAxis: -1, rows: 1 };
}
