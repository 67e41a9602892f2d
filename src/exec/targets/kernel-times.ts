/**
 * The time that a GPU takes for a generated kernel by itself, measured on memory of its own: for `explain`, and to hold the
 * model of the times of kernels (`codegen/cuda/launch-seconds.ts`).
 */
import type { Schedule } from '../../codegen/cuda/schedules/schedule.js';
import { byteLengthOf, isComplex, isFloat } from '../../graph/dtype.js';
import { MemoryError } from '../../host/errors.js';
import { kernelSeconds } from '../native/native.js';
import type { FilledBuffer, TimedLaunch } from '../native/native-types.js';
import type { KernelStep } from '../plan/plan.js';
import { architectureOf, limitsOf } from './cuda-device.js';
import { loadSource } from './cuda-images.js';
import type { Device } from './device.js';
import { launchArgument, wholeArgument } from './kernel-arguments.js';
import { untunedOf } from './kernel-schedule.js';
import { cudaOf, sourceOfKernel } from './kernel-source.js';

/** Each byte of floats: small numbers of every dtype. Indices, flags and scratch memory are 0. */
const SMALL_NUMBERS = 0x3c;

/**
 * Seconds of all launches of a kernel, one after the other on a busy device; `undefined`: it has none, or its buffers do
 * not fit. `schedule`: another one than the kernel's own.
 */
export async function timeOfKernel(
  step: KernelStep,
  device: Device,
  schedule: Schedule = untunedOf(step.kernel, device, 'whole').schedule,
): Promise<number | undefined> {
  const { kernel } = step;
  const limits = limitsOf(device);
  const { launches, scratch } = cudaOf(kernel, limits, schedule);
  if (launches.length === 0) return undefined;
  const image = await loadSource(sourceOfKernel(kernel, limits, schedule), architectureOf(device));
  const buffers = [
    ...kernel.buffers.map(({ dtype, elementCount }): FilledBuffer => {
      const fill = isFloat(dtype) || isComplex(dtype) ? SMALL_NUMBERS : 0;
      return { byteLength: Math.max(1, elementCount * byteLengthOf(dtype)), fill };
    }),
    ...scratch.map(({ byteLength }): FilledBuffer => ({ byteLength, fill: 0 })),
  ];
  const places = {
    buffers: kernel.buffers.map((_, k) => k),
    scratch: scratch.map((_, k) => kernel.buffers.length + k),
    loopSteps: step.loopSteps,
  };
  const timed = launches.map(({ function: name, grid, block, sharedByteLength, args }): TimedLaunch => {
    const given = args.map((argument) => wholeArgument(launchArgument(argument, places)));
    return { function: name, grid, block, sharedByteLength, args: given };
  });
  try {
    return await kernelSeconds(device.name, image.bytes, timed, buffers);
  } catch (error) {
    if (error instanceof MemoryError) return undefined;
    throw error;
  }
}
