/**
 * Plans whose steps run in several streams: buffers of steps that may run at a time share no bytes, and each
 * stream's products have a workspace of their own. Called by `device-planner.ts` for plans whose buffers are all
 * there as a whole; which step runs where is `streams.ts`.
 */

import type { Slices } from '../../host/slices.js';
import type { DeviceModel } from './device-model.js';
import { planOfInSlices } from './place.js';
import { type DevicePlan, type StreamPlan, workspaceOf } from './plan.js';
import { stagesInSlices } from './stages.js';
import type { StepList } from './step-list.js';
import { orderOf, streamsOf } from './streams.js';

/** The most bytes that a plan may take for running steps at a time. */
const MOST_MORE = 256 * 2 ** 20;

/**
 * The plan in several streams; undefined: that does not pay, or takes more than `budget` bytes. `whole` is
 * the plan in one.
 */
export function* inStreams(
  stepList: StepList,
  model: DeviceModel,
  whole: DevicePlan,
  budget: number,
): Slices<DevicePlan | undefined> {
  // Values that a loop's body leaves to its next steps would have to stay all the time.
  if (model.streams === undefined || stepList.steps.some(({ kind }) => kind === 'loop')) return undefined;
  const streams = streamsOf(stepList.steps, model.streams);
  if (streams === undefined) return undefined;
  yield;
  const { buffers, steps } = withOwnWorkspaces(stepList, streams);
  const staged = { ...stepList, buffers, stages: yield* stagesInSlices(steps) };
  const plan = yield* planOfInSlices(staged, model, [], orderOf(streams));
  const isWorth = plan.peakBytes <= Math.min(budget, whole.peakBytes + MOST_MORE);
  return isWorth ? { ...plan, streams } : undefined;
}

/**
 * Calls of the first stream that has any keep the workspace that all shared; those of others get their own.
 */
function withOwnWorkspaces(
  stepList: StepList,
  { steps: places }: StreamPlan,
): Pick<StepList, 'buffers' | 'steps'> {
  const buffers = [...stepList.buffers];
  const own = new Map<number, number>();
  const steps = stepList.steps.map((step, at) => {
    const shared = workspaceOf(step);
    if (step.kind !== 'call' || shared === undefined) return step;
    const { stream } = places[at]!;
    let workspace = own.get(stream);
    if (workspace === undefined) {
      workspace = own.size === 0 ? shared : buffers.length;
      if (workspace !== shared) buffers.push({ ...buffers[shared]!, key: `workspace of stream ${stream}` });
      own.set(stream, workspace);
    }
    return { ...step, workspace };
  });
  return { buffers, steps };
}
