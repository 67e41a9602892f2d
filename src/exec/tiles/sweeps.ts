/**
 * Plans a job that does not fit into its budget: which buffers are on the device in windows only, which steps
 * share a sweep over tiles, and how many tiles each sweep has. Called by `plan-graph.ts`.
 *
 * The largest buffers are windowed first; what is left stays whole. Of the tile counts, the least that fits
 * is taken, or more where copies from and to the host should overlap the work.
 */
import { callRow } from '../calls/table.js';
import type { DeviceModel } from '../plan/device-model.js';
import type { Draft } from '../plan/draft.js';
import type { Plan } from '../plan/plan.js';
import { bytesMoved, unrollings, withResultsApart } from './loop-sweeps.js';
import { Attempt } from './sweep-attempt.js';
import type { NoFit } from './sweep-slots.js';

/** A plan that holds at most `budget` bytes; `whole`: what the job needs as a whole. */
export function planSweeps(draft: Draft, budget: number, model: DeviceModel, whole: NoFit): Plan | NoFit {
  const { sweeps } = model;
  if (sweeps === undefined) return whole;
  let best: Plan | NoFit = whole;
  // Of ways to do several steps of loops at a time, what copies least: more at once first.
  const apart = sweeps.canReadBack ? draft : withResultsApart(draft, sweeps.worksOf);
  for (const tried of unrollings(apart, sweeps.worksOf)) {
    const found = planDraft(tried, budget, model, whole);
    if (!('needed' in found)) {
      if (!('needed' in best) && bytesMoved(found) >= bytesMoved(best)) return best;
      best = found;
    } else if ('needed' in best && (best === whole || found.needed < best.needed)) {
      best = found;
    }
  }
  return best;
}

function planDraft(draft: Draft, budget: number, model: DeviceModel, whole: NoFit): Plan | NoFit {
  const sweeps = model.sweeps!;
  const sizes = [...new Set(draft.buffers.map(model.heldBytes))].filter((n) => n > 0).sort((a, b) => b - a);
  let least = whole;
  // Whether states of loops would have to, where they cannot.
  let mustWait = false;
  const hasBlocks = draft.steps.some((step) => step.kind === 'call' && callRow(step).blocks !== undefined);
  for (const threshold of sizes) {
    for (const inBlocks of hasBlocks ? [false, true] : [false]) {
      const tried = new Attempt(draft, budget, model, { ...sweeps, threshold, inBlocks }).plan();
      if (tried === undefined) {
        mustWait = true;
        continue;
      }
      if (!('needed' in tried)) return tried;
      // A size that would do if steps could be cut says nothing of the need.
      if (tried.needed > budget && (least === whole || tried.needed < least.needed)) least = tried;
    }
  }
  const loop = draft.steps.find(({ kind }) => kind === 'loop');
  return least === whole && mustWait && loop !== undefined
    ? { ...whole, step: loop, atOnce: 'states' }
    : least;
}
