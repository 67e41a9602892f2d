/**
 * Compiles the kernels of a compute for GPUs that need not be here, into a folder that machines without NVRTC read
 * (`kernel-cache.ts`). Called by `api/precompile.ts`.
 */
import { architectureFor, type CudaSource } from '../../codegen/cuda/source.js';
import { canonicalize } from '../../fusion/passes/canonicalize.js';
import type { Expr } from '../../graph/expr.js';
import { formatValue } from '../../graph/format.js';
import { ArgumentError, DeviceError, expected, FileError } from '../../host/errors.js';
import { cudaInfo } from '../native/native.js';
import { devicePlansOf } from '../plan/phases.js';
import { knownArchitectures } from '../targets/cuda-device.js';
import { loadSource, sourcesByKey } from '../targets/cuda-images.js';
import { gpuOf } from '../targets/device.js';
import { everySource } from '../targets/program-cuda.js';
import type { ComputeOptions } from './compute-options.js';
import { ImageFolder } from './image-folder.js';
import { aheadKeyOf, withEntry } from './kernel-cache.js';
import { planJob, plansOf } from './plan-job.js';
import { computedNodes } from './true-sizes.js';

/** The sources of the kernels of a compute on a GPU of an architecture. */
function sourcesFor(exprs: readonly Expr[], architecture: string, options: ComputeOptions): CudaSource[] {
  const device = gpuOf(architecture);
  const chosen = { devices: [device], reason: 'named by the caller', isSharded: false };
  const job = planJob(canonicalize(computedNodes(exprs)), options, 'host', {}, () => chosen);
  const plans = plansOf(job).flatMap(devicePlansOf);
  return [...sourcesByKey(plans.flatMap((plan) => [...everySource(plan, device).values()])).values()];
}

function checkArchitectures(architectures: readonly string[]): void {
  const { nvrtc, tried } = cudaInfo();
  if (nvrtc === null)
    throw new DeviceError(expected('precompile', 'NVRTC (libnvrtc)', tried.nvrtc.join('; ')));
  const known = knownArchitectures(nvrtc.architectures);
  for (const name of architectures) {
    if (known.includes(name)) continue;
    const wanted = `architectures that NVRTC ${nvrtc.version} compiles for, ${known.join(', ')}`;
    throw new ArgumentError(expected('precompile', wanted, formatValue(name)));
  }
}

/** Gives the number of kernels, of all architectures together. */
export async function precompileExprs(
  exprs: readonly Expr[],
  architectures: readonly string[],
  path: string,
  options: ComputeOptions,
): Promise<number> {
  checkArchitectures(architectures);
  const folder = new ImageFolder(path, Number.POSITIVE_INFINITY);
  const refuse = (): never => {
    throw new FileError(expected('precompile', 'a folder to write to', folder.problem ?? path), path);
  };
  if (!(await folder.usable())) refuse();
  const wanted = architectures.flatMap((architecture) =>
    sourcesFor(exprs, architecture, options).map((source) => ({ architecture, source })),
  );
  await Promise.all(
    wanted.map(async ({ architecture, source }) => {
      const { text, options: own, entry: wanted } = source;
      const { bytes, entry } = await loadSource(source, architecture);
      const kept = entry === undefined ? bytes : withEntry(bytes, entry);
      await folder.write(aheadKeyOf(text, architectureFor(source, architecture), own, wanted), kept);
      if (folder.problem !== undefined) refuse();
    }),
  );
  return wanted.length;
}
