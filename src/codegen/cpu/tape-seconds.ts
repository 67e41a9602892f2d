/**
 * Predicts the time of a kernel on the CPU: what its tape does (`tape-tally.ts`) at the rates of the machine, and the
 * bytes that it moves through caches and memory. Inputs are taken to be as near as the kernel's bytes allow.
 */

import { accessesOf, sizesOf } from '../../fusion/kernel/algebra.js';
import { costOf, reductionOf } from '../../fusion/kernel/arithmetic.js';
import { type Kernel, oncePerKernel, product } from '../../fusion/kernel/kernel.js';
import { type Traffic, trafficOf } from '../../fusion/kernel/traffic.js';
import { byteLengthOf } from '../../graph/dtype.js';
import { STREAM_BYTES } from './tape-lines.js';
import {
  ADDITION,
  classOf,
  lineRateOf,
  memoryRateOf,
  passedRateOf,
  sharedAmong,
  TAPE_RATES,
  type TapeRates,
} from './tape-rates.js';
import { type TalliedFunction, type TapeTally, tallyOf } from './tape-tally.js';

const NANOSECOND = 1e-9;
const LINE_BYTES = 64;
/** Of fewer tiles for each thread, blocks are shared: as in `tape-run.cpp`. */
const TILES_OF_THREAD = 4;
/** Additions that an element of a reduction is worth: of one value for each lane, and of several. */
const SIMPLE_REDUCTION = 2;
const WIDE_REDUCTION = 6;
/** The part of writing past the caches that everything else waits for. */
const NOT_BESIDE = 0.26;
/** A vector of elements of 8 bytes takes so many times as long, in functions alone. */
const WIDE = 1.5;

/** The tally of a kernel; once, although it is asked for by each prediction. */
export const tallyOfKernel: (kernel: Kernel) => TapeTally = oncePerKernel(tallyOf);

export function secondsOfTape(kernel: Kernel, rates: TapeRates): number {
  const tally = tallyOfKernel(kernel);
  const threads = threadsOf(tally, rates);
  const working = workNanoseconds(kernel, tally, rates) / threads;
  const moving = movedNanoseconds(kernel, rates, threads);
  return (
    NANOSECOND *
    ((threads > 1 ? rates.fork : 0) + Math.max(working + moving, pastNanoseconds(kernel, rates, threads)))
  );
}

/** Values that pass from kernel to kernel: as a whole, or in panels. */
export interface Passed {
  readonly panels: number;
  /** Of a panel, with what several kernels read of it. */
  readonly byteLength: number;
  /** Bytes that a kernel reads and writes of those values, in all panels together. */
  readonly read: number;
  readonly written: number;
}

/** As `secondsOfTape`, of a kernel that follows, or is followed by, others that use its values. */
export function secondsAsWhole(kernel: Kernel, passed: Passed, rates: TapeRates): number {
  return (
    secondsOfTape(kernel, rates) + secondsBetween(passed, threadsOf(tallyOfKernel(kernel), rates), rates)
  );
}

/** As `secondsAsWhole`, of a kernel that runs panel by panel. */
export function secondsInPanels(kernel: Kernel, passed: Passed, rates: TapeRates): number {
  const { panels, byteLength, read, written } = passed;
  const tally = tallyOfKernel(kernel);
  const threads = threadsOf(tally, rates);
  const moved = movedBy(kernel);
  const streamed = Math.max(0, moved.streamed - written);
  const around = memoryRateOf(rates, moved.held, threads);
  const inside = memoryRateOf(rates, Math.min(moved.held, byteLength), threads);
  const past = sharedAmong(threads, rates) * rates.streamed * streamed;
  const moving =
    around.read * Math.max(0, moved.bytesRead - read) +
    around.write * Math.max(0, moved.bytesWritten - written - streamed) +
    inside.read * read +
    inside.write * written +
    NOT_BESIDE * past;
  const working = workNanoseconds(kernel, tally, rates) / threads;
  const forks = (threads > 1 ? rates.fork : 0) * panels;
  const alone = NANOSECOND * (forks + Math.max(working + moving, past));
  return alone + secondsBetween(passed, threads, rates);
}

/** Beyond the time of each kernel alone, which finds its inputs where it left them the last time. */
const secondsBetween = ({ byteLength, read, written }: Passed, threads: number, rates: TapeRates): number =>
  (NANOSECOND * rates.slowness * passedRateOf(byteLength) * (read + written)) / threads;

