/** The times of a plan's kernels, as predicted and as measured. Called by `explain.ts` where `measure` asks for them. */

import type { KernelStep } from '../exec/plan/plan.js';
import type { Destination } from '../exec/plan/plan-graph.js';
import type { Device } from '../exec/targets/device.js';
import { targetOf } from '../exec/targets/table.js';
import { hasLoops } from '../fusion/kernel/arithmetic.js';
import type { Kernel } from '../fusion/kernel/kernel.js';
import { byteLengthOf } from '../graph/dtype.js';
import type { LocatedStep } from './explain-steps.js';
import type { ExplainedStep } from './explanation-data.js';

export type KernelTimes = Pick<ExplainedStep, 'predictedMs' | 'measuredMs'>;

/** A kernel is measured whose buffers are no more than this part of the device's memory. */
const MOST_OF_MEMORY = 0.25;

/** For each step; of those that run in parts, and of calls, nothing. */
export async function kernelTimes(
  located: readonly LocatedStep[],
  device: Device,
  destination: Destination,
): Promise<KernelTimes[]> {
  const { modelOf, calibrate, timeOf, totalBytesOf } = targetOf(device);
  const { costs } = modelOf(device, destination);
  const wholes = located.map(wholeKernelOf);
  await calibrate?.(wholes.flatMap((step) => step?.kernel ?? []));
  const most = MOST_OF_MEMORY * totalBytesOf(device);
  const times: KernelTimes[] = [];
  for (const step of wholes) {
    if (step === undefined || costs === undefined) {
      times.push({});
      continue;
    }
    const predicted = { predictedMs: 1e3 * costs.secondsOf(step, 1) };
    const isTimed = bytesOf(step.kernel) <= most && !hasLoops(step.kernel);
    const seconds = isTimed ? await timeOf?.(step, device) : undefined;
    times.push(seconds === undefined ? predicted : { ...predicted, measuredMs: 1e3 * seconds });
  }
  return times;
}

const wholeKernelOf = ({ own, step }: LocatedStep): KernelStep | undefined =>
  own.kind === 'kernel' && step.sweep === undefined && step.phase === undefined ? own : undefined;

const bytesOf = ({ buffers }: Kernel): number =>
  buffers.reduce((sum, { dtype, elementCount }) => sum + elementCount * byteLengthOf(dtype), 0);
