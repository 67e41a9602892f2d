/** The resources of a GPU's multiprocessor that the kernels of a step take, by the driver. For `explain`. */
import type { CudaSource } from '../../codegen/cuda/source.js';
import type { CallStep } from '../calls/call.js';
import { callRow } from '../calls/table.js';
import { kernelResources } from '../native/native.js';
import type { ResourceLaunch } from '../native/native-types.js';
import type { KernelStep, PhaseStep } from '../plan/plan.js';
import { architectureOf, limitsOf, residentThreadsOf } from './cuda-device.js';
import { callSource, loadSource } from './cuda-images.js';
import type { Device } from './device.js';
import { untunedOf } from './kernel-schedule.js';
import { cudaOf, sourceOfKernel } from './kernel-source.js';
import type { LaunchedKernel, StepRun } from './target.js';

/** The kernels of a step in the order of their launches; none: a library does it. */
export async function resourcesOf(
  step: KernelStep | PhaseStep | CallStep,
  device: Device,
  run: StepRun,
): Promise<readonly LaunchedKernel[]> {
  const limits = limitsOf(device);
  const kernels = step.kind === 'call' ? callRow(step).kernels?.(step, limits) : undefined;
  if (step.kind === 'call' && kernels === undefined) return [];
  const schedule = step.kind === 'call' ? undefined : untunedOf(step.kernel, device, run).schedule;
  const launches: (ResourceLaunch & { readonly source: CudaSource })[] =
    step.kind === 'call'
      ? kernels!.launches.map((launch) => {
          const { function: name, threads, sharedByteLength = 0 } = launch;
          return {
            function: name,
            threads: product(threads),
            sharedByteLength,
            source: callSource(kernels!, launch),
          };
        })
      : cudaOf(step.kernel, limits, schedule).launches.map(({ function: name, block, sharedByteLength }) => {
          const source = sourceOfKernel(step.kernel, limits, schedule);
          return { function: name, threads: product(block), sharedByteLength, source };
        });
  const found = await Promise.all(
    launches.map(async ({ source, ...launch }) => {
      const image = await loadSource(source, architectureOf(device));
      const named = launch.function === source.entry ? { ...launch, function: image.entry! } : launch;
      const [resources] = await kernelResources(device.name, image.bytes, [named]);
      return resources!;
    }),
  );
  const most = residentThreadsOf(device);
  return found.map((resources, k): LaunchedKernel => {
    const { function: name, threads } = launches[k]!;
    return { name, threads, ...resources, occupancy: (resources.blocks * threads) / most };
  });
}

const product = (sizes: number | readonly number[]): number =>
  typeof sizes === 'number' ? sizes : sizes.reduce((all, size) => all * size, 1);
