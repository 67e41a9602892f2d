/**
 * Compactions, and products of sparse matrices, whose results stay where they are computed and that no step reads leave
 * what is behind the length undefined: results are cut to their length (`exec/run/true-sizes.ts`, `stored-results.ts`),
 * and writing it may take longer than everything else.
 * Called by `plan-graph.ts`.
 */

import type { RoutineStep } from '../calls/call.js';
import type { Step } from './plan.js';
import { buffersOf } from './step-buffers.js';
import type { StepList } from './step-list.js';

/** By call, the parameters with which it leaves its tail undefined. */
const OPEN: Readonly<Record<string, (parameters: readonly number[]) => readonly number[]>> = {
  compact: () => [1],
  distinct: () => [1],
  sparseMatmul: (parameters) => parameters.with(4, 1),
};

const isKept = (step: Step): step is RoutineStep => step.kind === 'call' && step.call in OPEN;

export function withOpenTails(stepList: StepList): StepList {
  if (!stepList.steps.some(isKept)) return stepList;
  const read = new Set(stepList.steps.flatMap((step) => buffersOf(step).reads));
  // Of a compaction the second result is the length, which others read.
  const isUnread = ({ call, results }: RoutineStep): boolean =>
    (call === 'sparseMatmul' ? results : results.slice(0, 1)).every(({ buffer }) => !read.has(buffer));
  const opened = (step: Step): Step =>
    isKept(step) && isUnread(step) ? { ...step, parameters: OPEN[step.call]!(step.parameters) } : step;
  return { ...stepList, steps: stepList.steps.map(opened) };
}
