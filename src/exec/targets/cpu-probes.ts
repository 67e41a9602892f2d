/**
 * Measures the rates by which kernels on the CPU are predicted, by small kernels, once in a process and when they are
 * asked for: how fast the machine is, memory beyond the caches (0.1 s in all), and each function
 * that a kernel calls (6 ms). Nothing that computes waits for it.
 */

import { encodeTape } from '../../codegen/cpu/tape.js';
import {
  BEYOND_BYTES,
  type MemoryRate,
  type TapeRates,
  unmeasuredRates,
} from '../../codegen/cpu/tape-rates.js';
import { movedNanoseconds, tallyOfKernel, workNanoseconds } from '../../codegen/cpu/tape-seconds.js';
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
/** Rates of memory are no less than so much of what they would be without measurement: its times are noisy. */
const LEAST_SHARE = 0.5;

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
    for (const { of } of tallyOfKernel(kernel).functions.values()) {
      if (rates!.functions.has(of.key) || isHidden(of)) continue;
      const measured = await functionRate(of, rates!);
      rates = { ...rates!, functions: new Map(rates!.functions).set(of.key, measured) };
    }
  }
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
  const slowness =
    (await nanosecondsOf(add)) /
    (workNanoseconds(add, tallyOfKernel(add), plain) + movedNanoseconds(add, plain));
  const memory: MemoryRate[] = [];
  for (const rate of plain.memory) memory.push(await memoryRate(rate, { ...plain, slowness }));
  rates = { ...plain, slowness, memory };
}

async function nanosecondsOf(kernel: Kernel, milliseconds = SHORT): Promise<number> {
  const tape = encodeTape(kernel);
  let least = Number.POSITIVE_INFINITY;
  for (let turn = 0; turn < TURNS; turn++) least = Math.min(least, await timeTape(tape, milliseconds));
  return 1e9 * least;
}

/**
 * A map that reads and writes so many bytes shows by how much memory is slower than without measurement. Caches are as slow
 * as the core: a map of their size has them for itself, as others hardly have.
 */
async function memoryRate({ bytes, read, write }: MemoryRate, plain: TapeRates): Promise<MemoryRate> {
  const { slowness } = plain;
  if (bytes <= BEYOND_BYTES) return { bytes, read: slowness * read, write: slowness * write };
  const count = bytes / 2 / byteLengthOf('float32');
  const map = mapOf(create.map('float32', 'square', [0]), ['float32'], count);
  const tally = tallyOfKernel(map);
  const threads = Math.min(plain.threads, tally.tasks);
  const moved = (await nanosecondsOf(map, LONG)) - workNanoseconds(map, tally, plain) / threads;
  const slower = Math.max(LEAST_SHARE, moved / ((movedNanoseconds(map, plain) * plain.threads) / threads));
  return { bytes, read: slower * read, write: slower * write };
}

/** The time of a vector of a function beyond what a light one would take in its place. */
async function functionRate(of: TalliedFunction, known: TapeRates): Promise<number> {
  const kernel = probeOf(of);
  const tally = tallyOfKernel(kernel);
  const own = tally.functions.get(of.key);
  if (own === undefined) return 0;
  const without: TapeRates = { ...known, functions: new Map(known.functions).set(of.key, 0) };
  const rest = workNanoseconds(kernel, tally, without) + movedNanoseconds(kernel, known);
  return Math.max(0, (await nanosecondsOf(kernel)) - rest) / own.vectors;
}

function probeOf({ instruction, taken, isByLane }: TalliedFunction): Kernel {
  if (!isReduction(instruction)) return mapOf(instruction, taken, FUNCTION_ELEMENTS);
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

/** One instruction of arrays that lie side by side. */
function mapOf(instruction: Instruction, taken: readonly DType[], count: number): Kernel {
  const place: Affine = { offset: 0, strides: [1] };
  const positions = [...taken.keys()];
  return {
    name: 'probe',
    parallel: [count],
    reduced: [],
    buffers: buffersOf(taken, instruction.dtype, count, count),
    tape: [...argumentsAt(taken, place), mapInstruction(instruction, positions)],
    stores: [{ value: taken.length, access: { ...place, buffer: taken.length, bounds: [] } }],
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
