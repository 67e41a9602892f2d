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
import { completed, type Slices } from '../../host/slices.js';
import { inTurns } from '../native/turns.js';
import type { Plan } from '../plan/plan.js';
import type { Destination } from '../plan/plan-graph.js';
import type { ChosenDevices } from '../targets/devices.js';
import type { ComputeOptions } from './compute-options.js';
import { type ComputeTarget, computeTargetOf, devicesOf } from './compute-target.js';
import { planSegments, type SegmentsPlan } from './plan-segments.js';
import { type Observers, type Planned, planInSlices } from './planned.js';
import { Refusals } from './refusals.js';
import { inEvenReach, inEvenStretches, sharesRows } from './row-stretches.js';

/** The plans of a compute. */
export interface JobPlan {
  readonly chosen: ChosenDevices;
  readonly target: ComputeTarget;
  readonly segments: SegmentsPlan;
  /** Of the ends of index arrays; `undefined`: there are none. */
  readonly ahead: JobPlan | undefined;
  readonly own: Planned;
}

/** Plans a compute and runs nothing. Throws `MemoryError`, with budgets that are enough for all of it. */
export const planJob = (...job: Parameters<typeof planJobInSlices>): JobPlan =>
  completed(planJobInSlices(...job));

function* planJobInSlices(
  canonical: Canonical,
  options: ComputeOptions,
  destination: Destination,
  observers: Observers = {},
  choose: (canonical: Canonical) => ChosenDevices = (one) => devicesOf(one, options),
): Slices<JobPlan> {
  const chosen = choose(canonical);
  const target = computeTargetOf(chosen, options, destination);
  const refusals = new Refusals();
  const ahead = yield* refusals.collect(planAhead(canonical, options, choose));
  const segments = yield* refusals.collect(planSegments(canonical, target));
  const own = yield* refusals.collect(planOwn(canonical, target, observers));
  refusals.throwAny();
  return { chosen, target, segments: segments!, ahead, own: own! };
}

/** The plan of the graph itself: where it is one of blocks of sparse rows, for rows of equal lengths. */
function* planOwn(canonical: Canonical, target: ComputeTarget, observers: Observers): Slices<Planned> {
  if (canonical.stretched.length === 0) return yield* planInSlices(canonical, target, observers);
  if (!sharesRows(canonical, target))
    try {
      return yield* planInSlices(canonical, target, observers);
    } catch (error) {
      if (!(error instanceof MemoryError)) throw error;
    }
  const inReach = inEvenReach(canonical);
  if (inReach === undefined) return yield* planInSlices(inEvenStretches(canonical), target, observers);
  try {
    return yield* planInSlices(inEvenStretches(canonical), target, observers);
  } catch (error) {
    if (!(error instanceof MemoryError)) throw error;
  }
  return yield* planInSlices(inReach, target, observers);
}

function* planAhead(
  canonical: Canonical,
  options: ComputeOptions,
  choose: (canonical: Canonical) => ChosenDevices,
): Slices<JobPlan | undefined> {
  const ends = checksBelow(canonical).flatMap((check) => check.ends);
  return ends.length === 0
    ? undefined
    : yield* planJobInSlices(canonicalize(ends), options, 'host', {}, choose);
}

/** All plans of a job. */
export function plansOf({ segments, ahead, own: { plan } }: JobPlan): Plan[] {
  return [...(ahead === undefined ? [] : plansOf(ahead)), ...segments.plans, plan];
}

/** The most memory that a job holds on each of its devices by its plans, in bytes. */
export function peaksOf({ chosen, segments, ahead, own: { plan } }: JobPlan): ReadonlyMap<string, number> {
  const own = plan.peakBytes;
  const peaks = new Map(ahead === undefined ? [] : peaksOf(ahead));
  for (const [d, { name }] of chosen.devices.entries()) {
    // Segments are computed on the first device.
    const bytes = d === 0 ? Math.max(segments.peakBytes, own[0]! + segments.waitingBytes) : own[d]!;
    peaks.set(name, Math.max(peaks.get(name) ?? 0, bytes));
  }
  return peaks;
}

/** An error of a compute: where one of several graphs was refused, the refusal of the whole job. */
export async function refusalOfJob(
  error: unknown,
  canonical: Canonical,
  options: ComputeOptions,
  destination: Destination,
): Promise<unknown> {
  const isOne = checksBelow(canonical).length === 0 && segmentsBelow(canonical).length === 0;
  if (isOne || !(error instanceof MemoryError) || Object.keys(error.needed).length === 0) return error;
  try {
    await inTurns(planJobInSlices(canonical, options, destination), () => options.signal?.throwIfAborted());
  } catch (whole) {
    if (whole instanceof MemoryError) return whole;
  }
  // Refused for what is free just now, not by its budgets.
  return error;
}
