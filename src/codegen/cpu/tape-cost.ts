/**
 * Estimates the time of a tape in each of its blockings as far as they differ, and takes the least: what a block, a row
 * and a lane take by the ways in which elements are moved and reduced. It needs no schedule, which takes longer than all
 * estimates; `tape-seconds.ts` predicts the time of one that is scheduled. Called by `tape-sum-order.ts`.
 */

import { loadOf, sizesOf } from '../../fusion/kernel/algebra.js';
import { costOf, isConstant, isReduction, reductionOf } from '../../fusion/kernel/arithmetic.js';
import { type Access, type Kernel, product } from '../../fusion/kernel/kernel.js';
import { inWalks, type Levels } from '../../fusion/kernel/levels.js';
import { trafficOf } from '../../fusion/kernel/traffic.js';
import { byteLengthOf } from '../../graph/dtype.js';
import { CHUNK, LEAF_STEPS } from '../../shared/layout.js';
import {
  type Blocking,
  keepsLoad,
  type Loops,
  laneKindOf,
  laneModeOf,
  loopsOf,
  paddedWidth,
  rowStrideOf,
} from './tape-blocking.js';
import { readBySumsOfPairs } from './tape-fuse.js';
import { ADDITION, classOf, farShareOf, type ReductionClass } from './tape-rates.js';
import { slotElements } from './tape-slots.js';

/**
 * Nanoseconds of a core of Zen 4, fitted to the differences between the blockings of each of 300 kernels. They choose among
 * blockings, so that only their proportions matter.
 */
const BLOCK_RATES = {
  tile: 33,
  /** An instruction on a block, and a load. */
  call: 9.3,
  load: 15,
  /** A vector of 64 bytes that an instruction computes, with those that fill up rows, and a row of a block. */
  vector: 0.11,
  row: 0.14,
  /** A row that is stored by itself, as it ends within a chunk, and its vectors. */
  storedRow: 3.7,
  stored: 0.53,
  /** A row that does not follow the last one in far memory. */
  jump: 3.8,
  /** A chunk of equal lanes that is written for each row. */
  splat: 9,
  /** A look-up by a table of the lanes' places: once for all rows where they have the same. */
  table: 0.3,
  /** A lane at a stride within a line of the cache, and one beyond: it has a line of its own, of far memory or not. */
  strided: 0.55,
  apart: 0.46,
  apartFar: 0.4,
  /** A block of elements apart which is much of a map: fewer tiles share its lines, and more threads wait for memory. */
  alone: 8,
  /** An element of a kernel that cannot be shared by as many threads as its work is worth, in proportion to those. */
  unshared: 0.1,
  /** A lane of rows that lie side by side, a square at a time; of a reduction, whose lines hardware does not ask for. */
  square: 0.19,
  squareOfFar: 0.5,
  /** Each further line of a column of a square: others of its set are read in between. */
  squareLine: 0.023,
} as const;

/** Those of reductions, by what they join. */
const REDUCED_RATES = {
  /** A vector that is reduced, with those that fill up rows. */
  padded: { simple: 0, wide: 4, exponential: 10 },
  /** A vector of partial results of the lanes, which is read and written again for each block. */
  partial: { simple: 1.1, wide: 6.8, exponential: 2.2 },
  /** A row of a block that is reduced along its lanes, and the lanes of a tile in the end. */
  lanes: { simple: 3.7, wide: 21, exponential: 60 },
  tile: { simple: 37, wide: 137, exponential: 500 },
  /** A row that is a result of its own, one that ends within a chunk besides, and each vector more than of a longer row. */
  result: { simple: 14, wide: 131, exponential: 600 },
  tail: { simple: 17, wide: 17, exponential: 17 },
  vector: { simple: 0.08, wide: 0.08, exponential: 0.08 },
  /** A lane that is joined with those of other steps of its block. */
  fold: { simple: 0.3, wide: 3, exponential: 3 },
} as const;

/** Rows of a block in which lanes that are apart are read a square at a time, at least: as by `tape-memory.cpp`. */
export const SQUARE_ROWS = 8;
/** Tiles that share a load which is kept, at most, so that it costs something still. */
const MOST_SHARING_TILES = 64;
/** Instructions times lanes of a task of a thread, as in `tape-job.h`. */
export const TASK_WORK = 2 ** 17;
/** Threads by which the order of sums is chosen, whatever there are: it decides bits. */
const ORDER_THREADS = 16;
/** Bytes of a line of the caches, which are those of a vector. */
const LINE_BYTES = 64;

/** Properties of a kernel that the estimates of all its blockings use. */
interface Basis {
  readonly kernel: Kernel;
  readonly levels: Levels;
  readonly sizes: readonly number[];
  /** Whether an instruction is computed for blocks. */
  readonly isInBlocks: (i: number) => boolean;
  /** The share of its bytes that is in no cache near by. */
  readonly far: number;
  /** Values of which one lane is enough where they are equal. */
  readonly singles: ReadonlySet<number>;
}

