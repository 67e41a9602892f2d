/**
 * The schedule of a reduction in one phase.
 *
 * A block is threadsP × threadsR threads. In the *rows* mapping neighbouring threads lie along the reduced
 * axis, chunks too; in the *columns* mapping both lie along the last parallel axis. The linear reduced index
 * is cut into slots of a fixed length where the parallel axes alone would not fill a device; partial results
 * of slots go to scratch and are combined in slot order by a second launch.
 */
import type { Load } from '../../../fusion/kernel/algebra.js';
import { hasMonoid, reductionsOf } from '../../../fusion/kernel/arithmetic.js';
import { type Access, type Kernel, product } from '../../../fusion/kernel/kernel.js';
import { elementLoadsOf, levelsOf, storesElements, takenByWalks } from '../../../fusion/kernel/levels.js';
import { byteLengthOf } from '../../../graph/dtype.js';
import { reductionRow } from '../../../graph/reductions.js';
import { ANY_LENGTH, chunkWidth } from '../chunks.js';
import { fastPathOf, suitsLoop } from '../fast-path-forms.js';
import { powerOfTwoFrom, powerOfTwoTo } from '../powers.js';
import { isInTurn, isShort } from './in-turn.js';
import { LONGEST_CHAIN, WARP } from './limits.js';
import { type Extents, threadsOfShortColumns, threadsOfShortRow } from './short-rows.js';

export interface ReduceSchedule {
  readonly kind: 'reduce';
  readonly mapping: 'rows' | 'columns';
  readonly threadsP: number;
  readonly threadsR: number;
  /** Chunk length along the axis of the mapping. */
  readonly width: number;
  /** Groups of parallel items that a thread handles together. */
  readonly itemsP: number;
  /**
   * Steps along the reduced axis whose loads are in flight together; in columns, elements that an accumulator
   * of several values takes up at once.
   */
  readonly unrollR: number;
  /** Length of a slot along the linear reduced index; a multiple of what a block walks in one step. */
  readonly slotLength: number;
  readonly slots: number;
  /** Whether elements, the same for every row, go through shared memory. */
  readonly staged: boolean;
}

const THREADS = 256;
/** Threads that keep any present device busy. */
const MANY_THREADS = 2 ** 18;
/**
 * Threads of a row that is one of many, and the chunks from which on they are worth an exchange between
 * warps.
 */
const ROW_THREADS = 128;
const LONG_ROW = 8 * ROW_THREADS;
/** Blocks that a reduction is cut into where it can be: several for each multiprocessor. */
const BLOCKS = 2048;
/**
 * The same of columns, of which each slot leaves as many partial results; and blocks that are enough without
 * any.
 */
const COLUMN_BLOCKS = 1024;
const ENOUGH_BLOCKS = 512;
/** The bound of chains: none where nothing is rounded, so that long rows have few partial results. */
const longestChain = (kernel: Kernel): number =>
  reductionsOf(kernel).every(({ name }) => reductionRow(name).selects === true)
    ? Number.POSITIVE_INFINITY
    : LONGEST_CHAIN;
/** Static shared memory for the exchange between the warps of a block. */
const SHARED_BYTES = 40 * 1024;
/** Loads of a thread that are in flight together: elements, or chunks of them with fewer registers each. */
const ELEMENTS_IN_FLIGHT = 8;
const CHUNKS_IN_FLIGHT = 4;
const MOST_IN_FLIGHT = 32;
const loadsInFlight = (width: number): number =>
  width === 1 ? ELEMENTS_IN_FLIGHT : Math.min(CHUNKS_IN_FLIGHT, MOST_IN_FLIGHT / width);
/** Slots of the upper tree. */
const MOST_SLOTS = 2 ** 15;

