/**
 * Runs kernels by their generated CUDA C on `cuda:0`, each as a program of its own: for tests of what the
 * printers give, on the simulated CUDA (the project `sim`), which checks every access besides.
 */

import { type CudaArgument, type CudaKernel, KERNEL_OPTIONS } from '../../src/codegen/cuda/cuda.js';
import { compileCuda, createProgram, cudaInfo, run } from '../../src/exec/native/native.js';
import type {
  BufferSpec,
  LaunchArgument,
  ProgramSpec,
  StepSpec,
} from '../../src/exec/native/program-types.js';
import type { Kernel } from '../../src/fusion/kernel/kernel.js';
import { byteLengthOf } from '../../src/graph/dtype.js';
import type { TypedArray } from '../../src/graph/expr.js';
import { DEVICE_ALIGNMENT } from '../../src/shared/layout.js';
import { over } from './host.js';

export interface CudaCase {
  readonly kernel: Kernel;
  readonly cuda: CudaKernel;
  /** By buffer; undefined for outputs. */
  readonly inputs: readonly (TypedArray | undefined)[];
}

/** Where scratch buffers and results lie in an arena. */

/**
 * The buffers of each case after its launches ran: the inputs as they were given, outputs zero where nothing
 * is stored.
 */
export const runCudaCases = (cases: readonly CudaCase[]): Promise<TypedArray[][]> =>
  Promise.all(cases.map(runCase));

async function runCase({ kernel, cuda, inputs }: CudaCase): Promise<TypedArray[]> {
  const architecture = cudaInfo().devices[0]!.computeCapability.join('');
  const options = [`--gpu-architecture=sm_${architecture}`, ...KERNEL_OPTIONS];
  const { image } = await compileCuda(cuda.source, options);
  const program = createProgram(specOf({ kernel, cuda, inputs }, image));
  const given = inputs.filter((input) => input !== undefined);
  const wanted = kernel.buffers.filter((_, k) => inputs[k] === undefined);
  const { outputs } = await run(program, given, { outputs: wanted.map(() => 'host') });
  let output = 0;
  return kernel.buffers.map(
    ({ dtype, elementCount }, k) =>
      inputs[k] ?? over(dtype, outputs[output++] as ArrayBuffer, 0, elementCount),
  );
}

/** Whether stores reach every element of a buffer. */
function isCovered({ parallel, reduced, stores, buffers }: Kernel, buffer: number): boolean {
  const sizes = [...parallel, ...reduced];
  return stores.some(({ access }) => {
    const reached = sizes.reduce((n, size, axis) => (access.strides[axis] ? n * size : n), 1);
    return access.buffer === buffer && reached === buffers[buffer]!.elementCount;
  });
}

function specOf({ kernel, cuda, inputs }: CudaCase, image: Uint8Array): ProgramSpec {
  const buffers = kernel.buffers.map(({ dtype, elementCount }, k): BufferSpec => {
    const role = inputs[k] === undefined ? 'output' : 'input';
    return { role, byteLength: byteLengthOf(dtype) * elementCount, offset: -1 };
  });
  let arenaByteLength = 0;
  for (const { byteLength } of cuda.scratch) {
    buffers.push({ role: 'temporary', byteLength, offset: arenaByteLength });
    arenaByteLength += Math.ceil(byteLength / DEVICE_ALIGNMENT) * DEVICE_ALIGNMENT;
  }
  const zeroed = (buffer: number): StepSpec => ({ kind: 'zero', buffer });
  const scratch = kernel.buffers.length;
  const argument = (given: CudaArgument): LaunchArgument => {
    // Constants as the kernel has them.
    if ('bytes' in given) return { bytes: given.bytes };
    // All blocks, from the first.
    if ('block' in given) return { bytes: new Uint8Array(4) };
    if ('steps' in given) return { bytes: new Uint8Array([1, 0, 0, 0]) };
    if ('done' in given) return { bytes: new Uint8Array(8) };
    return { buffer: 'buffer' in given ? given.buffer : scratch + given.scratch };
  };
  return {
    device: 'cuda:0',
    buffers,
    arenaByteLength,
    images: [{ key: cuda.source, bytes: image }],
    steps: [
      // Some kernels store a part of their result only.
      ...kernel.buffers.flatMap((_, k) =>
        inputs[k] === undefined && !isCovered(kernel, k) ? [zeroed(k)] : [],
      ),
      ...cuda.scratch.flatMap((s, k) => (s.zeroed ? [zeroed(scratch + k)] : [])),
      ...cuda.launches.map(
        (launch): StepSpec => ({
          kind: 'launch',
          image: 0,
          function: launch.function,
          grid: launch.grid,
          block: launch.block,
          sharedByteLength: launch.sharedByteLength,
          args: launch.args.map(argument),
        }),
      ),
    ],
  };
}
