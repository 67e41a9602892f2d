/**
 * Graph → program: plans for the devices of a target and builds the program of each run of the plan; keeps
 * what it made by fingerprint, so that the same graph on other data costs a lookup. Called by
 * `run-in-budget.ts`.
 */

import type { Canonical } from '../../fusion/passes/canonicalize.js';
import type { Guard } from '../../graph/runtime-scalar.js';
import { LruCache } from '../../shared/lru-cache.js';
import { MOST_EXTERNAL_BYTES } from '../native/host-memory.js';
import {
  createProgramInSlices,
  type NativeProgram,
  type OutputDestination,
  type RunOptions,
} from '../native/native.js';
import { timedSlices } from '../native/recorder.js';
import { inTurns, turnToPlan } from '../native/turns.js';
import { lastReadsOf, onlyRunOf } from '../plan/phases.js';
import type { DevicePlan, DeviceRun, Plan, PlanBuffer } from '../plan/plan.js';
import { shardDevicesOf } from '../shards/plan-shards.js';
import type { Device } from '../targets/device.js';
import { targetOf } from '../targets/table.js';
import { budgetIn, type ComputeTarget } from './compute-target.js';
import { debug } from './debug.js';
import { planInSlices } from './planned.js';
import { SharedWork } from './shared-work.js';
import { Variants } from './variants.js';

export type { Budgets, Destination } from '../plan/plan-graph.js';

/** A plan on one device that has all of its inputs: its one run, which begins as soon as it is asked for. */
export interface OneRun {
  readonly plan: DevicePlan;
  readonly native: NativeProgram;
  /**
   * Arguments of its runs, by where results are wanted; `queued`: on the device once their work is queued.
   */
  readonly options: Readonly<Record<'host' | 'device' | 'queued', RunOptions>>;
}

