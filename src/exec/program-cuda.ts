/**
 * Plan → native program for a GPU: every kernel becomes CUDA C, compiled (or found in the cache) for the device's
 * architecture. Called by `evaluate.ts`.
 */
import { CUDA_OPTIONS, type CudaArgument, type CudaKernel, cudaKernel } from '../codegen/cuda.js';
import type { Kernel } from '../fusion/kernel.js';
import { debug } from './debug.js';
import { loadImage } from './kernel-cache.js';
import { cudaInfo, type LaunchArgument, type ProgramSpec, type StepSpec } from './native.js';
import type { Plan, Step } from './plan.js';
import type { DeviceNeeds } from './planner.js';
import { matmulSpec } from './program-cpu.js';

/** cuBLAS is given this much workspace, as NVIDIA recommends for Hopper. */
export const CUBLAS_WORKSPACE_BYTES = 32 * 2 ** 20;

const printed = new WeakMap<Kernel, CudaKernel>();

/** The CUDA C of a kernel; printed once. */
export function cudaOf(kernel: Kernel): CudaKernel {
  let cuda = printed.get(kernel);
  if (cuda === undefined) {
    cuda = cudaKernel(kernel);
    printed.set(kernel, cuda);
    const { source } = cuda;
    debug('cuda', kernel.name, () => source);
  }
  return cuda;
}

export const CUDA_NEEDS: DeviceNeeds = {
  scratchOf: (kernel) => cudaOf(kernel).scratch.map((scratch) => scratch.byteLength),
  workspaceByteLength: CUBLAS_WORKSPACE_BYTES,
  copiesHost: true,
};

/** NVRTC's name of a device's architecture: `sm_90`. */
function architectureOf(device: string): string {
  const info = cudaInfo().devices[Number(device.slice('cuda:'.length))]!;
  return `sm_${info.computeCapability.join('')}`;
}

export async function cudaProgram(plan: Plan, device: string): Promise<ProgramSpec> {
  const architecture = architectureOf(device);
  const position = new Map<string, number>(); // source → image
  for (const step of plan.steps) {
    if (step.kind !== 'kernel') continue;
    const { source } = cudaOf(step.kernel);
    if (!position.has(source)) position.set(source, position.size);
  }
  const images = await Promise.all(
    [...position.keys()].map((source) => loadImage(source, architecture, CUDA_OPTIONS)),
  );
  return {
    device,
    buffers: plan.buffers.map(({ role, byteLength, offset }) => ({ role, byteLength, offset })),
    arenaByteLength: plan.arenaByteLength,
    images,
    steps: plan.steps.flatMap((step) => stepSpecs(step, position)),
  };
}

function stepSpecs(step: Step, position: ReadonlyMap<string, number>): StepSpec[] {
  if (step.kind === 'matmul') return [matmulSpec(step)];
  const cuda = cudaOf(step.kernel);
  const zeroed = cuda.scratch.flatMap((scratch, k): StepSpec[] =>
    scratch.zeroed ? [{ kind: 'zero', buffer: step.scratch[k]! }] : [],
  );
  const image = position.get(cuda.source)!;
  const launches = cuda.launches.map(
    (launch): StepSpec => ({
      kind: 'launch',
      image,
      function: launch.function,
      grid: launch.grid,
      block: launch.block,
      sharedByteLength: launch.sharedByteLength,
      args: launch.args.map((argument) => launchArgument(argument, step)),
    }),
  );
  return [...zeroed, ...launches];
}

function launchArgument(argument: CudaArgument, step: Extract<Step, { kind: 'kernel' }>): LaunchArgument {
  if ('bytes' in argument) return argument;
  return { buffer: 'buffer' in argument ? step.buffers[argument.buffer]! : step.scratch[argument.scratch]! };
}
