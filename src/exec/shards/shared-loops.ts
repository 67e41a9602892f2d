/** Chooses the loops of a job that devices share, and opens them. Called by `shard-partition.ts`. */
import type { LoopStep, Step } from '../plan/plan.js';
import type { StepList } from '../plan/step-list.js';
import { loopCut } from '../tiles/loop-cuts.js';
import { unrolled } from '../tiles/loop-sweeps.js';
import { LoopWork, MOST_KERNELS } from './loop-work.js';
import { isOpenable, type OpenStepList, openLoops } from './open-loops.js';
import { type Job, LEAST_CUT_BYTES, largestShareOf, liesIn } from './shard-job.js';

/** How many kernels of a stencil are one round: as many as are worth it, or so many. */
export type Kernels = 'worth' | number;

/** The step list with the loops among its steps that devices share; undefined: there are none. */
export function sharedLoops(stepList: StepList, job: Job, kernels: Kernels): OpenStepList | undefined {
  const { worksOf } = job.sweeps;
  const work = workOf(stepList, job);
  const chosen = new Map<Step, number>();
  for (const step of stepList.steps) {
    if (step.kind !== 'loop' || !canOpen(step, stepList, work)) continue;
    if (loopCut(step, worksOf) === undefined && isShared(step, stepList, work, job))
      chosen.set(step, kernels === 'worth' ? work.kernelsOf(step) : kernels);
  }
  if (chosen.size === 0) return undefined;
  const loops = new Set(chosen.keys());
  const several = unrolled(stepList, worksOf, loops, (loop) => chosen.get(loop) ?? MOST_KERNELS);
  const whole = new Set(stepList.steps.filter((step) => !loops.has(step)));
  const own = workOf(several, job);
  return openLoops(several, (loop) => (whole.has(loop) ? undefined : own.partedStates(loop)));
}

/** Whether the rounds of a loop could be phases that devices share. */
export const isShareableLoop = (loop: LoopStep, stepList: StepList, job: Job): boolean =>
  canOpen(loop, stepList, workOf(stepList, job));

/** Devices write shares of states that are kept: what one of them makes alone is nowhere to be put. */
function canOpen(loop: LoopStep, { buffers }: StepList, work: LoopWork): boolean {
  if (!isOpenable(loop, buffers) || !work.isShareable(loop)) return false;
  const parted = new Set(work.partedStates(loop));
  return loop.states.every(({ kept }, k) => kept < 0 || parted.has(k));
}

const workOf = ({ buffers }: StepList, job: Job): LoopWork =>
  new LoopWork({
    ...job,
    share: largestShareOf(job.devices),
    room: Math.min(...job.devices.map(({ budget }) => budget)),
    heldBytes: job.model.heldBytes,
    buffers,
    liesAt: (b) => liesIn(buffers[b]!, job),
  });

/** Where memory is short, all loops with large states are shared. */
function isShared(loop: LoopStep, { buffers }: StepList, work: LoopWork, { cutsAll }: Job): boolean {
  if (!cutsAll) return work.isSoonerShared(loop);
  return work.partedStates(loop).some((k) => buffers[loop.states[k]!.next]!.byteLength >= LEAST_CUT_BYTES);
}
