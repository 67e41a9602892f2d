/**
 * The schedule of a reduction for every pair of an axis i and an axis j, where each load depends on at most
 * one of them (`((x[:, None] - y[None]) ** 2).sum(-1)`): tiled like a matrix product, for any arithmetic and
 * any reduction. Where there are few tiles, the reduced axes are cut into slots.
 */

import { loadsOf } from '../../../fusion/kernel/algebra.js';
import { hasMonoid, reductionsOf } from '../../../fusion/kernel/arithmetic.js';
import { type Kernel, product } from '../../../fusion/kernel/kernel.js';
import {
  dependenciesOf,
  elementLoadsOf,
  levelsOf,
  storesElements,
  takenByWalks,
} from '../../../fusion/kernel/levels.js';
import { mirrorOf } from '../../../fusion/kernel/symmetry.js';
import { byteLengthOf } from '../../../graph/dtype.js';
import { accumulatorOf, reductionRow } from '../../../graph/reductions.js';
import type { Stretch } from '../tile-reduced.js';
import { LONGEST_CHAIN } from './limits.js';

export interface OuterProductSchedule {
  readonly kind: 'outer-product';
  /** Domain axes of the tile; `axisJ` is the last parallel one, along which results are stored. */
  readonly axisI: number;
  readonly axisJ: number;
  /** A thread holds items.i × items.j accumulators; a block has 16 × 16 threads. */
  readonly items: Items;
  /** Reduced elements in shared memory at a time. */
  readonly depth: number;
  /** Elements after which accumulators are folded into a second set; 0: never. */
  readonly fold: number;
  /** Tiles in which reduced elements come, where each side has its neighbours along another reduced axis. */
  readonly tile: readonly Stretch[];
  /** Cuts of the linear reduced index; partial results of several are combined by a second launch. */
  readonly slots: number;
  /** A multiple of `depth`, and of `fold`. */
  readonly slotLength: number;
  /**
   * Whether the result is one tile in slots that is its own transpose: then a side is staged once, and only the threads
   * on and above the diagonal compute.
   */
  readonly isSymmetric?: true;
}

/** Rows and columns of a tile that a thread has. */
export type Items = Readonly<Record<'i' | 'j', number>>;

const square = (side: number): Items => ({ i: side, j: side });

/** Threads along each side of a tile. */
export const TILE_SIDE = 16;

/** Items that lie side by side: what a thread reads from shared memory at once. */
export const packOf = (items: number): number => (items % 4 === 0 ? 4 : items % 2 === 0 ? 2 : 1);
const SHARED_BYTES = 40 * 1024;
/** Fewer blocks would leave a device idle. */
const FEWEST_TILES = 64;
/** Blocks that few tiles are cut into: a few for each multiprocessor. */
const SLOT_BLOCKS = 528;
/** Chunks of reduced elements that a slot has at least. */
const LEAST_CHUNKS = 4;
/** Results of which a tile would be mostly empty are left to other schedules. */
const LEAST_SIDE = 4;
const LEAST_RESULTS = 64;
/** Reduced elements of a tile: as many as shared memory holds between these. */
const MOST_DEPTH = 32;
/** Of tiles with a short side, whose threads have fewer loads. */
const MOST_DEPTH_BESIDE_SHORT = 64;
const LEAST_DEPTH = 4;
/** Accumulators of a thread, in words: what registers hold. */
const MOST_WORDS = 72;

export type Side = 'i' | 'j' | 'common' | 'both';

/** Which of the two axes each value depends on. */
export function sidesOf(kernel: Kernel, axisI: number, axisJ: number): Side[] {
  return dependenciesOf(kernel).map((on) =>
    on[axisI] ? (on[axisJ] ? 'both' : 'i') : on[axisJ] ? 'j' : 'common',
  );
}

/** The values of the other axis that are those of one with the axes exchanged, by position. */
export const mirrorOfTile = (
  kernel: Kernel,
  { axisI, axisJ, isSymmetric }: OuterProductSchedule,
): readonly number[] | undefined => (isSymmetric === true ? mirrorOf(kernel, axisI, axisJ) : undefined);

/**
 * Values that staging hands to the arithmetic on pairs: arguments of a value of both axes, or of a reduction.
 */
export function frontierOf(kernel: Kernel, sides: readonly Side[]): number[] {
  const taken = takenByWalks(kernel, (position) => sides[position] === 'both');
  return [...taken].filter((arg) => sides[arg] !== 'both').sort((a, b) => a - b);
}