/** Whether threads should lie along the reduced axis (rows) or the last parallel one (columns). */
export function layoutOf(kernel: Kernel): 'rows' | 'columns' {
  const p = kernel.parallel.length;
  if (p === 0) return 'rows';
  const loads = elementLoadsOf(kernel);
  const sizes = [...kernel.parallel, ...kernel.reduced];
  const last = sizes.length - 1;
  const onParallel = loads.filter(({ access }) => access.strides.some((stride, k) => k < p && stride !== 0));
  // Every row reads the same elements: one row per thread, and the loads are shared by the warp.
  if (onParallel.length === 0 && loads.length > 0)
    return product(kernel.parallel) >= 4 * WARP ? 'columns' : 'rows';
  const [rows, columns]: [Map<string, number>, Map<string, number>] = [new Map(), new Map()];
  for (const { access, dtype } of onParallel) {
    const extent = access.strides.reduce(
      (n, stride, k) => (stride === 0 ? n : n * sizes[k]!),
      byteLengthOf(dtype),
    );
    const r = Math.abs(access.strides[last]!);
    const c = Math.abs(access.strides[p - 1]!);
    const read = c === 0 || (r !== 0 && r <= c) ? rows : columns;
    // An array counts once: neighbours and parts of it are read once, and a roll of it by a fold or in two parts.
    const array = `${arrayOf(kernel, access)} ${dtype}`;
    read.set(array, Math.max(extent, read.get(array) ?? 0));
  }
  const bytesOf = (read: ReadonlyMap<string, number>): number =>
    [...read.values()].reduce((sum, bytes) => sum + bytes, 0);
  return bytesOf(columns) > bytesOf(rows) ? 'columns' : 'rows';
}

/** The array that is read, of which several buffers of a tile may have windows. */
const arrayOf = ({ buffers }: Kernel, { buffer }: Access): number => buffers[buffer]?.array ?? buffer;

interface Slots {
  readonly slotLength: number;
  readonly slots: number;
}

/**
 * Length of a slot, at most `most`, so that about `blocks` blocks come out, as a power of two times what a
 * block walks in one step.
 */
function slotsOf(length: number, step: number, blocksP: number, most: number, blocks = BLOCKS): Slots {
  const wanted = Math.max(1, Math.ceil(blocks / blocksP));
  let slotLength = step * powerOfTwoFrom(length / wanted / step);
  slotLength = Math.min(slotLength, most);
  slotLength = Math.max(slotLength, step * powerOfTwoFrom(length / MOST_SLOTS / step));
  // Too little for a second launch: a block does it alone.
  if (length <= 4 * step) slotLength = step * powerOfTwoFrom(length / step);
  return { slotLength, slots: Math.max(1, Math.ceil(length / slotLength)) };
}

/** Bytes of all accumulators of one row, at most. */
const accumulatorBytes = (kernel: Kernel): number =>
  reductionsOf(kernel).reduce((sum, { name, taken }) => {
    const { width, indexed } = reductionRow(name);
    return sum + width * Math.max(byteLengthOf(taken), indexed ? 8 : 1);
  }, 0);

export function chooseReduce(kernel: Kernel): ReduceSchedule {
  if (layoutOf(kernel) === 'rows') return chooseRowLayout(kernel);
  return isStaged(kernel) ? chooseStaged(kernel) : chooseColumnLayout(kernel);
}

/** Whether every row takes the same elements, so that a block can share them. */
export function isStaged(kernel: Kernel): boolean {
  const p = kernel.parallel.length;
  const loads = elementLoadsOf(kernel);
  const onParallel = (access: Access): boolean => access.strides.some((stride, k) => k < p && stride !== 0);
  if (
    loads.some(
      ({ access }) =>
        onParallel(access) || access.bounds.some((b) => b.strides.some((s, k) => k < p && s !== 0)),
    )
  )
    return false;
  return loads.length > 0 && !storesElements(kernel) && !hasMonoid(kernel);
}

/**
 * How a staged reduction is laid out, which is bound by arithmetic: threads of a block, rows of each at most,
 * and blocks.
 */
interface Staging {
  readonly threads: number;
  /** Rows per thread, which share what is read of an element. */
  readonly items: number;
  readonly blocks: number;
}
const STAGING: Staging = { threads: 256, items: 4, blocks: 12288 };
/** With fast paths there are fewer steps to hide behind what is read. */
const FAST_STAGING: Staging = { threads: 128, items: 8, blocks: 8192 };
/** The registers that the rows of a thread may take, in words. */
const STAGED_WORDS = 48;
/**
 * Blocks with fast paths that a multiprocessor should hold at once, which bounds registers: with its own
 * choice, NVRTC has too few of them to keep the arithmetic busy. And those of a device of 132
 * multiprocessors.
 */
