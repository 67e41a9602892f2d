/**
 * Runs a graph within the memory of its devices. Where the user sets no budget, that memory is the budget: a
 * job that is larger than a device, or that a device has no room for just now, is planned again for what is
 * free. Called by `execution.ts` and `segments.ts`.
 */

import type { Canonical } from '../../fusion/passes/canonicalize.js';
import { formatBytes } from '../../graph/format.js';
import { expected, MemoryError } from '../../host/errors.js';
import { collectGarbage, memory, openDevice, trim } from '../native/native.js';
import { hostResultBytes } from '../plan/block-bytes.js';
import type { Device } from '../targets/device.js';
import { totalBytesOf } from './budgets.js';
import type { ComputeTarget } from './compute-target.js';
import { processLimitOf, roomWithin, runLimited, withLimits } from './process-limit.js';
import { type Program, programOf } from './program.js';

/** The share of free memory that other work on the device may take meanwhile. */
const LEFT_FREE = 1 / 16;
/** Budgets of free memory are multiples of this, so that they lead to few programs. */
const BUDGET_STEP = 64 * 2 ** 20;

/**
 * Runs a program for the graph; `attempt` may be called again, with the same or another. `signal` ends the wait for
 * programs.
 */
export async function runInBudget<T>(
  canonical: Canonical,
  target: ComputeTarget,
  signal: AbortSignal | undefined,
  attempt: (program: Program) => Promise<T>,
): Promise<T> {
  const { devices } = target;
  if (devices.some(isLimited)) return runInLimits(canonical, target, signal, attempt);
  const whole = await programOf(canonical, target, signal);
  if (target.budget !== undefined || devices[0]!.isHost) return retryAfterGc(() => attempt(whole));
  const forFree = async (): Promise<Program> =>
    programOf(canonical, { ...target, freeBytes: await freeBytesOf(devices) }, signal);
  if (whole.plan.peakBytes.some((bytes, d) => bytes > totalBytesOf(devices[d]!))) {
    const smaller = await forFree();
    return retryAfterGc(() => attempt(smaller));
  }
  try {
    return await retryAfterGc(() => attempt(whole));
  } catch (error) {
    if (!(error instanceof MemoryError)) throw error;
    const smaller = await forFree();
    // A job that would fit failed for another reason.
    if (smaller.plan.peakBytes.every((bytes, d) => bytes >= whole.plan.peakBytes[d]!)) throw error;
    return attempt(smaller);
  }
}

const isLimited = (device: Device): boolean => processLimitOf(device) !== undefined;

/**
 * As `runInBudget`, where the process may hold so much of a device: what is in use now is in the way of the
 * plan, if it has to be.
 */
async function runInLimits<T>(
  canonical: Canonical,
  target: ComputeTarget,
  signal: AbortSignal | undefined,
  attempt: (program: Program) => Promise<T>,
): Promise<T> {
  const { devices } = target;
  /** The program that leaves room for its results, where those are counted beside its plan. */
  const programFor = async (rooms: readonly number[]): Promise<Program> => {
    const whole = await programOf(canonical, target, signal);
    const results = resultBytes(whole, target);
    const freeBytes = rooms.map((room) => room - results);
    if (whole.plan.peakBytes.every((bytes, d) => bytes <= freeBytes[d]!)) return whole;
    const most = Math.max(...rooms);
    if (most > results) return programOf(canonical, { ...target, freeBytes }, signal);
    const fits = `a job that fits into ${formatBytes(most)}`;
    throw new MemoryError(expected('compute', fits, `its results need ${formatBytes(results)}`));
  };
  // Refused by the limits themselves: there is nothing to wait for.
  const limits = devices.map((device) => processLimitOf(device) ?? Number.POSITIVE_INFINITY);
  const program = await programFor(limits).catch((error: unknown) => {
    throw withLimits(error, devices);
  });
  const run = (): Promise<T> => retryAfterGc(() => attempt(program));
  return runLimited(devices, run, async () => {
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof MemoryError)) throw error;
      const smaller = await programFor(await freeBytesOf(devices));
      return retryAfterGc(() => attempt(smaller));
    }
  });
}

/** The CPU's plans do not count results in memory. */
const resultBytes = ({ results }: Program, { devices, destination }: ComputeTarget): number =>
  devices[0]!.isHost && destination !== 'file'
    ? results.reduce((sum, { byteLength }) => sum + hostResultBytes(byteLength), 0)
    : 0;

/**
 * Attempts a run; once more where the device has no room, but results that nobody can reach any more take
 * some: the engine collects them when the heap has grown, not when a device is full. A collection marks the whole
 * heap (some 50 ms), so there is none where no device has memory in use.
 */
async function retryAfterGc<T>(attempt: () => Promise<T>): Promise<T> {
  try {
    return await attempt();
  } catch (error) {
    const mayHelp = error instanceof MemoryError && memory().some(({ inUse }) => inUse > 0);
    if (!mayHelp || !(await collectGarbage())) throw error;
    return attempt();
  }
}

/** Bytes that plans may hold of the devices' free memory, once memory kept for reuse is given back. */
async function freeBytesOf(devices: readonly Device[]): Promise<number[]> {
  await trim();
  return Promise.all(
    devices.map(async (device) => {
      const limit = processLimitOf(device);
      const room = limit === undefined ? Number.POSITIVE_INFINITY : roomWithin(limit, device);
      return device.isHost ? room : Math.min(room, inSteps((await openDevice(device.name)).freeBytes));
    }),
  );
}

/** The budget where so many bytes are free. */
function inSteps(freeBytes: number): number {
  const room = freeBytes * (1 - LEFT_FREE);
  return room > BUDGET_STEP ? Math.floor(room / BUDGET_STEP) * BUDGET_STEP : Math.floor(room);
}
