/**
 * Measures the rates by which kernels on the CPU are predicted, by small kernels, once in a process and when they are
 * asked for: how fast the machine is, the cache that cores share and memory beyond it (0.1 s in all), and each function
 * that a kernel calls (6 ms). Nothing that computes waits for it.
 */

import { encodeTape } from '../../codegen/cpu/tape.js';
import { STREAM_BYTES } from '../../codegen/cpu/tape-lines.js';
import {
  type MemoryRate,
  sharedAmong,
  type TapeRates,
  unmeasuredRates,
} from '../../codegen/cpu/tape-rates.js';
import {
  movedNanoseconds,
  secondsOfTape,
  tallyOfKernel,
  threadsOf,
  workNanoseconds,
} from '../../codegen/cpu/tape-seconds.js';
import type { TalliedFunction } from '../../codegen/cpu/tape-tally.js';
import { costOf, isReduction, opOf } from '../../fusion/kernel/arithmetic.js';
import { create, mapInstruction } from '../../fusion/kernel/instruction.js';
import type { Affine, BufferParameter, Instruction, Kernel } from '../../fusion/kernel/kernel.js';
import { byteLengthOf, type DType } from '../../graph/dtype.js';
import { cpuInfo, timeTape } from '../native/native.js';
import type { KernelStep } from '../plan/plan.js';

/** Milliseconds of runs for each of the small kernels, and for those that show the memory. */
const SHORT = 2;
const LONG = 8;
/** Other work is not in all of several turns. */
const TURNS = 3;
/** Elements that lie in the first two levels of caches, with the result; of a function, which takes little of a run. */
const NEAR = 8192;
const FUNCTION_ELEMENTS = 32768;
/** Of a reduction: results, each of so many elements. */
const ROWS = 512;
const ROW_LENGTH = 32;
/** From so many bytes on, caches and memory are shared with others: how fast they are is measured. */
const FAR_BYTES = 2 ** 24;
/** Writing past the caches takes no less than so much of what it would without measurement: times are noisy. */
const LEAST_SHARE = 0.3;

/** Milliseconds of runs of a kernel whose time is asked for. */
const ASKED = 20;

/** The least seconds of a kernel on memory of its own; with one thread of its processor, else of the clock. */
export const timeOfStep = ({ kernel }: KernelStep): Promise<number> => timeTape(encodeTape(kernel), ASKED);

let rates: TapeRates | undefined;

/** The rates of this machine as far as they are known. */
export const cpuRates = (): TapeRates => rates ?? unmeasuredRates(cpuInfo().threads);

/** Measures what predictions of some kernels follow from, unless it is known. */
export async function measureRates(kernels: readonly Kernel[]): Promise<void> {
  await machine();
  for (const kernel of kernels) {
    const { functions } = await withFunctionsOf(kernel, rates!);
    // Others may have measured functions meanwhile.
    rates = { ...rates!, functions: new Map([...rates!.functions, ...functions]) };
  }
}

async function withFunctionsOf(kernel: Kernel, known: TapeRates): Promise<TapeRates> {
  let all = known;
  for (const { of } of tallyOfKernel(kernel).functions.values()) {
    if (all.functions.has(of.key) || isHidden(of)) continue;
    all = { ...all, functions: new Map(all.functions).set(of.key, await functionRate(of, all)) };
  }
  return all;
}

/** Ops of so many additions are hidden by what a map reads and writes, but not where they are joined. */
const HIDDEN = 2;
const isHidden = ({ instruction }: TalliedFunction): boolean =>
  opOf(instruction) !== undefined && costOf(instruction) <= HIDDEN;

/** The machine's own rates, measured once for all that ask meanwhile; again where that failed. */
function machine(): Promise<void> {
  measuring ??= measureMachine().catch((error: unknown) => {
    measuring = undefined;
    throw error;
  });
  return measuring;
}
let measuring: Promise<void> | undefined;

async function measureMachine(): Promise<void> {
  const plain = unmeasuredRates(cpuInfo().threads);
  const add = mapOf(create.map('float32', 'add', [0, 1]), ['float32', 'float32'], NEAR);
  const slowness = (await nanosecondsOf(add)) / predictedNanoseconds(add, plain);
  const known: TapeRates = { ...plain, slowness, streamed: slowness * plain.streamed };
  const memory: MemoryRate[] = [];
  let slower = slowness;
  for (const { bytes, read, write } of plain.memory) {
    if (bytes >= FAR_BYTES) slower = slowness * (await slownessOfMemory(bytes, known));
    const nearer = bytes >= FAR_BYTES ? memory.at(-1)! : { read: 0, write: 0 };
    memory.push({
      bytes,
      read: Math.max(nearer.read, slower * read),
      write: Math.max(nearer.write, slower * write),
    });
  }
  const measured: TapeRates = { ...known, memory, lines: slower };
  rates = { ...measured, streamed: await streamedRate(measured) };
}

const predictedNanoseconds = (kernel: Kernel, by: TapeRates): number => 1e9 * secondsOfTape(kernel, by);

async function nanosecondsOf(kernel: Kernel, milliseconds = SHORT): Promise<number> {
  const tape = encodeTape(kernel);
  let least = Number.POSITIVE_INFINITY;
  for (let turn = 0; turn < TURNS; turn++) least = Math.min(least, await timeTape(tape, milliseconds));
  return 1e9 * least;
}

