/**
 * Graph → program: runs the passes, partitions, plans and builds for the devices of a target; keeps what it
 * made by fingerprint, so that the same graph on other data costs a lookup. Called by `run-in-budget.ts`.
 */

import { printKernel } from '../../fusion/kernel/print.js';
import { type Partition, partition } from '../../fusion/partition/partition.js';
import type { Canonical } from '../../fusion/passes/canonicalize.js';
import { type PassOptions, runPasses } from '../../fusion/passes/pipeline.js';
import type { Graph } from '../../graph/graph.js';
import { printGraph } from '../../graph/print.js';
import { MOST_EXTERNAL_BYTES } from '../native/host-memory.js';
import { createProgram, type NativeProgram, type OutputPlace, type RunOptions } from '../native/native.js';
import { timed } from '../native/recorder.js';
import { turnToPlan } from '../native/turns.js';
import { type DevicePlan, kernelsOf, type PlanBuffer } from '../plan/plan.js';
import { type Budgets, type Place, planPartition } from '../plan/plan-graph.js';
import { printPlan } from '../plan/print-plan.js';
import { planSharded, shardDevicesOf } from '../shards/plan-shards.js';
import { lastReadsOf, type ShardedPlan, waitingBytesOf } from '../shards/sharded-plan.js';
import type { Device } from '../targets/device.js';
import { targetOf } from '../targets/table.js';
import { budgetIn, type ComputeTarget } from './compute-target.js';
import { debug, wants } from './debug.js';
import { LruCache } from './lru-cache.js';

export type { Budgets, Place } from '../plan/plan-graph.js';

export interface Planned {
  /** After the passes. */
  readonly graph: Graph;
  readonly partition: Partition;
  readonly plan: DevicePlan;
}

/** Listeners of planning. */
export type Observers = Pick<PassOptions, 'trace' | 'origins'>;

/** The plan of a compute on a device, without its code. */
export function planGraph(
  canonical: Canonical,
  device: Device,
  options: PassOptions & Partial<Budgets> & { readonly place?: Place },
): Planned {
  debug('graph', 'as built', () => printGraph(canonical.graph));
  const target = targetOf(device);
  const passOptions = { ...options, passes: target.passes };
  const graph = timed('plan', 'passes', () =>
    runPasses(canonical.graph, wants('passes') ? { ...passOptions, trace: traced(options) } : passOptions),
  );
  const partitioned = timed('plan', 'partition', () => partition(graph));
  const place = options.place ?? 'host';
  const model = target.modelOf(device, place);
  const limits = { budget: options.budget, hostBudget: options.hostBudget, sites: canonical.sites };
  const plan = timed('plan', 'memory and tiles', () =>
    planPartition(graph, partitioned, canonical.sources, model, limits),
  );
  debug('kernels', 'fused', () =>
    plan.steps
      .flatMap((step) => kernelsOf(step))
      .map(printKernel)
      .join('\n'),
  );
  debug('plan', device.name, () => printPlan(plan));
  return { graph, partition: partitioned, plan };
}

/** Prints what each pass changed, and hands it on. */
const traced =
  (options: PassOptions): NonNullable<PassOptions['trace']> =>
  (trace, graph) => {
    debug('passes', trace.pass, () => printGraph(graph));
    options.trace?.(trace, graph);
  };

interface CommonProgram {
  /** For each output of the graph, its position among the results; -1: it has no elements. */
  readonly outputs: readonly number[];
  readonly results: readonly { readonly byteLength: number }[];
  /** For each device, an upper bound of the bytes that a run holds there. */
  readonly peakBytes: readonly number[];
  /** Whether it was made for the memory that devices had free just then. */
  readonly isForFreeBytes: boolean;
}

/** A plan on one device. */
export interface DeviceProgram extends CommonProgram {
  readonly isSharded: false;
  readonly plan: DevicePlan;
  readonly native: NativeProgram;
  /**
   * Arguments of its runs, by where results are wanted; `queued`: on the device once their work is queued.
   */
  readonly options: Readonly<Record<'host' | 'device' | 'queued', RunOptions>>;
}

/** Phases of plans on several devices. */
export interface ShardedProgram extends CommonProgram {
  readonly isSharded: true;
  readonly plan: ShardedPlan;
  /** For each run of each phase. */
  readonly natives: readonly (readonly NativeProgram[])[];
  /** The buffers that are read of what is given, and those that are results, each once. */
  readonly inputs: readonly number[];
  readonly resultBuffers: readonly number[];
  /** The last phase that reads a buffer, for those that any reads. */
  readonly lastRead: ReadonlyMap<number, number>;
  /** The most memory of results that may be page-locked in all; undefined: what the runtime finds right. */
  readonly lockByteLength: number | undefined;
}

export type Program = DeviceProgram | ShardedProgram;

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

