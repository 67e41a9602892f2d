/** Plan → native program for the CPU: every kernel becomes a tape. Called by `cpu.ts`. */

import { availableParallelism } from 'node:os';
import { encodeFor, encodePhases, encodeTape, tapeBy } from '../../codegen/cpu/tape.js';
import type { Walk } from '../../codegen/cpu/tape-plan.js';
import { secondsOfTape } from '../../codegen/cpu/tape-seconds.js';
import type { Kernel } from '../../fusion/kernel/kernel.js';
import { config } from '../../host/config.js';
import { once } from '../../host/once.js';
import { completed, type Slices } from '../../host/slices.js';
import type { CallStep } from '../calls/call.js';
import { callRow } from '../calls/table.js';
import type { ProgramSpec, StepSpec, SweepSpec } from '../native/native.js';
import type { DevicePlan, KernelStep, Step, SweepStep } from '../plan/plan.js';
import { cpuRates } from './cpu-probes.js';
import { CPU } from './device.js';
import { bufferSpecsInSlices, joinedRanges, loopSpec } from './program-spec.js';

/** How kernels that run as a whole are walked, where that was measured. */
export type Walks = ReadonlyMap<Kernel, Walk>;
const AS_PREDICTED: Walks = new Map();

export const cpuProgram = (plan: DevicePlan, walks?: Walks): ProgramSpec =>
  completed(cpuProgramInSlices(plan, walks));

/** As `cpuProgram`. */
export function* cpuProgramInSlices(plan: DevicePlan, walks = AS_PREDICTED): Slices<ProgramSpec> {
  const steps: StepSpec[] = [];
  for (const step of plan.steps) {
    steps.push(step.kind === 'kernel' ? wholeSpec(step, walks) : stepSpec(step, walks));
    yield;
  }
  const buffers = yield* bufferSpecsInSlices(plan);
  yield;
  return {
    device: CPU.name,
    buffers,
    arenaByteLength: plan.arenaByteLength,
    images: [],
    steps,
    ...(hasShortCalls(plan) ? { hasShortCalls: true as const } : {}),
  };
}

/**
 * Multiply-adds that the JavaScript thread does sooner than another would have begun and ended: those of a product of 128 rows,
 * or an inverse of 100, which take 0.18 ms there and 0.21 on another.
 */
const SHORT_OPERATIONS = 2.1e6;

/** Seconds of kernels beside such calls: a map of 100,000 elements takes some 0.02 ms. */
const SHORT_KERNELS = 5e-5;

function hasShortCalls({ steps }: DevicePlan): boolean {
  const calls = steps.filter((step) => step.kind === 'call');
  const operations = (step: CallStep): number => callRow(step).operations?.(step) ?? Number.POSITIVE_INFINITY;
  if (calls.length === 0 || calls.reduce((sum, step) => sum + operations(step), 0) > SHORT_OPERATIONS)
    return false;
  const rates = { ...cpuRates(), threads: 1 };
  let seconds = 0;
  for (const step of steps) {
    if (step.kind === 'kernel') seconds += secondsOfTape(step.kernel, rates);
    if (seconds > SHORT_KERNELS) return false;
  }
  return true;
}

const stepSpec = (step: Step, walks: Walks): StepSpec =>
  step.kind === 'sweep' ? sweepSpec(step, (part) => launchSpec(part, AS_PREDICTED)) : launchSpec(step, walks);

/** Those of the backend, about: its own answer loads the libraries that it names. */
const threads = once(() => config().threads ?? availableParallelism());

/** A kernel that runs as a whole, once. */
const wholeSpec = (step: KernelStep, walks: Walks): StepSpec =>
  walks.has(step.kernel)
    ? launchSpec(step, walks)
    : { kind: 'tape', tape: encodeFor(step.kernel, threads()), buffers: step.buffers };

/** A step is one launch. */
function launchSpec(step: Exclude<Step, SweepStep>, walks: Walks): Exclude<StepSpec, SweepSpec> {
  switch (step.kind) {
    case 'kernel': {
      const walk = walks.get(step.kernel);
      const tape =
        walk === undefined ? encodeTape(step.kernel) : tapeBy(step.kernel, walk.blocking, walk.triangle);
      return { kind: 'tape', tape, buffers: step.buffers };
    }
    case 'phase':
    case 'finish': {
      const kind = step.kind === 'phase' ? 'tapePhase' : 'tapeFinish';
      const buffers = [...step.buffers, ...step.scratch];
      return { kind, tape: encodePhases(step.kernel), phase: step.phase, buffers };
    }
    case 'call':
      return callRow(step).spec(step);
    case 'loop':
      return loopSpec(step, (part) => [stepSpec(part, walks)]);
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
