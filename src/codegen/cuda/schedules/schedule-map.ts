/**
 * The schedule of a kernel without reduced axes whose loads run along its stores, or are too short to be
 * transposed.
 */
import { loadsOf, windowIndexOf } from '../../../fusion/kernel/algebra.js';
import { arithmeticOf, cudaFunctionsIn, loopsIn } from '../../../fusion/kernel/arithmetic.js';
import { type Access, type Kernel, product } from '../../../fusion/kernel/kernel.js';
import { dependenciesOf } from '../../../fusion/kernel/levels.js';
import { byteLengthOf } from '../../../graph/dtype.js';
import { Body } from '../body.js';
import { ANY_LENGTH, type Chunking, chunkWidth, isAligned, isVector, neighboursOf } from '../chunks.js';
import { interleavedOf } from '../interleaved.js';
import { isExpensive } from '../outlined.js';
import { accessesOf } from './schedule-rows.js';

export interface MapSchedule {
  readonly kind: 'map';
  /** Elements that a thread handles together along the last axis. */
  readonly width: number;
  /** Chunks per thread. */
  readonly unroll: number;
  readonly threads: number;
}

/**
 * Weight of arithmetic up to which a thread takes several chunks: beyond it, more code only compiles more
 * slowly.
 */
const LIGHT_TAPE = 48;
/**
 * Weight of what depends on the column alone from which on a thread takes several chunks of the same columns.
 */
const HEAVY_COLUMNS = 16;
/** Small blocks: loads of the next begin while others of a multiprocessor still compute. */
const THREADS = 128;
/** Loads beyond which chunks are short: all of them are in registers at once. */
const MANY_LOADS = 24;
const MANY_LOADS_WIDTH = 2;
/** Stores beyond which their chunks have so many words at most: all of them are in registers at once. */
const MANY_STORES = 16;
const STORED_WORDS = 64;
/** Words of the chunks of a window, which are taken up one after the other, in registers at most. */
const WINDOW_WORDS = 144;
/** The same where interleaved channels are computed on at length, for each element of a chunk. */
const HEAVY_CHANNELS_WIDTH = 4;
/** Chunks are not worth it where one in so many accesses is element by element. */
const BROKEN_SHARE = 3;
/** Elements from which on every thread of a device has several chunks. */
const MANY_ELEMENTS = 2 ** 22;

/**
 * Whether all chunks of a thread, `step` elements from one to the next, lie in the same columns of the last
 * axis.
 */
export const sharesColumns = (kernel: Kernel, unroll: number, step: number): boolean =>
  unroll > 1 && kernel.parallel.length > 1 && step % kernel.parallel[kernel.parallel.length - 1]! === 0;

/** Those of `positions` that depend on the last axis alone, in tape order. */
export function columnValues(body: Body, positions: readonly number[]): number[] {
  const last = body.kernel.parallel.length - 1;
  return positions.filter((position) => body.depends[position]!.every((on, axis) => !on || axis === last));
}

/** Whether a thread computes chunk by chunk in a loop, which has nothing to load: begun once, as random keys are. */
const isWithoutLoads = (kernel: Kernel): boolean =>
  loadsOf(kernel).length === 0 && kernel.tape.some(isExpensive);

type Accesses = ReturnType<typeof accessesOf>;

const NO_ACCESSES: ReadonlySet<Access> = new Set();
const NO_NEIGHBOURS = { first: undefined, rest: undefined };

/** The accesses that are of interleaved channels. */
function interleavedAccesses(accesses: Accesses, axis: number): ReadonlySet<Access> {
  const found = [false, true].flatMap((store) => {
    const own = accesses.filter((each) => each.store === store).map(({ access }) => access);
    return interleavedOf(own, axis, store).flatMap(({ members }) => [...members.keys()].map((k) => own[k]!));
  });
  return new Set(found);
}

export function chooseMap(kernel: Kernel): MapSchedule {
  const window = windowIndexOf(kernel);
  if (window === undefined) return chooseFree(kernel);
  // A chunk of one index is there as a whole, or not at all.
  const { width } = chooseFree(kernel);
  const isOneIndex = dependenciesOf(kernel)[window]!.at(-1) === false;
  return { kind: 'map', width: isOneIndex ? width : 1, unroll: 1, threads: THREADS };
}

