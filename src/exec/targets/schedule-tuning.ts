/**
 * The schedules of GPUs' kernels that a compute which tunes measures (`kernel-tuning.ts`): those of
 * `codegen/cuda/schedules/candidates.ts`. A choice holds for the kernel's code, its sizes rounded up to powers of two, the
 * device and the compiler. Called by `program-cuda.ts` and `cuda.ts`.
 */
import { printSchedule, type Schedule } from '../../codegen/cuda/cuda.js';
import { footprintOf } from '../../codegen/cuda/footprint.js';
import { candidatesOf } from '../../codegen/cuda/schedules/candidates.js';
import { scheduleOfNormal } from '../../codegen/cuda/schedules/schedule.js';
import { affinesOf, sizesOf } from '../../fusion/kernel/algebra.js';
import type { Kernel } from '../../fusion/kernel/kernel.js';
import { byteLengthOf } from '../../graph/dtype.js';
import { formatMicroseconds } from '../../graph/format.js';
import { cudaInfo } from '../native/native.js';
import { architectureOf, limitsOf } from './cuda-device.js';
import { loadSource } from './cuda-images.js';
import type { Device } from './device.js';
import { untunedOf } from './kernel-schedule.js';
import { sourceOfKernel } from './kernel-source.js';
import { timeOfKernel } from './kernel-times.js';
import { explainTuned, type Schedules } from './kernel-tuning.js';
import type { StepRun } from './target.js';

/** The power of two that a size or a stride is rounded up to. */
const classOf = (size: number): number => Math.sign(size) * Math.ceil(Math.log2(1 + Math.abs(size)));

export const CUDA_SCHEDULES: Schedules<Schedule> = {
  /**
   * One with tables in shared memory is not measured: all indices that a kernel is timed by are 0, which are no harder to
   * look up in memory.
   */
  of(kernel, device) {
    const { normal, schedule } = untunedOf(kernel, device, 'whole');
    if (schedule.kind === 'table') return [schedule];
    const untuned = printSchedule(schedule);
    const all = candidatesOf(normal, scheduleOfNormal(normal, limitsOf(device)));
    return [schedule, ...all.filter((each) => printSchedule(each) !== untuned)];
  },
  print: printSchedule,
  keyOf(kernel, device) {
    const { driver, nvrtc, devices } = cudaInfo();
    const model = devices.find((info) => info.device === device.name);
    const limits = limitsOf(device);
    const { normal } = footprintOf(kernel, limits);
    const sizes = [...sizesOf(normal), ...affinesOf(normal).flatMap(({ strides }) => strides)].map(classOf);
    return [model?.name, driver?.version, nvrtc?.version, sourceOfKernel(kernel, limits).text, sizes];
  },
  bytesOf: (kernel, device) =>
    kernel.buffers.reduce((sum, { dtype, elementCount }) => sum + elementCount * byteLengthOf(dtype), 0) +
    footprintOf(kernel, limitsOf(device)).scratch.reduce((sum, { byteLength }) => sum + byteLength, 0),
  async measure(step, schedules, device) {
    const limits = limitsOf(device);
    const architecture = architectureOf(device);
    const sources = schedules.map((each) => sourceOfKernel(step.kernel, limits, each));
    await Promise.all(sources.map((source) => loadSource(source, architecture)));
    const seconds: number[] = [];
    for (const schedule of schedules) {
      const own = await timeOfKernel(step, device, schedule);
      if (own === undefined) return 'no room to measure';
      seconds.push(own);
    }
    return seconds;
  },
};

/** The schedule of a kernel, and why: a part of `explain()`. */
export function explainSchedule(kernel: Kernel, device: Device, run: StepRun): string {
  const { schedule, predicted } = untunedOf(kernel, device, run);
  const untuned =
    predicted === undefined
      ? 'the default'
      : `predicted, ${formatMicroseconds(predicted.seconds)}, ${formatMicroseconds(predicted.ownSeconds)} of the default, among ${predicted.count}`;
  const tuned = run === 'tuned' ? explainTuned(kernel, device, CUDA_SCHEDULES, untuned) : undefined;
  return tuned ?? `${printSchedule(schedule)} (${untuned})`;
}