export function chooseOuterProduct(kernel: Kernel): OuterProductSchedule | undefined {
  const p = kernel.parallel.length;
  const axisJ = p - 1;
  if (p < 2 || storesElements(kernel) || hasMonoid(kernel)) return undefined;
  // A gather is a value of its own for each pair.
  if (loadsOf(kernel).some(({ access }) => access.index !== undefined)) return undefined;
  const loads = elementLoadsOf(kernel).map(({ position }) => position);
  for (let axisI = p - 2; axisI >= 0; axisI--) {
    const sides = sidesOf(kernel, axisI, axisJ);
    const has = (side: Side): boolean => loads.some((position) => sides[position] === side);
    if (!has('i') || !has('j') || has('both')) continue;
    return sizePairs(kernel, axisI, axisJ, sides);
  }
  return undefined;
}

function sizePairs(
  kernel: Kernel,
  axisI: number,
  axisJ: number,
  sides: readonly Side[],
): OuterProductSchedule | undefined {
  // Row values of a pair would have to be held for every accumulator.
  const { element } = levelsOf(kernel);
  const isOfPair = (arg: number): boolean => !element[arg] && sides[arg] === 'both';
  if ([...takenByWalks(kernel)].some(isOfPair)) return undefined;
  const words = reductionsOf(kernel).reduce(
    (sum, { name, taken }) => sum + (reductionRow(name).width * byteLengthOf(accumulatorOf(taken))) / 4,
    0,
  );
  if (words > 4) return undefined;
  const bytesOf = (side: Side): number =>
    frontierOf(kernel, sides).reduce(
      (sum, position) => sum + (sides[position] === side ? byteLengthOf(kernel.tape[position]!.dtype) : 0),
      0,
    );
  const bytes = { i: bytesOf('i'), j: bytesOf('j'), common: bytesOf('common') };
  const size: OuterProductSize = {
    kernel,
    rows: kernel.parallel[axisI]!,
    columns: kernel.parallel[axisJ]!,
    words,
    bytes,
  };
  const chosen = wholePairs(size) ?? slottedPairs(size);
  if (chosen === undefined) return undefined;
  const isOneTile = chosen.slots > 1 && Math.max(size.rows, size.columns) <= TILE_SIDE * chosen.items.i;
  const tile = tileOf(kernel, axisI, axisJ, sides, chosen.depth);
  const schedule = { kind: 'outer-product', axisI, axisJ, ...chosen, tile } as const;
  const isSymmetric = isOneTile && mirrorOf(kernel, axisI, axisJ) !== undefined;
  return isSymmetric ? { ...schedule, isSymmetric } : schedule;
}

/** The inputs of the choice of tile sizes. */
interface OuterProductSize {
  readonly kernel: Kernel;
  readonly rows: number;
  readonly columns: number;
  /** Of the accumulators of a pair. */
  readonly words: number;
  /** Staged bytes of a row, of a column, and of neither, for a reduced index. */
  readonly bytes: Readonly<Record<'i' | 'j' | 'common', number>>;
}

type Sized = Pick<OuterProductSchedule, 'items' | 'depth' | 'fold' | 'slots' | 'slotLength'>;

/** Tiles of pairs, with so many items along each side. */
function tilesOf({ kernel, rows, columns }: OuterProductSize, items: Items): number {
  const along = (size: number, own: number): number => Math.ceil(size / (TILE_SIDE * own));
  return (product(kernel.parallel) / rows / columns) * along(rows, items.i) * along(columns, items.j);
}

/**
 * As many reduced elements as shared memory holds, and as make whole rounds of a block's loads; undefined:
 * none.
 */
function depthOf({ bytes }: OuterProductSize, items: Items, most = MOST_DEPTH): number | undefined {
  const staged = (['i', 'j'] as const).reduce(
    (sum, side) => sum + (TILE_SIDE * items[side] + 4) * bytes[side],
    bytes.common,
  );
  for (let depth = most; depth >= LEAST_DEPTH; depth /= 2) {
    if ((depth * Math.min(items.i, items.j)) % TILE_SIDE !== 0) return undefined;
    if (depth * staged <= SHARED_BYTES) return depth;
  }
  return undefined;
}

/** Enough tiles to keep a device busy: each walks all reduced elements. */
function wholePairs(size: OuterProductSize): Sized | undefined {
  const length = product(size.kernel.reduced);
  const fold = length > LONGEST_CHAIN ? LONGEST_CHAIN : 0;
  const isSmall = size.words > 1 || fold > 0 || tilesOf(size, square(8)) < 2 * FEWEST_TILES;
  const items = square(isSmall ? 4 : 8);
  const depth = depthOf(size, items);
  if (depth === undefined || tilesOf(size, items) < FEWEST_TILES) return undefined;
  const sized = narrowPairs(size, fold > 0 ? 2 : 1) ?? { items, depth };
  return { ...sized, fold, slots: 1, slotLength: Math.ceil(length / sized.depth) * sized.depth };
}

