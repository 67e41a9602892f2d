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

export type KernelTimes = Pick<ExplainedStep, 'predictedMs' | 'measuredMs' | 'whyNotTimed'>;

/** A kernel is measured whose buffers are no more than this part of the device's memory. */
const MOST_OF_MEMORY = 0.25;

/** For each step: its times, or why there are none. */
export async function kernelTimes(
  located: readonly LocatedStep[],
  device: Device,
  destination: Destination,
): Promise<KernelTimes[]> {
  const { modelOf, calibrate, timeOf, totalBytesOf } = targetOf(device);
  const { costs } = modelOf(device, destination);
  await calibrate?.(located.flatMap((each) => wholeKernelOf(each)?.kernel ?? []));
  const most = MOST_OF_MEMORY * totalBytesOf(device);
  const times: KernelTimes[] = [];
  for (const each of located) {
    const step = wholeKernelOf(each);
    if (step === undefined) {
      times.push({ whyNotTimed: each.own.kind === 'call' ? 'a call' : 'in parts' });
      continue;
    }
    const predicted = costs === undefined ? {} : { predictedMs: 1e3 * costs.secondsOf(step, 1) };
    const why = whyNotTimed(step.kernel, most);
    const seconds = why === undefined ? await timeOf?.(step, device) : undefined;
    times.push({
      ...predicted,
      ...(seconds === undefined
        ? { whyNotTimed: why ?? 'it launches nothing, or there is no memory for it' }
        : { measuredMs: 1e3 * seconds }),
    });
  }
  return times;
}

function whyNotTimed(kernel: Kernel, mostBytes: number): string | undefined {
  if (hasLoops(kernel)) return 'its data decide when a loop ends';
  return bytesOf(kernel) > mostBytes ? 'its buffers take more than a quarter of the memory' : undefined;
}

const wholeKernelOf = ({ own, step }: LocatedStep): KernelStep | undefined =>
  own.kind === 'kernel' && step.sweep === undefined && step.phase === undefined ? own : undefined;

const bytesOf = ({ buffers }: Kernel): number =>
  buffers.reduce((sum, { dtype, elementCount }) => sum + elementCount * byteLengthOf(dtype), 0);
