/**
 * Estimates what a tape costs in each of its blockings, and takes the cheapest. Called by `tape-sum-order.ts`.
 */

import { loadOf, sizesOf } from '../../fusion/kernel/algebra.js';
import { isReduction } from '../../fusion/kernel/arithmetic.js';
import { type Access, type Affine, type Kernel, product } from '../../fusion/kernel/kernel.js';
import { inWalks, type Levels } from '../../fusion/kernel/levels.js';
import { byteLengthOf } from '../../graph/dtype.js';
import { CHUNK, LEAF_STEPS } from '../../shared/layout.js';
import { type Blocking, keepsLoad, laneModeOf, loopsOf, paddedWidth, rowStrideOf } from './tape-blocking.js';
import { candidates } from './tape-candidates.js';

/**
 * Costs of one element, in lanes of a cheap operation. They choose among blockings, so that only their
 * proportions matter.
 */
const COSTS = {
  /** Neighbours, which hardware asks for ahead. */
  side: 0.1,
  /** A chunk of equal lanes that is written anew for each row. */
  splat: 0.2 * CHUNK,
  /** A look-up by a table of the lanes' places: once for all rows where they have the same, and its base. */
  table: 2,
  tableBase: 0.05,
  /** A stride within a line of the cache, and one beyond: each element then has a line of its own. */
  strided: 1.5,
  apart: 6,
  /** Elements apart in a block that is much of a map: shared by more tiles, more threads wait for memory. */
  alone: 12,
  /** Elements of a map a page apart, in a block of more of them than there are pages and lines nearest a core. */
  pages: 3,
  /** Lanes apart in rows that lie side by side, a square at a time: and the bytes of lines that rows share. */
  square: 0.8,
  squareLines: 25,
  /** A load that reaches its buffer's rows one by one is cheap only while rows are long. */
  row: 2,
  /** An element at a place that a value chooses: its line is rarely in a cache near by. */
  gather: 6,
  /** Partial results of the lanes, which are read and written again in each block. */
  partials: 0.5,
  /** Folding the lanes of a row into one value, beside other rows of a block, and those of a whole tile. */
  foldRow: 256,
  foldTile: 1000,
  /** Beginning an instruction on a block. */
  instruction: 24,
} as const;
/** Rows of a block in which lanes that are apart are read a square at a time, at least: as by `tape-memory.cpp`. */
export const SQUARE_ROWS = 8;
/** Tiles that share a load which is kept, at most, so that it costs something still. */
const MOST_SHARING_TILES = 64;
/** Bytes of a line of the caches, and of a page. */
const LINE_BYTES = 64;
const PAGE_BYTES = 4096;
/** Pages whose addresses a core knows at once. */
const MOST_PAGES = 64;

/** The cost of reading or writing an element through an affine map, and whether it is gathered by the lanes. */
function accessCost(
  affine: Affine,
  bytes: number,
  blocking: Blocking,
  sizes: readonly number[],
): { readonly cost: number; readonly isGathered: boolean } {
  const mode = laneModeOf(affine, blocking, sizes);
  const row = rowStrideOf(affine, blocking);
  switch (mode.type) {
    case 'splat':
      return { cost: row === 0 ? 0 : COSTS.splat / blocking.width, isGathered: true };
    case 'table':
      return {
        cost: (row === 0 ? COSTS.table / blocking.rows : COSTS.table) + COSTS.tableBase,
        isGathered: true,
      };
    case 'stride': {
      if (mode.stride === 1) return { cost: COSTS.side, isGathered: false };
      if (Math.abs(row) === 1 && blocking.rows >= SQUARE_ROWS)
        return { cost: COSTS.square + COSTS.squareLines / (blocking.rows * bytes), isGathered: true };
      const isApart = Math.abs(mode.stride * bytes) >= LINE_BYTES;
      return { cost: isApart ? COSTS.apart : COSTS.strided, isGathered: true };
    }
  }
}

function isPagesApart(affine: Affine, bytes: number, blocking: Blocking, sizes: readonly number[]): boolean {
  const mode = laneModeOf(affine, blocking, sizes);
  return mode.type === 'stride' && Math.abs(mode.stride * bytes) >= PAGE_BYTES;
}

/** The cost of a reduction of one element. */
function reductionCost({ parallel, reduced }: Kernel, { laneAxes, width, rows }: Blocking): number {
  const isAcross = laneAxes.length > 0 && laneAxes.every((axis) => axis >= parallel.length);
  if (!isAcross) return COSTS.partials / Math.min(rows, LEAF_STEPS);
  const isRow = width === product(reduced) && rows > 1;
  return (isRow ? COSTS.foldRow : COSTS.foldTile) / product(reduced);
}

/** Estimated time of one element of the domain. */
function costOf(kernel: Kernel, levels: Levels, blocking: Blocking): number {
  const sizes = sizesOf(kernel);
  const isMap = kernel.reduced.length === 0;
  const isWalked = inWalks(kernel, levels);
  const loops = loopsOf(kernel, blocking);
  const block = blocking.rows * blocking.width;
  // Blocks that do not hold all there is to reduce are loaded again in each phase.
  const walks = loops.walks.some((loop) => loop.count > 1) ? levels.phases : 1;
  const tilesSharing = (access: Access): number =>
    keepsLoad(access, blocking, sizes, loops)
      ? product(loops.tiles.filter((loop) => access.strides[loop.axis] === 0).map((loop) => loop.count))
      : 1;
  let instructions = 0;
  let lanes = 0;
  const add = (access: Access, bytes: number): void => {
    const { cost, isGathered } = accessCost(access, bytes, blocking, sizes);
    lanes += isGathered ? (cost * walks) / Math.min(tilesSharing(access), MOST_SHARING_TILES) : cost;
    lanes += (COSTS.row * blocking.rows) / block;
    if (isMap && cost === COSTS.apart) lanes += (COSTS.alone * block) / product(sizes);
    if (isMap && cost === COSTS.apart && block > MOST_PAGES && isPagesApart(access, bytes, blocking, sizes))
      lanes += COSTS.pages;
  };
  kernel.tape.forEach((instruction, i) => {
    if (!isWalked(i) && !isReduction(instruction)) return;
    instructions++;
    const read = loadOf(instruction);
    if (read?.index !== undefined) lanes += COSTS.gather;
    else if (read !== undefined) add(read, byteLengthOf(instruction.dtype));
    else lanes += paddedWidth(blocking) / blocking.width;
    if (isReduction(instruction)) lanes += reductionCost(kernel, blocking);
  });
  for (const { value, access } of kernel.stores)
    if (isMap || levels.element[value]) add(access, byteLengthOf(kernel.tape[value]!.dtype));
  return lanes + (instructions * COSTS.instruction) / block;
}

/** The blocking with the least estimated cost among those accepted; the earliest candidate among equals. */
export function cheapestLayout(
  kernel: Kernel,
  levels: Levels,
  accepts: (blocking: Blocking) => boolean = () => true,
  run = CHUNK,
): Blocking | undefined {
  let best: Blocking | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const blocking of candidates(kernel, levels, run)) {
    if (!accepts(blocking)) continue;
    const cost = costOf(kernel, levels, blocking);
    if (cost < least) {
      least = cost;
      best = blocking;
    }
  }
  return best;
}

/** One element at a time. */
export const SINGLE: Blocking = { laneAxes: [], take: 1, inner: 1, width: 1, rowAxis: -1, rows: 1 };
