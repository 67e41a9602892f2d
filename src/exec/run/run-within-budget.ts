/**
 * Runs a graph within its budget. Where the user sets none, a GPU's free memory is the budget: a job that is
 * larger than the device, or that the device has no room for just now, is planned again in tiles. Called by
 * `evaluate.ts`, `compiled-graph.ts` and `sharded-execution.ts`.
 */

import type { Canonical } from '../../fusion/passes/canonicalize.js';
import { formatBytes } from '../../graph/format.js';
import { expected, MemoryError } from '../../host/errors.js';
import { collectGarbage, openDevice, trim } from '../native/native.js';
import { totalBytesOf } from './budgets.js';
import { processLimitOf, roomWithin, runLimited, withLimits } from './process-limit.js';
import { type Program, programOf, type Target } from './program.js';

/** What other work on the device may take meanwhile, as a part of what is free. */
const LEFT_FREE = 1 / 16;
/**
 * The pool of host memory gives results in multiples of this, and small ones in multiples of a cache line.
 */
const GRANULE = 2 ** 16;
const CACHE_LINE = 64;
/** Budgets of free memory are multiples of this, so that they lead to few programs. */
const BUDGET_STEP = 64 * 2 ** 20;

/** Runs a program for the graph; `attempt` may be called again, with the same or another. */
export async function runWithin<T>(
  canonical: Canonical,
  target: Target,
  attempt: (program: Program) => Promise<T>,
): Promise<T> {
  const limit = processLimitOf(target.device);
  if (limit !== undefined) return runWithinLimit(canonical, target, limit, attempt);
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
 * As `runWithin`, where the process may hold so much of the device: what is in use now is in the way of the
 * plan, if it has to be.
 */
async function runWithinLimit<T>(
  canonical: Canonical,
  target: Target,
  limit: number,
  attempt: (program: Program) => Promise<T>,
): Promise<T> {
  const { device } = target;
  /** The program that leaves room for its results, where those are counted beside its plan. */
  const programFor = async (room: number): Promise<Program> => {
    const whole = await programOf(canonical, target);
    const own = room - resultBytes(whole.plan, target);
    if (whole.plan.peakBytes <= own) return whole;
    const least = `a job that fits into ${formatBytes(room)}`;
    if (own <= 0)
      throw new MemoryError(expected('compute', least, `its results need ${formatBytes(room - own)}`));
    return programOf(canonical, { ...target, budget: Math.min(own, target.budget ?? own) });
  };
  // Refused by the limit itself: there is nothing to wait for.
  const program = await programFor(limit).catch((error: unknown) => {
    throw withLimits(error, [device]);
  });
  const run = (): Promise<T> => tidily(() => attempt(program));
  return runLimited([device], run, async () => {
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof MemoryError)) throw error;
      const smaller = await programFor(roomWithin(limit, device));
      return tidily(() => attempt(smaller));
    }
  });
}

/** The CPU's plans do not count results in memory. */
const resultBytes = ({ buffers }: Program['plan'], { device, place }: Target): number =>
  device === 'cpu' && place !== 'file'
    ? buffers.reduce((sum, { role, byteLength }) => sum + (role === 'output' ? inGranules(byteLength) : 0), 0)
    : 0;

/** Bytes that the pool of host memory takes for a result. */
const inGranules = (byteLength: number): number => {
  const granule = byteLength < GRANULE ? CACHE_LINE : GRANULE;
  return Math.ceil(byteLength / granule) * granule;
};

/**
 * Attempts a run; once more where the device has no room, but results that nobody can reach any more take
 * some: the engine collects them when the heap has grown, not when a device is full.
 */
export async function tidily<T>(attempt: () => Promise<T>): Promise<T> {
  try {
    return await attempt();
  } catch (error) {
    if (!(error instanceof MemoryError) || !(await collectGarbage())) throw error;
    return attempt();
  }
}

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