export const FAST_RESIDENT = 6;
const FAST_ROUND = FAST_RESIDENT * 132;

/** Rows of a thread, at most `items`, as registers and the number of rows allow. */
export const stagedItems = (kernel: Kernel, threads: number, items: number): number =>
  powerOfTwoTo(Math.min(items, STAGED_WORDS / wordsOfRow(kernel), product(kernel.parallel) / threads));

function chooseStaged(kernel: Kernel): ReduceSchedule {
  const isFast = hasFastPaths(kernel);
  const { threads, items, blocks } = isFast ? FAST_STAGING : STAGING;
  const rows = product(kernel.parallel);
  const length = product(kernel.reduced);
  const itemsP = stagedItems(kernel, threads, items);
  const blocksP = Math.ceil(rows / (threads * itemsP));
  const powers = slotsOf(length, threads, blocksP, longestChain(kernel), blocks);
  const slots = isFast ? inRounds(powers, length, threads, blocksP) : powers;
  return {
    kind: 'reduce',
    mapping: 'columns',
    threadsP: threads,
    threadsR: 1,
    width: 1,
    itemsP,
    unrollR: 1,
    ...slots,
    staged: true,
  };
}

export const hasFastPaths = (kernel: Kernel): boolean =>
  kernel.tape.some((_, position) => {
    const form = fastPathOf(kernel, position);
    return form !== undefined && suitsLoop(form, kernel);
  });

/**
 * Slots up to twice as long, a multiple of `step`, of which the last round of a device's blocks is the
 * fullest.
 */
function inRounds({ slotLength, slots }: Slots, length: number, step: number, blocksP: number): Slots {
  if (slots === 1) return { slotLength, slots };
  const fillOf = ({ slots: count }: Slots): number => {
    const rounds = (blocksP * count) / FAST_ROUND;
    return rounds / Math.ceil(rounds);
  };
  let best = { slotLength, slots };
  const most = Math.min(2 * slotLength - step, LONGEST_CHAIN);
  for (let longer = slotLength + step; longer <= most; longer += step) {
    const tried = { slotLength: longer, slots: Math.ceil(length / longer) };
    if (fillOf(tried) > fillOf(best)) best = tried;
  }
  return best;
}

/**
 * The registers a thread holds of a row during a pass: row-level values and accumulators.
 */
function wordsOfRow(kernel: Kernel): number {
  const { element } = levelsOf(kernel);
  const wordsOf = (position: number): number => Math.max(1, byteLengthOf(kernel.tape[position]!.dtype) / 4);
  const values = [...takenByWalks(kernel)].filter((k) => !element[k]);
  return values.reduce((sum, k) => sum + wordsOf(k), accumulatorBytes(kernel) / 4);
}

/**
 * Loads of elements: all, those that lie side by side along the axis of rows, and those that lie apart: of columns of rows. Of
 * neighbours in one array, parts of a join among them, the first.
 */
type LoadsByStride = Readonly<Record<'all' | 'along' | 'apart', readonly Load[]>>;

function loadsByStride(kernel: Kernel): LoadsByStride {
  const axis = kernel.parallel.length + kernel.reduced.length - 1;
  const strideOf = ({ access }: { readonly access: Access }): number => Math.abs(access.strides[axis]!);
  const areOfOne = (a: Load, b: Load): boolean =>
    arrayOf(kernel, a.access) === arrayOf(kernel, b.access) && a.dtype === b.dtype;
  const areNeighbours = (a: Load, b: Load): boolean =>
    areOfOne(a, b) &&
    a.access.strides[axis] === b.access.strides[axis] &&
    (a.access.offset - b.access.offset) % strideOf(a) === 0;
  const found = elementLoadsOf(kernel);
  const moving = found.filter((load) => strideOf(load) > 0);
  // The part of a roll that is one element does not move.
  const others = found.filter((load) => strideOf(load) === 0 && !moving.some((one) => areOfOne(one, load)));
  const isFirst = (load: Load, k: number): boolean =>
    !moving.slice(0, k).some((one) => areNeighbours(one, load));
  const loads = [...moving.filter(isFirst), ...others];
  return {
    all: loads,
    along: loads.filter(({ access }) => access.strides[axis] === 1),
    apart: loads.filter((load) => strideOf(load) > 1),
  };
}

