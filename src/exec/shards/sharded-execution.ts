/**
 * Computes on several devices: graph → sharded plan (kept or new) → run. Called by `evaluate.ts` where a
 * compute names several devices, or reads arrays that lie on several.
 *
 * Where the user sets no budget, the memory of each device is the budget, and if that is not free, what is. A
 * device that is lost ends the compute; with `onDeviceLost: 'continue'` the others do the job anew, if they
 * can read all that it reads.
 */

import { partition } from '../../fusion/partition/partition.js';
import type { Canonical } from '../../fusion/passes/canonicalize.js';
import { runPasses } from '../../fusion/passes/pipeline.js';
import { canonicalOfPart, partsBelow } from '../../fusion/passes/segment.js';
import { holdersOf } from '../../graph/expr.js';
import { DeviceError, DeviceLostError, expected, MemoryError } from '../../host/errors.js';
import {
  cancel,
  createCancel,
  createProgram,
  type FileOutput,
  type NativeProgram,
  openDevice,
  type RunInput,
  tilesDone,
  trim,
} from '../native/native.js';
import { timed } from '../native/recorder.js';
import { isSomeStalled } from '../native/stalls.js';
import type { Place } from '../plan/plan-graph.js';
import { totalBytesOf } from '../run/budgets.js';
import { debug } from '../run/debug.js';
import { type Input, inputsOf, runWithInputs } from '../run/inputs.js';
import { LruCache } from '../run/lru-cache.js';
import { processLimitOf, roomWithin, runLimited } from '../run/process-limit.js';
import { cudaNeeds, cudaProgram } from '../run/program-cuda.js';
import { type OnProgress, watchProgress } from '../run/progress.js';
import { roomOf, tidily } from '../run/run-within-budget.js';
import { Parts } from '../run/segments.js';
import { synchronize } from '../run/synchronize.js';
import { forOnePlanning } from '../tiles/remembered-works.js';
import { shardPartition } from './shard-partition.js';
import { type Attempt, hostRefusal, refusal, shardDevice } from './shard-refusal.js';
import {
  distinctRunsOf,
  hostBytesOf,
  printShardedPlan,
  type ShardDevice,
  type ShardedPlan,
} from './sharded-plan.js';
import {
  lastReadsOf,
  resultsOf,
  runSharded,
  type ShardedProgram,
  type ShardedResult,
  type ShardedRunOptions,
} from './sharded-run.js';

export interface ShardedTarget {
  readonly devices: readonly string[];
  readonly exact: boolean;
  /** The most bytes on each device. */
  readonly budget: number | undefined;
  /** The most bytes of host memory that values may wait in. */
  readonly hostBudget?: number | undefined;
  readonly place: Place;
}

export interface ShardedOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: OnProgress | undefined;
  readonly onDeviceLost: 'fail' | 'continue';
  readonly deadline: number;
  readonly filesOf?:
    | ((plan: Pick<ShardedPlan, 'outputs'>, output: number) => readonly FileOutput[])
    | undefined;
}

/** The results; `plan.outputs` says which is which, -1 for those without elements. */
export interface ShardedExecuted extends ShardedResult {
  readonly program: { readonly plan: { readonly outputs: readonly number[] } };
  /**
   * What can do the same with other arrays (`executeAgain`); absent: it may take other devices, or less of
   * them, next time.
   */
  readonly again?: ShardedProgram;
}

/** What a compute on several devices will do. Throws `MemoryError` where nothing fits. */
export function planSharded(canonical: Canonical, target: ShardedTarget): ShardedPlan {
  return shardedPlan(canonical, target, usualDevices(target));
}

/** Devices with the budget that the user set, or all of their memory. */
const usualDevices = ({ devices, budget }: ShardedTarget): ShardDevice[] =>
  devices.map((name) => {
    const most = budget ?? totalBytesOf(name);
    return shardDevice(name, Math.min(most, processLimitOf(name) ?? Number.POSITIVE_INFINITY));
  });

/** Devices with what is free of their memory, once all that is kept for reuse is given back. */
async function freeDevices(names: readonly string[]): Promise<ShardDevice[]> {
  await trim();
  return Promise.all(
    names.map(async (name): Promise<ShardDevice> => {
      const limit = processLimitOf(name);
      const free = roomOf((await openDevice(name)).freeBytes);
      const budget = limit === undefined ? free : Math.min(free, roomWithin(limit, name));
      return { name, budget, weight: budget };
    }),
  );
}

