/** `devices()`: the devices of this machine, their names and their memory. */

import { cpus } from 'node:os';
import { type CudaDeviceInfo, cudaInfo, hostMemory, openDevice } from '../exec/native/native.js';
import { CPU, gpu } from '../exec/targets/device.js';
import { probeFor, problemOf } from '../exec/targets/devices.js';
import { refuseMore } from '../graph/arguments.js';
import { DeviceError } from '../host/errors.js';
import { calledAsync } from '../host/site.js';

/** A device of this machine. */
export interface DeviceDescription {
  /** As the option `device` takes it: `cpu`, `cuda:0` … */
  readonly device: string;
  /** The model, as the driver or the system says it. */
  readonly name: string;
  /** Whether a compute can run there now. */
  readonly isUsable: boolean;
  /** Why it cannot be used: what is missing, that it is lost … */
  readonly problem: string | undefined;
  /**
   * All of its memory in bytes; of the CPU, what this process may use: the machine's, or the limit of its
   * container.
   */
  readonly totalBytes: number;
  /**
   * Memory that no program uses now, in bytes; undefined where the device cannot say. Weft's own is in use:
   * `memory()` tells it.
   */
  readonly freeBytes: number | undefined;
}

/**
 * All devices: the CPU first, then the GPUs that the driver lists, those that cannot be used (lost, too old,
 * without NVRTC) among them. To ask a GPU for its free memory opens it, which takes a moment the first time.
 *
 * @example
 * const [first] = await devices()
 * first!.device
 * //=> cpu
 */
export function devices(): Promise<readonly DeviceDescription[]>;
export async function devices(...more: readonly unknown[]): Promise<readonly DeviceDescription[]> {
  return await calledAsync(devices, async () => {
    refuseMore('devices', 0, more, 'it tells of all devices');
    await probeFor(undefined);
    const gpus = cudaInfo().driver === null ? [] : cudaInfo().devices;
    return [describeCpu(), ...(await Promise.all(gpus.map(describeGpu)))];
  });
}

function describeCpu(): DeviceDescription {
  const name = cpus()[0]?.model.trim() ?? '';
  const { totalBytes, freeBytes } = hostMemory();
  return { device: CPU.name, name, isUsable: true, problem: undefined, totalBytes, freeBytes };
}

/** Of a device that failed when it was asked, the driver may know nothing. */
async function describeGpu(info: Partial<CudaDeviceInfo>, ordinal: number): Promise<DeviceDescription> {
  const device = gpu(ordinal);
  const { name = '', totalBytes = 0 } = info;
  const known = problemOf(device);
  const opened = known === undefined ? await open(device.name) : { problem: known, freeBytes: undefined };
  return { device: device.name, name, isUsable: opened.problem === undefined, totalBytes, ...opened };
}

async function open(device: string): Promise<Pick<DeviceDescription, 'problem' | 'freeBytes'>> {
  try {
    const { freeBytes } = await openDevice(device);
    return { problem: undefined, freeBytes };
  } catch (error) {
    if (!(error instanceof DeviceError)) throw error;
    return { problem: error.message, freeBytes: undefined };
  }
}
