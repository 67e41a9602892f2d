/**
 * Which schedule a generated kernel takes, where a compute is asked to tune: those that give the same bits
 * (`codegen/cuda/schedules/candidates.ts`) are measured once on the device, and the fastest is kept (`tuning-cache.ts`) by
 * the kernel's code, its sizes rounded up to powers of two, the device and the compiler. Without room to measure, a kernel
 * has the schedule that it has untuned. Called by `program-cuda.ts` and `cuda.ts`.
 */
import { createHash } from 'node:crypto';
import { printSchedule, type Schedule } from '../../codegen/cuda/cuda.js';
import { footprintOf } from '../../codegen/cuda/footprint.js';
import { candidatesOf } from '../../codegen/cuda/schedules/candidates.js';
import { scheduleOfNormal } from '../../codegen/cuda/schedules/schedule.js';
import { affinesOf, sizesOf } from '../../fusion/kernel/algebra.js';
import type { Kernel } from '../../fusion/kernel/kernel.js';
import { byteLengthOf } from '../../graph/dtype.js';
import { formatMicroseconds } from '../../graph/format.js';
import { cudaInfo } from '../native/native.js';
import { timed } from '../native/recorder.js';
import { turnToPlan } from '../native/turns.js';
import type { DevicePlan, KernelStep } from '../plan/plan.js';
import { fastest, measuredText, processChoices, type Tuned, type Untuned } from '../run/tuning-cache.js';
import { architectureOf, limitsOf } from './cuda-device.js';
import { loadSource } from './cuda-images.js';
import type { Device } from './device.js';
import { untunedOf, wholeKernels, wholeSchedules } from './kernel-schedule.js';
import { sourceOfKernel } from './kernel-source.js';
import { timeOfKernel } from './kernel-times.js';
import type { StepRun } from './target.js';

/** A schedule as text, and how it was chosen. */
export interface TunedSchedule extends Tuned {
  readonly schedule: string;
}

export const isTunedSchedule = ({ schedule }: Partial<TunedSchedule>): boolean =>
  typeof schedule === 'string';

const tuningCache = processChoices<TunedSchedule>(isTunedSchedule);

/**
 * The schedules that are measured, that of the untuned kernel first. One with tables in shared memory is not measured: all
 * indices that a kernel is timed by are 0, which are no harder to look up in memory.
 */
function schedulesOf(kernel: Kernel, device: Device): readonly Schedule[] {
  const limits = limitsOf(device);
  const { normal, schedule } = untunedOf(kernel, device, 'whole');
  if (schedule.kind === 'table') return [schedule];
  const untuned = printSchedule(schedule);
  const all = candidatesOf(normal, scheduleOfNormal(normal, limits));
  return [schedule, ...all.filter((each) => printSchedule(each) !== untuned)];
}

/** The power of two that a size or a stride is rounded up to. */
const classOf = (size: number): number => Math.sign(size) * Math.ceil(Math.log2(1 + Math.abs(size)));

/** All that a choice depends on: two devices of a model have the same. */
function keyOf(kernel: Kernel, schedules: readonly Schedule[], device: Device): string {
  const { driver, nvrtc, devices } = cudaInfo();
  const model = devices.find((info) => info.device === device.name);
  const limits = limitsOf(device);
  const { normal } = footprintOf(kernel, limits);
  const sizes = [...sizesOf(normal), ...affinesOf(normal).flatMap(({ strides }) => strides)].map(classOf);
  const code = sourceOfKernel(kernel, limits).text;
  const parts = [model?.name, driver?.version, nvrtc?.version, code, schedules.map(printSchedule), sizes];
  return createHash('sha256')
    .update(JSON.stringify(['schedule', 1, ...parts]))
    .digest('hex');
}

/**
 * For kernels of a plan that run as a whole, the schedules that were measured to be faster than the untuned ones, and those of
 * `wholeSchedules`. `budget`: the most bytes that measuring one may take.
 */
export async function tuneSchedules(
  plan: DevicePlan,
  device: Device,
  budget = Number.POSITIVE_INFINITY,
): Promise<ReadonlyMap<Kernel, Schedule>> {
  const tuned = wholeSchedules(plan, device);
  // Equal kernels of a plan are one object.
  const steps = new Map(plan.steps.flatMap(wholeKernels).map((step) => [step.kernel, step]));
  for (const step of steps.values()) {
    await turnToPlan(true);
    const schedules = schedulesOf(step.kernel, device);
    if (schedules.length === 1) continue;
    const key = keyOf(step.kernel, schedules, device);
    const choice = await tuningCache().get(key, () => measure(step, schedules, device, budget));
    const faster = typeof choice === 'string' ? undefined : scheduleIn(schedules, choice);
    if (faster !== undefined && faster !== schedules[0]) tuned.set(step.kernel, faster);
  }
  return tuned;
}

/** Undefined: the choice is of other schedules, and counts for nothing. */
const scheduleIn = (schedules: readonly Schedule[], { schedule }: TunedSchedule): Schedule | undefined =>
  schedules.find((each) => printSchedule(each) === schedule);

/** Measures the schedules of a kernel on memory of the pool. */
async function measure(
  step: KernelStep,
  schedules: readonly Schedule[],
  device: Device,
  budget: number,
): Promise<TunedSchedule | Untuned> {
  const { kernel } = step;
  const limits = limitsOf(device);
  const bytes =
    kernel.buffers.reduce((sum, { dtype, elementCount }) => sum + elementCount * byteLengthOf(dtype), 0) +
    footprintOf(kernel, limits).scratch.reduce((sum, { byteLength }) => sum + byteLength, 0);
  if (bytes > budget) return 'no room to measure';
  return timed('program', 'tuning', async () => {
    const architecture = architectureOf(device);
    await Promise.all(
      schedules.map((each) => loadSource(sourceOfKernel(kernel, limits, each), architecture)),
    );
    const seconds: number[] = [];
    for (const schedule of schedules) {
      const own = await timeOfKernel(step, device, schedule);
      if (own === undefined) return 'no room to measure';
      seconds.push(own);
    }
    const choice = fastest(seconds);
    return { schedule: printSchedule(schedules[choice.place]!), ...choice };
  });
}

/** The schedule of a kernel, and why: a part of `explain()`. */
export function explainSchedule(kernel: Kernel, device: Device, run: StepRun): string {
  const { schedule, predicted } = untunedOf(kernel, device, run);
  const untuned =
    predicted === undefined
      ? 'the default'
      : `predicted, ${formatMicroseconds(predicted.seconds)}, ${formatMicroseconds(predicted.ownSeconds)} of the default, among ${predicted.count}`;
  const schedules = run === 'tuned' ? schedulesOf(kernel, device) : [schedule];
  if (schedules.length === 1) return `${printSchedule(schedule)} (${untuned})`;
  const choice = tuningCache().known(keyOf(kernel, schedules, device));
  if (choice === undefined)
    return `${printSchedule(schedule)} (${untuned}; measured when it is first computed, unless the disk cache has it)`;
  if (typeof choice === 'string') return `${printSchedule(schedule)} (${untuned}; ${choice})`;
  return `${choice.schedule} (${measuredText(choice, 'the untuned one')})`;
}
