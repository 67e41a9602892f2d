/**
 * The CUDA C of kernels, printed once for all kernels of a structure. Called for programs, and to measure, show and compile
 * a kernel by itself.
 */
import {
  type CudaKernel,
  cudaKernel,
  DEFAULT_LIMITS,
  type DeviceLimits,
  type Schedule,
} from '../../codegen/cuda/cuda.js';
import { textsOfCuda } from '../../codegen/cuda/cuda-functions.js';
import { footprintOf, structureKey } from '../../codegen/cuda/footprint.js';
import { argumentsFor } from '../../codegen/cuda/parameters.js';
import { type CudaSource, kernelSource } from '../../codegen/cuda/source.js';
import { cudaFunctionsIn } from '../../fusion/kernel/arithmetic.js';
import type { Kernel } from '../../fusion/kernel/kernel.js';
import { timed } from '../native/recorder.js';
import { debug } from '../run/debug.js';

/**
 * By structure, schedule and name, with the arguments of the kernel that was printed: the sources of schedules that were
 * only measured go with them.
 */
const printed = new WeakMap<object, WeakMap<Schedule, Map<string, CudaKernel>>>();

/** The CUDA C of a kernel, with the arguments of the first kernel of its structure. */
function printedOf(kernel: Kernel, limits: DeviceLimits, schedule: Schedule): CudaKernel {
  // The kernels of phases have constants at positions of their own.
  const key = schedule.kind === 'split' ? kernel : structureKey(kernel, limits);
  const bySchedule = printed.get(key) ?? new WeakMap<Schedule, Map<string, CudaKernel>>();
  const byName = bySchedule.get(schedule) ?? new Map<string, CudaKernel>();
  let cuda = byName.get(kernel.name);
  if (cuda === undefined) {
    cuda = timed('codegen', kernel.name, () => cudaKernel(kernel, schedule));
    printed.set(key, bySchedule.set(schedule, byName.set(kernel.name, cuda)));
    const { source } = cuda;
    debug('cuda', kernel.name, () => source);
  }
  return cuda;
}

/** The CUDA C of a kernel for devices with these limits. `schedule`: another one that gives the same bits. */
export function cudaOf(
  kernel: Kernel,
  limits: DeviceLimits = DEFAULT_LIMITS,
  schedule: Schedule = footprintOf(kernel, limits).schedule,
): CudaKernel {
  const cuda = printedOf(kernel, limits, schedule);
  if (schedule.kind === 'split') return cuda;
  const launches = cuda.launches.map((launch) => ({ ...launch, args: argumentsFor(kernel, launch.args) }));
  return { ...cuda, launches };
}

/** The CUDA C of a kernel with the user's texts in it. */
export function sourceOfKernel(
  kernel: Kernel,
  limits: DeviceLimits,
  schedule: Schedule = footprintOf(kernel, limits).schedule,
): CudaSource {
  return kernelSource(printedOf(kernel, limits, schedule).source, textsOfCuda(cudaFunctionsIn(kernel)));
}
