/**
 * Rows of a few elements, a thread each, which the warps bring in and out through shared memory (`printers/row-whole.ts`): a schedule
 * of kernels whose rows follow one another in memory. It has the bits of threads that share a row: in turn (`in-turn.ts`), or with the
 * accumulators of all of them in one thread, which meet as the threads would.
 *
 *     softmax of rows of 15 float32: 16 threads a row, which meet 15 times for a sum   →   a thread a row, which adds
 *     its moments                  : 16 threads a row, which meet by halves            →   15 accumulators of a thread, which do
 *
 * Called by `candidates.ts`.
 */
import { loadsOf } from '../../../fusion/kernel/algebra.js';
import { arithmeticOf, opOf, reductionOf, reductionsOf } from '../../../fusion/kernel/arithmetic.js';
import {
  type Access,
  argumentsOf,
  type Instruction,
  type Kernel,
  product,
  sameNumbers,
} from '../../../fusion/kernel/kernel.js';
import { levelsOf } from '../../../fusion/kernel/levels.js';
import { byteLengthOf, type DType, isInteger } from '../../../graph/dtype.js';
import { denseStrides } from '../../../graph/graph.js';
import type { OpName } from '../../../graph/ops.js';
import { isExactReduction, reductionRow } from '../../../graph/reductions.js';
import { ACCESS_BYTES } from '../chunks.js';
import { isInTurn } from './in-turn.js';
import { WARP } from './limits.js';
import type { RowSchedule } from './schedule-rows.js';

const THREADS = 128;
/** Words of a thread's rows, and of its accumulators, at most: they are in registers. */
const MOST_WORDS = 64;
/** Threads that share a row as fast: variances of 16 halves took an H200 90 µs so, and 97 with a thread a row. */
const FEW_THREADS = 2;
/** Elements of a row, at most, and the weight of their arithmetic, all of which is written out. */
const [MOST_ELEMENTS, MOST_ARITHMETIC] = [32, 1024];

/** Whether an access walks rows that follow one another in memory, of which a warp's begin at a multiple of 16 bytes. */
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

/** The schedule of a thread a row with the bits of one whose threads share rows, if there is one. */
export function wholeRows(kernel: Kernel, shared: Shared): RowSchedule | undefined {
  const { mapping, threadsR, width } = shared;
  const length = product(kernel.reduced);
  const isShared = mapping === 'rows' && threadsR > FEW_THREADS && threadsR <= WARP;
  if (!isShared || length > MOST_ELEMENTS || length % width !== 0) return undefined;
  if (length * arithmeticOf(kernel) > MOST_ARITHMETIC) return undefined;
  if (!movesRows(kernel) || addsProducts(kernel)) return undefined;
  if (wordsOf(kernel, threadsR * width) > MOST_WORDS) return undefined;
  return {
    kind: 'rows',
    mapping: 'rows',
    threadsP: THREADS,
    threadsR: 1,
    width,
    chunks: length / width,
    sharedChunks: 0,
    held: true,
    lanes: threadsR,
  };
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

/** Words of a row's elements that are read, or stored, at once; and of the accumulators of a phase, of so many elements. */
function wordsOf(kernel: Kernel, elements: number): number {
  const length = product(kernel.reduced);
  const words = (dtypes: readonly DType[]): number =>
    dtypes.reduce((sum, dtype) => sum + (length * byteLengthOf(dtype)) / 4, 0);
  const accumulators = reductionsOf(kernel).map(({ name, taken }) =>
    isInTurn(kernel, name) ? 0 : (elements * (reductionRow(name).width - 1) * byteLengthOf(taken)) / 4,
  );
  return Math.max(
    words(elementLoads(kernel).map(({ dtype }) => dtype)),
    words(elementStores(kernel).map(({ dtype }) => dtype)),
    ...accumulators,
  );
}

/** Ops whose last operation is no multiplication: `expf` ends with one. */
const ROUNDED: ReadonlySet<OpName | undefined> = new Set<OpName | undefined>([
  undefined, 'add', 'subtract', 'divide', 'maximum', 'minimum', 'abs', 'sqrt', 'log', 'log1p', 'tanh', 'where', 'floor',
]); // biome-ignore format: a list

/**
 * Whether an element takes a product of its row in a sum, or two sums take one of elements: p − Σp of p = xy. The compiler may
 * compute them with a sum at once, or not, by how many elements of a thread do, and by whether both are behind one condition.
 */
function addsProducts(kernel: Kernel): boolean {
  const { tape } = kernel;
  const { element } = levelsOf(kernel);
  const sums = new Set(['add', 'subtract', 'negative']);
  const isSum = (i: Instruction): boolean => {
    const reduction = reductionOf(i);
    if (reduction !== undefined) return !isExactReduction(reduction, tape[argumentsOf(i)[0]!]!.dtype);
    return sums.has(opOf(i) ?? '');
  };
  const sumsOf = (position: number): number[] =>
    [...tape.keys()].filter((at) => isSum(tape[at]!) && argumentsOf(tape[at]!).includes(position));
  return tape.some((i, position) => {
    if (ROUNDED.has(opOf(i)) || isInteger(i.dtype)) return false;
    const takers = sumsOf(position);
    return element[position] ? takers.length > 1 : takers.some((at) => element[at]);
  });
}
