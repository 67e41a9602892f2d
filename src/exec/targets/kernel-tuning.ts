/**
 * Which schedule a kernel takes, where a compute is asked to tune: those that give the same bits are measured once on the
 * device, and the fastest is kept (`tuning-cache.ts`). Without room to measure, or where other work on the machine is in all
 * times, a kernel has the schedule that it has untuned. `schedule-tuning.ts` has the schedules of GPUs, `walk-tuning.ts` those of the CPU.
 */
import { createHash } from 'node:crypto';
import type { Kernel } from '../../fusion/kernel/kernel.js';
import { timed } from '../native/recorder.js';
import { turnToPlan } from '../native/turns.js';
import { type DevicePlan, type KernelStep, measuredKernels } from '../plan/plan.js';
import { fastest, measuredText, processChoices, type Tuned, type Untuned } from '../run/tuning-cache.js';
import type { Device } from './device.js';

/** A schedule as text, and how it was chosen. */
export interface TunedSchedule extends Tuned {
  readonly schedule: string;
}

export const isTunedSchedule = ({ schedule }: Partial<TunedSchedule>): boolean =>
  typeof schedule === 'string';

const tuningCache = processChoices<TunedSchedule>(isTunedSchedule);

/** The schedules of a target's kernels. */
export interface Schedules<S> {
  /** Those of a kernel that are measured, the untuned one first. */
  readonly of: (kernel: Kernel, device: Device) => readonly S[];
  readonly print: (schedule: S) => string;
  /** All that a choice depends on beside the schedules: two devices of a model have the same. */
  readonly keyOf: (kernel: Kernel, device: Device) => readonly unknown[];
  /** Bytes that measuring a kernel takes. */
  readonly bytesOf: (kernel: Kernel, device: Device) => number;
  /** The seconds of each, or why there are none. */
  readonly measure: (
    step: KernelStep,
    schedules: readonly S[],
    device: Device,
  ) => Promise<readonly number[] | Untuned>;
}

function keyOf<S>(kernel: Kernel, among: readonly S[], schedules: Schedules<S>, device: Device): string {
  const parts = [...schedules.keyOf(kernel, device), among.map(schedules.print)];
  return createHash('sha256')
    .update(JSON.stringify(['schedule', 2, ...parts]))
    .digest('hex');
}

/**
 * For kernels of a plan that run as a whole, the schedules that were measured to be faster than the untuned ones. `budget`:
 * the most bytes that measuring one may take.
 */
export async function tuneKernels<S>(
  plan: DevicePlan,
  device: Device,
  schedules: Schedules<S>,
  budget = Number.POSITIVE_INFINITY,
): Promise<Map<Kernel, S>> {
  const tuned = new Map<Kernel, S>();
  for (const step of measuredKernels(plan).values()) {
    await turnToPlan(true);
    const among = schedules.of(step.kernel, device);
    if (among.length === 1) continue;
    const measure = async (): Promise<TunedSchedule | Untuned> => {
      if (schedules.bytesOf(step.kernel, device) > budget) return 'no room to measure';
      const seconds = await timed('program', 'tuning', () => schedules.measure(step, among, device));
      if (typeof seconds === 'string') return seconds;
      const choice = fastest(seconds);
      return { schedule: schedules.print(among[choice.place]!), ...choice };
    };
    const choice = await tuningCache().get(keyOf(step.kernel, among, schedules, device), measure);
    if (typeof choice === 'string' || choice.place === 0) continue;
    // Undefined: the choice is of other schedules, and counts for nothing.
    const faster = among.find((each) => schedules.print(each) === choice.schedule);
    if (faster !== undefined && faster !== among[0]) tuned.set(step.kernel, faster);
  }
  return tuned;
}

/** How a kernel of a compute that measures has come to its schedule, as `explain()` has it; undefined: there is no choice. */
export function explainTuned<S>(
  kernel: Kernel,
  device: Device,
  schedules: Schedules<S>,
  untuned: string,
): string | undefined {
  const among = schedules.of(kernel, device);
  if (among.length === 1) return undefined;
  const own = schedules.print(among[0]!);
  const choice = tuningCache().known(keyOf(kernel, among, schedules, device));
  if (choice === undefined)
    return `${own} (${untuned}; measured when it is first computed, unless the disk cache has it)`;
  if (typeof choice === 'string') return `${own} (${untuned}; ${choice})`;
  return `${choice.schedule} (${measuredText(choice, 'the untuned one')})`;
}