/** Threads that are busy all the time: three tiles take two threads as long as four would, and keep 1.5 of them busy. */
export function threadsOf({ tasks, tiles, tasksOfBlocks }: TapeTally, { threads }: TapeRates): number {
  const isSplit = tasksOfBlocks !== undefined && threads > 1 && tiles < TILES_OF_THREAD * threads;
  const all = isSplit ? Math.max(tasks, tasksOfBlocks) : tiles;
  return all / Math.ceil(all / Math.min(threads, isSplit ? all : tasks));
}

/** Of one thread: all that it does, and lines that are not in one stream. */
export function workNanoseconds(kernel: Kernel, tally: TapeTally, rates: TapeRates): number {
  const { held } = movedBy(kernel);
  let sum = 0;
  for (const [rate, amount] of tally.amounts) sum += rates.slowness * amount * TAPE_RATES[rate];
  for (const [rate, amount] of tally.lines) sum += rates.lines * amount * lineRateOf(rate, held);
  for (const { of, vectors } of tally.functions.values())
    sum += vectors * (rates.functions.get(of.key) ?? rates.slowness * unmeasuredRate(of));
  return sum;
}

/** Weights of the table of ops stand for functions that were not measured. */
function unmeasuredRate({ instruction, taken }: TalliedFunction): number {
  const isWide = [instruction.dtype, ...taken].some((dtype) => byteLengthOf(dtype) >= 8);
  const reduction = reductionOf(instruction);
  const isSimple = reduction !== undefined && classOf(reduction) === 'simple';
  const additions = costOf(instruction) || (isSimple ? SIMPLE_REDUCTION : WIDE_REDUCTION);
  return ADDITION * additions * (isWide ? WIDE : 1);
}

/** Reading and writing what the kernel moves, by so many threads, less what goes past the caches beside that. */
export function movedNanoseconds(kernel: Kernel, rates: TapeRates, threads: number): number {
  const { bytesRead, bytesWritten, streamed, held } = movedBy(kernel);
  const { read, write } = memoryRateOf(rates, held, threads);
  const past = NOT_BESIDE * pastNanoseconds(kernel, rates, threads);
  return read * bytesRead + write * (bytesWritten - streamed) + past;
}

/** Writing past the caches, if a kernel did nothing else. */
const pastNanoseconds = (kernel: Kernel, rates: TapeRates, threads: number): number =>
  sharedAmong(threads, rates) * rates.streamed * movedBy(kernel).streamed;

/** Bytes of all lines that it reads and writes, of those that it writes past the caches, and of the others. */
function movedBy(kernel: Kernel): Traffic & { readonly streamed: number; readonly held: number } {
  const traffic = trafficOf(kernel);
  const bytesRead = traffic.bytesRead * wholeLines(kernel, 'input');
  const linesOfResult = wholeLines(kernel, 'output');
  const bytesWritten = traffic.bytesWritten * linesOfResult;
  const large = kernel.buffers
    .filter(({ role }) => role !== 'input')
    .map(({ dtype, elementCount }) => byteLengthOf(dtype) * elementCount)
    .filter((bytes) => bytes >= STREAM_BYTES);
  const streamed = Math.min(
    bytesWritten,
    large.reduce((sum, bytes) => sum + linesOfResult * bytes, 0),
  );
  return { bytesRead, bytesWritten, streamed, held: bytesRead + bytesWritten - streamed };
}

/** Bytes of the lines that hold the elements of a role, for each byte of the elements: by its widest access. */
function wholeLines(kernel: Kernel, role: 'input' | 'output'): number {
  const sizes = sizesOf(kernel);
  let [widest, lines] = [0, 1];
  for (const { buffer, strides, index } of accessesOf(kernel)) {
    const { dtype, role: own } = kernel.buffers[buffer]!;
    if (own !== role || index !== undefined) continue;
    const axes = strides.flatMap((stride, axis) => (stride !== 0 && sizes[axis]! > 1 ? [axis] : []));
    const elements = product(axes.map((axis) => sizes[axis]!));
    if (elements <= widest) continue;
    const step = Math.min(...axes.map((axis) => Math.abs(strides[axis]!)));
    [widest, lines] = [elements, Math.min(axes.length === 0 ? 1 : step, LINE_BYTES / byteLengthOf(dtype))];
  }
  return lines;
}
