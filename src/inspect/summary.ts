/**
 * The plan of a compute as its user sees it: the memory it will hold, known before anything runs, and its
 * sweeps over tiles. Called by `Lazy.plan` and `plan()`.
 */

import { devicePlansOf, namesOf } from '../exec/plan/phases.js';
import {
  type DevicePlan,
  type Phase,
  type Plan,
  type Step,
  stepName,
  sweepsOf as sweepsIn,
  type WholeReason,
} from '../exec/plan/plan.js';
import type { Destination } from '../exec/plan/plan-graph.js';
import { printPlan } from '../exec/plan/print-plan.js';
import type { ComputeOptions } from '../exec/run/compute-options.js';
import { type JobPlan, peaksOf, planJob } from '../exec/run/plan-job.js';
import { computedNodes } from '../exec/run/true-sizes.js';
import { canonicalize } from '../fusion/passes/canonicalize.js';
import type { Expr } from '../graph/expr.js';

/** A sweep: steps that run together for one tile after another. */
export interface SweepSummary {
  readonly tiles: number;
  /** Names of the kernels and products that run for every tile. */
  readonly steps: readonly string[];
  /** Bytes of the windows that are on the device at a time. */
  readonly slotBytes: number;
}

/** A phase of a compute on several devices. */
export interface PhaseSummary {
  /**
   * `sharded`: each device does its share. `whole`: one does all, since it cannot be cut, or is too small to
   * be.
   */
  readonly kind: 'sharded' | 'whole';
  /**
   * Of a phase that one device does: it is `short`, sooner done than shared; `uncut`, it cannot be cut; it is to
   * `combine` partial results; or there is no `memory` for shares.
   */
  readonly reason?: WholeReason;
  /** Whether devices take tiles as they become free, rather than a share each. */
  readonly byTiles: boolean;
  readonly devices: readonly string[];
  /** Names of the kernels and products. */
  readonly steps: readonly string[];
  /** Bytes that the devices copy from each other's memory, each time. */
  readonly exchangedBytes: number;
  /** Of a phase that does steps of a loop: how often it is done, at most where a condition ends the loop. */
  readonly rounds?: number;
}

/** The result of `plan()`. */
export interface PlanSummary {
  /** The device; of several, their names with commas between them. */
  readonly device: string;
  /** Parts of a graph of very many levels that are computed before the rest, each with a plan of its own. */
  readonly segments: number;
  /** The most memory of a device that the compute holds, in bytes: an upper bound. */
  readonly peakBytes: number;
  /** The same for each device. */
  readonly devices: readonly { readonly device: string; readonly peakBytes: number }[];
  /** How the work is sharded to several devices; empty: it is not. */
  readonly phases: readonly PhaseSummary[];
  /** The most host memory that it takes beside arrays and results, in bytes: an upper bound. */
  readonly hostPeakBytes: number;
  /** Steps that run tile by tile, because they do not fit as a whole; empty: everything fits. */
  readonly sweeps: readonly SweepSummary[];
  /** Every buffer with its place, and every step. */
  toString(): string;
}

/** Plans a compute and runs nothing. Throws `MemoryError` where nothing fits into the budget. */
export function summarizePlan(
  exprs: readonly Expr[],
  options: ComputeOptions = {},
  destination: Destination = 'host',
): PlanSummary {
  const job = planJob(canonicalize(computedNodes(exprs)), options, destination);
  const peaks = peaksOf(job);
  const { plan } = job.own;
  const isShared = plan.devices.length > 1;
  const sweeps = devicePlansOf(plan).flatMap(sweepsOf);
  return {
    device: job.chosen.devices.map(({ name }) => name).join(','),
    segments: job.segments.count,
    peakBytes: Math.max(...peaks.values()),
    hostPeakBytes: hostPeakOf(job),
    devices: [...peaks].map(([device, peakBytes]) => ({ device, peakBytes })),
    phases: isShared ? plan.phases.map((phase) => summaryOf(phase, plan)) : [],
    sweeps: isShared ? sweeps.filter(({ tiles }) => tiles > 1) : sweeps,
    toString: () => printPlan(plan),
  };
}

/** The most host memory of a job, in bytes. */
function hostPeakOf({ segments, ahead, own: { plan } }: JobPlan): number {
  const before = ahead === undefined ? 0 : hostPeakOf(ahead);
  return Math.max(before, segments.hostPeakBytes, plan.hostPeakBytes + segments.hostWaitingBytes);
}

const summaryOf = (phase: Phase, { devices }: Plan): PhaseSummary => ({
  kind: phase.kind,
  ...(phase.reason === undefined ? {} : { reason: phase.reason }),
  byTiles: phase.parts !== undefined,
  devices: phase.runs.map((run) => devices[run.device]!),
  steps: namesOf(phase),
  exchangedBytes: phase.exchangedBytes ?? 0,
  ...(phase.loop === undefined ? {} : { rounds: phase.loop.rounds }),
});

/** Those in loops too, once. */
const sweepsOf = (plan: DevicePlan): SweepSummary[] =>
  plan.steps.flatMap(sweepsIn).map((step) => {
    const steps = step.body.flatMap((part) => namesIn(part.step));
    const slotBytes = step.windows.reduce((sum, w) => sum + w.slots * w.slotByteLength, 0);
    return { tiles: step.tiles, steps, slotBytes };
  });

function namesIn(step: Step): string[] {
  if (step.kind === 'loop') return step.body.flatMap(namesIn);
  return [stepName(step)];
}
