/**
 * Plans a partitioned graph: as a whole, in several streams, in place or in sweeps, the first that fits. Each
 * is a way to fill stages, which `place.ts` places. Further memory that a device needs (scratch memory of its
 * kernels, a library's workspace) comes as `DeviceModel`.
 */

import type { Partition } from '../../fusion/partition/partition.js';
import type { SourceArray } from '../../fusion/passes/source-array.js';
import type { Site } from '../../graph/expr.js';
import { formatBytes, formattedUp } from '../../graph/format.js';
import type { Graph } from '../../graph/graph.js';
import { expected, MemoryError } from '../../host/errors.js';
import { forOnePlanning } from '../tiles/remembered-works.js';
import type { NoFit } from '../tiles/sweep-slots.js';
import { planSweeps } from '../tiles/sweeps.js';
import type { DeviceModel } from './device-model.js';
import { type Draft, draftOf } from './draft.js';
import { hostNoFit, madeAt, withLessToCopyThrough, withoutSpills } from './host-budget.js';
import { inPlace } from './in-place.js';
import { type LeastBudget, leastBudget } from './least-budget.js';
import { withLoopCounters } from './loop-counters.js';
import { withLoopRecords } from './loop-records.js';
import { planOf } from './place.js';
import { type Plan, type Step, stepName } from './plan.js';
import { inStreams } from './plan-streams.js';
import { inReadBlocks } from './read-blocks.js';
import { stagesOf } from './stages.js';
import { buffersOf } from './step-buffers.js';
import { withWorkspaces } from './workspace.js';

export type { DeviceModel } from './device-model.js';

/** Where results are wanted: copied to host memory, left on the device, or written to files. */
export type Place = 'host' | 'device' | 'file';

/** The most bytes that a compute may hold; `undefined`: no bound. */
export interface Budgets {
  /** Of its device. */
  readonly budget: number | undefined;
  /** Of host memory, beside arrays and results. */
  readonly hostBudget: number | undefined;
}

export interface Limits extends Partial<Budgets> {
  /** Where the user made the graph's nodes. */
  readonly sites?: ReadonlyMap<number, Site> | undefined;
}

/**
 * The plan of a partitioned graph that holds at most `budget` bytes of the device, and `hostBudget` bytes of
 * the host. Throws `MemoryError` where there is none.
 */
export function planPartition(
  graph: Graph,
  partition: Partition,
  sources: readonly SourceArray[],
  deviceModel: DeviceModel,
  limits: Limits = {},
): Plan {
  const model = forOnePlanning(deviceModel);
  const { budget = Number.POSITIVE_INFINITY, hostBudget = Number.POSITIVE_INFINITY, sites } = limits;
  const draft = draftOf(graph, partition, sources, model);
  const plan = planOnDevice(draft, model, budget, hostBudget);
  if ('needed' in plan) throw refusal(draft, plan, budget, hostBudget, model, sites);
  if (plan.hostPeakBytes > hostBudget) throw hostNoFit(plan, hostBudget, sites);
  return plan;
}

/**
 * The plan of a draft within a budget; of those, one that takes least of the host's memory where none takes
 * so little.
 */
export function planOnDevice(
  draft: Draft,
  model: DeviceModel,
  budget: number,
  hostBudget: number,
): Plan | NoFit {
  const plan = planDraft(draft, model, budget);
  return 'needed' in plan ? plan : onHost(draft, plan, model, budget, hostBudget);
}

/**
 * The plan, or another that takes no more of the host's memory than it may; one that takes least, where all
 * take more.
 */
function onHost(draft: Draft, plan: Plan, model: DeviceModel, budget: number, hostBudget: number): Plan {
  if (plan.hostPeakBytes <= hostBudget) return plan;
  // Without values that wait in host memory; then with less memory to copy through.
  const plans = [plan];
  if (plan.buffers.some(({ role }) => role === 'spill')) {
    const other = planDraft(draft, withoutSpills(model), budget);
    if (!('needed' in other)) plans.push(other);
  }
  plans.push(...plans.map((tried) => withLessToCopyThrough(tried, model, hostBudget)));
  const fitting = plans.find(({ hostPeakBytes }) => hostPeakBytes <= hostBudget);
  return fitting ?? plans.reduce((least, one) => (one.hostPeakBytes < least.hostPeakBytes ? one : least));
}