export interface Program {
  readonly plan: Plan;
  /** For each run of each phase. */
  readonly natives: readonly (readonly NativeProgram[])[];
  /** Of a plan that is no more than that. */
  readonly one: OneRun | undefined;
  /** The values that are read of what is given, and those that are results, each once, in order. */
  readonly inputs: readonly number[];
  readonly resultValues: readonly number[];
  readonly results: readonly { readonly byteLength: number }[];
  /** For each output of the graph, its position among the results; -1: it has no elements. */
  readonly outputs: readonly number[];
  /** The last phase that reads a value, for those that any reads. */
  readonly lastRead: ReadonlyMap<number, number>;
  /** The most memory of results that may be page-locked in all; undefined: what the runtime finds right. */
  readonly lockByteLength: number | undefined;
  /** Whether it was made for the memory that devices had free just then. */
  readonly isForFreeBytes: boolean;
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
const programs = new LruCache<Map<string, Variants<Program>>>(GRAPHS, NODES);

/**
 * How many graphs have programs that are kept, of how many at most, and the nodes of those graphs, counted for each
 * program.
 */
export const keptPrograms = (): {
  readonly graphs: number;
  readonly most: number;
  readonly nodes: number;
} => ({
  graphs: programs.size,
  most: GRAPHS,
  nodes: programs.weight,
});

let cleared = 0;

/** Drops all kept programs; their device code goes with them. */
export function clearPrograms(): void {
  programs.clear();
  cleared += 1;
}

/** A number that changes where programs that others keep are to be dropped too. */
export const programsSince = (): number => cleared;

function keyOf(target: ComputeTarget): string {
  const { devices, isSharded, exact, tune, hostBudget, destination, toHost } = target;
  const host = hostBudget === undefined ? '' : ` host ${hostBudget}`;
  const kind = `${exact ? ' exact' : ''}${tune ? ' tuned' : ''}${toHost ? ` but ${toHost}` : ''}`;
  if (isSharded) {
    const shares = shardDevicesOf(target).map(({ name, budget, weight }) => `${name} ${budget} ${weight}`);
    return `${shares.join(', ')}${kind} ${destination}${host}`;
  }
  const budget = budgetIn(target);
  return `${devices[0]!.name}${kind}${budget === undefined ? '' : ` ${budget} ${destination}`}${host}`;
}

/** The program of a graph for a target, where it is there. */
export const knownProgram = (canonical: Canonical, target: ComputeTarget): Program | undefined =>
  programs.get(canonical.fingerprint)?.get(keyOf(target))?.find(canonical.scalars)?.value;

/** The answers that the program relies on of the constants of a graph; undefined: it is not there. */
export const guardsOf = (canonical: Canonical, target: ComputeTarget): readonly Guard[] | undefined =>
  programs.get(canonical.fingerprint)?.get(keyOf(target))?.guardsFor(canonical.scalars);

/**
 * The program of a graph for a target, made at most once for each fingerprint and the answers of its constants. It rejects
 * with the signal's reason as soon as that is aborted; planning goes on for others that wait for it, and ends where there
 * are none.
 */
export function programOf(
  canonical: Canonical,
  target: ComputeTarget,
  signal?: AbortSignal,
): Promise<Program> {
  const { fingerprint, scalars } = canonical;
  const uses = programs.get(fingerprint) ?? new Map<string, Variants<Program>>();
  const use = keyOf(target);
  const variants = uses.get(use) ?? new Variants<Program>();
  const known = variants.find(scalars);
  if (known !== undefined) return known.wait(signal);
  const { unknown } = variants;
  if (unknown !== undefined) {
    const again = (): Promise<Program> => programOf(canonical, target, signal);
    return unknown.wait(signal).then(again, () => {
      signal?.throwIfAborted();
      return again();
    });
  }
  const made = new SharedWork((check) => build(canonical, target, check));
  variants.add(scalars, made, () => {
    if (variants.count === 0 && uses.get(use) === variants) uses.delete(use);
  });
  uses.set(use, variants);
  const count = [...uses.values()].reduce((sum, each) => sum + each.count, 0);
  programs.set(fingerprint, uses, canonical.graph.nodes.length * count);
  return made.wait(signal);
}

async function build(canonical: Canonical, target: ComputeTarget, check: () => void): Promise<Program> {
  const start = performance.now();
  const { devices, hostBudget, freeBytes, isSharded, tune } = target;
  const { plan } = await inTurns(planInSlices(canonical, target), check);
  const planned = performance.now();
  const turn = turnToPlan(true);
  if (turn !== undefined) await turn;
  check();
  const programFor = async ({ device: d, plan: own }: DeviceRun): Promise<NativeProgram> => {
    const device = devices[d]!;
    const options = { budget: budgetIn(target), hostBudget, tune };
    const spec = await targetOf(device).emit(own, device, options);
    const made = createProgramInSlices(spec);
    return inTurns(timedSlices('program', device.name, made), check);
  };
  const natives = await Promise.all(plan.phases.map(({ runs }) => Promise.all(runs.map(programFor))));
  const built = performance.now();
  debug(
    'time',
    plan.devices.join(','),
    () => `planned in ${(planned - start).toFixed(1)} ms, built in ${(built - planned).toFixed(1)} ms`,
  );
  const lastRead = lastReadsOf(plan);
  const resultValues = [...new Set(plan.outputs)].filter((b) => b >= 0).sort((a, b) => a - b);
  const positions = new Map(resultValues.map((b, k) => [b, k]));
  const outputs = plan.outputs.map((b) => positions.get(b) ?? -1);
  const hidden = canonical.statuses.length + (target.toHost ?? 0);
  const wanted = new Set(outputs.slice(0, outputs.length - hidden));
  return {
    plan,
    natives,
    one: isSharded ? undefined : oneRunOf(plan, natives[0]![0]!, devices[0]!, wanted),
    inputs: [...lastRead.keys()].filter((b) => plan.values[b]!.role === 'input'),
    resultValues,
    results: resultValues.map((b) => plan.values[b]!),
    outputs,
    lastRead,
    lockByteLength: hostBudget === undefined ? undefined : Math.max(0, hostBudget - plan.hostPeakBytes),
    isForFreeBytes: freeBytes !== undefined,
  };
}

/** `wanted`: the results of the user; the others, codes of calls that may fail and lengths, are for the host alone. */
function oneRunOf(
  whole: Plan,
  native: NativeProgram,
  device: Device,
  wanted: ReadonlySet<number>,
): OneRun | undefined {
  const plan = onlyRunOf(whole);
  if (plan === undefined) return undefined;
  const results = plan.buffers.filter((buffer) => buffer.role === 'output');
  const onDevice = {
    outputs: results.map((_, k): OutputDestination => (wanted.has(k) ? 'device' : 'host')),
  };
  return {
    plan,
    native,
    options: {
      host: { outputs: results.map((result) => hostDestinationOf(result, device)) },
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
function hostDestinationOf({ byteLength, windowed }: PlanBuffer, device: Device): OutputDestination {
  const isHeld = byteLength >= LEAST_HELD_BYTES && byteLength <= MOST_EXTERNAL_BYTES;
  return device.isHost && windowed !== true && isHeld ? 'device' : 'host';
}
