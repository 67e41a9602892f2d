/** The times of a plan's steps, as predicted and as measured. Called by `explain.ts` where `measure` asks for them. */

import type { CallStep } from '../exec/calls/call.js';
import { printWork } from '../exec/calls/call-work.js';
import { callRow } from '../exec/calls/table.js';
import type { KernelStep } from '../exec/plan/plan.js';
import type { Destination } from '../exec/plan/plan-graph.js';
import type { RunNumbers } from '../exec/run/run-numbers.js';
import type { Device } from '../exec/targets/device.js';
import { targetOf } from '../exec/targets/table.js';
import { hasLoops } from '../fusion/kernel/arithmetic.js';
import type { Kernel } from '../fusion/kernel/kernel.js';
import { byteLengthOf } from '../graph/dtype.js';
import { MemoryError } from '../host/errors.js';
import { type CallPlace, secondsOfCall, trialBytes } from './call-times.js';
import type { LocatedStep } from './explain-steps.js';
import type { ExplainedStep } from './explanation-data.js';

export type StepTimes = Pick<
  ExplainedStep,
  'predictedMs' | 'measuredMs' | 'measuredOn' | 'whyNotTimed' | 'work'
>;

/** A step is measured whose buffers are no more than this part of the device's memory. */
const MOST_OF_MEMORY = 0.25;
const TOO_LARGE = 'its buffers take more than a quarter of the memory';
const NO_ROOM = 'it launches nothing, or there is no memory for it';

/** For each step: its times, or why there are none. */
export async function stepTimes(
  located: readonly LocatedStep[],
  device: Device,
  destination: Destination,
  numbers: RunNumbers,
): Promise<StepTimes[]> {
  const { modelOf, calibrate, totalBytesOf } = targetOf(device);
  const { costs } = modelOf(device, destination);
  await calibrate?.(
    located
      .flatMap((each) => wholeStepOf(each))
      .flatMap((step) => (step.kind === 'kernel' ? [step.kernel] : [])),
  );
  const most = MOST_OF_MEMORY * totalBytesOf(device);
  const times: StepTimes[] = [];
  for (const each of located) {
    const [step] = wholeStepOf(each);
    if (step === undefined) {
      times.push({ whyNotTimed: 'in parts' });
      continue;
    }
    const predicted = costs === undefined ? {} : { predictedMs: 1e3 * costs.secondsOf(step, 1) };
    const measured = await (step.kind === 'kernel'
      ? measuredKernel(step, device, most)
      : measuredCall(step, { plan: each.plan, device, tune: each.run === 'tuned', numbers }, most));
    const work = step.kind === 'call' ? { work: printWork(callRow(step).work(step)) } : {};
    times.push({ ...work, ...predicted, ...measured });
  }
  return times;
}

async function measuredKernel(step: KernelStep, device: Device, most: number): Promise<StepTimes> {
  const why = whyNotTimed(step.kernel, most);
  if (why !== undefined) return { whyNotTimed: why };
  return whereRoom(async () => {
    const seconds = await targetOf(device).timeOf?.(step, device);
    return seconds === undefined ? { whyNotTimed: NO_ROOM } : { measuredMs: 1e3 * seconds };
  });
}

async function measuredCall(step: CallStep, place: CallPlace, most: number): Promise<StepTimes> {
  const samples = callRow(step).samples(step);
  if (typeof samples === 'string') return { whyNotTimed: samples };
  if (callRow(step).isEmpty(step)) return { whyNotTimed: NO_ROOM };
  if (trialBytes(step, place.plan) > most) return { whyNotTimed: TOO_LARGE };
  return whereRoom(async () => {
    const measuredMs = 1e3 * (await secondsOfCall(step, samples, place));
    return samples.on === undefined ? { measuredMs } : { measuredMs, measuredOn: samples.on };
  });
}

async function whereRoom(measure: () => Promise<StepTimes>): Promise<StepTimes> {
  try {
    return await measure();
  } catch (error) {
    if (error instanceof MemoryError) return { whyNotTimed: NO_ROOM };
    throw error;
  }
}

function whyNotTimed(kernel: Kernel, mostBytes: number): string | undefined {
  if (hasLoops(kernel)) return 'its data decide when a loop ends';
  return bytesOf(kernel) > mostBytes ? TOO_LARGE : undefined;
}

/** None: it runs in parts. */
const wholeStepOf = ({ own, step }: LocatedStep): (KernelStep | CallStep)[] =>
  (own.kind === 'kernel' || own.kind === 'call') && step.sweep === undefined && step.phase === undefined
    ? [own]
    : [];

const bytesOf = ({ buffers }: Kernel): number =>
  buffers.reduce((sum, { dtype, elementCount }) => sum + elementCount * byteLengthOf(dtype), 0);
