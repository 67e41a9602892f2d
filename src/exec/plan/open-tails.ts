/**
 * Compactions, and sparse matrices, whose results stay where they are computed and that no step reads leave
 * what is behind the length undefined: results are cut to their length (`exec/run/true-sizes.ts`, `stored-results.ts`),
 * and writing it may take longer than everything else. Which calls these are, their rows say (`CallRow.openTails`).
 * Called by `plan-graph.ts`.
 */
import { callRow } from '../calls/table.js';
import type { Step } from './plan.js';
import { buffersOf } from './step-buffers.js';
import type { StepList } from './step-list.js';

export function withOpenTails(stepList: StepList): StepList {
  const canOpen = (step: Step): boolean => step.kind === 'call' && callRow(step).openTails !== undefined;
  if (!stepList.steps.some(canOpen)) return stepList;
  const read = new Set(stepList.steps.flatMap((step) => buffersOf(step).reads));
  const opened = (step: Step): Step => {
    const tails = step.kind === 'call' ? callRow(step).openTails : undefined;
    if (step.kind !== 'call' || tails === undefined) return step;
    return tails.buffers(step).some((buffer) => read.has(buffer)) ? step : tails.opened(step);
  };
  return { ...stepList, steps: stepList.steps.map(opened) };
}
