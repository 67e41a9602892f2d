/**
 * Graph → plan: the passes of a target, partition, then stages of its devices. One device and several go the
 * same way. Called by `program.ts`, which builds the plan's programs, `plan-job.ts` and `plan-segments.ts`.
 */
import { printKernel } from '../../fusion/kernel/print.js';
import { type Partition, partitionInSlices } from '../../fusion/partition/partition.js';
import { isInParts } from '../../fusion/passes/both-ways.js';
import type { Canonical } from '../../fusion/passes/canonicalize.js';
import { hasCompactedValues, hasPlaces } from '../../fusion/passes/compact-values.js';
import { hasCutGathers } from '../../fusion/passes/cut-gathers.js';
import { hasCutRoutines } from '../../fusion/passes/cut-routines.js';
import { hasRolls, hasWraps } from '../../fusion/passes/fold-rolls.js';
import { hasEpilogues } from '../../fusion/passes/fuse-epilogues.js';
import {
  CUT_GATHERS,
  CUT_ROUTINES,
  IN_PARTS,
  type Pass,
  type PassOptions,
  passesInSlices,
  SPLIT_CONTRACTIONS,
} from '../../fusion/passes/pipeline.js';
import { hasPlacedAttention } from '../../fusion/passes/place-attention.js';
import { hasRowWrites } from '../../fusion/passes/write-rows.js';
import { formatBytes, formattedUp } from '../../graph/format.js';
import type { Graph, GraphNode } from '../../graph/graph.js';
import { formatSubscripts, printGraph } from '../../graph/print.js';
import { DeviceError, expected, MemoryError } from '../../host/errors.js';
import { formatSite } from '../../host/site.js';
import { completed, type Slices } from '../../host/slices.js';
import { timedSlices } from '../native/recorder.js';
import { devicePlansOf, onePhase } from '../plan/phases.js';
import { kernelsOf, type Plan, sweepsOf, takesInParts } from '../plan/plan.js';
import { type Limits, planOrRefuse, Refused } from '../plan/plan-graph.js';
import { printPlan } from '../plan/print-plan.js';
import { planShards } from '../shards/plan-shards.js';
import type { Device } from '../targets/device.js';
import { targetOf } from '../targets/table.js';
import { bytesMoved } from '../tiles/loop-sweeps.js';
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
export const planGraph = (canonical: Canonical, target: ComputeTarget, observers: Observers = {}): Planned =>
  completed(planInSlices(canonical, target, observers));

