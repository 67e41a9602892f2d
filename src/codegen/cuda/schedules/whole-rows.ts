/**
 * Short rows, which one thread has, or 2, 4 or 8 share, and which the warps bring in and out through shared memory
 * (`printers/row-whole.ts`): a schedule of kernels whose rows follow one another in memory. It has the bits of the threads that would
 * share a row otherwise: in turn (`in-turn.ts`), or with the accumulators of several of them in one thread, which meet as the threads
 * would.
 *
 *     softmax of rows of 15 float32: 16 threads a row, which meet 15 times for a sum   →   a thread a row, which adds
 *     its moments                  : 16 threads a row, which meet by halves            →   15 accumulators of a thread, which do
 *     softmax of rows of 65        : 32 threads a row, each with 2 or 3 elements       →   2 threads, each with 16 accumulators
 *
 * Called by `candidates.ts`.
 */
import { loadsOf } from '../../../fusion/kernel/algebra.js';
import { arithmeticOf, reductionsOf } from '../../../fusion/kernel/arithmetic.js';
import { type Access, type Kernel, product, sameNumbers } from '../../../fusion/kernel/kernel.js';
import { levelsOf } from '../../../fusion/kernel/levels.js';
import { byteLengthOf, type DType } from '../../../graph/dtype.js';
import { denseStrides } from '../../../graph/graph.js';
import { reductionRow } from '../../../graph/reductions.js';
import { ACCESS_BYTES } from '../chunks.js';
import { isInTurn, isShort } from './in-turn.js';
import { WARP } from './limits.js';
import type { RowSchedule } from './schedule-rows.js';

const THREADS = 128;
/** Threads that may have a row, fewest first. */
const SHARING = [1, 2, 4, 8];
/** Words of a thread's elements, and of its accumulators, at most: they are in registers. */
const [MOST_WORDS, MOST_ACCUMULATED] = [50, 72];
/** Threads that share a row as fast: variances of 16 halves took an H200 90 µs so, and 97 with a thread a row. */
const FEW_THREADS = 2;
/** Elements of a row at most: in longer ones all but a few of the threads that share them are busy to the end. */
const LONGEST = 256;
/** Elements of a row at most whose threads would load 16 bytes at once, and all of them are one thread's: others were not measured. */
const LONGEST_WIDE = 32;
/** Elements of a thread, at most, and the weight of their arithmetic, all of which is written out. */
const [MOST_ELEMENTS, MOST_ARITHMETIC] = [64, 2048];

/** Whether an access walks rows that follow one another in memory, the first of which begins at a multiple of 16 bytes. */
export function isRowAfterRow({ parallel, reduced }: Kernel, access: Access, dtype: DType): boolean {
  const { strides, offset, bounds, index } = access;
  return (
    bounds.length === 0 &&
    index === undefined &&
    sameNumbers(strides, denseStrides([...parallel, ...reduced])) &&
    (offset * byteLengthOf(dtype)) % ACCESS_BYTES === 0
  );
}

/** Threads of a row, and the chunks that they have. */
type Shared = Pick<RowSchedule, 'mapping' | 'threadsR' | 'width'>;

/**
 * The schedule of whole rows with the bits of one whose threads share them, if there is one: of the fewest threads a row whose
 * registers hold it. Variances of 33 float32 take an H200 69 µs by one thread, 84 by two and 102 by four.
 */
export function wholeRows(kernel: Kernel, shared: Shared): RowSchedule | undefined {
  const { mapping, threadsR, width } = shared;
  const length = product(kernel.reduced);
  const isShared = mapping === 'rows' && threadsR > FEW_THREADS && threadsR <= WARP;
  if (!isShared || length > LONGEST || length % width !== 0) return undefined;
  if (!movesRows(kernel)) return undefined;
  const isWide = elementLoads(kernel).some(({ dtype }) => byteLengthOf(dtype) * width >= ACCESS_BYTES);
  if (isWide && length > LONGEST_WIDE) return undefined;
  // A short row goes in turn, from one thread to the next.
  const sharing = isShort(kernel) || isWide ? [1] : SHARING.filter((count) => count < threadsR / 2);
  const own = sharing.find((count) => isHeld(kernel, shared, count));
  return own === undefined ? undefined : rowsBy(own, length, shared);
}

