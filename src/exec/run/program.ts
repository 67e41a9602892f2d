/**
 * Graph → program: runs the passes, partitions, plans and builds for a device; keeps what it made by
 * fingerprint, so that the same graph on other data costs a lookup. Called by `evaluate.ts` and
 * `inspect/explain.ts`.
 */

import { printKernel } from '../../fusion/kernel/print.js';
import { type Partition, partition } from '../../fusion/partition/partition.js';
import type { Canonical } from '../../fusion/passes/canonicalize.js';
import { type PassOptions, runPasses } from '../../fusion/passes/pipeline.js';
import type { Graph } from '../../graph/graph.js';
import { printGraph } from '../../graph/print.js';
import { createProgram, type NativeProgram } from '../native/native.js';
import { timed } from '../native/recorder.js';
import { turnToPlan } from '../native/turns.js';
import { kernelsOf, type Plan } from '../plan/plan.js';
import { type Budgets, type Place, planPartition } from '../plan/plan-graph.js';
import { printPlan } from '../plan/print-plan.js';
import { debug, wants } from './debug.js';
import { LruCache } from './lru-cache.js';
import { cpuNeeds, cpuProgram } from './program-cpu.js';
import { cudaNeeds, cudaProgram } from './program-cuda.js';

export type { Budgets, Place } from '../plan/plan-graph.js';

export interface Planned {
  /** After the passes. */
  readonly graph: Graph;
  readonly partition: Partition;
  readonly plan: Plan;
}

/** What a compute will do on a device, without building it. */
export function planGraph(
  canonical: Canonical,
  device: string,
  options: PassOptions & Partial<Budgets> & { readonly place?: Place },
): Planned {
  debug('graph', 'as built', () => printGraph(canonical.graph));
  const passOptions = { ...options, gpu: device !== 'cpu' };
  const graph = timed('plan', 'passes', () =>
    runPasses(canonical.graph, wants('passes') ? { ...passOptions, trace: traced(options) } : passOptions),
  );
  const partitioned = timed('plan', 'partition', () => partition(graph));
  const place = options.place ?? 'host';
  const needs = device === 'cpu' ? cpuNeeds(place) : cudaNeeds(device, place);
  const limits = { budget: options.budget, hostBudget: options.hostBudget, sites: canonical.sites };
  const plan = timed('plan', 'memory and tiles', () =>
    planPartition(graph, partitioned, canonical.sources, needs, limits),
  );
  debug('kernels', 'fused', () =>
    plan.steps
      .flatMap((step) => kernelsOf(step))
      .map(printKernel)
      .join('\n'),
  );
  debug('plan', device, () => printPlan(plan));
  return { graph, partition: partitioned, plan };
}

/** Prints what each pass changed, and hands it on. */
const traced =
  (options: PassOptions): NonNullable<PassOptions['trace']> =>
  (trace, graph) => {
    debug('passes', trace.pass, () => printGraph(graph));
    options.trace?.(trace, graph);
  };

export interface Program {
  readonly plan: Plan;
  readonly native: NativeProgram;
}

/** Graphs whose programs are kept for the next compute. */
const GRAPHS = 256;
/**
 * Nodes of those graphs together: the plans of a loop that computes a graph that grows would fill the memory.
 */
const NODES = 1 << 18;
/**
 * By fingerprint, then by use: the text of a fingerprint is hashed once, however often its graph is computed.
 */
const programs = new LruCache<Map<string, Promise<Program>>>(GRAPHS, NODES);

/** Drops all kept programs; their device code goes with them. */
export function clearPrograms(): void {
  programs.clear();
}

/** How a graph is to be computed: programs for other targets are other programs. */
export interface Target extends Budgets {
  readonly device: string;
  readonly exact: boolean;
  /** Where results are wanted; it matters to what fits. */
  readonly place: Place;
}

function keyOf({ device, exact, budget, hostBudget, place }: Target): string {
  const bounds = budget === undefined ? '' : ` ${budget} ${place}`;
  const host = hostBudget === undefined ? '' : ` host ${hostBudget}`;
  return `${device}${exact ? ' exact' : ''}${bounds}${host}`;
}

/** The program of a graph for a target, made at most once for each fingerprint. */
export function programOf(canonical: Canonical, target: Target): Promise<Program> {
  const { fingerprint } = canonical;
  let uses = programs.get(fingerprint);
  if (uses === undefined) {
    uses = new Map();
    programs.set(fingerprint, uses, canonical.graph.nodes.length);
  }
  const use = keyOf(target);
  const known = uses.get(use);
  if (known !== undefined) return known;
  const made = build(canonical, target);
  uses.set(use, made);
  made.catch(() => uses.delete(use)); // a failure is not kept
  return made;
}

async function build(canonical: Canonical, { device, ...options }: Target): Promise<Program> {
  const start = performance.now();
  const { plan } = planGraph(canonical, device, options);
  const planned = performance.now();
  const turn = turnToPlan(true);
  if (turn !== undefined) await turn;
  const spec =
    device === 'cpu'
      ? timed('codegen', 'tapes', () => cpuProgram(plan))
      : await cudaProgram(plan, device, options.hostBudget);
  const native = timed('program', device, () => createProgram(spec));
  const built = performance.now();
  debug(
    'time',
    device,
    () => `planned in ${(planned - start).toFixed(1)} ms, built in ${(built - planned).toFixed(1)} ms`,
  );
  return { plan, native };
}