/**
 * Whether most of what is read is columns, whose elements lie a row apart: each thread has a whole row then, and neighbours
 * read what lies side by side. 2^24 rows of 4 float32 and a label take 0.165 ms on an H200 for 0.310, 2^22 of 16 0.22 for
 * 0.51.
 */
const areColumns = ({ along, apart }: LoadsByStride): boolean => apart.length > along.length;

/** Rows of columns whose loads are in flight together. */
const rowsInFlight = ({ all }: LoadsByStride): number =>
  powerOfTwoTo(Math.min(ELEMENTS_IN_FLIGHT, Math.max(1, MOST_IN_FLIGHT / all.length)));

/** Chunk length of rows, by the loads that run along them; `multiple` is a multiple of it. */
function rowWidth(loads: LoadsByStride, multiple: number): number {
  const { all, along } = loads;
  if (areColumns(loads) || (along.length === 0 && all.length > 0)) return 1;
  return chunkWidth(
    along.map(({ dtype }) => dtype),
    multiple,
  );
}

const extentsOf = (kernel: Kernel): Extents => ({
  rows: product(kernel.parallel),
  length: product(kernel.reduced),
  byteLength: Math.max(1, ...elementLoadsOf(kernel).map(({ dtype }) => byteLengthOf(dtype))),
});

function chooseRowLayout(kernel: Kernel): ReduceSchedule {
  const { rows, length, byteLength } = extentsOf(kernel);
  const inner = kernel.reduced[kernel.reduced.length - 1]!;
  const loads = loadsByStride(kernel);
  const aligned = rowWidth(loads, inner);
  if (isShort(kernel)) return shortRows(kernel, aligned);
  const short = threadsOfShortRow({ rows, length, byteLength }, aligned);
  const single = rows === 1 && kernel.reduced.length === 1;
  const width = single && short === undefined ? rowWidth(loads, ANY_LENGTH) : aligned;
  const chunks = Math.max(1, Math.ceil(length / width));
  const many = chunks >= LONG_ROW ? ROW_THREADS : WARP;
  const most = rows * WARP >= MANY_THREADS / 2 ? many : THREADS;
  const threadsR = short ?? Math.min(most, powerOfTwoFrom(chunks));
  const threadsP = Math.max(1, THREADS / threadsR);
  const perThread = Math.ceil(chunks / threadsR);
  const inFlight = areColumns(loads) ? rowsInFlight(loads) : loadsInFlight(width);
  const unrollR = Math.min(inFlight, powerOfTwoTo(perThread));
  const itemsP =
    rows >= MANY_THREADS / threadsR ? Math.max(1, Math.min(4, Math.floor(inFlight / unrollR))) : 1;
  const step = threadsR * width * unrollR;
  const blocksP = Math.ceil(rows / (threadsP * itemsP));
  const slots =
    short === undefined
      ? slotsOf(length, step, blocksP, threadsR * width * longestChain(kernel))
      : oneSlot(length, step);
  return {
    kind: 'reduce',
    mapping: 'rows',
    threadsP,
    threadsR,
    width,
    itemsP,
    unrollR,
    ...slots,
    staged: false,
  };
}

/**
 * Rows of a few elements: a thread has a chunk, or a whole row whose elements come one by one, unless these are stored, as
 * neighbours should.
 */
function shortRows(kernel: Kernel, width: number): ReduceSchedule {
  const { rows, length } = extentsOf(kernel);
  const isWhole =
    width === 1 &&
    !storesElements(kernel) &&
    reductionsOf(kernel).every(({ name }) => isInTurn(kernel, name));
  const threadsR = isWhole ? 1 : powerOfTwoFrom(length / width);
  const unrollR = isWhole ? length : 1;
  const items = rows >= MANY_THREADS / threadsR ? loadsInFlight(width) / unrollR : 1;
  return {
    kind: 'reduce',
    mapping: 'rows',
    threadsP: THREADS / threadsR,
    threadsR,
    width,
    itemsP: powerOfTwoTo(Math.max(1, Math.min(4, items))),
    unrollR,
    ...oneSlot(length, threadsR * width * unrollR),
    staged: false,
  };
}

