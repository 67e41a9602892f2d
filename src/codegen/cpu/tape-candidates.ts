/**
 * The blockings that are tried for a tape: lanes on parallel axes, on reduced ones, or on both. Called by
 * `tape-sum-order.ts`.
 */

import { loadsOf, sizesOf } from '../../fusion/kernel/algebra.js';
import { type Kernel, product } from '../../fusion/kernel/kernel.js';
import type { Levels } from '../../fusion/kernel/levels.js';
import { CHUNK, LEAF_STEPS } from '../../shared/layout.js';
import type { Blocking } from './tape-blocking.js';
import { fuseTape } from './tape-fuse.js';
import { lanesPerBlock, neighboursInPlace } from './tape-lanes.js';
import { slotElements } from './tape-slots.js';

/** Rows on a parallel axis, at most: each has a chunk for its result. */
const MOST_RESULT_ROWS = 256;
/**
 * Times as many rows where neighbours are read in place, without registers: those of a block are read a row
 * after another.
 */
const NEIGHBOUR_ROWS = 4;
/** Times as many rows where a block of them has all there is to reduce in several phases: in the second-level cache. */
const WHOLE_ROWS = 4;

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));

/**
 * Rows along an inner reduced axis: slots begin at powers of two of the linear reduced index with any number of them, so
 * that a kernel whose blocks have room for fewer combines in the same order.
 */
const powerOfTwoDividing = (n: number, limit: number): number => powerOfTwoTo(gcd(n, powerOfTwoTo(limit)));

const powerOfTwoTo = (n: number): number => 2 ** Math.floor(Math.log2(n));

/**
 * Steps along an axis of `extent`, each of `inner` lanes, so that rows fill chunks: no last row is short
 * without need, but along reduced axes, where the order of sums asks for powers of two.
 */
function takeOf(extent: number, inner: number, lanes: number, isReduced: boolean): number {
  const most = Math.max(1, Math.floor(lanes / inner));
  if (extent <= most) return extent;
  const unit = CHUNK / gcd(CHUNK, inner);
  // Whole chunks have the order of any width: of lanes on reduced axes there are as many as those take.
  if (unit > most) return isReduced ? Math.min(extent, unit) : most;
  if (isReduced) return powerOfTwoTo(most);
  const pieces = Math.ceil(extent / most);
  const even = Math.ceil(extent / pieces / unit) * unit;
  return Math.max(unit, Math.min(even, Math.floor(most / unit) * unit));
}

/** Lanes along the innermost of `axes`, with as many of the next ones as it takes to fill a chunk. */
function lanesAlong(
  axes: readonly number[],
  sizes: readonly number[],
  lanes: number,
  isReduced = false,
  least = CHUNK,
): Omit<Blocking, 'rowAxis' | 'rows'> {
  let inner = 1;
  for (let i = axes.length - 1; i >= 0; i--) {
    const extent = sizes[axes[i]!]!;
    if (inner * extent >= least || i === 0) {
      const take = takeOf(extent, inner, Math.max(lanes, inner), isReduced);
      return { laneAxes: axes.slice(i), take, inner, width: take * inner };
    }
    inner *= extent;
  }
  return { laneAxes: [], take: 1, inner: 1, width: 1 };
}

/** The same lanes with each possible axis of rows. */
function withRows(
  base: Omit<Blocking, 'rowAxis' | 'rows'>,
  rowAxes: readonly number[],
  sizes: readonly number[],
  lanes: number,
  parallelCount: number,
  /** Rows along a reduced axis, at most: those of a slot. */
  mostSteps = 1,
): Blocking[] {
  const padded = Math.ceil(base.width / CHUNK) * CHUNK;
  const fit = Math.max(1, Math.floor(lanes / padded));
  const blockings: Blocking[] = [{ ...base, rowAxis: -1, rows: 1 }];
  for (const axis of rowAxes) {
    const shared = axis === base.laneAxes[0];
    if (base.laneAxes.includes(axis) && !shared) continue;
    const extent = shared ? Math.floor(sizes[axis]! / base.take) : sizes[axis]!;
    const whole =
      axis >= parallelCount ? powerOfTwoTo(fit) : fit < LEAF_STEPS ? fit : fit - (fit % LEAF_STEPS);
    const most = axis < parallelCount ? MOST_RESULT_ROWS : powerOfTwoTo(Math.max(1, mostSteps));
    const limit = Math.min(whole, extent, most);
    const rows = axis > parallelCount ? powerOfTwoDividing(extent, limit) : limit;
    if (rows > 1) blockings.push({ ...base, rowAxis: axis, rows });
  }
  return blockings;
}

/**
 * `run`: lanes on reduced axes go on through as many of these as it takes to have so many elements. `share`: how many times more
 * lanes a block has than fit into the cache next to the core, where an order asks for them.
 */
