/** What devices hold of their memory, and giving back what is kept for the next compute. */
import { chooseDevice } from './exec/native/devices.js';
import { memory as reports, trim as trimOpened } from './exec/native/native.js';

/** The memory of one device, in bytes. */
export interface MemoryUse {
  /** `cpu`, `cuda:0` … */
  readonly device: string;
  /** What arrays that stay there hold, and runs under way; on the CPU also results in host memory. */
  readonly inUse: number;
  /** What Weft has taken from the system: `inUse`, and what is kept for what comes next. */
  readonly held: number;
  /** The most that was in use at once since the last `trim`. */
  readonly peak: number;
  /** Pinned host memory that belongs to the device: what copies go through, `pinned` arrays, page-locked results. */
  readonly pinned: number;
}

/**
 * The memory of every device that this process has used; none before the first compute. Intermediate values, scratch memory of
 * kernels and the workspace of matrix products are counted. Not counted are the driver's own memory and loaded code.
 */
export const memory = (): readonly MemoryUse[] =>
  reports().map(({ device, inUse, held, peak, staging }) => ({ device, inUse, held, peak, pinned: staging }));

/**
 * Gives memory that no array and no run uses back to the system, of one device or of all that were used, and counts peaks anew.
 * Runs that are under way end first. What the next compute needs is taken from the system again, which takes its time.
 *
 * Rejects with a DeviceError for a device that is not there.
 */
export async function trim(device?: string): Promise<void> {
  await trimOpened(device === undefined ? undefined : chooseDevice(device, new Set()).name);
}
