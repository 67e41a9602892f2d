/**
 * The most bytes that a compute may hold: from its options, else from the settings, as bytes of the devices
 * that it runs on.
 */

import { config } from '../../host/config.js';
import { bytesOf, parseSize, type Size } from '../../host/parse-size.js';
import type { Budgets } from '../plan/plan-graph.js';
import { CPU, type Device } from '../targets/device.js';
import { targetOf } from '../targets/table.js';
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
export function budgetsOf(options: SizeOptions, devices: readonly Device[]): Budgets {
  const { memory, hostMemory: host } = sizesOf(options);
  const least = (): number => Math.min(...devices.map(totalBytesOf));
  const inBytes = (size: Size | undefined, total: () => number): number | undefined =>
    size === undefined || typeof size === 'number' ? size : bytesOf(size, total());
  return { budget: inBytes(memory, least), hostBudget: inBytes(host, () => totalBytesOf(CPU)) };
}

/**
 * The memory of a device: of the CPU, what this process may use; infinitely much where a GPU is not known.
 */
export const totalBytesOf = (device: Device): number => targetOf(device).totalBytesOf(device);