function shardedPlan(
  canonical: Canonical,
  target: ShardedTarget,
  devices: readonly ShardDevice[],
): ShardedPlan {
  const graph = runPasses(canonical.graph, { exact: target.exact, sharded: true });
  // All devices are of one kind: `devices.ts` sees to it.
  const needs = forOnePlanning(cudaNeeds(devices[0]!.name, target.place));
  const parts = partition(graph);
  const attempt: Attempt = (some, hostBudget) =>
    shardPartition(graph, parts, canonical.sources, needs, some, { place: target.place, hostBudget });
  const plan = attempt(devices, target.hostBudget);
  if ('needed' in plan) throw refusal(plan, attempt, target.hostBudget, devices, canonical.sites);
  debug('plan', 'devices', () => printShardedPlan(plan));
  if (target.hostBudget !== undefined && hostBytesOf(plan) > target.hostBudget)
    throw hostRefusal(plan, attempt, target.hostBudget, devices);
  return plan;
}

const GRAPHS = 64;
/** By fingerprint and target. */
const programs = new LruCache<Promise<ShardedProgram>>(GRAPHS);

function programOf(
  canonical: Canonical,
  target: ShardedTarget,
  devices: readonly ShardDevice[],
): Promise<ShardedProgram> {
  const sharded = devices.map(({ name, budget, weight }) => `${name} ${budget} ${weight}`).join(', ');
  const { exact, place, hostBudget } = target;
  const key = `${canonical.fingerprint} ${exact} ${place} ${hostBudget} ${sharded}`;
  const known = programs.get(key);
  if (known !== undefined) return known;
  const plan = timed('plan', 'shares of devices', () => shardedPlan(canonical, target, devices));
  const made = build(plan, hostBudget);
  programs.set(key, made);
  made.catch(() => programs.delete(key)); // a failure is not kept
  return made;
}

async function build(plan: ShardedPlan, hostBudget: number | undefined): Promise<ShardedProgram> {
  const built = plan.phases.map(({ runs }) =>
    Promise.all(
      runs.map(
        async ({ device, plan: own }): Promise<NativeProgram> =>
          createProgram(await cudaProgram(own, plan.devices[device]!, hostBudget)),
      ),
    ),
  );
  const lockByteLength = hostBudget === undefined ? undefined : Math.max(0, hostBudget - hostBytesOf(plan));
  return { plan, programs: await Promise.all(built), lastRead: lastReadsOf(plan), lockByteLength };
}

/** Drops all kept programs. */
export const clearShardedPrograms = (): void => programs.clear();

/** `arrays`: what the graph's sources are, where the graph was traced. */
export async function executeSharded(
  canonical: Canonical,
  target: ShardedTarget,
  options: ShardedOptions,
  arrays: readonly Input[] = inputsOf(canonical),
): Promise<ShardedExecuted> {
  const parts = Parts.below(canonical);
  try {
    await computeParts(canonical, parts, target, options.signal);
    await settleInputs(canonical);
    // Several runs read what comes through JavaScript: it is read whole, and before them.
    const before = { plan: { buffers: [] }, signal: options.signal, parts };
    return await runWithInputs(arrays, before, (inputs) => runOnMany(canonical, target, inputs, options));
  } finally {
    parts?.clear();
  }
}

/** Once more what has run, with other arrays. */
export async function executeAgain(
  canonical: Canonical,
  program: ShardedProgram,
  options: ShardedOptions,
  arrays: readonly Input[],
): Promise<ShardedExecuted> {
  await settleInputs(canonical);
  const before = { plan: { buffers: [] }, signal: options.signal };
  return runWithInputs(arrays, before, (inputs) => attempt(program, inputs, options));
}

/** Parts of a deep graph are computed on the first device. */
async function computeParts(
  canonical: Canonical,
  parts: Parts | undefined,
  { devices, exact, budget, hostBudget }: ShardedTarget,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (parts === undefined) return;
  const [device] = devices;
  for (const part of partsBelow(canonical)) {
    for (const { source } of canonicalOfPart(part).sources) {
      if (source.type !== 'device' || source.buffer.device === device) continue;
      const where = `arrays on '${device}' alone below graphs of thousands of levels`;
      throw new DeviceError(expected('compute', where, source.buffer.device, 'persist() values in between'));
    }
  }
  const token = createCancel();
  const stop = (): void => cancel(token);
  signal?.addEventListener('abort', stop, { once: true });
  try {
    await parts.compute({ device: device!, exact, budget, hostBudget }, token, signal);
  } finally {
    signal?.removeEventListener('abort', stop);
  }
}

/** What a compiled function left may still be in the making, and other devices do not wait for its stream. */
async function settleInputs({ sources }: Canonical): Promise<void> {
  const makers = sources.flatMap(({ source }) =>
    source.type === 'device' && source.buffer.shards === undefined ? [source.buffer.device] : [],
  );
  await Promise.all([...new Set(makers)].map((device) => synchronize(device)));
}

