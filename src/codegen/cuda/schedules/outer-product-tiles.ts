/**
 * The sizes of the tiles of pairs: rows and columns of a tile, the threads and warps that share it, reduced elements in
 * shared memory at a time, and slots. A pure function of the kernel; `schedule-outer-product.ts` calls it.
 */
import { type Kernel, product } from '../../../fusion/kernel/kernel.js';
import { LONGEST_CHAIN } from './limits.js';

/** The sizes of a tile of pairs, and of the parts of its sums. */
export interface TileSizes {
  /** A thread holds items.i × items.j accumulators. */
  readonly items: Items;
  /**
   * Threads along each side of a tile: all of a block, or a group of one or two warps. Groups, which all have the whole
   * tile, take reduced elements by turns, and combine their accumulators in the order of the groups.
   */
  readonly threads: Items;
  /** Reduced elements in shared memory at a time. */
  readonly depth: number;
  /** Elements after which accumulators are folded into a second set; 0: never. */
  readonly fold: number;
  /** Cuts of the linear reduced index; partial results of several are combined by a second launch. */
  readonly slots: number;
  /** A multiple of `depth`, and of `fold`. */
  readonly slotLength: number;
}

/** A number for each side of a tile: rows and columns that a thread has, or threads. */
export type Items = Readonly<Record<'i' | 'j', number>>;

const square = (side: number): Items => ({ i: side, j: side });

/** Threads of a block. */
export const TILE_THREADS = 256;
/** Threads along each side of a tile that all of a block have. */
export const TILE_SIDE = 16;
const BLOCK_THREADS: Items = square(TILE_SIDE);

/** Rows and columns of a tile. */
export type Tile = Pick<TileSizes, 'items' | 'threads'>;

export const extentOf = ({ items, threads }: Tile, side: 'i' | 'j'): number => items[side] * threads[side];

/** Groups of threads that have the whole tile. */
export const groupsOf = ({ threads }: Pick<Tile, 'threads'>): number =>
  TILE_THREADS / (threads.i * threads.j);

const squareTile = (own: number): Tile => ({ items: square(own), threads: BLOCK_THREADS });

/** Items that lie side by side: what a thread reads from shared memory at once. */
export const packOf = (items: number): number => (items % 4 === 0 ? 4 : items % 2 === 0 ? 2 : 1);
/** Shared memory for both sides; and all that a kernel may declare. */
const SHARED_BYTES = 40 * 1024;
const MOST_SHARED_BYTES = 48 * 1024;
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
/** Threads along the long side of a tile that warps take by turns, those along its short one, and their columns. */
const TURNS_LONG = 8;
const TURNS_SHORT = [4, 8];
const TURNS_COLUMNS = 4;
/** Reduced elements from which on warps take them by turns: fewer are not worth combining eight sets of sums. */
const LEAST_BY_TURNS = 256;
const LEAST_DEPTH = 4;
/** Accumulators of a thread, in words: what registers hold. */
const MOST_WORDS = 72;

/** The inputs of the choice of tile sizes. */
export interface PairSizes {
  readonly kernel: Kernel;
  readonly rows: number;
  readonly columns: number;
  /** Of the accumulators of a pair. */
  readonly words: number;
  /** Staged bytes of a row, of a column, and of neither, for a reduced index. */
  readonly bytes: Readonly<Record<'i' | 'j' | 'common', number>>;
}

/** Tiles of all pairs. */
function tilesOf({ kernel, rows, columns }: PairSizes, tile: Tile): number {
  const along = (size: number, side: 'i' | 'j'): number => Math.ceil(size / extentOf(tile, side));
  return (product(kernel.parallel) / rows / columns) * along(rows, 'i') * along(columns, 'j');
}

/**
 * As many reduced elements as shared memory holds, and as make whole rounds of a block's loads; undefined:
 * none.
 */
function depthOf(
  { bytes }: PairSizes,
  tile: Tile,
  most = MOST_DEPTH,
  room = SHARED_BYTES,
): number | undefined {
  const [rows, columns] = [extentOf(tile, 'i'), extentOf(tile, 'j')];
  const staged = (rows + 4) * bytes.i + (columns + 4) * bytes.j + bytes.common;
  for (let depth = most; depth >= LEAST_DEPTH; depth /= 2) {
    if ((depth * Math.min(rows, columns)) % TILE_THREADS !== 0) return undefined;
    if (depth * staged <= room) return depth;
  }
  return undefined;
}

/** Whether shared memory holds a tile's reduced elements, and registers its accumulators. */
export function holdsTile(size: PairSizes, { depth, fold, ...tile }: TileSizes): boolean {
  const { i, j } = tile.items;
  const isHeld = i * j * size.words * (fold > 0 ? 2 : 1) <= MOST_WORDS;
  return isHeld && depthOf(size, tile, depth) === depth;
}

/** Enough tiles to keep a device busy: each walks all reduced elements. */
function wholePairs(size: PairSizes): TileSizes | undefined {
  const length = product(size.kernel.reduced);
  const fold = length > LONGEST_CHAIN ? LONGEST_CHAIN : 0;
  const isSmall = size.words > 1 || fold > 0 || tilesOf(size, squareTile(8)) < 2 * FEWEST_TILES;
  const tile = squareTile(isSmall ? 4 : 8);
  const depth = depthOf(size, tile);
  if (depth === undefined || tilesOf(size, tile) < FEWEST_TILES) return undefined;
  const sized = pairsByTurns(size) ?? narrowPairs(size, fold) ?? { ...tile, depth, fold };
  return { ...sized, slots: 1, slotLength: Math.ceil(length / sized.depth) * sized.depth };
}

