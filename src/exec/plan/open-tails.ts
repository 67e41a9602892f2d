/**
 * Compactions whose results stay on the device and that no step reads leave what is behind the length undefined:
 * results are cut to their length (`exec/run/true-sizes.ts`), and writing it may take longer than everything else.
 * Called by `plan-graph.ts`.
 */

import type { RoutineStep } from '../calls/call.js';
import type { Step } from './plan.js';
import { buffersOf } from './step-buffers.js';
import type { StepList } from './step-list.js';

const isKept = (step: Step): step is RoutineStep =>
  step.kind === 'call' && (step.call === 'compact' || step.call === 'distinct');

export function withOpenTails(stepList: StepList): StepList {
  if (!stepList.steps.some(isKept)) return stepList;
  const read = new Set(stepList.steps.flatMap((step) => buffersOf(step).reads));
  const opened = (step: Step): Step =>
    isKept(step) && !read.has(step.results[0]!.buffer) ? { ...step, parameters: [1] } : step;
  return { ...stepList, steps: stepList.steps.map(opened) };
}
