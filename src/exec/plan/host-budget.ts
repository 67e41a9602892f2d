/**
 * The host's memory under a limit (`hostMemory`): what refuses a plan that takes more, the way without values
 * that wait there, and with less to copy through. Called by `device-planner.ts`.
 */

import type { Site } from '../../graph/expr.js';
import { formatBytes, formattedUp } from '../../graph/format.js';
import { expected, MemoryError } from '../../host/errors.js';
import { formatSite } from '../../host/site.js';
import { type DeviceModel, withHostPeak } from './device-model.js';
import type { DevicePlan, Step } from './plan.js';
import { stepName } from './plan.js';
import { buffersOf } from './step-buffers.js';

/** Where the user made what a step computes, as the end of a message. */
export function madeAt(step: Step, sites: ReadonlyMap<number, Site> | undefined): string {
  const nodes = 'nodes' in step ? step.nodes : [];
  const place = formatSite(nodes.map((node) => sites?.get(node)).findLast((found) => found !== undefined));
  return place === undefined ? '' : `\n    for what was made at ${place}`;
}

/** The steps of a sweep; a loop is one step, whatever is in it. */
const innerSteps = (step: Step): Step[] =>
  step.kind === 'sweep' ? step.body.map((part) => part.step) : [step];

/** Large values are computed again instead of waiting in host memory. */
export const withoutSpills = (model: DeviceModel): DeviceModel => ({
  ...model,
  ...(model.sweeps === undefined ? {} : { sweeps: { ...model.sweeps, canSpill: false } }),
});

/**
 * The plan with so much less pinned memory to copy through that it fits into `budget`; with the least, where
 * it does not.
 */
export function withLessToCopyThrough(plan: DevicePlan, model: DeviceModel, budget: number): DevicePlan {
  const { most, least } = model.copies ?? { most: 0, least: 0 };
  let less = plan;
  for (let bytes = most; bytes > least && less.hostPeakBytes > budget; ) {
    bytes = Math.max(least, Math.floor(bytes / 2));
    less = withHostPeak(model, { ...plan, copyByteLength: bytes });
  }
  return less;
}

/**
 * Says what takes most of the host's memory, and which of the user's nodes makes it. `plan`: one that takes
 * least of it.
 */
export function hostNoFit(
  { buffers, steps, hostPeakBytes }: DevicePlan,
  budget: number,
  sites: ReadonlyMap<number, Site> | undefined,
): MemoryError {
  const spilled = buffers.flatMap(({ role }, k) => (role === 'spill' ? [k] : []));
  const bytes = spilled.reduce((sum, k) => sum + buffers[k]!.byteLength, 0);
  const largest = spilled.reduce(
    (most, k) => (buffers[k]!.byteLength > buffers[most]!.byteLength ? k : most),
    spilled[0]!,
  );
  const all = steps.flatMap(innerSteps);
  const step = all.find((one) => spilled.length === 0 || buffersOf(one).writes.includes(largest))!;
  const needed = formattedUp(hostPeakBytes);
  const need = `${formatBytes(needed)} ${spilled.length === 0 ? 'of pinned memory to copy through' : `of which ${formatBytes(bytes)} wait there`}`;
  const message = expected(
    'compute',
    `a job that fits into ${formatBytes(budget)} of host memory`,
    `${stepName(step)} needs ${need}`,
  );
  return new MemoryError(message + madeAt(step, sites), undefined, { hostMemory: needed });
}