const oneSlot = (length: number, step: number): Slots => ({
  slotLength: step * Math.ceil(length / step),
  slots: 1,
});

/** Blocks of columns that need no slots; wider chunks must not make them fewer. */
const COLUMN_FILL = 264;

/** Chunk length across columns: what a thread loads at once, as far as shared memory holds accumulators. */
export function columnWidth(kernel: Kernel, { threadsP, threadsR, slots }: ColumnThreads): number {
  const p = kernel.parallel.length;
  const along = elementLoadsOf(kernel).filter(({ access }) => access.strides[p - 1] === 1);
  if (along.length === 0) return 1;
  let width = chunkWidth(
    along.map(({ dtype }) => dtype),
    kernel.parallel[p - 1]!,
  );
  while (width > 1 && !fitsColumns(kernel, { threadsP, threadsR, width })) width /= 2;
  return slots > 1 ? width : Math.min(width, powerOfTwoTo(product(kernel.parallel) / threadsP / COLUMN_FILL));
}

type ColumnThreads = Pick<ReduceSchedule, 'threadsP' | 'threadsR' | 'slots'>;

/** Whether shared memory holds what the threads of a block exchange. */
export const fitsColumns = (
  kernel: Kernel,
  { threadsP, threadsR, width }: Pick<ReduceSchedule, 'threadsP' | 'threadsR' | 'width'>,
): boolean => width * threadsP * threadsR * accumulatorBytes(kernel) <= SHARED_BYTES;

/** Loads of a thread that are in flight together in columns. */
const columnUnroll = (width: number, length: number): number =>
  Math.min(loadsInFlight(width), powerOfTwoFrom(length));

function chooseColumnLayout(kernel: Kernel): ReduceSchedule {
  const extents = extentsOf(kernel);
  const { rows: columns, length } = extents;
  const short = isShort(kernel) ? { threadsP: THREADS, threadsR: 1 } : threadsOfShortColumns(extents);
  if (short !== undefined) return shortColumns(kernel, short);
  const width = columnWidth(kernel, { threadsP: 1, threadsR: THREADS, slots: 2 });
  const chunks = Math.ceil(columns / width);
  const unrollR = columnUnroll(width, length);
  // Rows enough for every thread along the reduced axis to take a few steps, columns enough for full lines.
  const deep = powerOfTwoTo(Math.max(1, length / (4 * unrollR)));
  const threadsP = Math.max(Math.min(WARP, powerOfTwoFrom(chunks)), THREADS / Math.min(deep, THREADS));
  const threadsR = THREADS / threadsP;
  const blocksP = Math.ceil(chunks / threadsP);
  const step = threadsR * unrollR;
  const blocks = blocksP >= ENOUGH_BLOCKS ? 1 : COLUMN_BLOCKS;
  const slots = slotsOf(length, step, blocksP, threadsR * longestChain(kernel), blocks);
  return {
    kind: 'reduce',
    mapping: 'columns',
    threadsP,
    threadsR,
    width,
    itemsP: 1,
    unrollR,
    ...slots,
    staged: false,
  };
}

/** Columns that a block reduces by itself. */
function shortColumns(
  kernel: Kernel,
  threads: Pick<ReduceSchedule, 'threadsP' | 'threadsR'>,
): ReduceSchedule {
  const length = product(kernel.reduced);
  const width = columnWidth(kernel, { ...threads, slots: 1 });
  // Whole steps only, as a kernel of several phases takes them.
  const unrollR = Math.min(columnUnroll(width, length), powerOfTwoTo(length / threads.threadsR));
  return {
    kind: 'reduce',
    mapping: 'columns',
    threadsP: threads.threadsP,
    threadsR: threads.threadsR,
    width,
    itemsP: 1,
    unrollR,
    ...oneSlot(length, threads.threadsR * unrollR),
    staged: false,
  };
}