/**
 * Tiles with a short side, for results of few rows or columns: a square one would be mostly empty. Each sum is of one
 * thread, as in a square tile. `sets`: of accumulators; undefined: both sides are long.
 */
function narrowPairs(size: OuterProductSize, sets: number): Pick<Sized, 'items' | 'depth'> | undefined {
  const { rows, columns, words } = size;
  const short = [1, 2].find((own) => Math.min(rows, columns) <= TILE_SIDE * own);
  if (short === undefined) return undefined;
  for (const long of [8, 4, 2, 1]) {
    if (Math.max(rows, columns) <= (TILE_SIDE * long) / 2) continue;
    const items = rows < columns ? { i: short, j: long } : { i: long, j: short };
    const depth = depthOf(size, items, MOST_DEPTH_BESIDE_SHORT);
    const isHeld = short * long * words * sets <= MOST_WORDS;
    if (depth !== undefined && isHeld && tilesOf(size, items) >= FEWEST_TILES) return { items, depth };
  }
  return undefined;
}

/**
 * The cost of a tile's pairs, padding included: arithmetic, and reads from shared memory for
 * it.
 */
function costOf(size: OuterProductSize, { i, j }: Items): number {
  const reads = i / packOf(i) + j / packOf(j);
  return tilesOf(size, { i, j }) * (i * j + reads);
}

/** Few tiles: the reduced axes are cut as well. */
function slottedPairs(size: OuterProductSize): Sized | undefined {
  const { rows, columns, words } = size;
  const length = product(size.kernel.reduced);
  if (Math.min(rows, columns) < LEAST_SIDE || rows * columns < LEAST_RESULTS) return undefined;
  let best: Sized | undefined;
  for (const items of [1, 2, 4, 6, 8].map(square)) {
    const depth = depthOf(size, items);
    if (depth === undefined) continue;
    const tiles = tilesOf(size, items);
    const chunks = Math.max(LEAST_CHUNKS, Math.ceil((length * tiles) / SLOT_BLOCKS / depth));
    const isLong = chunks * depth > LONGEST_CHAIN;
    const unit = isLong ? LONGEST_CHAIN : depth;
    const slotLength = Math.ceil((chunks * depth) / unit) * unit;
    const slots = Math.ceil(length / slotLength);
    if (items.i * items.j * words * (isLong ? 2 : 1) > MOST_WORDS || tiles * slots < FEWEST_TILES) continue;
    if (best !== undefined && costOf(size, best.items) < costOf(size, items)) continue;
    best = { items, depth, fold: isLong ? LONGEST_CHAIN : 0, slots, slotLength };
  }
  return best;
}

/** The reduced axis along which the loads of a side lie side by side, unless its rows do. */
function runOf(kernel: Kernel, axis: number, isOwn: (position: number) => boolean): number | undefined {
  const accesses = loadsOf(kernel).flatMap(({ position, access }) =>
    isOwn(position) ? [access.strides] : [],
  );
  if (accesses.some((strides) => strides[axis] === 1)) return undefined;
  const p = kernel.parallel.length;
  const runs = accesses.map((strides) => strides.findIndex((stride, k) => k >= p && stride === 1));
  return runs.every((run) => run >= 0 && run === runs[0]) ? runs[0] : undefined;
}

/** Tiles of reduced elements, where some side's loads do not lie side by side along the last axis. */
function tileOf(
  kernel: Kernel,
  axisI: number,
  axisJ: number,
  sides: readonly Side[],
  depth: number,
): readonly Stretch[] {
  const last = kernel.parallel.length + kernel.reduced.length - 1;
  const { element } = levelsOf(kernel);
  const runs = (['i', 'j'] as const).flatMap(
    (side) =>
      runOf(
        kernel,
        side === 'i' ? axisI : axisJ,
        (position) => sides[position] === side && element[position]!,
      ) ?? [],
  );
  // The last axis stays the last: its next tile is then the next one in memory.
  const axes = [...new Set(runs)].sort((a, b) => Number(a === last) - Number(b === last));
  if (axes.length === 0 || axes[0] === last || depth < 16) return [];
  const sizes = [...kernel.parallel, ...kernel.reduced];
  const tile = axes.map((axis, k) => ({ axis, length: k === 0 ? Math.min(8, depth / 4) : 4 }));
  return tile.every(({ axis, length }) => sizes[axis]! % length === 0) ? tile : [];
}
