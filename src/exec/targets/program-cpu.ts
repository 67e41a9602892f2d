/** Plan → native program for the CPU: every kernel becomes a tape. Called by `cpu.ts`. */

import { availableParallelism } from 'node:os';
import { weightOf } from '../../codegen/cpu/op-weights.js';
import { encodeFor, encodePhases, encodeTape, type TapeSpec, tapeBy } from '../../codegen/cpu/tape.js';
import type { Walk } from '../../codegen/cpu/tape-plan.js';
import { classOf } from '../../codegen/cpu/tape-rates.js';
import { secondsOfTape } from '../../codegen/cpu/tape-seconds.js';
import { sizesOf } from '../../fusion/kernel/algebra.js';
import { costOf, opOf, reductionOf } from '../../fusion/kernel/arithmetic.js';
import { type Kernel, product } from '../../fusion/kernel/kernel.js';
import { config } from '../../host/config.js';
import { once } from '../../host/once.js';
import { completed, Pace, type Slices } from '../../host/slices.js';
import { SHORT_WORK } from '../../shared/layout.js';
import type { CallStep } from '../calls/call.js';
import { callRow } from '../calls/table.js';
import { MOST_SMALL_BYTES_OF_ALL } from '../native/host-memory.js';
import type { ProgramSpec, StepSpec, SweepSpec } from '../native/native.js';
import type { DevicePlan, Step, SweepStep } from '../plan/plan.js';
import { cpuRates } from './cpu-probes.js';
import { CPU } from './device.js';
import { bufferSpecsInSlices, joinedRanges, loopSpec } from './program-spec.js';

/** How kernels that run as a whole are walked, where that was measured. */
export type Walks = ReadonlyMap<Kernel, Walk>;
const AS_PREDICTED: Walks = new Map();

export const cpuProgram = (plan: DevicePlan, walks?: Walks): ProgramSpec =>
  completed(cpuProgramInSlices(plan, walks));

/** Steps between pauses, each of which takes some 1 µs; tapes that are encoded for one take up to 1 ms. */
const STEPS_OF_SLICE = 64;

/** As `cpuProgram`. */
export function* cpuProgramInSlices(plan: DevicePlan, walks = AS_PREDICTED): Slices<ProgramSpec> {
  const steps: StepSpec[] = [];
  const tapes = new ProgramTapes();
  const walked = walkedBy(walks);
  const whole: Encode = (kernel) => (walks.has(kernel) ? walked(kernel) : encodeFor(kernel, threads()));
  const pace = new Pace(STEPS_OF_SLICE);
  for (const step of plan.steps) {
    const known = tapes.all.length;
    steps.push(stepSpec(step, step.kind === 'kernel' ? whole : walked, tapes));
    pace.add(tapes.all.length > known || step.kind === 'sweep' ? STEPS_OF_SLICE : 1);
    if (pace.isDue()) yield;
  }
  const buffers = yield* bufferSpecsInSlices(plan);
  yield;
  return {
    device: CPU.name,
    buffers,
    arenaByteLength: plan.arenaByteLength,
    images: [],
    tapes: tapes.all,
    steps,
    ...(isShort(plan) ? { isShort: true as const } : {}),
  };
}

/**
 * Multiply-adds that the JavaScript thread does sooner than another would have begun and ended: those of a product of 128 rows,
 * or an inverse of 100, which take 0.18 ms there and 0.21 on another.
 */
const SHORT_OPERATIONS = 2.1e6;

/** Seconds of kernels beside such calls: a map of 100,000 elements takes some 0.02 ms. */
const SHORT_BESIDE_CALLS = 5e-5;
/** Of kernels alone: to wake a thread takes as long. */
const SHORT_ALONE = 2e-5;

/**
 * Instructions times elements of kernels alone, by the weights of their ops: of fewer the addon knows that they are short, and of
 * more none is predicted to be, at 0.02 ns each.
 */
const KNOWN_WORK = 12_500;
const MOST_WORK = 1e6;
/**
 * An op of kernels alone, at most, in additions: others, and sums of exponentials, take up to 30 times what is predicted on some
 * machines or of some elements, as NaN and numbers next to 0.
 */
const MOST_COST = 3;
/** More are not predicted: each takes some 0.05 ms of planning, all of them in one turn of the event loop. */
const MOST_KERNELS = 8;

