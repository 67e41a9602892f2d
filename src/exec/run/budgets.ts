/**
 * The most bytes that a compute may hold: from its options, else from the settings, as bytes of the devices
 * that it runs on.
 */

import { config } from '../../host/config.js';
import { bytesOf, parseSize, type Size } from '../../host/parse-size.js';
import { cudaInfo, hostMemory } from '../native/native.js';
import type { Budgets } from '../plan/plan-graph.js';
import type { ComputeOptions } from './compute-options.js';

type SizeOptions = Pick<ComputeOptions, 'memory' | 'hostMemory'>;

interface Sizes {
  readonly memory: Size | undefined;
  readonly hostMemory: Size | undefined;
}

/** The sizes that options give. Throws for what is none. */
export const sizesOf = (options: SizeOptions): Sizes => ({
  memory: options.memory === undefined ? config().memory : parseSize('compute', options.memory),
  hostMemory:
    options.hostMemory === undefined ? config().hostMemory : parseSize('compute', options.hostMemory),
});

/** The budgets of a compute; shares are of the device's memory, of several devices of the least of them. */
export function budgetsOf(options: SizeOptions, devices: readonly string[]): Budgets {
  const { memory, hostMemory: host } = sizesOf(options);
  const least = (): number => Math.min(...devices.map(totalBytesOf));
  const inBytes = (size: Size | undefined, total: () => number): number | undefined =>
    size === undefined || typeof size === 'number' ? size : bytesOf(size, total());
  return { budget: inBytes(memory, least), hostBudget: inBytes(host, hostTotalBytes) };
}

/**
 * The memory of a device: of the CPU, what this process may use; infinitely much where a GPU is not known.
 */
export const totalBytesOf = (device: string): number =>
  device === 'cpu'
    ? hostTotalBytes()
    : (cudaInfo().devices[Number(device.slice('cuda:'.length))]?.totalBytes ?? Number.POSITIVE_INFINITY);

let knownHostBytes: number | undefined;

/**
 * Read once, as by the pool of host memory: every compute asks for it, and the system's files take 0.2 ms.
 */
function hostTotalBytes(): number {
  knownHostBytes ??= hostMemory().totalBytes;
  return knownHostBytes;
}
