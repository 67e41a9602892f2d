/**
 * Sizes the sweeps of stages for what room there is beside them, and places them. Called by
 * `sweep-attempt.ts` and, for shares of devices, `shard-phase.ts`.
 */
import { completed, type Slices } from '../../host/slices.js';
import type { NoFit, SizedSweep } from '../tiles/sweep-slots.js';
import type { MemoryModel } from './device-model.js';
import { besideSlots, planOfInSlices, type Sweeps } from './place.js';
import type { DevicePlan, Step } from './plan.js';
import type { Staged } from './stages.js';

/**
 * Times that sweeps are sized, for less room each time: blocks that live at the same time may take more than
 * their bytes.
 */
const AIMS = 8;

export interface Fitted {
  readonly plan: DevicePlan;
  readonly sweeps: Sweeps;
}

/**
 * A plan that holds at most `budget` bytes. `step`: what a refusal names, where it is not one sweep that
 * needs too much.
 */
export const planWithin = (...work: Parameters<typeof planWithinInSlices>): Fitted | NoFit =>
  completed(planWithinInSlices(...work));

/** As `planWithin`. */
export function* planWithinInSlices(
  staged: Staged,
  model: MemoryModel,
  budget: number,
  step: Step,
): Slices<Fitted | NoFit> {
  const beside = besideSlots(staged, model);
  yield;
  const within = function* (aim: number): Slices<Fitted | NoFit> {
    const sweeps: (SizedSweep | undefined)[] = [];
    for (const [at, { size }] of staged.stages.entries()) {
      const found = size && (yield* size(aim - beside[at]!));
      if (found !== undefined && 'needed' in found) return { ...found, needed: found.needed + beside[at]! };
      sweeps.push(found);
    }
    return { plan: yield* planOfInSlices(staged, model, sweeps), sweeps };
  };
  const first = yield* within(budget);
  if ('needed' in first || first.plan.peakBytes <= budget) return first;
  const refused = { needed: first.plan.peakBytes, step };
  if (staged.stages.every(({ size }) => size === undefined)) return refused;
  // Bytes to leave free: more than the one, less than the other.
  let [more, less] = [0, Number.POSITIVE_INFINITY];
  for (let k = 0; k < AIMS; k++) {
    const { peakBytes } = first.plan;
    const free =
      less === Number.POSITIVE_INFINITY ? Math.max(2 * more, peakBytes - budget) : (more + less) / 2;
    const found = yield* within(budget - free);
    if ('needed' in found) less = free;
    else if (found.plan.peakBytes <= budget) return found;
    else more = free;
  }
  return refused;
}