/** Whether products, routines and kernels take, all together, no longer than to wake a thread for them. */
function isShort({ steps, buffers }: DevicePlan): boolean {
  const calls = steps.filter((step) => step.kind === 'call');
  const operations = (step: CallStep): number => callRow(step).operations?.(step) ?? Number.POSITIVE_INFINITY;
  if (calls.reduce((sum, step) => sum + operations(step), 0) > SHORT_OPERATIONS) return false;
  const kernels = steps.flatMap((step) => (step.kind === 'kernel' ? step.kernel : []));
  const work = kernels.reduce((sum, kernel) => sum + workOf(kernel), 0);
  const areSteady = kernels.every(isSteady);
  if (calls.length > 0) return (areSteady || work <= SHORT_WORK) && isWithin(kernels, SHORT_BESIDE_CALLS);
  if (kernels.length > MOST_KERNELS || !areSteady) return false;
  const bytes = buffers.reduce((sum, { role, byteLength }) => sum + (role === 'output' ? byteLength : 0), 0);
  if (bytes > MOST_SMALL_BYTES_OF_ALL) return false;
  return work > KNOWN_WORK && work <= MOST_WORK && isWithin(kernels, SHORT_ALONE);
}

/** Whether the time of a kernel hardly depends on what its elements are. */
const isSteady = ({ tape }: Kernel): boolean =>
  tape.every((i) => {
    const reduction = reductionOf(i);
    return costOf(i) <= MOST_COST && (reduction === undefined || classOf(reduction) !== 'exponential');
  });

/** Instructions times elements, by their weights. */
function workOf(kernel: Kernel): number {
  let instructions = 1;
  for (const i of kernel.tape) instructions += Math.max(1, weightOf(opOf(i) ?? reductionOf(i) ?? ''));
  return product(sizesOf(kernel)) * instructions;
}

/** Whether kernels are predicted to take one thread no longer than so many seconds. */
function isWithin(kernels: readonly Kernel[], most: number): boolean {
  const rates = { ...cpuRates(), threads: 1 };
  let seconds = 0;
  for (const kernel of kernels) {
    seconds += secondsOfTape(kernel, rates);
    if (seconds > most) return false;
  }
  return true;
}

type Encode = (kernel: Kernel) => TapeSpec;

/** The tapes of a program: steps whose kernels are one object share one, which is encoded and read once. */
class ProgramTapes {
  readonly all: TapeSpec[] = [];
  readonly #places = new Map<Encode, Map<Kernel, number>>();

  /** The place of a kernel's tape in the way in which it is encoded. */
  placeOf(kernel: Kernel, encode: Encode): number {
    let places = this.#places.get(encode);
    if (places === undefined) {
      places = new Map();
      this.#places.set(encode, places);
    }
    let place = places.get(kernel);
    if (place === undefined) {
      place = this.all.push(encode(kernel)) - 1;
      places.set(kernel, place);
    }
    return place;
  }
}

const stepSpec = (step: Step, encode: Encode, tapes: ProgramTapes): StepSpec =>
  step.kind === 'sweep'
    ? sweepSpec(step, (part) => launchSpec(part, encodeTape, tapes))
    : launchSpec(step, encode, tapes);

/** Those of the backend, about: its own answer loads the libraries that it names. */
const threads = once(() => config().threads ?? availableParallelism());

/** The tapes of kernels that are walked as was measured, where it was. */
const walkedBy =
  (walks: Walks): Encode =>
  (kernel) => {
    const walk = walks.get(kernel);
    return walk === undefined ? encodeTape(kernel) : tapeBy(kernel, walk.blocking, walk.triangle);
  };

/** A step is one launch. */
function launchSpec(
  step: Exclude<Step, SweepStep>,
  encode: Encode,
  tapes: ProgramTapes,
): Exclude<StepSpec, SweepSpec> {
  switch (step.kind) {
    case 'kernel':
      return { kind: 'tape', tape: tapes.placeOf(step.kernel, encode), buffers: step.buffers };
    case 'phase':
    case 'finish': {
      const kind = step.kind === 'phase' ? 'tapePhase' : 'tapeFinish';
      const buffers = [...step.buffers, ...step.scratch];
      return { kind, tape: tapes.placeOf(step.kernel, encodePhases), phase: step.phase, buffers };
    }
    case 'call':
      return callRow(step).spec(step);
    case 'loop':
      return loopSpec(step, (part) => [stepSpec(part, encode, tapes)]);
  }
}

/** A sweep whose steps are one launch each. */
function sweepSpec(
  sweep: SweepStep,
  spec: (step: Exclude<Step, SweepStep>) => Exclude<StepSpec, SweepSpec>,
): SweepSpec {
  return {
    kind: 'sweep',
    tiles: sweep.tiles,
    buffers: sweep.windows,
    body: sweep.body.map(({ step, ranges }) => ({ step: spec(step), ranges: joinedRanges(ranges) })),
  };
}
