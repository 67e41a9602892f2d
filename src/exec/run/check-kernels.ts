/** Kernels and functions of the user's own in a form that a device does not run, found before anything is planned. */
import type { Canonical } from '../../fusion/passes/canonicalize.js';
import { sitesOfBody } from '../../fusion/passes/graph-building.js';
import { cudaFunctionsOfStep } from '../../graph/cuda-function.js';
import type { Graph, GraphNode } from '../../graph/graph.js';
import type { CudaFunction } from '../../graph/loop-step.js';
import type { KernelCode } from '../../graph/user-kernel.js';
import { config } from '../../host/config.js';
import { DeviceError, expected } from '../../host/errors.js';
import { formatSite } from '../../host/site.js';
import { SIMULATOR_HINT } from '../targets/cuda-device.js';
import type { Device } from '../targets/device.js';
import { targetOf } from '../targets/table.js';

/** Throws a DeviceError that names the kernel or function, and the place of its call. */
export function checkKernels(checked: Pick<Canonical, 'graph' | 'sites'>, device: Device): void {
  const { kernelCode } = targetOf(device);
  for (const node of checked.graph.nodes) {
    if (node === undefined) continue;
    const wanted = wantedBy(node, kernelCode);
    if (wanted !== undefined) {
      const place = formatSite(checked.sites.get(node.id));
      const made = place === undefined ? '' : `\n    for what was made at ${place}`;
      throw new DeviceError(expected('compute', wanted.asked, device.name, wanted.hint) + made);
    }
    if (node.kind === 'loop') checkKernels(bodyOf(node.loop.body), device);
  }
}

const bodyOf = (body: Graph): Parameters<typeof checkKernels>[0] => ({
  graph: body,
  sites: sitesOfBody(body)?.sites ?? new Map(),
});

interface Wanted {
  readonly asked: string;
  readonly hint: string;
}

/** The words for what a node needs beside the forms of kernels that there are. */
function wantedBy(node: GraphNode, there: readonly KernelCode['kind'][]): Wanted | undefined {
  if (node.kind === 'call' && node.kernel !== undefined && !there.includes(node.kernel.code.kind))
    return {
      asked: `a GPU for the kernel ${node.kernel.name}, which is CUDA C`,
      hint: 'a kernel written as a function of TypeScript runs on every device',
    };
  if (there.includes('elements')) return needSimulator(node);
  const lacking = cudaFunctionsOf(node)
    .map(lackingVersion)
    .find((own) => own !== undefined);
  if (lacking === undefined) return undefined;
  return {
    asked: `a GPU for ${lacking.operation.owner}, which is CUDA C`,
    hint: 'the option cpu gives it a version in TypeScript',
  };
}

/** `WEFT_CHECK` looks at CUDA C on the simulated GPU alone. */
function needSimulator(node: GraphNode): Wanted | undefined {
  const { checksKernels, simulatorFolder, cuda } = config();
  const name = node.kind === 'call' ? node.kernel?.name : cudaFunctionsOf(node)[0]?.operation.owner;
  if (!checksKernels || name === undefined || simulatorFolder !== undefined || cuda.driver !== undefined)
    return undefined;
  return {
    asked: `the simulated GPU, on which WEFT_CHECK=1 runs ${name}`,
    hint: SIMULATOR_HINT,
  };
}

function cudaFunctionsOf(node: GraphNode): CudaFunction[] {
  if (node.kind === 'function') return [node.function];
  if (node.kind === 'repeat') return cudaFunctionsOfStep(node.loop);
  return node.kind === 'reduce' && node.monoid !== undefined
    ? cudaFunctionsOfStep(node.monoid.of.combine)
    : [];
}

/** The function, or one that its version for the CPU calls, that has none. */
function lackingVersion(own: CudaFunction): CudaFunction | undefined {
  if (own.cpu === undefined) return own;
  return cudaFunctionsOfStep(own.cpu)
    .map(lackingVersion)
    .find((each) => each !== undefined);
}
