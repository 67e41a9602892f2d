/**
 * Runs a graph within its budget. Where the user sets none, a GPU's free memory is the budget: a job that is larger than
 * the device, or that the device has no room for just now, is planned again in tiles. Called by `evaluate.ts`, `trace.ts` and `dealt.ts`.
 */
import { MemoryError } from '../errors.js';
import type { Canonical } from '../fusion/canonicalize.js';
import { collectGarbage, cudaInfo, openDevice, trim } from './native/native.js';
import { type Program, programOf, type Target } from './programs/program.js';

/** What other work on the device may take meanwhile, as a part of what is free. */
const LEFT_FREE = 1 / 16;
/** Budgets of free memory are multiples of this, so that they lead to few programs. */
const BUDGET_STEP = 64 * 2 ** 20;

/** Runs a program for the graph; `attempt` may be called again, with the same or another. */
export async function runWithin<T>(
  canonical: Canonical,
  target: Target,
  attempt: (program: Program) => Promise<T>,
): Promise<T> {
  const whole = await programOf(canonical, target);
  const isBounded = target.budget !== undefined || target.device === 'cpu';
  if (isBounded) return tidily(() => attempt(whole));
  if (whole.plan.peakBytes > totalBytesOf(target.device)) {
    const tiled = await inTiles(canonical, target);
    return tidily(() => attempt(tiled));
  }
  try {
    return await tidily(() => attempt(whole));
  } catch (error) {
    if (!(error instanceof MemoryError)) throw error;
    const tiled = await inTiles(canonical, target);
    // A job that would fit failed for another reason.
    if (tiled.plan.peakBytes >= whole.plan.peakBytes) throw error;
    return attempt(tiled);
  }
}

/**
 * Attempts a run; once more where the device has no room, but results that nobody can reach any more take some: the engine
 * collects them when the heap has grown, not when a device is full.
 */
export async function tidily<T>(attempt: () => Promise<T>): Promise<T> {
  try {
    return await attempt();
  } catch (error) {
    if (!(error instanceof MemoryError) || !(await collectGarbage())) throw error;
    return attempt();
  }
}

/** The memory of a GPU. */
export const totalBytesOf = (device: string): number =>
  cudaInfo().devices[Number(device.slice('cuda:'.length))]?.totalBytes ?? Number.POSITIVE_INFINITY;

/** The program for what is free on the device, once all that is kept for reuse is given back. */
async function inTiles(canonical: Canonical, target: Target): Promise<Program> {
  await trim();
  const { freeBytes } = await openDevice(target.device);
  return programOf(canonical, { ...target, budget: roomOf(freeBytes) });
}

/** The budget where so many bytes are free. */
export function roomOf(freeBytes: number): number {
  const room = freeBytes * (1 - LEFT_FREE);
  return room > BUDGET_STEP ? Math.floor(room / BUDGET_STEP) * BUDGET_STEP : Math.floor(room);
}
