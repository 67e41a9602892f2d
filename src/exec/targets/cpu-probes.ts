/**
 * Measures the rates by which kernels on the CPU are predicted, by small kernels, once in a process and when they are
 * asked for: how fast the machine is, the cache that cores share and memory beyond it, by one thread, and each function
 * that a kernel calls. Other work slows a machine down for a while, never up: each small kernel is run in several turns,
 * apart in time, until the two least times agree, and the least is taken. Nothing that computes waits for it.
 */

import { encodeTape } from '../../codegen/cpu/tape.js';
import { STREAM_BYTES } from '../../codegen/cpu/tape-lines.js';
import {
  type MemoryRate,
  type TapeRates,
  UNKNOWN_SPREAD,
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
import { costOf, opOf } from '../../fusion/kernel/arithmetic.js';
import { create } from '../../fusion/kernel/instruction.js';
import type { Kernel } from '../../fusion/kernel/kernel.js';
import { byteLengthOf } from '../../graph/dtype.js';
import { MemoryError } from '../../host/errors.js';
import { cpuInfo, hostMemory, timeTape } from '../native/native.js';
import type { KernelStep } from '../plan/plan.js';
import { chainOfTasks, fillOf, kernelsOf, mapOf, reductionOf } from './cpu-probe-kernels.js';

/** Milliseconds of runs for each of the small kernels, and for those that show the memory. */
const SHORT = 2;
const LONG = 8;
/** Turns until the two least times of a kernel agree, and the share in which they may differ. */
const LEAST_TURNS = 3;
const MOST_TURNS = 8;
/** Of those that show the memory, which take as long as all others to fill it. */
const MOST_LONG_TURNS = 5;
const NOISE = 0.05;
/** Elements that lie in the first two levels of caches, with the result. */
const NEAR = 8192;
/** From so many bytes on, caches and memory are shared with others: how fast they are is measured. */
const FAR_BYTES = 2 ** 24;
/** The part of the machine's memory that a small kernel takes, at most. */
const PART_OF_MEMORY = 1 / 16;

/** Milliseconds of runs of a kernel whose time is asked for. */
const ASKED = 20;

/** The least seconds of a kernel on memory of its own; with one thread of its processor, else of the clock. */
export const timeOfStep = ({ kernel }: KernelStep): Promise<number> => timeTape(encodeTape(kernel), ASKED);

/** A small kernel, and its times so far, in seconds, least first: infinite where there was no memory for it. */
interface Probe {
  readonly kernel: Kernel;
  readonly milliseconds: number;
  /** Whether one thread runs it, which has memory for itself. */
  readonly isAlone: boolean;
  readonly times: number[];
}
const probes = new Map<string, Probe>();
/** The functions that were measured. */
const functions = new Map<string, TalliedFunction>();
let rates: TapeRates | undefined;

/** The rates of this machine as far as they are known. */
export const cpuRates = (): TapeRates => rates ?? unmeasuredRates(cpuInfo().threads);

let last: Promise<unknown> = Promise.resolve();

/**
 * Measures what predictions of some kernels follow from, unless it is known, after those who asked before; `again`: all of it
 * once more, as what a machine does at other times may have been in all turns.
 */
export function measureRates(kernels: readonly Kernel[], again = false): Promise<void> {
  const measured = last.then(() => measure(kernels, again));
  last = measured.catch(() => undefined);
  return measured;
}

async function measure(kernels: readonly Kernel[], again: boolean): Promise<void> {
  const called = [...kernels, ...[...memoryKernels().values()]].flatMap(functionsOf);
  const wanted = new Map([...machineProbes(), ...called.flatMap(probesOf)]);
  for (const [name, probe] of wanted) if (!probes.has(name)) probes.set(name, probe);
  const all = [...wanted.keys()].map((name) => probes.get(name)!);
  let isAgain = again;
  for (let open = all; ; isAgain = false) {
    open = all.filter((probe) => isAgain || !isSettled(probe));
    if (open.length === 0) break;
    for (const probe of open) {
      probe.times.push(await timeOf(probe));
      probe.times.sort((a, b) => a - b);
    }
  }
  for (const of of called) functions.set(of.key, of);
  rates = withFunctions(machineRates());
}

/** Memory is as without measurement where there is none to measure: this process may have a limit of its own. */
async function timeOf({ kernel, milliseconds, isAlone }: Probe): Promise<number> {
  try {
    return await timeTape(encodeTape(kernel), milliseconds, isAlone);
  } catch (error) {
    if (milliseconds === LONG && error instanceof MemoryError) return Number.POSITIVE_INFINITY;
    throw error;
  }
}

const isSettled = ({ milliseconds, times }: Probe): boolean =>
  times.length >= (milliseconds === LONG ? MOST_LONG_TURNS : MOST_TURNS) ||
  (times.length >= LEAST_TURNS && times[1]! <= (1 + NOISE) * times[0]!);

const isTimed = (name: string): boolean => Number.isFinite(probes.get(name)?.times[0]);
const nanosecondsOf = (name: string): number => 1e9 * probes.get(name)!.times[0]!;

/** Functions that are measured; ops of so many additions are hidden by what a map reads and writes, but not where they are joined. */
const functionsOf = (kernel: Kernel): TalliedFunction[] =>
  [...tallyOfKernel(kernel).functions.values()].map(({ of }) => of).filter((of) => !isHidden(of));
const HIDDEN = 2;
const isHidden = ({ instruction }: TalliedFunction): boolean =>
  opOf(instruction) !== undefined && costOf(instruction) <= HIDDEN;

type NamedProbe = readonly [name: string, probe: Probe];

function probesOf(of: TalliedFunction): NamedProbe[] {
  const { kernel, light } = kernelsOf(of);
  return [
    [of.key, short(kernel)],
    ...(light === undefined ? [] : [[lightName(light), short(light.kernel)] as const]),
  ];
}
const short = (kernel: Kernel): Probe => ({ kernel, milliseconds: SHORT, isAlone: false, times: [] });
const long = (kernel: Kernel, isAlone: boolean): Probe => ({
  kernel,
  milliseconds: LONG,
  isAlone,
  times: [],
});
const lightName = ({ key }: { readonly key: string }): string => `light ${key}`;

const NEAREST = 'near memory';
const STREAMED = 'past the caches';
const [ALONE, FORKED] = ['one task', 'two tasks'];
const TOGETHER = 'memory of all threads';

function machineProbes(): NamedProbe[] {
  const add = mapOf([create.map('float32', 'add', [0, 1])], ['float32', 'float32'], NEAR);
  const memory = [...memoryKernels()];
  const { threads } = cpuInfo();
  const shared = threads > 1 ? [ALONE, FORKED] : [];
  const together = threads > 2 ? memory.slice(-1) : [];
  return [
    [NEAREST, short(add)],
    ...shared.map((name, k): NamedProbe => [name, short(chainOfTasks(k + 1))]),
    ...memory.map(([name, kernel]): NamedProbe => [name, long(kernel, true)]),
    [STREAMED, long(fillOf(floatsIn(FAR_BYTES)), true)],
    ...together.map(([, kernel]): NamedProbe => [TOGETHER, long(kernel, false)]),
  ];
}

/**
 * Kernels of so many bytes, which show by how much memory is slower than without measurement, or the cache that cores share
 * with others: a map, unless it would write past the caches, else a sum.
 */
function memoryKernels(): ReadonlyMap<string, Kernel> {
  const most = PART_OF_MEMORY * hostMemory().totalBytes;
  const sizes = unmeasuredRates(1).memory.filter(({ bytes }) => bytes >= FAR_BYTES && bytes <= most);
  return new Map(
    sizes.map(({ bytes }) => [
      memoryName(bytes),
      bytes / 2 < STREAM_BYTES
        ? squareOf(bytes / 2)
        : reductionOf(create.reduce('float32', 'sum', [0]), ['float32'], [], [floatsIn(bytes)]),
    ]),
  );
}
const memoryName = (bytes: number): string => `${bytes} bytes`;
const floatsIn = (bytes: number): number => bytes / byteLengthOf('float32');
const squareOf = (bytes: number): Kernel =>
  mapOf([create.map('float32', 'square', [0])], ['float32'], floatsIn(bytes));

/** Rates of the machine. A core's own caches are as slow as the core, and none that are farther are faster. */
function machineRates(): TapeRates {
  const plain = unmeasuredRates(cpuInfo().threads);
  const { kernel } = probes.get(NEAREST)!;
  const slowness = nanosecondsOf(NEAREST) / predictedNanoseconds(kernel, plain);
  const known: TapeRates = { ...plain, slowness, streamed: slowness * plain.streamed };
  const memory: MemoryRate[] = [];
  let slower = slowness;
  for (const { bytes, read, write } of plain.memory) {
    if (isTimed(memoryName(bytes))) slower = slowness * slownessOfMemory(memoryName(bytes), known);
    const nearer = bytes >= FAR_BYTES ? memory.at(-1)! : { read: 0, write: 0 };
    memory.push({
      bytes,
      read: Math.max(nearer.read, slower * read),
      write: Math.max(nearer.write, slower * write),
    });
  }
  // No line is nearer than bytes that are as far.
  const lines = memory.at(-1)!.read / plain.memory.at(-1)!.read;
  const measured: TapeRates = { ...known, memory, lines, fork: forkOf(known) };
  return {
    ...measured,
    ...(isTimed(STREAMED) ? { streamed: nanosecondsOf(STREAMED) / FAR_BYTES } : {}),
    ...(isTimed(TOGETHER) ? { spread: spreadOf(withFunctions(measured)) } : {}),
  };
}

/** The time that two tasks take two threads beyond that of one task. */
const forkOf = ({ threads, fork }: TapeRates): number =>
  threads > 1 ? Math.max(0, nanosecondsOf(FORKED) - nanosecondsOf(ALONE)) : fork;

const predictedNanoseconds = (kernel: Kernel, by: TapeRates): number => 1e9 * secondsOfTape(kernel, by);

function slownessOfMemory(name: string, known: TapeRates): number {
  const { kernel } = probes.get(name)!;
  return movedOf(name, withFunctions(known)) / (known.slowness * movedNanoseconds(kernel, known, 1));
}

/** How far memory is shared by all threads, of more than two: the same sum as by one. */
function spreadOf(known: TapeRates): number {
  const { kernel } = probes.get(TOGETHER)!;
  const threads = threadsOf(tallyOfKernel(kernel), known);
  const faster = movedNanoseconds(kernel, known, 1) / movedOf(TOGETHER, known, threads);
  return threads > 1 ? Math.min(1, Math.max(0, Math.log(faster) / Math.log(threads))) : UNKNOWN_SPREAD;
}

/** The part of a probe's time in which memory is waited for. */
function movedOf(name: string, known: TapeRates, threads = 1): number {
  const { kernel } = probes.get(name)!;
  const working = workNanoseconds(kernel, tallyOfKernel(kernel), known) / threads;
  return Math.max(0, nanosecondsOf(name) - working);
}

/** Rates with those of all functions that were measured. */
const withFunctions = (known: TapeRates): TapeRates => ({
  ...known,
  functions: new Map(
    [...functions].flatMap(([key, of]) => {
      const rate = functionRate(of, known);
      return rate === undefined ? [] : [[key, rate]];
    }),
  ),
});

/** The time that a vector of a function takes one thread, beyond what a light one would in its place; undefined: its kernel calls another. */
function functionRate(of: TalliedFunction, known: TapeRates): number | undefined {
  const { kernel, light } = kernelsOf(of);
  const tally = tallyOfKernel(kernel);
  const own = tally.functions.get(of.key);
  if (own === undefined) return undefined;
  const without: TapeRates = { ...known, functions: new Map([[of.key, 0]]) };
  const rest = light === undefined ? predictedNanoseconds(kernel, without) : nanosecondsOf(lightName(light));
  return (threadsOf(tally, known) * Math.max(0, nanosecondsOf(of.key) - rest)) / own.vectors;
}
