/**
 * Plans a partitioned graph: as a whole, in several streams, in place or in sweeps, the first that fits. Each
 * is a way to fill stages, which `place.ts` places. Further memory that a device needs (scratch memory of its
 * kernels, a library's workspace) comes as `DeviceNeeds`.
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
import type { DeviceNeeds } from './device-needs.js';
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

export type { DeviceNeeds } from './device-needs.js';

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
  deviceNeeds: DeviceNeeds,
  limits: Limits = {},
): Plan {
  const needs = forOnePlanning(deviceNeeds);
  const { budget = Number.POSITIVE_INFINITY, hostBudget = Number.POSITIVE_INFINITY, sites } = limits;
  const draft = draftOf(graph, partition, sources, needs);
  const plan = planOnDevice(draft, needs, budget, hostBudget);
  if ('needed' in plan) throw refusal(draft, plan, budget, hostBudget, needs, sites);
  if (plan.hostPeakBytes > hostBudget) throw hostNoFit(plan, hostBudget, sites);
  return plan;
}

/**
 * The plan of a draft within a budget; of those, one that takes least of the host's memory where none takes
 * so little.
 */
export function planOnDevice(
  draft: Draft,
  needs: DeviceNeeds,
  budget: number,
  hostBudget: number,
): Plan | NoFit {
  const plan = planDraft(draft, needs, budget);
  return 'needed' in plan ? plan : onHost(draft, plan, needs, budget, hostBudget);
}

/**
 * The plan, or another that takes no more of the host's memory than it may; one that takes least, where all
 * take more.
 */
function onHost(draft: Draft, plan: Plan, needs: DeviceNeeds, budget: number, hostBudget: number): Plan {
  if (plan.hostPeakBytes <= hostBudget) return plan;
  // Without values that wait in host memory; then with less memory to copy through.
  const plans = [plan];
  if (plan.buffers.some(({ role }) => role === 'spill')) {
    const other = planDraft(draft, withoutSpills(needs), budget);
    if (!('needed' in other)) plans.push(other);
  }
  plans.push(...plans.map((tried) => withLessToCopyThrough(tried, needs, hostBudget)));
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
  needs: DeviceNeeds,
  sites: Limits['sites'],
): MemoryError {
  const whole = planDraft(draft, needs, Number.POSITIVE_INFINITY) as Plan;
  const mostHost = Math.max(
    hostBudget,
    onHost(draft, whole, needs, whole.peakBytes, hostBudget).hostPeakBytes,
  );
  const least = leastBudget(budget, refused, whole.peakBytes, (tried) => {
    const plan = planOnDevice(draft, needs, tried, mostHost);
    if ('needed' in plan) return plan;
    return plan.hostPeakBytes <= mostHost ? undefined : { ...refused, needed: plan.peakBytes };
  });
  return noFit(least, budget, sites, mostHost > hostBudget ? mostHost : undefined);
}

function planDraft(drafted: Draft, needs: DeviceNeeds, budget: number): Plan | NoFit {
  let refused: NoFit | undefined;
  for (const draft of withWorkspaces(drafted, needs.workspaceOf)) {
    const recorded = withLoopRecords(withLoopCounters(draft, needs), needs.loopRecordBytes);
    const decided = planWhole(inReadBlocks(recorded, needs), needs);
    if (decided.peakBytes <= budget) return inStreams(recorded, needs, decided, budget) ?? decided;
    const whole = recorded === draft ? decided : planWhole(draft, needs);
    if (whole.peakBytes <= budget) return whole;
    const shared = needs.isByElement && inPlace(draft, needs.isByElement);
    const other = shared && planWhole(shared, needs);
    if (other !== undefined && other.peakBytes <= budget) return other;
    const step = largestStep(draft, needs);
    const swept = planSweeps(draft, budget, needs, { needed: whole.peakBytes, step });
    if (!('needed' in swept)) return swept;
    if (refused === undefined || swept.needed < refused.needed) refused = swept;
  }
  return refused!;
}

/** The step that touches most. */
function largestStep(draft: Draft, needs: DeviceNeeds): Step {
  const bytesOf = (step: Step): number => {
    const { reads, writes } = buffersOf(step);
    return [...reads, ...writes].reduce((sum, k) => sum + needs.heldBytes(draft.buffers[k]!), 0);
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
const planWhole = (draft: Draft, needs: DeviceNeeds): Plan =>
  planOf({ ...draft, stages: stagesOf(draft.steps) }, needs);