/** Without slots. */
type WholeTile = Omit<TileSizes, 'slots' | 'slotLength'>;

/**
 * Tiles of one or two warps, for results of few rows or columns. All threads of a block at a tile would have
 * a few pairs each, and read shared memory for almost each of them: 16,384 × 1,024 by 16 columns took 47 µs on
 * an H100, all of it such reads. So a thread has 8 × 4 pairs, for which it reads 12 values, and the warps of a
 * block share the reduced elements. Undefined: both sides are long, or sums short.
 */
function pairsByTurns(size: PairSizes): WholeTile | undefined {
  const { rows, columns, words } = size;
  const length = product(size.kernel.reduced);
  const short = TURNS_SHORT.find((own) => Math.min(rows, columns) <= TURNS_COLUMNS * own);
  if (short === undefined || length < LEAST_BY_TURNS) return undefined;
  const isTall = rows >= columns;
  const along = (long: number, own: number): Items => (isTall ? { i: long, j: own } : { i: own, j: long });
  const threads = along(TURNS_LONG, short);
  const groups = groupsOf({ threads });
  // Of each item in turn, a block combines the accumulators of all its threads, one for each of the groups.
  const room = MOST_SHARED_BYTES - TILE_THREADS * groups * 4 * (words > 2 ? 4 : words);
  const chain = LONGEST_CHAIN * groups;
  const fold = length > chain ? chain : 0;
  for (const long of [8, 4]) {
    const tile = { items: along(long, TURNS_COLUMNS), threads };
    const depth = depthOf(size, tile, MOST_DEPTH_BESIDE_SHORT, room);
    const isHeld = long * TURNS_COLUMNS * words * (fold > 0 ? 2 : 1) <= MOST_WORDS;
    const fewest = long === 8 ? 2 * FEWEST_TILES : FEWEST_TILES;
    if (depth !== undefined && isHeld && tilesOf(size, tile) >= fewest) return { ...tile, depth, fold };
  }
  return undefined;
}

/**
 * Tiles with a short side, for results of few rows or columns and short sums: a square one would be mostly empty. Each
 * sum is of one thread, as in a square tile. Undefined: both sides are long.
 */
function narrowPairs(size: PairSizes, fold: number): WholeTile | undefined {
  const { rows, columns, words } = size;
  const short = [1, 2].find((own) => Math.min(rows, columns) <= TILE_SIDE * own);
  if (short === undefined) return undefined;
  for (const long of [8, 4, 2, 1]) {
    if (Math.max(rows, columns) <= (TILE_SIDE * long) / 2) continue;
    const items = rows < columns ? { i: short, j: long } : { i: long, j: short };
    const tile = { items, threads: BLOCK_THREADS };
    const depth = depthOf(size, tile, MOST_DEPTH_BESIDE_SHORT);
    const isHeld = short * long * words * (fold > 0 ? 2 : 1) <= MOST_WORDS;
    if (depth !== undefined && isHeld && tilesOf(size, tile) >= FEWEST_TILES) return { ...tile, depth, fold };
  }
  return undefined;
}

/**
 * The cost of a tile's pairs, padding included: arithmetic, and reads from shared memory for
 * it.
 */
function costOf(size: PairSizes, tile: Tile): number {
  const { i, j } = tile.items;
  const reads = i / packOf(i) + j / packOf(j);
  return tilesOf(size, tile) * (i * j + reads);
}

/** Few tiles: the reduced axes are cut as well. */
function slottedPairs(size: PairSizes): TileSizes | undefined {
  const { rows, columns, words } = size;
  const length = product(size.kernel.reduced);
  if (Math.min(rows, columns) < LEAST_SIDE || rows * columns < LEAST_RESULTS) return undefined;
  let best: TileSizes | undefined;
  for (const tile of [1, 2, 4, 6, 8].map(squareTile)) {
    const { items } = tile;
    const depth = depthOf(size, tile);
    if (depth === undefined) continue;
    const tiles = tilesOf(size, tile);
    const chunks = Math.max(LEAST_CHUNKS, Math.ceil((length * tiles) / SLOT_BLOCKS / depth));
    const isLong = chunks * depth > LONGEST_CHAIN;
    const unit = isLong ? LONGEST_CHAIN : depth;
    const slotLength = Math.ceil((chunks * depth) / unit) * unit;
    const slots = Math.ceil(length / slotLength);
    if (items.i * items.j * words * (isLong ? 2 : 1) > MOST_WORDS || tiles * slots < FEWEST_TILES) continue;
    if (best !== undefined && costOf(size, best) < costOf(size, tile)) continue;
    best = { ...tile, depth, fold: isLong ? LONGEST_CHAIN : 0, slots, slotLength };
  }
  return best;
}

/** Tiles that keep a device busy, in slots where there are few; undefined: none do. */
export const tilePairs = (size: PairSizes): TileSizes | undefined => wholePairs(size) ?? slottedPairs(size);
