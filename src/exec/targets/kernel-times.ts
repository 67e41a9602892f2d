/**
 * The time that a GPU takes for a generated kernel by itself, measured on memory of its own: for `explain`, and to hold the
 * model of the times of kernels (`cuda-times.ts`).
 */
import type { CudaArgument } from '../../codegen/cuda/launch.js';
import { byteLengthOf, isComplex, isFloat } from '../../graph/dtype.js';
import { MemoryError } from '../../host/errors.js';
import { kernelSeconds } from '../native/native.js';
import type { FilledBuffer, TimedLaunch } from '../native/native-types.js';
import type { KernelStep } from '../plan/plan.js';
import { architectureOf, limitsOf } from './cuda-device.js';
import { loadSource } from './cuda-images.js';
import type { Device } from './device.js';
import { cudaOf, sourceOfKernel } from './program-cuda.js';

/** Each byte of floats: small numbers of every dtype. Indices, flags and scratch memory are 0. */
const SMALL_NUMBERS = 0x3c;

/**
 * Seconds of all launches of a kernel, one after the other on a busy device; `undefined`: it has none, or its buffers do
 * not fit.
 */
export async function timeOfKernel(step: KernelStep, device: Device): Promise<number | undefined> {
  const { kernel } = step;
  const limits = limitsOf(device);
  const { launches, scratch } = cudaOf(kernel, limits);
  if (launches.length === 0) return undefined;
  const image = await loadSource(sourceOfKernel(kernel, limits), architectureOf(device));
  const buffers = [
    ...kernel.buffers.map(({ dtype, elementCount }): FilledBuffer => {
      const fill = isFloat(dtype) || isComplex(dtype) ? SMALL_NUMBERS : 0;
      return { byteLength: Math.max(1, elementCount * byteLengthOf(dtype)), fill };
    }),
    ...scratch.map(({ byteLength }): FilledBuffer => ({ byteLength, fill: 0 })),
  ];
  const timed = launches.map(({ function: name, grid, block, sharedByteLength, args }): TimedLaunch => {
    const given = args.map((argument) => timedArgument(argument, step));
    return { function: name, grid, block, sharedByteLength, args: given };
  });
  try {
    return await kernelSeconds(device.name, image.bytes, timed, buffers);
  } catch (error) {
    if (error instanceof MemoryError) return undefined;
    throw error;
  }
}

/** As a launch of all blocks, which is the first of its loop. */
function timedArgument(
  argument: CudaArgument,
  { kernel, loopSteps }: KernelStep,
): TimedLaunch['args'][number] {
  if ('buffer' in argument) return argument;
  if ('scratch' in argument) return { buffer: kernel.buffers.length + argument.scratch };
  if ('bytes' in argument) return { bytes: argument.bytes };
  if ('steps' in argument) return { bytes: new Uint8Array(Uint32Array.of(loopSteps ?? 1).buffer) };
  if ('done' in argument) return { bytes: new Uint8Array(8) };
  if (argument.block === 'first') return { bytes: new Uint8Array(8) };
  if (argument.block === 'last') return { bytes: new Uint8Array(BigInt64Array.of(2n ** 62n).buffer) };
  return { bytes: new Uint8Array(4) };
}
