/**
 * The options of a compute, and checks of their values. Their names are checked where the user's object comes
 * in (`lazy.ts`, `compile.ts`, `batch.ts`).
 */

import { formatValue } from '../../graph/format.js';
import { ArgumentError, expected, RangeArgumentError } from '../../host/errors.js';
import type { DevicesOption } from '../targets/devices.js';
import type { OnProgress } from './progress.js';

/** Options of `compute`, `persist`, `explain` and `plan`. */
export interface ComputeOptions {
  /**
   * `'cpu'`, `'cuda'` or `'cuda:N'`; without it a usable GPU is taken, else the CPU (`explain()` says which).
   */
  readonly device?: string | undefined;
  /**
   * Several GPUs: `'all'` that are usable, so many of them, or a list of names. The work is sharded to them,
   * with the bits of one device. `'all'` is the CPU where there is no GPU; lost ones are left out. `memory`
   * then holds for each device.
   */
  readonly devices?: DevicesOption | undefined;
  /**
   * Reaction to one of several devices that is lost or stalls: reject with a `DeviceLostError`
   * (`'fail'`), or do the job anew on the others (`'continue'`), if no input is stored on the lost one.
   */
  readonly onDeviceLost?: 'fail' | 'continue' | undefined;
  /**
   * Milliseconds that one of several devices may take for a tile before it counts as lost. Without it, the
   * setting `WEFT_DEADLINE`.
   */
  readonly deadline?: number | undefined;
  /** Leaves out the rewrites that may change the rounding of floating-point results. */
  readonly exact?: boolean | undefined;
  /**
   * Measures, once on a device, the algorithms that a GPU's library offers for each distinct matrix product and the
   * schedules of each generated kernel, before they first run, and keeps the fastest, in the disk cache as well; without
   * it, rules and predicted times choose. Bits of a product may differ from those of the untuned one, as its sums may have
   * another order; those of kernels do not. Steps in tiles are not tuned.
   */
  readonly tune?: boolean | undefined;
  /**
   * The most memory of the device that the compute may hold at a time, in bytes, as text (`'2GiB'`) or as a
   * share of all that the device has (`'50%'`; of several devices, the least has): arenas, tiles, library
   * workspaces. Jobs that do not fit as a whole are computed in tiles; those that cannot be are refused
   * before anything runs, with `MemoryError`. On the CPU, arrays that the user gives or gets do not count.
   * Without it, the setting `WEFT_MEMORY`.
   */
  readonly memory?: number | string | undefined;
  /**
   * The most host memory that the compute may take beside arrays and results, in bytes, as text or as a
   * share: pinned memory that copies to and from a GPU go through, and values that wait between passes over
   * data that is larger than the device. A job that takes more is planned without such values, or with less
   * memory to copy through, or refused before anything runs, with `MemoryError`. Memory of results is counted
   * only where it is page-locked, because large results come into it again and again: that is done within
   * what is left, and at most with a quarter of the host's. Without it, the setting `WEFT_HOST_MEMORY`.
   */
  readonly hostMemory?: number | string | undefined;
  /**
   * Called with how far the compute is, several times a second while tiles are done, and once it is complete. What
   * it throws stops the compute, which then rejects with it. `progressLine()` makes one that keeps a line in
   * the terminal.
   */
  readonly onProgress?: OnProgress | undefined;
  /** Stops the compute; the promise then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Refuses values that would be misread, or fail later: those of devices and sizes are checked where they are
 * looked up.
 */
export function checkComputeOptions(op: string, options: Omit<ComputeOptions, 'onProgress'>): void {
  const { exact, tune, onDeviceLost, deadline, signal } = options;
  const { onProgress } = options as { readonly onProgress?: unknown };
  const refuse = (what: string, value: unknown): never => {
    throw new ArgumentError(expected(op, what, formatValue(value)));
  };
  if (exact !== undefined && typeof exact !== 'boolean') refuse('exact as true or false', exact);
  if (tune !== undefined && typeof tune !== 'boolean') refuse('tune as true or false', tune);
  if (onDeviceLost !== undefined && onDeviceLost !== 'fail' && onDeviceLost !== 'continue')
    refuse("onDeviceLost as 'fail' or 'continue'", onDeviceLost);
  if (deadline !== undefined && !(deadline > 0))
    throw new RangeArgumentError(expected(op, 'a deadline above 0 ms', formatValue(deadline)));
  if (onProgress !== undefined && typeof onProgress !== 'function')
    refuse('onProgress as a function', onProgress);
  if (signal !== undefined && !isSignal(signal)) refuse('signal as an AbortSignal', signal);
}

/** Signals of other realms and of libraries have the same methods. */
const isSignal = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  'throwIfAborted' in value &&
  typeof value.throwIfAborted === 'function' &&
  'addEventListener' in value &&
  typeof value.addEventListener === 'function';