/**
 * A kernel of so many bytes shows by how much memory is slower than without measurement, or the cache that cores share with
 * others: a map, unless it would write past the caches, else a sum. A core's own caches are as slow as the core, and none
 * that are farther are faster.
 */
async function slownessOfMemory(bytes: number, rates: TapeRates): Promise<number> {
  const ofFloats = bytes / byteLengthOf('float32');
  const kernel =
    bytes / 2 < STREAM_BYTES
      ? mapOf(create.map('float32', 'square', [0]), ['float32'], ofFloats / 2)
      : reductionOf(create.reduce('float32', 'sum', [0]), ['float32'], [], [ofFloats]);
  const known = await withFunctionsOf(kernel, rates);
  const moved = movedOf(kernel, await nanosecondsOf(kernel, LONG), known);
  return moved / (known.slowness * movedNanoseconds(kernel, known));
}

/** A byte past the caches, by a map that writes there: its time beyond reading. */
async function streamedRate(known: TapeRates): Promise<number> {
  const map = mapOf(create.map('float32', 'square', [0]), ['float32'], FAR_BYTES / byteLengthOf('float32'));
  const writing =
    movedOf(map, await nanosecondsOf(map, LONG), known) - movedNanoseconds(map, { ...known, streamed: 0 });
  return Math.max(LEAST_SHARE * known.streamed, writing / FAR_BYTES);
}

/** The part of a kernel's time in which memory is waited for, as one thread's. */
function movedOf(kernel: Kernel, nanoseconds: number, known: TapeRates): number {
  const tally = tallyOfKernel(kernel);
  const threads = threadsOf(tally, known);
  const moved = nanoseconds - workNanoseconds(kernel, tally, known) / threads;
  return Math.max(0, moved) / sharedAmong(threads);
}

/** The time that a vector of a function takes one thread, beyond what a light one would in its place. */
async function functionRate(of: TalliedFunction, known: TapeRates): Promise<number> {
  const kernel = probeOf(of);
  const tally = tallyOfKernel(kernel);
  const own = tally.functions.get(of.key);
  if (own === undefined) return 0;
  const without: TapeRates = { ...known, functions: new Map(known.functions).set(of.key, 0) };
  const rest = predictedNanoseconds(kernel, without);
  return (threadsOf(tally, known) * Math.max(0, (await nanosecondsOf(kernel)) - rest)) / own.vectors;
}

function probeOf({ instruction, taken, isByLane, isChained }: TalliedFunction): Kernel {
  if (!isReduction(instruction)) return mapOf(instruction, taken, FUNCTION_ELEMENTS, isChained);
  return isByLane
    ? reductionOf(instruction, taken, [ROWS], [ROW_LENGTH])
    : reductionOf(instruction, taken, [], [ROWS * ROW_LENGTH]);
}

const buffersOf = (
  taken: readonly DType[],
  result: DType,
  elements: number,
  results: number,
): BufferParameter[] => [
  ...taken.map((dtype): BufferParameter => ({ dtype, role: 'input', elementCount: elements })),
  { dtype: result, role: 'output', elementCount: results },
];

/** Arguments of an instruction; the second one of a position of an extreme is where its element is. */
const argumentsAt = (taken: readonly DType[], place: Affine, isIndexed = false): Instruction[] =>
  taken.map((dtype, buffer) =>
    isIndexed && buffer === 1 ? create.index(place) : create.load(dtype, { ...place, buffer, bounds: [] }),
  );

/** One instruction of arrays that lie side by side, or as a step of a chain: between light ones, of which pairs are none. */
function mapOf(instruction: Instruction, taken: readonly DType[], count: number, isChained = false): Kernel {
  const place: Affine = { offset: 0, strides: [1] };
  const loads = argumentsAt(taken, place);
  const [first = 0, ...others] = taken.keys();
  const tape = isChained
    ? [
        ...loads,
        create.map(taken[0]!, 'abs', [first]),
        mapInstruction(instruction, [loads.length, ...others]),
        create.map(instruction.dtype, 'negative', [loads.length + 1]),
      ]
    : [...loads, mapInstruction(instruction, [first, ...others])];
  return {
    name: 'probe',
    parallel: [count],
    reduced: [],
    buffers: buffersOf(taken, instruction.dtype, count, count),
    tape,
    stores: [{ value: tape.length - 1, access: { ...place, buffer: taken.length, bounds: [] } }],
  };
}

/** A reduction over outer axes, with results side by side, or of one row. */
function reductionOf(
  instruction: Instruction,
  taken: readonly DType[],
  parallel: readonly number[],
  reduced: readonly [number],
): Kernel {
  const results = parallel[0] ?? 1;
  const across = parallel.map(() => 1);
  const positions = [...taken.keys()];
  return {
    name: 'probe',
    parallel,
    reduced,
    buffers: buffersOf(taken, instruction.dtype, results * reduced[0], results),
    tape: [
      ...argumentsAt(taken, { offset: 0, strides: [...across, results] }, true),
      mapInstruction(instruction, positions),
    ],
    stores: [
      {
        value: taken.length,
        access: { offset: 0, strides: [...across, 0], buffer: taken.length, bounds: [] },
      },
    ],
  };
}
