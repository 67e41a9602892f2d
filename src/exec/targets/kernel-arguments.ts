/** Arguments of the launches of generated kernels: in a program, and of a launch by itself that is timed. */
import type { CudaArgument } from '../../codegen/cuda/launch.js';
import { int32, int64 } from '../calls/launch-arguments.js';
import type { LaunchArgument } from '../native/program-types.js';

/** Where the buffers of a kernel are, and the steps of its loop that a launch does. */
export interface LaunchPlaces {
  readonly buffers: readonly number[];
  readonly scratch: readonly number[];
  readonly loopSteps?: number | undefined;
}

/** Generated kernels copy nothing by tensor maps. */
type KernelArgument = Exclude<LaunchArgument, { readonly tensorMap: unknown }>;

export function launchArgument(
  argument: CudaArgument,
  { buffers, scratch, loopSteps }: LaunchPlaces,
): KernelArgument {
  if ('buffer' in argument) return { buffer: buffers[argument.buffer]! };
  if ('scratch' in argument) return { buffer: scratch[argument.scratch]! };
  return 'steps' in argument && loopSteps !== undefined ? int32(loopSteps) : argument;
}

/** The argument of a launch of all blocks, which is the first of its loop. */
export function wholeArgument(
  argument: KernelArgument,
): Extract<LaunchArgument, { readonly buffer: number } | { readonly bytes: Uint8Array }> {
  if ('buffer' in argument || 'bytes' in argument) return argument;
  if ('steps' in argument) return int32(1);
  if ('done' in argument || argument.block === 'first') return int64(0);
  return argument.block === 'last' ? int64(2 ** 62) : int32(0);
}
