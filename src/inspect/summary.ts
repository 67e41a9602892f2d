/**
 * The plan of a compute as its user sees it: the memory it will hold, known before anything runs, and its
 * sweeps over tiles. Called by `Lazy.plan` and `plan()`.
 */

import { type Plan, type Step, stepName, sweepsOf as sweepsIn } from '../exec/plan/plan.js';
import type { Place } from '../exec/plan/plan-graph.js';
import { printPlan } from '../exec/plan/print-plan.js';
import type { ComputeOptions } from '../exec/run/compute-options.js';
import { computeTargetOf } from '../exec/run/compute-target.js';
import { devicesOf } from '../exec/run/evaluate.js';
import { type PartsPlan, planParts } from '../exec/run/plan-segments.js';
import { planGraph } from '../exec/run/program.js';
import { planSharded } from '../exec/shards/plan-shards.js';
import {
  distinctRunsOf,
  namesOf,
  printShardedPlan,
  type ShardedPlan,
  waitingBytesOf,
} from '../exec/shards/sharded-plan.js';
import { type Canonical, canonicalize } from '../fusion/passes/canonicalize.js';
import { checksBelow } from '../fusion/passes/segment.js';
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
  /** Whether devices take tiles as they become free, rather than a share each. */
  readonly byTiles: boolean;
  readonly devices: readonly string[];
  /** Names of the kernels and products. */
  readonly steps: readonly string[];
}

/** The result of `plan()`. */
export interface PlanSummary {
  /** The device; of several, their names with commas between them. */
  readonly device: string;
  /** Parts of a graph of very many levels that are computed before the rest, each with a plan of its own. */
  readonly parts: number;
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
  place: Place = 'host',
): PlanSummary {
  const canonical = canonicalize(exprs);
  const ahead = planAhead(canonical, options);
  const own = summarizeGraph(canonical, options, place);
  return ahead === undefined ? own : withAhead(own, ahead);
}

/** The plan of what is computed ahead of a graph: the ends of its index arrays (`checkIndices`). */
export function planAhead(canonical: Canonical, options: ComputeOptions): PlanSummary | undefined {
  const checks = checksBelow(canonical);
  return checks.length === 0
    ? undefined
    : summarizePlan(
        checks.flatMap(({ ends }) => ends),
        options,
      );
}

/** A plan after another one, whose memory is free by then. */
function withAhead(plan: PlanSummary, ahead: PlanSummary): PlanSummary {
  const before = new Map(ahead.devices.map(({ device, peakBytes }) => [device, peakBytes]));
  for (const { device, peakBytes } of plan.devices)
    before.set(device, Math.max(before.get(device) ?? 0, peakBytes));
  return {
    ...plan,
    peakBytes: Math.max(plan.peakBytes, ahead.peakBytes),
    hostPeakBytes: Math.max(plan.hostPeakBytes, ahead.hostPeakBytes),
    devices: [...before].map(([device, peakBytes]) => ({ device, peakBytes })),
  };
}

function summarizeGraph(canonical: Canonical, options: ComputeOptions, place: Place): PlanSummary {
  const target = computeTargetOf(devicesOf(canonical, options), options, place);
  const device = target.devices[0]!;
  const parts = planParts(canonical, device, target);
  if (target.isSharded) return summarizeSharded(planSharded(canonical, target), parts);
  const { exact, budget, hostBudget } = target;
  const { plan } = planGraph(canonical, device, { exact, budget, hostBudget, place });
  const peakBytes = Math.max(parts.peakBytes, plan.peakBytes + parts.waitingBytes);
  return {
    device: device.name,
    parts: parts.count,
    peakBytes,
    hostPeakBytes: Math.max(parts.hostPeakBytes, plan.hostPeakBytes + parts.hostWaitingBytes),
    devices: [{ device: device.name, peakBytes }],
    phases: [],
    sweeps: sweepsOf(plan),
    toString: () => printPlan(plan),
  };
}

const summarizeSharded = (plan: ShardedPlan, parts: PartsPlan): PlanSummary => ({
  device: plan.devices.join(','),
  parts: parts.count,
  peakBytes: Math.max(...peaksOf(plan, parts)),
  hostPeakBytes: Math.max(parts.hostPeakBytes, waitingBytesOf(plan) + parts.hostWaitingBytes),
  devices: plan.devices.map((device, d) => ({ device, peakBytes: peaksOf(plan, parts)[d]! })),
  phases: plan.phases.map((phase) => ({
    kind: phase.kind,
    byTiles: phase.parts !== undefined,
    devices: phase.runs.map((run) => plan.devices[run.device]!),
    steps: namesOf(phase),
  })),
  sweeps: plan.phases.flatMap((phase) =>
    distinctRunsOf(phase).flatMap((run) => sweepsOf(run.plan).filter(({ tiles }) => tiles > 1)),
  ),
  toString: () => printShardedPlan(plan),
});

/** For each device; parts are computed on the first one. */
export const peaksOf = ({ peakBytes }: ShardedPlan, parts: PartsPlan): number[] =>
  peakBytes.map((bytes, d) => (d === 0 ? Math.max(parts.peakBytes, bytes + parts.waitingBytes) : bytes));

/** Those in loops too, once. */
const sweepsOf = (plan: Plan): SweepSummary[] =>
  plan.steps.flatMap(sweepsIn).map((step) => {
    const steps = step.body.flatMap((part) => namesIn(part.step));
    const slotBytes = step.windows.reduce((sum, w) => sum + w.slots * w.slotByteLength, 0);
    return { tiles: step.tiles, steps, slotBytes };
  });

function namesIn(step: Step): string[] {
  if (step.kind === 'loop') return step.body.flatMap(namesIn);
  return [stepName(step)];
}
