/**
 * Graph → plan: the passes of a target, partition, then stages of its devices. One device and several go the
 * same way. Called by `program.ts`, which builds the plan's programs, `plan-job.ts` and `plan-segments.ts`.
 */
import { printKernel } from '../../fusion/kernel/print.js';
import { type Partition, partition } from '../../fusion/partition/partition.js';
import type { Canonical } from '../../fusion/passes/canonicalize.js';
import { hasCompactedValues, hasPlaces } from '../../fusion/passes/compact-values.js';
import { hasCutRoutines } from '../../fusion/passes/cut-routines.js';
import { hasEpilogues } from '../../fusion/passes/fuse-epilogues.js';
import {
  CUT_ROUTINES,
  type Pass,
  type PassOptions,
  runPasses,
  SPLIT_CONTRACTIONS,
} from '../../fusion/passes/pipeline.js';
import type { Graph } from '../../graph/graph.js';
import { printGraph } from '../../graph/print.js';
import { DeviceError, expected, MemoryError } from '../../host/errors.js';
import { formatSite } from '../../host/site.js';
import { timed } from '../native/recorder.js';
import { devicePlansOf, onePhase } from '../plan/phases.js';
import { kernelsOf, type Plan, sweepsOf } from '../plan/plan.js';
import { planPartition } from '../plan/plan-graph.js';
import { printPlan } from '../plan/print-plan.js';
import { planShards } from '../shards/plan-shards.js';
import type { Device } from '../targets/device.js';
import { targetOf } from '../targets/table.js';
import { checkKernels } from './check-kernels.js';
import { budgetIn, type ComputeTarget } from './compute-target.js';
import { debug, wants } from './debug.js';

export interface Planned {
  /** After the passes. */
  readonly graph: Graph;
  readonly partition: Partition;
  readonly plan: Plan;
}

/** Listeners of planning. */
export type Observers = Pick<PassOptions, 'onPass' | 'origins'>;

/** The plan of a graph for a target, without its code. Throws `MemoryError` where nothing fits. */
export function planGraph(canonical: Canonical, target: ComputeTarget, observers: Observers = {}): Planned {
  debug('graph', 'as built', () => printGraph(canonical.graph));
  checkLibraries(canonical, target.devices[0]!);
  checkKernels(canonical, target.devices[0]!);
  // All devices are of one kind: `devices.ts` sees to it.
  const { passes, wholePasses } = targetOf(target.devices[0]!);
  const all = [...passes, ...wholePasses];
  const whole = wholePasses.length === 0 ? undefined : wholePlan(canonical, target, all);
  const isObserved = wants('passes') || Object.keys(observers).length > 0;
  const fitting = whole ?? cuttablePlan(canonical, target, passes);
  const planned = isObserved ? planWith(canonical, target, fitting.passes, observers) : fitting;
  const { plan } = planned;
  debug('kernels', 'fused', () =>
    devicePlansOf(plan)
      .flatMap(({ steps }) => steps.flatMap(kernelsOf))
      .map(printKernel)
      .join('\n'),
  );
  debug('plan', plan.devices.join(','), () => printPlan(plan));
  return planned;
}

/** A plan, and the passes whose graph it is of. */
interface Fitting extends Planned {
  readonly passes: readonly Pass[];
}

/** Throws a DeviceError for a product whose library the device does not have. */
function checkLibraries({ graph, sites }: Canonical, device: Device): void {
  const pinned = graph.nodes.filter((node) => node?.kind === 'contract' && node.library !== undefined);
  if (pinned.length === 0) return;
  const there = targetOf(device).productLibraries();
  for (const node of pinned) {
    if (node?.kind !== 'contract' || there.includes(node.library!)) continue;
    const asked = `a device with library '${node.library!}', which a product asks for`;
    const found = `${device.name} has ${there.map((library) => `'${library}'`).join(' and ')}`;
    const place = formatSite(sites.get(node.id));
    const made = place === undefined ? '' : `\n    for what was made at ${place}`;
    throw new DeviceError(expected('compute', asked, found, 'npx weft doctor says what is missing') + made);
  }
}

/** The plan with what passes over whole plans make, where there is such and one device holds all of it at once. */
function wholePlan(
  canonical: Canonical,
  target: ComputeTarget,
  passes: readonly Pass[],
): Fitting | undefined {
  const { graph } = canonical;
  const mayDiffer =
    hasPlaces(graph) || graph.nodes.some((node) => node?.kind === 'contract' || node?.kind === 'loop');
  if (target.isSharded || !mayDiffer) return undefined;
  const passed = runPasses(graph, { exact: target.exact, passes });
  if (!hasEpilogues(passed) && !hasCompactedValues(passed)) return undefined;
  try {
    const planned = planWith(canonical, target, passes, {});
    const isCut = devicePlansOf(planned.plan).some(({ steps }) => steps.flatMap(sweepsOf).length > 0);
    return isCut ? undefined : { ...planned, passes };
  } catch (error) {
    if (error instanceof MemoryError) return undefined;
    throw error;
  }
}

/** The plan of the passes; where nothing fits, with routines that can be cut in the place of others. */
function cuttablePlan(canonical: Canonical, target: ComputeTarget, passes: readonly Pass[]): Fitting {
  try {
    return { ...planWith(canonical, target, passes, {}), passes };
  } catch (error) {
    if (!(error instanceof MemoryError) || !hasCutRoutines(canonical.graph)) throw error;
    const cut = [CUT_ROUTINES, ...passes];
    return { ...planWith(canonical, target, cut, {}), passes: cut };
  }
}

function planWith(
  canonical: Canonical,
  target: ComputeTarget,
  passes: readonly Pass[],
  observers: Observers,
): Planned {
  const { devices, exact, isSharded, destination, hostBudget } = target;
  const device = devices[0]!;
  const last = isSharded ? { last: [SPLIT_CONTRACTIONS] } : {};
  const options: PassOptions = { exact, passes, ...observers, ...last };
  const graph = timed('plan', 'passes', () =>
    runPasses(canonical.graph, wants('passes') ? { ...options, onPass: reported(options) } : options),
  );
  const parts = timed('plan', 'partition', () => partition(graph, targetOf(device).products.isReadable));
  const model = targetOf(device).modelOf(device, destination);
  const plan = timed('plan', 'memory and tiles', () => {
    if (isSharded) return planShards(graph, parts, canonical, model, target);
    const limits = { budget: budgetIn(target), hostBudget, destination, sites: canonical.sites };
    return onePhase(
      planPartition(graph, parts, canonical.sources, model, limits),
      0,
      [device.name],
      destination,
    );
  });
  return { graph, partition: parts, plan };
}

/** Prints what each pass changed, and hands it on. */
const reported =
  (options: PassOptions): NonNullable<PassOptions['onPass']> =>
  (changes, graph) => {
    debug('passes', changes.pass, () => printGraph(graph));
    options.onPass?.(changes, graph);
  };