function basisOf(kernel: Kernel, levels: Levels): Basis {
  const isWalked = inWalks(kernel, levels);
  const isInBlocks = (i: number): boolean =>
    !isConstant(kernel.tape[i]!) && (isWalked(i) || isReduction(kernel.tape[i]!));
  const singles = readBySumsOfPairs(kernel, levels);
  return { kernel, levels, sizes: sizesOf(kernel), isInBlocks, far: farShareOf(trafficOf(kernel)), singles };
}

/** How many of the threads a kernel's work is worth. */
const sharersOf = (kernel: Kernel, threads: number): number =>
  Math.min(Math.max(1, Math.floor((product(sizesOf(kernel)) * kernel.tape.length) / TASK_WORK)), threads);

/** The estimate of one blocking, term by term. */
class Estimate {
  /** Of all terms but that of threads without work. */
  nanoseconds = 0;
  readonly #kernel: Kernel;
  readonly #blocking: Blocking;
  readonly #loops: Loops;
  readonly #sizes: readonly number[];
  readonly #elements: number;
  readonly #far: number;
  /** Rows of all blocks. */
  readonly #rows: number;
  /** How often blocks are walked: those that do not hold all there is to reduce are loaded again in each phase. */
  readonly #walks: number;
  readonly #tiles: number;

  readonly #singles: ReadonlySet<number>;

  constructor({ kernel, levels, sizes, isInBlocks, far, singles }: Basis, blocking: Blocking) {
    this.#kernel = kernel;
    this.#blocking = blocking;
    this.#loops = loopsOf(kernel, blocking);
    this.#sizes = sizes;
    this.#elements = product(sizes);
    this.#far = far;
    this.#singles = singles;
    this.#rows = this.#elements / blocking.width;
    this.#walks = this.#loops.walks.some((loop) => loop.count > 1) ? levels.phases : 1;
    this.#tiles = product(this.#loops.tiles.map((loop) => loop.count));
    this.#whole(levels, isInBlocks);
  }

