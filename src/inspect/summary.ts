/**
 * The plan of a compute as its user sees it: the memory it will hold, known before anything runs, and its sweeps over tiles.
 * Called by `Lazy.plan` and `plan()`.
 */
import { budgetsOf, type ComputeOptions, deviceOf } from '../exec/evaluate.js';
import { planParts } from '../exec/parts-plan.js';
import { type Plan, printPlan } from '../exec/plan.js';
import { type Place, planGraph } from '../exec/program.js';
import { canonicalize } from '../fusion/canonicalize.js';
import type { Expr } from '../graph/expr.js';

export interface SweepSummary {
  readonly tiles: number;
  /** Names of the kernels and products that run for every tile. */
  readonly steps: readonly string[];
  /** Bytes of the windows that are on the device at a time. */
  readonly slotBytes: number;
}

export interface PlanSummary {
  readonly device: string;
  /** Parts of a graph of very many levels that are computed before the rest, each with a plan of its own. */
  readonly parts: number;
  /** The most memory of the device that the compute holds, in bytes: an upper bound. */
  readonly peakBytes: number;
  /** The most host memory that it takes beside arrays and results, in bytes: an upper bound. */
  readonly hostPeakBytes: number;
  /** What is computed tile by tile, because it does not fit as a whole; empty: everything fits. */
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
  const device = deviceOf(canonical, options).name;
  const settings = { exact: options.exact === true, ...budgetsOf(options), place };
  const { plan } = planGraph(canonical, device, settings);
  const parts = planParts(canonical, device, settings);
  return {
    device,
    parts: parts.count,
    peakBytes: Math.max(parts.peakBytes, plan.peakBytes + parts.waitingBytes),
    hostPeakBytes: Math.max(parts.hostPeakBytes, plan.hostPeakBytes + parts.hostWaitingBytes),
    sweeps: sweepsOf(plan),
    toString: () => printPlan(plan),
  };
}

const sweepsOf = (plan: Plan): SweepSummary[] =>
  plan.steps.flatMap((step): SweepSummary[] => {
    if (step.kind !== 'sweep') return [];
    const steps = step.body.map((part) => ('kernel' in part.step ? part.step.kernel.name : part.step.kind));
    const slotBytes = step.windows.reduce((sum, w) => sum + w.slots * w.slotByteLength, 0);
    return [{ tiles: step.tiles, steps, slotBytes }];
  });
