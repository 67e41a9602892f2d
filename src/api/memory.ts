/**
 * Memory that devices hold (`memory`), release of memory kept for the next compute (`trim`), and limits of
 * the process.
 */

import { limitDeviceMemory, memory as reports, trim as trimOpened } from '../exec/native/native.js';
import { processLimitOf } from '../exec/run/process-limit.js';
import { deviceNamed } from '../exec/targets/device.js';
import { usableDevice } from '../exec/targets/devices.js';
import { refuseMore } from '../graph/arguments.js';
import { parseSize } from '../host/parse-size.js';
import { calledAsync } from '../host/site.js';
import { bounded } from '../host/stack-traces.js';

/** The memory of one device, in bytes. */
export interface MemoryUse {
  /** `cpu`, `cuda:0` … */
  readonly device: string;
  /** Bytes of persisted arrays and of running computes; on the CPU also of results in host memory. */
  readonly inUse: number;
  /** Bytes taken from the system: `inUse`, and memory kept for later computes. */
  readonly held: number;
  /** The most that was in use at once since the last `trim`. */
  readonly peak: number;
  /**
   * Pinned host memory that belongs to the device: what copies go through, `pinned` arrays, page-locked
   * results.
   */
  readonly pinned: number;
  /**
   * The most that the process may hold of it, by `limitMemory` or `WEFT_PROCESS_MEMORY`; absent: there is no
   * limit.
   */
  readonly limit?: number;
}

/**
 * The memory of every device that this process has used; none before the first compute. Intermediate values,
 * scratch memory of kernels and the workspace of matrix products are counted. Not counted are the driver's
 * own memory and loaded code.
 *
 * @example
 * using x = await ones([1024, 1024], 'float32').persist({ device: 'cpu' })
 * memory().find(({ device }) => device === 'cpu')!.inUse >= x.size * 4
 * //=> true
 */
export function memory(): readonly MemoryUse[];
export function memory(...more: readonly unknown[]): readonly MemoryUse[] {
  return bounded(memory, () => {
    refuseMore('memory', 0, more, "it tells of all devices: memory().find(({ device }) => device === 'cpu')");
    return reports().map(({ device, inUse, held, peak, staging }) => {
      const limit = processLimitOf(deviceNamed(device));
      const use = { device, inUse, held, peak, pinned: staging };
      return limit === undefined ? use : { ...use, limit };
    });
  });
}

/**
 * Gives memory that no array and no run uses back to the system, of one device or of all that were used, and
 * counts peaks anew. Waits for running computes. The next compute takes its memory from the system again,
 * which costs time.
 *
 * Rejects with a DeviceError for a device that is not there.
 *
 * @example
 * await trim('cpu')
 */
export function trim(device?: string): Promise<void>;
export async function trim(device?: string, ...more: readonly unknown[]): Promise<void> {
  await calledAsync(trim, async () => {
    refuseMore('trim', 1, [device, ...more]);
    await trimOpened(device === undefined ? undefined : usableDevice('trim', device).name);
  });
}

/**
 * Limits the memory that Weft holds of a device in this process, or of each of all devices, whatever was set
 * before: in bytes, as text (`'8GiB'`) or as a share of the device's memory (`'50%'`); `null`: no limit. It
 * holds for arrays that stay there, for what runs, all computes together, and for what is kept for the next
 * one; on the CPU also for results in host memory, as long as they are not collected. Pinned memory is not
 * counted.
 *
 * Kept memory is released first. Then a compute is planned within the rest, in tiles if need be; one that
 * does not fit beside others of its thread waits for them. A compute that cannot fit rejects with a
 * MemoryError. A limit below the memory in use takes nothing away. Settles when kept memory is within the
 * limit. Without a call, the setting `WEFT_PROCESS_MEMORY`.
 *
 * @example
 * await limitMemory('8GiB', 'cpu')
 * await lazy([1, 2]).sum().compute()
 * //=> 3.0
 * await limitMemory(null, 'cpu')
 */
export function limitMemory(size: number | string | null, device?: string): Promise<void>;
export async function limitMemory(
  size: number | string | null,
  device?: string,
  ...more: readonly unknown[]
): Promise<void> {
  await calledAsync(limitMemory, async () => {
    refuseMore('limitMemory', 2, [size, device, ...more]);
    const bytes = size === null ? Number.POSITIVE_INFINITY : parseSize('limitMemory', size);
    const name = device === undefined ? undefined : usableDevice('limitMemory', device).name;
    limitDeviceMemory(name, bytes);
    const isOver = memory().some(({ held, limit }) => limit !== undefined && held > limit);
    if (isOver) await trimOpened(name);
  });
}
