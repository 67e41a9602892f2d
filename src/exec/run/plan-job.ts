/**
 * The plans of a compute: of the graph itself, and of what is computed before it: the ends of its index arrays,
 * and the segments below it. Each is planned by itself and run after the one before; so a refusal of one
 * names what that one needs, and the refusal of the job what is enough for all. Called by `inspect/`, and where a
 * compute was refused.
 */
import type { Canonical } from '../../fusion/passes/canonicalize.js';
import { canonicalize } from '../../fusion/passes/canonicalize.js';
import { checksBelow, segmentsBelow } from '../../fusion/passes/segment.js';
import { MemoryError } from '../../host/errors.js';
import type { Place } from '../plan/plan-graph.js';
import { planSharded } from '../shards/plan-shards.js';
import type { ShardedPlan } from '../shards/sharded-plan.js';
import type { ChosenDevices } from '../targets/devices.js';
import type { ComputeOptions } from './compute-options.js';
import { type ComputeTarget, computeTargetOf, devicesOf } from './compute-target.js';
import { planSegments, type SegmentsPlan } from './plan-segments.js';
import { type Observers, type Planned, planGraph } from './program.js';
import { Refusals } from './refusals.js';

interface CommonPlan {
  readonly chosen: ChosenDevices;
  readonly target: ComputeTarget;
  readonly segments: SegmentsPlan;
  /** Of the ends of index arrays; `undefined`: there are none. */
  readonly ahead: JobPlan | undefined;
}

/** The plans of a compute on one device, or on several. */
export type JobPlan = CommonPlan &
  (
    | { readonly isSharded: false; readonly own: Planned }
    | { readonly isSharded: true; readonly own: ShardedPlan }
  );

/** Plans a compute and runs nothing. Throws `MemoryError`, with budgets that are enough for all of it. */
export function planJob(
  canonical: Canonical,
  options: ComputeOptions,
  place: Place,
  observers: Observers = {},
): JobPlan {
  const chosen = devicesOf(canonical, options);
  const target = computeTargetOf(chosen, options, place);
  const { exact, budget, hostBudget } = target;
  const device = target.devices[0]!;
  const refusals = new Refusals();
  const ahead = refusals.collect(() => planAhead(canonical, options));
  const segments = refusals.collect(() => planSegments(canonical, device, target));
  const common = (): CommonPlan => {
    refusals.throwAny();
    return { chosen, target, segments: segments!, ahead };
  };
  if (target.isSharded) {
    const own = refusals.collect(() => planSharded(canonical, target));
    return { ...common(), isSharded: true, own: own! };
  }
  const own = refusals.collect(() =>
    planGraph(canonical, device, { exact, budget, hostBudget, place, ...observers }),
  );
  return { ...common(), isSharded: false, own: own! };
}

function planAhead(canonical: Canonical, options: ComputeOptions): JobPlan | undefined {
  const ends = checksBelow(canonical).flatMap((check) => check.ends);
  return ends.length === 0 ? undefined : planJob(canonicalize(ends), options, 'host');
}

/** The most memory that a job holds on each of its devices by its plans, in bytes. */
export function peaksOf({ chosen, segments, ahead, ...job }: JobPlan): ReadonlyMap<string, number> {
  const own = job.isSharded ? job.own.peakBytes : [job.own.plan.peakBytes];
  const peaks = new Map(ahead === undefined ? [] : peaksOf(ahead));
  for (const [d, { name }] of chosen.devices.entries()) {
    // Segments are computed on the first device.
    const bytes = d === 0 ? Math.max(segments.peakBytes, own[0]! + segments.waitingBytes) : own[d]!;
    peaks.set(name, Math.max(peaks.get(name) ?? 0, bytes));
  }
  return peaks;
}

/** An error of a compute: where one of several graphs was refused, the refusal of the whole job. */
export function refusalOfJob(
  error: unknown,
  canonical: Canonical,
  options: ComputeOptions,
  place: Place,
): unknown {
  const isOne = checksBelow(canonical).length === 0 && segmentsBelow(canonical).length === 0;
  if (isOne || !(error instanceof MemoryError) || Object.keys(error.needed).length === 0) return error;
  try {
    planJob(canonical, options, place);
  } catch (whole) {
    if (whole instanceof MemoryError) return whole;
  }
  // Refused for what is free just now, not by its budgets.
  return error;
}
