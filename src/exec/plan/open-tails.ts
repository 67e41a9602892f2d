/**
 * Compactions, and sparse matrices, whose results stay where they are computed and that no step reads leave
 * what is behind the length undefined: results are cut to their length (`exec/run/true-sizes.ts`, `stored-results.ts`),
 * and writing it may take longer than everything else.
 * Called by `plan-graph.ts`.
 */

import type { BufferArray, RoutineStep } from '../calls/call.js';
import type { Step } from './plan.js';
import { buffersOf } from './step-buffers.js';
import type { StepList } from './step-list.js';

/** A call whose results may have an undefined tail. */
interface Open {
  /** Its parameters where it leaves it so. */
  readonly parameters: (parameters: readonly number[]) => readonly number[];
  /** The results with tails; behind them are those that others may read. */
  readonly tails: (results: readonly BufferArray[]) => readonly BufferArray[];
}

const compaction: Open = { parameters: () => [1], tails: (results) => results.slice(0, 1) };
/** Of sparse matrices, by the place of the parameter; `starts`: results before the lines. */
const sparseLines = (place: number, starts: number): Open => ({
  parameters: (parameters) => parameters.with(place, 1),
  tails: (results) => results.slice(starts),
});

const OPEN: Readonly<Record<string, Open>> = {
  compact: compaction,
  distinct: compaction,
  sparseMatmul: sparseLines(4, 0),
  sparseCombine: sparseLines(4, 0),
  sparseGather: sparseLines(2, 0),
  sparseTranspose: sparseLines(1, 1),
  sparseElements: sparseLines(2, 1),
};

const isKept = (step: Step): step is RoutineStep => step.kind === 'call' && step.call in OPEN;

export function withOpenTails(stepList: StepList): StepList {
  if (!stepList.steps.some(isKept)) return stepList;
  const read = new Set(stepList.steps.flatMap((step) => buffersOf(step).reads));
  const opened = (step: Step): Step => {
    if (!isKept(step)) return step;
    const { parameters, tails } = OPEN[step.call]!;
    const isUnread = tails(step.results).every(({ buffer }) => !read.has(buffer));
    return isUnread ? { ...step, parameters: parameters(step.parameters) } : step;
  };
  return { ...stepList, steps: stepList.steps.map(opened) };
}