function keyOf(target: ComputeTarget): string {
  const { devices, isSharded, exact, hostBudget, place } = target;
  const host = hostBudget === undefined ? '' : ` host ${hostBudget}`;
  const kind = exact ? ' exact' : '';
  if (isSharded) {
    const shares = shardDevicesOf(target).map(({ name, budget, weight }) => `${name} ${budget} ${weight}`);
    return `${shares.join(', ')}${kind} ${place}${host}`;
  }
  const budget = budgetIn(target);
  return `${devices[0]!.name}${kind}${budget === undefined ? '' : ` ${budget} ${place}`}${host}`;
}

/** The program of a graph for a target, made at most once for each fingerprint. */
export function programOf(
  canonical: Canonical,
  target: ComputeTarget & { readonly isSharded: false },
): Promise<DeviceProgram>;
export function programOf(canonical: Canonical, target: ComputeTarget): Promise<Program>;
export function programOf(canonical: Canonical, target: ComputeTarget): Promise<Program> {
  const { fingerprint } = canonical;
  let uses = programs.get(fingerprint);
  if (uses === undefined) {
    uses = new Map();
    programs.set(fingerprint, uses, canonical.graph.nodes.length);
  }
  const use = keyOf(target);
  const known = uses.get(use);
  if (known !== undefined) return known;
  const made = target.isSharded ? buildPhases(canonical, target) : build(canonical, target);
  uses.set(use, made);
  made.catch(() => uses.delete(use)); // a failure is not kept
  return made;
}

async function build(canonical: Canonical, target: ComputeTarget): Promise<DeviceProgram> {
  const start = performance.now();
  const { devices, exact, place, hostBudget, freeBytes } = target;
  const device = devices[0]!;
  const { plan } = planGraph(canonical, device, { exact, place, hostBudget, budget: budgetIn(target) });
  const planned = performance.now();
  const turn = turnToPlan(true);
  if (turn !== undefined) await turn;
  const spec = await targetOf(device).emit(plan, device, hostBudget);
  const native = timed('program', device.name, () => createProgram(spec));
  const built = performance.now();
  debug(
    'time',
    device.name,
    () => `planned in ${(planned - start).toFixed(1)} ms, built in ${(built - planned).toFixed(1)} ms`,
  );
  const results = plan.buffers.filter((buffer) => buffer.role === 'output');
  const onDevice = { outputs: results.map((): OutputPlace => 'device') };
  return {
    isSharded: false,
    plan,
    native,
    outputs: plan.outputs,
    results,
    peakBytes: [plan.peakBytes],
    isForFreeBytes: freeBytes !== undefined,
    options: {
      host: { outputs: results.map((result) => hostPlaceOf(result, device)) },
      device: onDevice,
      queued: { ...onDevice, whenQueued: true },
    },
  };
}

/** Results of the CPU from this size on stay buffers until their elements are asked for. */
const LEAST_HELD_BYTES = 2 ** 20;

/**
 * Where a result is left that is wanted on the host. Each ArrayBuffer of many MiB makes the engine collect
 * garbage, which takes as long as computing it: large results on the host become one only for those who look
 * at them, unless they are too large to become one afterwards.
 */
function hostPlaceOf({ byteLength, windowed }: PlanBuffer, device: Device): OutputPlace {
  const isHeld = byteLength >= LEAST_HELD_BYTES && byteLength <= MOST_EXTERNAL_BYTES;
  return device.isHost && windowed !== true && isHeld ? 'device' : 'host';
}

async function buildPhases(canonical: Canonical, target: ComputeTarget): Promise<ShardedProgram> {
  const plan = timed('plan', 'shares of devices', () => planSharded(canonical, target));
  const { devices, hostBudget, freeBytes } = target;
  const built = plan.phases.map(({ runs }) =>
    Promise.all(
      runs.map(async ({ device: d, plan: own }): Promise<NativeProgram> => {
        const device = devices[d]!;
        return createProgram(await targetOf(device).emit(own, device, hostBudget));
      }),
    ),
  );
  const lastRead = lastReadsOf(plan);
  const resultBuffers = [...new Set(plan.outputs)].filter((b) => b >= 0);
  return {
    isSharded: true,
    plan,
    natives: await Promise.all(built),
    outputs: plan.outputs.map((b) => resultBuffers.indexOf(b)),
    results: resultBuffers.map((b) => plan.buffers[b]!),
    peakBytes: plan.peakBytes,
    isForFreeBytes: freeBytes !== undefined,
    inputs: [...lastRead.keys()].filter((b) => plan.buffers[b]!.role === 'input'),
    resultBuffers,
    lastRead,
    lockByteLength: hostBudget === undefined ? undefined : Math.max(0, hostBudget - waitingBytesOf(plan)),
  };
}
