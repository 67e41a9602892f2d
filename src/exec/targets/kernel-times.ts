/**
 * The time that a GPU takes for a generated kernel by itself, measured on memory of its own: for `explain`, and to hold the
 * model of the times of kernels (`codegen/cuda/launch-seconds.ts`).
 */
import type { Schedule } from '../../codegen/cuda/schedules/schedule.js';
import { byteLengthOf, DTYPE_INFO, type DType, isComplex, isFloat } from '../../graph/dtype.js';
import { toBfloat16Bits, toFloat16Bits } from '../../graph/half.js';
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

/** Elements of a pattern of numbers: a prime, so that rows and columns are not equal. */
const PATTERN = 4093;
/** A linear congruential generator: multiplier, increment, modulus (Knuth, The Art of Computer Programming 2, 3.3.4). */
const [MULTIPLIER, INCREMENT, MODULUS] = [1664525, 1013904223, 2 ** 32];
const ZEROS = new Uint8Array(1);

/**
 * The bytes that a buffer consists of: floats from 0 to 1, others in each buffer, as equal ones would be divided or reduced
 * in other times (a quotient of 0 takes a GPU twice as long). Indices, flags and scratch memory are 0.
 */
function patternOf(dtype: DType, buffer: number): Uint8Array {
  if (!isFloat(dtype) && !isComplex(dtype)) return ZEROS;
  const { component } = DTYPE_INFO[dtype];
  let state = buffer + 1;
  const numbers = Float64Array.from({ length: PATTERN }, () => {
    state = (state * MULTIPLIER + INCREMENT) % MODULUS;
    return state / MODULUS;
  });
  switch (component) {
    case 'float16':
      return bytesOver(Uint16Array.from(numbers, toFloat16Bits));
    case 'bfloat16':
      return bytesOver(Uint16Array.from(numbers, toBfloat16Bits));
    case 'float32':
      return bytesOver(Float32Array.from(numbers));
    default:
      return bytesOver(numbers);
  }
}

const bytesOver = ({ buffer }: Uint16Array | Float32Array | Float64Array): Uint8Array =>
  new Uint8Array(buffer);

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
    ...kernel.buffers.map(({ dtype, elementCount }, k): FilledBuffer => {
      const byteLength = Math.max(1, elementCount * byteLengthOf(dtype));
      return { byteLength, pattern: patternOf(dtype, k) };
    }),
    ...scratch.map(({ byteLength }): FilledBuffer => ({ byteLength, pattern: ZEROS })),
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