/** Rows that so many threads have each, with the order of shared ones. */
export const rowsBy = (count: number, length: number, { threadsR, width }: Shared): RowSchedule => ({
  kind: 'rows',
  mapping: 'rows',
  threadsP: THREADS / count,
  threadsR: count,
  width,
  chunks: Math.ceil(length / width / count),
  sharedChunks: 0,
  held: true,
  lanes: threadsR / count,
});

/** Whether registers hold rows that so many threads have each. */
function isHeld(kernel: Kernel, { threadsR, width }: Shared, count: number): boolean {
  const chunks = Math.ceil(product(kernel.reduced) / width / count);
  const elements = chunks * width;
  return (
    elements <= MOST_ELEMENTS &&
    elements * arithmeticOf(kernel) <= MOST_ARITHMETIC &&
    wordsOf(kernel, elements) <= MOST_WORDS &&
    accumulatedWords(kernel, Math.min(chunks, threadsR / count) * width) <= MOST_ACCUMULATED &&
    beginsAligned(kernel, WARP / count)
  );
}

const elementLoads = (kernel: Kernel) => {
  const { element } = levelsOf(kernel);
  return loadsOf(kernel).filter(({ position }) => element[position]);
};

const elementStores = (kernel: Kernel): { access: Access; dtype: DType }[] => {
  const { element } = levelsOf(kernel);
  return kernel.stores
    .filter(({ value }) => element[value])
    .map(({ access }) => ({ access, dtype: kernel.buffers[access.buffer]!.dtype }));
};

/** Whether all elements that are read or stored are of rows one after the other, or the same for each row. */
function movesRows(kernel: Kernel): boolean {
  const isRow = ({ access, dtype }: { readonly access: Access; readonly dtype: DType }): boolean =>
    isRowAfterRow(kernel, access, dtype);
  const isOfAllRows = ({ strides, index }: Access): boolean =>
    index === undefined && strides.every((stride, axis) => axis >= kernel.parallel.length || stride === 0);
  const [loads, stores] = [elementLoads(kernel), elementStores(kernel)];
  return (
    loads.every((each) => isRow(each) || isOfAllRows(each.access)) &&
    stores.every(isRow) &&
    [...loads, ...stores].some(isRow)
  );
}

/** Whether every so many rows, those of a warp, begin at a multiple of 16 bytes. */
function beginsAligned(kernel: Kernel, rows: number): boolean {
  const length = product(kernel.reduced);
  return [...elementLoads(kernel), ...elementStores(kernel)].every(
    ({ access, dtype }) =>
      !isRowAfterRow(kernel, access, dtype) || (rows * length * byteLengthOf(dtype)) % ACCESS_BYTES === 0,
  );
}

/** Words of a thread's elements that are read, or stored, at once. */
function wordsOf(kernel: Kernel, elements: number): number {
  const words = (all: readonly { readonly dtype: DType }[]): number =>
    all.reduce((sum, { dtype }) => sum + (elements * byteLengthOf(dtype)) / 4, 0);
  return Math.max(words(elementLoads(kernel)), words(elementStores(kernel)));
}

/** Words of so many accumulators of a phase, but for those of one value, which elements are in the place of. */
function accumulatedWords(kernel: Kernel, chains: number): number {
  const words = reductionsOf(kernel).map(({ name, taken }) =>
    isInTurn(kernel, name) ? 0 : (chains * (reductionRow(name).width - 1) * byteLengthOf(taken)) / 4,
  );
  return Math.max(0, ...words);
}