export function candidates(kernel: Kernel, levels: Levels, run = CHUNK, share = 1): Blocking[] {
  const sizes = sizesOf(kernel);
  const parallel = kernel.parallel.map((_, k) => k);
  const reduced = kernel.reduced.map((_, k) => kernel.parallel.length + k);
  const fusion = fuseTape(kernel, levels, () => true);
  const lanes = share * lanesPerBlock(kernel, levels, fusion, false);
  const parallelLanes = lanesPerBlock(kernel, levels, fusion, true);
  // Values computed of results are there once for all rows of a block: they limit its lanes alone.
  const parallelBlock = lanesPerBlock(kernel, levels, fusion, true, false);
  const inPlace = neighboursInPlace(kernel);
  const hasNeighbours = reduced.length === 0 && kernel.tape.some((_, i) => inPlace(i));
  const rowLanes = hasNeighbours ? NEIGHBOUR_ROWS * lanes : lanes;
  const found: Blocking[] = [];
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
      const slot = slotElements(kernel, 'parallel');
      const inRows = (lanes: number): Blocking[] =>
        withRows(base, reduced, sizes, lanes, parallel.length, slot);
      found.push(...inRows(parallelBlock));
      // Blocks of all there is to reduce are loaded once for all phases.
      if (levels.phases > 1)
        found.push(
          ...inRows(WHOLE_ROWS * parallelBlock).filter(({ rows }) => rows === product(kernel.reduced)),
        );
    }
    // Lanes on reduced axes: rows on reduced ones, or on a parallel one if a row holds all there is to
    // reduce.
    const base = lanesAlong(reduced, sizes, width, true, run);
    const whole = base.width === product(kernel.reduced);
    found.push(
      ...withRows(
        base,
        whole ? parallel : reduced,
        sizes,
        lanes,
        parallel.length,
        slotElements(kernel, 'reduced') / base.width,
      ),
    );
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
        ...withRows(
          { laneAxes, take, inner, width: take * inner },
          [axis],
          sizes,
          lanes,
          parallel.length,
          slotElements(kernel, 'both') / take,
        ),
      );
    }
  }
  return inTakenRows(kernel, withoutRepeats(found));
}

/** Blocks of half and of twice the rows, and of half and of twice the lanes where these are whole chunks. */
export function resizedBlocks(kernel: Kernel, blocking: Blocking): readonly Blocking[] {
  const sizes = sizesOf(kernel);
  const { laneAxes, take, inner, rowAxis, rows } = blocking;
  const [lanes] = laneAxes;
  const found: Blocking[] = [];
  if (rowAxis >= 0) {
    const extent = rowAxis === lanes ? Math.floor(sizes[rowAxis]! / take) : sizes[rowAxis]!;
    const most = rowAxis < kernel.parallel.length ? Math.min(extent, MOST_RESULT_ROWS) : extent;
    for (const other of [rows / 2, 2 * rows])
      if (Number.isInteger(other) && other > 1 && other <= most) found.push({ ...blocking, rows: other });
  }
  // Rows that are results of their own hold all there is to reduce.
  const isWhole = lanes !== undefined && lanes >= kernel.parallel.length && rowAxis < kernel.parallel.length;
  if (lanes !== undefined && rowAxis !== lanes && !(isWhole && rowAxis >= 0))
    for (const other of [take / 2, 2 * take])
      if (Number.isInteger(other) && (other * inner) % CHUNK === 0 && other <= sizes[lanes]!)
        found.push({ ...blocking, take: other, width: other * inner });
  return found;
}

/**
 * Of a kernel that takes elements in windows of indices, the blocks within one row of what it takes from, where there are
 * such: a window is then a stretch of that row, else of all rows of a block with what lies between.
 */
function inTakenRows(kernel: Kernel, blockings: Blocking[]): Blocking[] {
  const taken = loadsOf(kernel).filter(
    ({ access }) => kernel.buffers[access.buffer]!.isTakenInWindows === true,
  );
  if (taken.length === 0) return blockings;
  const isAcross = (axis: number): boolean =>
    taken.some(({ access: { strides, index } }) => Math.abs(strides[axis]!) > Math.abs(index!.stride));
  const within = blockings.filter(({ laneAxes, rowAxis }) => ![rowAxis, ...laneAxes].some(isAcross));
  return within.length > 0 ? within : blockings;
}

/** Short axes have the same lanes by several shares. */
function withoutRepeats(blockings: readonly Blocking[]): Blocking[] {
  const isSame = (a: Blocking, b: Blocking): boolean =>
    a.width === b.width &&
    a.rows === b.rows &&
    a.rowAxis === b.rowAxis &&
    a.take === b.take &&
    a.laneAxes.join() === b.laneAxes.join();
  return blockings.filter((each, k) => blockings.findIndex((earlier) => isSame(earlier, each)) === k);
}