/** Runs on the devices; on those that are left, where one is lost and that helps. */
async function runOnMany(
  canonical: Canonical,
  target: ShardedTarget,
  inputs: readonly RunInput[],
  options: ShardedOptions,
): Promise<ShardedExecuted> {
  const run = (to: ShardedTarget): Promise<ShardedExecuted> => runWithin(canonical, to, inputs, options);
  let left = target;
  for (;;) {
    try {
      return await run(left);
    } catch (error) {
      const next = options.onDeviceLost === 'continue' ? without(canonical, left, error) : undefined;
      if (next === undefined) throw error;
      left = next;
    }
  }
}

/** The target without a lost device; `undefined`: that does not help. */
function without(canonical: Canonical, target: ShardedTarget, error: unknown): ShardedTarget | undefined {
  if (!(error instanceof DeviceLostError) || error.device === undefined) return undefined;
  const { device: lost } = error;
  const devices = target.devices.filter((device) => device !== lost);
  if (devices.length === target.devices.length || devices.length === 0) return undefined;
  const isNeeded = canonical.sources.some(
    ({ source }) => source.type === 'device' && holdersOf(source.buffer).includes(lost),
  );
  return isNeeded ? undefined : { ...target, devices };
}

async function runWithin(
  canonical: Canonical,
  target: ShardedTarget,
  inputs: readonly RunInput[],
  options: ShardedOptions,
): Promise<ShardedExecuted> {
  const devices = usualDevices(target);
  const isLimited = target.devices.some((name) => processLimitOf(name) !== undefined);
  const run = (): Promise<ShardedExecuted> => runUsually(canonical, target, devices, inputs, options);
  return isLimited ? runLimited(target.devices, run, run) : run();
}

/** With what devices have; with what is free of it, where that does not suffice. */
async function runUsually(
  canonical: Canonical,
  target: ShardedTarget,
  devices: readonly ShardDevice[],
  inputs: readonly RunInput[],
  options: ShardedOptions,
): Promise<ShardedExecuted> {
  try {
    const program = await programOf(canonical, target, devices);
    const executed = await tidily(() => attempt(program, inputs, options));
    const isSettled = options.onDeviceLost === 'fail' && !isSomeStalled();
    return isSettled && partsBelow(canonical).length === 0 ? { ...executed, again: program } : executed;
  } catch (error) {
    if (target.budget !== undefined || !(error instanceof MemoryError)) throw error;
    const free = await freeDevices(target.devices);
    if (free.every(({ budget }, d) => budget >= devices[d]!.budget)) throw error;
    return attempt(await programOf(canonical, target, free), inputs, options);
  }
}

async function attempt(
  program: ShardedProgram,
  inputs: readonly RunInput[],
  options: ShardedOptions,
): Promise<ShardedExecuted> {
  const { plan } = program;
  const results = resultsOf(plan);
  const outputs = plan.outputs.map((b) => results.indexOf(b));
  const { filesOf } = options;
  const running: ShardedRunOptions = {
    signal: options.signal,
    deadline: options.deadline,
    ...(filesOf === undefined ? {} : { filesOf: (b: number) => filesOf({ outputs }, results.indexOf(b)) }),
  };
  const { onProgress } = options;
  const result = await (onProgress === undefined
    ? runSharded(program, (source) => inputs[source]!, running)
    : watched(program, inputs, running, onProgress));
  return { ...result, program: { plan: { outputs } } };
}

/** A run whose progress is told. What `onProgress` throws stops it and is what it rejects with. */
async function watched(
  program: ShardedProgram,
  inputs: readonly RunInput[],
  options: ShardedRunOptions,
  onProgress: OnProgress,
): Promise<ShardedResult> {
  const tokens: object[] = [];
  const stopped = new AbortController();
  const signals = [stopped.signal, ...(options.signal === undefined ? [] : [options.signal])];
  const steps = program.plan.phases.flatMap((phase) =>
    distinctRunsOf(phase).flatMap(({ plan }) => plan.steps),
  );
  const end = watchProgress(
    { steps },
    () => tokens.reduce((sum, token) => sum + tilesDone(token), 0),
    onProgress,
    (error) => stopped.abort(error),
  );
  try {
    const result = await runSharded(program, (source) => inputs[source]!, {
      ...options,
      signal: AbortSignal.any(signals),
      onTokens: (some) => tokens.push(...some),
    });
    end(true);
    return result;
  } catch (error) {
    end(false);
    throw stopped.signal.aborted ? stopped.signal.reason : error;
  }
}