/** Whether most of many loads are neighbours, all of whose elements are in chunks that registers hold. */
function isWindow(read: Accesses, chunking: Chunking): boolean {
  let [chunks, words] = [0, 0];
  for (const { access, dtype } of read) {
    const { first, rest } = isVector(access, chunking)
      ? NO_NEIGHBOURS
      : neighboursOf(access, read, (other) => other.access, chunking);
    const isWhole = first === undefined && rest === undefined;
    const isTaken = first !== undefined && rest !== undefined;
    // Elements that neither the chunk before nor the one behind has.
    const own = isWhole ? chunking.width : isTaken ? 0 : (first?.by ?? -rest!.by);
    if (isWhole) chunks++;
    words += (byteLengthOf(dtype) * own) / 4;
  }
  return 2 * chunks <= read.length && words <= WINDOW_WORDS;
}

/** Of a kernel all of whose elements are computed. */
function chooseFree(kernel: Kernel): MapSchedule {
  // A warp goes on until the last of its loops has ended: neighbouring elements end at about the same step.
  if (loopsIn(kernel).length > 0 || cudaFunctionsIn(kernel).some(({ hasLoop }) => hasLoop))
    return { kind: 'map', width: 1, unroll: 1, threads: THREADS };
  const last = kernel.parallel.length - 1;
  const count = product(kernel.parallel);
  const accesses = accessesOf(kernel);
  const channels = last < 0 ? NO_ACCESSES : interleavedAccesses(accesses, last);
  const along = accesses
    .filter(({ access }) => last >= 0 && (access.strides[last] === 1 || channels.has(access)))
    .map(({ dtype }) => dtype);
  // A single axis may end inside a chunk (there is a scalar tail); rows may not.
  const multiple = kernel.parallel.length > 1 ? kernel.parallel[last]! : ANY_LENGTH;
  const read = accesses.filter(({ store }) => !store);
  const loads = read.length;
  let width = along.length === 0 ? 1 : chunkWidth(along, multiple);
  if (loads > MANY_LOADS && !isWindow(read, { axis: last, width })) width = Math.min(width, MANY_LOADS_WIDTH);
  const heavy = arithmeticOf(kernel) > LIGHT_TAPE;
  if (channels.size > 0 && heavy) width = Math.min(width, HEAVY_CHANNELS_WIDTH);
  // Chunks that no whole access can bring in cost as many as they have elements; neighbouring threads then do
  // better with neighbouring elements. Loads that share most elements with another one cost only the rest.
  const chunking = { axis: last, width };
  const isTaken = (access: Access): boolean => {
    const { first, rest } = neighboursOf(access, read, (other) => other.access, chunking);
    return first !== undefined || rest !== undefined;
  };
  const broken = accesses.filter(
    ({ access, store }) =>
      last >= 0 && access.strides[last] === 1 && !isAligned(access, chunking) && (store || !isTaken(access)),
  );
  if (BROKEN_SHARE * broken.length >= accesses.length) width = 1;
  const words = accesses.reduce((sum, { dtype, store }) => sum + (store ? byteLengthOf(dtype) / 4 : 0), 0);
  if (accesses.length - loads > MANY_STORES) while (width > 1 && width * words > STORED_WORDS) width /= 2;
  const big = count >= MANY_ELEMENTS;
  if (big && sharesColumns(kernel, 2, THREADS * width)) {
    const columns = arithmeticOf(kernel, columnValues(new Body(kernel), [...kernel.tape.keys()]));
    if (columns >= HEAVY_COLUMNS) return { kind: 'map', width, unroll: 2, threads: THREADS };
  }
  if (width > 1 && big && !heavy && isWithoutLoads(kernel))
    return { kind: 'map', width, unroll: 8, threads: THREADS };
  // Elements that are taken from anywhere wait for memory: more threads with fewer of them have as many under way.
  const gathers = read.some(({ access }) => access.index !== undefined && access.strides[last] !== 1);
  const unroll = !big || heavy || gathers ? 1 : width === 1 ? 4 : loads <= 2 ? 2 : 1;
  return { kind: 'map', width, unroll, threads: THREADS };
}