/** As `planGraph`. */
export function* planInSlices(
  canonical: Canonical,
  target: ComputeTarget,
  observers: Observers = {},
): Slices<Planned> {
  debug('graph', 'as built', () => printGraph(canonical.graph));
  checkLibraries(canonical, target.devices[0]!);
  checkKernels(canonical, target.devices[0]!);
  const isObserved = wants('passes') || Object.keys(observers).length > 0;
  const fitting = yield* fittingPlan(canonical, target);
  const planned = isObserved ? yield* planWith(canonical, target, fitting.passes, observers) : fitting;
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

const isProductOrLoop = (node: GraphNode | undefined): boolean =>
  node?.kind === 'contract' || node?.kind === 'loop';

/** A plan, and the passes whose graph it is of. */
interface Fitting extends Planned {
  readonly passes: readonly Pass[];
}

/** Throws a DeviceError for a product whose library the device does not have. */
function checkLibraries(canonical: Canonical, device: Device): void {
  const pinned = canonical.graph.nodes.filter(
    (node) => node?.kind === 'contract' && node.library !== undefined,
  );
  if (pinned.length === 0) return;
  const there = targetOf(device).productLibraries();
  for (const node of pinned) {
    if (node?.kind !== 'contract' || there.includes(node.library!)) continue;
    const product = formatSubscripts(node.labels, node.output);
    const asked = `a device with library '${node.library!}', which the product '${product}' asks for`;
    const found = `${device.name} has ${there.map((library) => `'${library}'`).join(' and ')}`;
    const place = formatSite(canonical.sites.get(node.id));
    const made = place === undefined ? '' : `\n    for what was made at ${place}`;
    throw new DeviceError(expected('compute', asked, found, 'npx weft doctor says what is missing') + made);
  }
}

/**
 * The plan with what passes over whole plans make, where there is such and one device holds all of it at once; else the
 * plan of the other passes.
 */
function* fittingPlan(canonical: Canonical, target: ComputeTarget): Slices<Fitting> {
  const { graph } = canonical;
  // All devices are of one kind: `devices.ts` sees to it.
  const { passes, wholePasses } = targetOf(target.devices[0]!);
  const isRolled = hasRolls(graph);
  const mayDiffer = isRolled || hasPlaces(graph) || graph.nodes.some(isProductOrLoop);
  if (target.isSharded || wholePasses.length === 0 || !mayDiffer)
    return yield* cuttablePlan(canonical, target, passes);
  const all = [...passes, ...wholePasses];
  const passed = yield* passedGraph(canonical, target, all, {});
  // Where the last passes found nothing, the graph is that of the others.
  const isFolded = isRolled && hasWraps(passed);
  const isWhole = [hasEpilogues, hasCompactedValues, hasRowWrites, hasPlacedAttention].some((has) =>
    has(passed),
  );
  if (!isFolded && !isWhole) return yield* cuttablePlan(canonical, target, passes, passed);
  const planned = yield* planOfGraph(canonical, target, passed);
  if (!(planned instanceof Refused) && !isCut(planned)) return { ...planned, passes: all };
  const uncut = function* (): Slices<MemoryError | undefined> {
    const within = (budget: number): ComputeTarget => ({ ...target, budget, freeBytes: undefined });
    if (planned instanceof Refused) {
      const error = yield* planned.error();
      const { memory } = error.needed;
      if (memory === undefined) return undefined;
      const enough = yield* planOfGraph(canonical, within(memory), passed);
      if (enough instanceof Refused) return undefined;
      if (!isCut(enough)) return error;
    }
    // Tiles of this graph are not for it: as a whole it may need less than the smallest of the other.
    const whole = yield* planOfGraph(canonical, within(Number.POSITIVE_INFINITY), passed);
    return whole instanceof Refused ? undefined : asWhole(whole, budgetIn(target)!);
  };
  return yield* cuttablePlan(canonical, target, passes, undefined, uncut);
}

/** The refusal of a plan that is not cut. */
function asWhole({ plan }: Planned, budget: number): MemoryError {
  const bytes = formattedUp(devicePlansOf(plan)[0]!.peakBytes);
  const wanted = `a job that fits into ${formatBytes(budget)}`;
  const found = `it needs ${formatBytes(bytes)} as a whole`;
  return new MemoryError(expected('compute', wanted, found), undefined, { memory: bytes });
}

/** Whether a plan has tiles other than panels of products. */
const isCut = ({ plan }: Planned): boolean =>
  devicePlansOf(plan).some(({ steps }) => steps.flatMap(sweepsOf).some(({ panels }) => panels === undefined));

/**
 * The plan of the passes, whose graph may be known; where nothing fits, with routines, and then gathers, that can be cut
 * in the place of others. Where arrays that gathers read pass more than once, the one that copies least. A refusal is the
 * one of all ways that names the least memory; `other`: of a way that was refused before.
 */
function* cuttablePlan(
  canonical: Canonical,
  target: ComputeTarget,
  passes: readonly Pass[],
  passed?: Graph,
  other?: () => Slices<MemoryError | undefined>,
): Slices<Fitting> {
  const { graph: given } = canonical;
  const ways = [
    target.isSharded && given.nodes.some(isInParts) ? [IN_PARTS] : [],
    ...(hasCutRoutines(given) ? [[CUT_ROUTINES]] : []),
    ...(hasCutGathers(given) ? [[CUT_GATHERS, CUT_ROUTINES]] : []),
  ];
  const refused: Refused[] = [];
  let found: Fitting | undefined;
  for (const [k, first] of ways.entries()) {
    const known = k === 0 ? passed : undefined;
    const tried = yield* planInTiles(canonical, target, [...first, ...passes], known);
    if (tried instanceof Refused) {
      refused.push(tried);
      continue;
    }
    if (found === undefined || bytesCopied(tried) < bytesCopied(found)) found = tried;
    if (!devicePlansOf(found.plan).some(takesInParts)) return found;
  }
  if (found !== undefined) return found;
  let least = other && (yield* other());
  for (const each of refused) {
    const error = yield* each.error();
    if (least === undefined || asksForLess(error, least, budgetIn(target))) least = error;
  }
  throw least!;
}

/**
 * The plan of some passes, whose graph may be known: where there are products with epilogues, first with these, so that tiles
 * have the bits of the whole, then without, since they cannot be cut in all ways.
 */
function* planInTiles(
  canonical: Canonical,
  target: ComputeTarget,
  passes: readonly Pass[],
  known: Graph | undefined,
): Slices<Fitting | Refused> {
  const { cutPasses } = targetOf(target.devices[0]!);
  const mayDiffer =
    known === undefined &&
    cutPasses.length > 0 &&
    !target.isSharded &&
    !target.exact &&
    canonical.graph.nodes.some(isProductOrLoop);
  if (mayDiffer) {
    const all = [...passes, ...cutPasses];
    const fused = yield* passedGraph(canonical, target, all, {});
    const planned = yield* planOfGraph(canonical, target, fused);
    if (!(planned instanceof Refused)) return { ...planned, passes: all };
    if (!hasEpilogues(fused)) return planned;
  }
  const graph = known ?? (yield* passedGraph(canonical, target, passes, {}));
  const planned = yield* planOfGraph(canonical, target, graph);
  return planned instanceof Refused ? planned : { ...planned, passes };
}

/** Whether a refusal asks for less memory of the device than another one, or as much and less of the host's. */
function asksForLess({ needed: a }: MemoryError, { needed: b }: MemoryError, budget = 0): boolean {
  const [ours, theirs] = [a.memory ?? budget, b.memory ?? budget];
  return ours < theirs || (ours === theirs && (a.hostMemory ?? 0) < (b.hostMemory ?? 0));
}

const bytesCopied = ({ plan }: Fitting): number =>
  devicePlansOf(plan).reduce((sum, own) => sum + bytesMoved(own), 0);

function* planWith(
  canonical: Canonical,
  target: ComputeTarget,
  passes: readonly Pass[],
  observers: Observers,
): Slices<Planned> {
  const graph = yield* passedGraph(canonical, target, passes, observers);
  const planned = yield* planOfGraph(canonical, target, graph);
  if (planned instanceof Refused) throw yield* planned.error();
  return planned;
}

/** The graph after the passes. */
function passedGraph(
  canonical: Canonical,
  { exact, isSharded }: ComputeTarget,
  passes: readonly Pass[],
  observers: Observers,
): Slices<Graph> {
  const last = isSharded ? { last: [SPLIT_CONTRACTIONS] } : {};
  const options: PassOptions = { exact, passes, ...observers, ...last };
  const watched = wants('passes') ? { ...options, onPass: reported(options) } : options;
  return timedSlices('plan', 'passes', passesInSlices(canonical.graph, watched));
}

/** The plan of a graph that passes are done with. */
function* planOfGraph(canonical: Canonical, target: ComputeTarget, graph: Graph): Slices<Planned | Refused> {
  const { devices, isSharded, destination, hostBudget } = target;
  const device = devices[0]!;
  const { products, keepsOrder, modelOf } = targetOf(device);
  const parts = yield* timedSlices(
    'plan',
    'partition',
    partitionInSlices(graph, products.isReadable, undefined, products.channels, keepsOrder),
  );
  const model = modelOf(device, destination);
  const limits: Limits = {
    budget: budgetIn(target),
    hostBudget,
    destination,
    get sites() {
      return canonical.sites;
    },
  };
  if (isSharded) {
    try {
      const sharing = planShards(graph, parts, canonical, model, target);
      const plan = yield* timedSlices('plan', 'memory and tiles', sharing);
      return { graph, partition: parts, plan };
    } catch (error) {
      if (!(error instanceof MemoryError)) throw error;
      return new Refused(error);
    }
  }
  const planning = planOrRefuse(graph, parts, canonical.sources, model, limits);
  const own = yield* timedSlices('plan', 'memory and tiles', planning);
  if (own instanceof Refused) return own;
  return { graph, partition: parts, plan: onePhase(own, 0, [device.name], destination) };
}

/** Prints what each pass changed, and hands it on. */
const reported =
  (options: PassOptions): NonNullable<PassOptions['onPass']> =>
  (changes, graph) => {
    debug('passes', changes.pass, () => printGraph(graph));
    options.onPass?.(changes, graph);
  };
