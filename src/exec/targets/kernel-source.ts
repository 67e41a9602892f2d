/** The CUDA C of kernels, printed once each. Called for programs, and to measure, show and compile a kernel by itself. */
import {
  type CudaKernel,
  cudaKernel,
  DEFAULT_LIMITS,
  type DeviceLimits,
  type Schedule,
} from '../../codegen/cuda/cuda.js';
import { textsOfCuda } from '../../codegen/cuda/cuda-functions.js';
import { footprintOf } from '../../codegen/cuda/footprint.js';
import { type CudaSource, generatedSource } from '../../codegen/cuda/source.js';
import { cudaFunctionsIn } from '../../fusion/kernel/arithmetic.js';
import type { Kernel } from '../../fusion/kernel/kernel.js';
import { timed } from '../native/recorder.js';
import { debug } from '../run/debug.js';

/** By kernel and by schedule: the sources of schedules that were only measured go with them. */
const printed = new WeakMap<Kernel, WeakMap<Schedule, CudaKernel>>();

/** The CUDA C of a kernel for devices with these limits; printed once. `schedule`: another one that gives the same bits. */
export function cudaOf(
  kernel: Kernel,
  limits: DeviceLimits = DEFAULT_LIMITS,
  schedule: Schedule = footprintOf(kernel, limits).schedule,
): CudaKernel {
  const bySchedule = printed.get(kernel) ?? new WeakMap<Schedule, CudaKernel>();
  let cuda = bySchedule.get(schedule);
  if (cuda === undefined) {
    cuda = timed('codegen', kernel.name, () => cudaKernel(kernel, schedule));
    printed.set(kernel, bySchedule.set(schedule, cuda));
    const { source } = cuda;
    debug('cuda', kernel.name, () => source);
  }
  return cuda;
}

/** The CUDA C of a kernel with the user's texts in it. */
export const sourceOfKernel = (kernel: Kernel, limits: DeviceLimits, schedule?: Schedule): CudaSource =>
  generatedSource(cudaOf(kernel, limits, schedule).source, textsOfCuda(cudaFunctionsIn(kernel)));