/**
 * The error of a job that does not fit, with a budget that is enough; the host's memory may be short as well.
 */
function refusal(
  draft: Draft,
  refused: NoFit,
  budget: number,
  hostBudget: number,
  model: DeviceModel,
  sites: Limits['sites'],
): MemoryError {
  const whole = planDraft(draft, model, Number.POSITIVE_INFINITY) as Plan;
  const mostHost = Math.max(
    hostBudget,
    onHost(draft, whole, model, whole.peakBytes, hostBudget).hostPeakBytes,
  );
  const least = leastBudget(budget, refused, whole.peakBytes, (tried) => {
    const plan = planOnDevice(draft, model, tried, mostHost);
    if ('needed' in plan) return plan;
    return plan.hostPeakBytes <= mostHost ? undefined : { ...refused, needed: plan.peakBytes };
  });
  return noFit(least, budget, sites, mostHost > hostBudget ? mostHost : undefined);
}

function planDraft(drafted: Draft, model: DeviceModel, budget: number): Plan | NoFit {
  let refused: NoFit | undefined;
  for (const draft of withWorkspaces(drafted, model.workspaceOf)) {
    const recorded = withLoopRecords(withLoopCounters(draft, model), model.loopRecordBytes);
    const decided = planWhole(inReadBlocks(recorded, model), model);
    if (decided.peakBytes <= budget) return inStreams(recorded, model, decided, budget) ?? decided;
    const whole = recorded === draft ? decided : planWhole(draft, model);
    if (whole.peakBytes <= budget) return whole;
    const shared = model.isByElement && inPlace(draft, model.isByElement);
    const other = shared && planWhole(shared, model);
    if (other !== undefined && other.peakBytes <= budget) return other;
    const step = largestStep(draft, model);
    const swept = planSweeps(draft, budget, model, { needed: whole.peakBytes, step });
    if (!('needed' in swept)) return swept;
    if (refused === undefined || swept.needed < refused.needed) refused = swept;
  }
  return refused!;
}

/** The step that touches most. */
function largestStep(draft: Draft, model: DeviceModel): Step {
  const bytesOf = (step: Step): number => {
    const { reads, writes } = buffersOf(step);
    return [...reads, ...writes].reduce((sum, k) => sum + model.heldBytes(draft.buffers[k]!), 0);
  };
  return draft.steps.reduce((most, step) => (bytesOf(step) > bytesOf(most) ? step : most));
}

/** The error of a job that does not fit: a budget that is enough, and the user's node that needs it. */
export function noFit(
  { bytes, why: { step, atOnce } }: LeastBudget<NoFit>,
  budget: number,
  sites: Limits['sites'],
  hostBytes?: number,
): MemoryError {
  const name = stepName(step);
  const needed = formatBytes(bytes);
  const least = {
    step: `a step that cannot be cut into tiles, ${name}, needs ${needed} at once, with what is held beside it`,
    states: `it needs ${needed} as a whole: the tiles of a ${name} cannot go through its steps one by one, and its states have no other memory here to wait in`,
    tiles: `the smallest tiles of ${name} need ${needed}, with what is held beside them`,
  }[atOnce ?? 'tiles'];
  const onHost = hostBytes === undefined ? {} : { hostMemory: formattedUp(hostBytes) };
  const host = hostBytes === undefined ? '' : `, and ${formatBytes(formattedUp(hostBytes))} of host memory`;
  const message = expected('compute', `a job that fits into ${formatBytes(budget)}`, least + host);
  return new MemoryError(message + madeAt(step, sites), undefined, { memory: bytes, ...onHost });
}

/** Every buffer as a whole, steps one after the other. */
const planWhole = (draft: Draft, model: DeviceModel): Plan =>
  planOf({ ...draft, stages: stagesOf(draft.steps) }, model);