  #add(rate: keyof typeof BLOCK_RATES, amount: number): void {
    this.nanoseconds += BLOCK_RATES[rate] * amount;
  }

  #addReduced(rate: keyof typeof REDUCED_RATES, of: ReductionClass, amount: number): void {
    this.nanoseconds += REDUCED_RATES[rate][of] * amount;
  }

  #whole(levels: Levels, isInBlocks: Basis['isInBlocks']): void {
    const { tape, stores, reduced } = this.#kernel;
    const tiles = this.#tiles;
    const blocks = tiles * product(this.#loops.walks.map((loop) => loop.count));
    this.#add('tile', tiles);
    tape.forEach((instruction, i) => {
      if (!isInBlocks(i)) return;
      const bytes = byteLengthOf(instruction.dtype);
      const read = loadOf(instruction);
      this.#add(read === undefined ? 'call' : 'load', blocks * this.#walks);
      if (read === undefined) {
        const vectors = (this.#walks * this.#rows * paddedWidth(this.#blocking) * bytes) / LINE_BYTES;
        this.#add('vector', vectors);
        this.nanoseconds += ADDITION * costOf(instruction) * vectors;
        this.#add('row', this.#walks * this.#rows);
      } else if (read.index === undefined && !this.#isSingle(i, read)) this.#move(read, bytes, false);
      const reduction = reductionOf(instruction);
      if (reduction !== undefined) this.#reduce(classOf(reduction), bytes, tiles);
    });
    for (const { value, access } of stores)
      if (reduced.length === 0 || levels.element[value])
        this.#move(access, byteLengthOf(tape[value]!.dtype), true);
  }

  /** Whether a load of equal lanes is read in place. */
  #isSingle(i: number, read: Access): boolean {
    return (
      this.#singles.has(i) &&
      laneKindOf(this.#kernel, this.#blocking) === 'parallel' &&
      laneModeOf(read, this.#blocking, this.#sizes).type === 'splat'
    );
  }

  /** The time by so many threads, of which a part may find neither tiles nor slots of their own. */
  nanosecondsBy(threads: number): number {
    const slots =
      product(this.#kernel.reduced) / slotElements(this.#kernel, laneKindOf(this.#kernel, this.#blocking));
    const pieces = this.#tiles * Math.max(1, slots);
    const unshared = Math.max(0, 1 - pieces / sharersOf(this.#kernel, threads));
    return this.nanoseconds + BLOCK_RATES.unshared * this.#elements * unshared;
  }

  /** Elements that are read or written through an affine map. */
  #move(access: Access, bytes: number, isStore: boolean): void {
    const { rows, width } = this.#blocking;
    const mode = laneModeOf(access, this.#blocking, this.#sizes);
    const row = rowStrideOf(access, this.#blocking);
    const times = isStore ? 1 : this.#walks / Math.min(this.#tilesSharing(access), MOST_SHARING_TILES);
    const lanes = this.#elements * times;
    if (mode.type === 'splat') {
      if (row !== 0) this.#add('splat', this.#rows * times);
      return;
    }
    if (mode.type === 'table') {
      this.#add('table', row === 0 && !isStore ? lanes / rows : lanes);
      return;
    }
    const apart = Math.abs(mode.stride);
    const isSquare = apart !== 1 && Math.abs(row) === 1 && rows >= SQUARE_ROWS;
    if (rows > 1 && row !== 0 && !isSquare && Math.abs(row) !== width * apart)
      this.#add('jump', this.#rows * this.#far);
    if (mode.stride === 1) {
      if (!isStore || width % CHUNK === 0) return;
      this.#add('storedRow', this.#rows);
      this.#add('stored', (this.#elements * bytes) / LINE_BYTES);
    } else if (isSquare) {
      this.#add('square', lanes);
      if (this.#kernel.reduced.length > 0) this.#add('squareOfFar', lanes * this.#far);
      this.#add('squareLine', lanes * Math.max(0, (rows * bytes) / LINE_BYTES - 1));
    } else if (apart * bytes < LINE_BYTES) this.#add('strided', lanes);
    else {
      this.#add('apart', lanes);
      this.#add('apartFar', lanes * this.#far);
      if (this.#kernel.reduced.length === 0) this.#add('alone', rows * width);
    }
  }

  #tilesSharing(access: Access): number {
    if (!keepsLoad(access, this.#blocking, this.#sizes, this.#loops)) return 1;
    const shared = this.#loops.tiles.filter((loop) => access.strides[loop.axis] === 0);
    return product(shared.map((loop) => loop.count));
  }

  #reduce(of: ReductionClass, bytes: number, tiles: number): void {
    const { rows, rowAxis, width } = this.#blocking;
    const kind = laneKindOf(this.#kernel, this.#blocking);
    const vectors = (this.#rows * paddedWidth(this.#blocking) * bytes) / LINE_BYTES;
    this.#addReduced('padded', of, vectors);
    if (kind !== 'reduced') {
      this.#addReduced('partial', of, vectors / Math.min(rows, LEAF_STEPS));
      if (kind === 'both') this.#addReduced('fold', of, tiles * width);
    } else if (rows > 1 && rowAxis < this.#kernel.parallel.length) {
      this.#addReduced('result', of, this.#rows);
      this.#addReduced('vector', of, vectors);
      if (width % CHUNK !== 0) this.#addReduced('tail', of, this.#rows);
    } else {
      this.#addReduced('lanes', of, this.#rows);
      this.#addReduced('tile', of, tiles);
    }
  }
}

/** The estimate of one blocking: it leaves out all that is the same in each. */
export const nanosecondsOf = (kernel: Kernel, levels: Levels, blocking: Blocking): number =>
  new Estimate(basisOf(kernel, levels), blocking).nanosecondsBy(ORDER_THREADS);

/**
 * Blockings by the time that they are estimated to take, the least first, among equals in their order: by a number of
 * threads that is the same everywhere.
 */
export function byTime(kernel: Kernel, levels: Levels, blockings: readonly Blocking[]): readonly Blocking[] {
  if (blockings.length <= 1) return blockings;
  return sortedBy(estimatesOf(kernel, levels, blockings), ORDER_THREADS);
}

/** The quickest of them by so many threads. */
export const quickest = (
  kernel: Kernel,
  levels: Levels,
  blockings: readonly Blocking[],
  threads: number,
): Blocking => sortedBy(estimatesOf(kernel, levels, blockings), threads)[0]!;

/** Whether so many threads share a kernel as those do by which its order is chosen. */
export const isSharedAlike = (kernel: Kernel, threads: number): boolean =>
  sharersOf(kernel, threads) === sharersOf(kernel, ORDER_THREADS);

interface Estimated {
  readonly blocking: Blocking;
  readonly estimate: Estimate;
}

function estimatesOf(kernel: Kernel, levels: Levels, blockings: readonly Blocking[]): readonly Estimated[] {
  const basis = basisOf(kernel, levels);
  return blockings.map((blocking) => ({ blocking, estimate: new Estimate(basis, blocking) }));
}

function sortedBy(estimates: readonly Estimated[], threads: number): readonly Blocking[] {
  const timed = estimates.map(({ blocking, estimate }) => ({
    blocking,
    time: estimate.nanosecondsBy(threads),
  }));
  return timed.sort((a, b) => a.time - b.time).map(({ blocking }) => blocking);
}

/** One element at a time. */
export const SINGLE: Blocking = { laneAxes: [], take: 1, inner: 1, width: 1, rowAxis: -1, rows: 1 };
