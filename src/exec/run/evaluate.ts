/**
 * Evaluates expressions: canonical graph, devices and budgets → execution → results on the host, on devices or
 * in files. The JavaScript thread plans and then waits for a promise; copying and computing happen on native
 * threads.
 */

import { type Canonical, canonicalOrSlices, isSlices } from '../../fusion/passes/canonicalize.js';
import { computedFor, type IndexCheck } from '../../fusion/passes/index-check.js';
import { hasContractions } from '../../fusion/passes/merge-contractions.js';
import { checksBelow } from '../../fusion/passes/segment.js';
import { slice } from '../../graph/basic-slicing.js';
import { byteLengthOf, isComplex } from '../../graph/dtype.js';
import type { DeviceBuffer, Expr } from '../../graph/expr.js';
import { denseStrides, sizeOfShape } from '../../graph/graph.js';
import { deviceArray, hostArray } from '../../graph/infer.js';
import { moveaxis } from '../../graph/views.js';
import { orElse, whenThere } from '../../host/at-once.js';
import {
  isOwnError,
  LinalgError,
  MemoryError,
  NativeError,
  RangeArgumentError,
  withLine,
} from '../../host/errors.js';
import { formatSite } from '../../host/site.js';
import { isFromUser } from '../../host/stack-traces.js';
import { arrayOf, HeldElements } from '../native/held-elements.js';
import { checkHostArray, MOST_COPIED_BYTES, typedArrayOver } from '../native/host-memory.js';
import type { FileOutput } from '../native/native.js';
import { timed, timedSlices } from '../native/recorder.js';
import { inTurnsOrNow, turnToHandOver, turnToPlan } from '../native/turns.js';
import type { Destination } from '../plan/plan-graph.js';
import { deviceNamed } from '../targets/device.js';
import { type ChosenDevices, probeFor } from '../targets/devices.js';
import { builtAgain, keepBuilt } from './built-again.js';
import { isCheckedIn, mayBeInRun, mayBeOfIndices } from './checks-in-run.js';
import { type ComputeOptions, checkComputeOptions } from './compute-options.js';
import { type ComputeTarget, computeTargetOf, devicesOf } from './compute-target.js';
import { ifThereIsRoom, isForCuts, isOneGpu } from './cut-on-gpu.js';
import { type ExecutionSettings, executeNow, type Job, settingsOf } from './execution.js';
import type { HostResult } from './host-result.js';
import { inputsOf } from './inputs.js';
import { arrayOfCheck, lookThrough } from './known-ends.js';
import type { FoundNumbers, NumbersAhead } from './known-starts.js';
import { refusalOfJob } from './plan-job.js';
import { executeInRows } from './row-stretches.js';
import type { Executed, FilesOf } from './run-program.js';
import { Segments } from './segments.js';
import { checkStatuses, type ReadCodes } from './statuses.js';
import { cutTo, type StoredResult, sizesOf, storedArray } from './stored-results.js';
import { type BoundedJob, boundedJob, cutShape } from './true-sizes.js';

export type { HostResult, StoredResult };

import { type ComputeWatch, subjectOf, watched, watcher } from './watch.js';

/** Computes expressions together, shared work once; one result each, in order. */
export const evaluate = async (exprs: readonly Expr[], options: ComputeOptions = {}): Promise<HostResult[]> =>
  evaluateNow(exprs, options);

/** As `evaluate`; results that are there at once are given as they are, and what fails at once may be thrown. */
export function evaluateNow(
  exprs: readonly Expr[],
  options: ComputeOptions = {},
): HostResult[] | Promise<HostResult[]> {
  const again = builtAgain(exprs, options);
  if (again !== undefined) return again;
  const bounded = boundedJob(exprs);
  if (bounded !== undefined) return evaluateBounded(bounded, options);
  return whenThere(compute(exprs, options, 'host'), (all) => hostResults(exprs, all));
}

async function evaluateBounded(bounded: BoundedJob, options: ComputeOptions): Promise<HostResult[]> {
  const { computed, cuts } = bounded;
  const executed = await compute(computed, options, 'host', undefined, {
    toHost: computed.length - cuts.length,
  });
  if (!executed.program.outputs.slice(0, cuts.length).some((at) => isOnGpu(executed.outputs[at])))
    return cutHostResults(hostResults(computed, executed), bounded);
  return broughtToHost(await cutStoredResults(executed, bounded), options);
}

const isOnGpu = (output: ArrayBuffer | DeviceBuffer | undefined): boolean =>
  output !== undefined && !(output instanceof ArrayBuffer) && !deviceNamed(output.device).isHost;

/** Brings stored results to the host, and frees them. */
export async function broughtToHost(
  results: readonly StoredResult[],
  { onProgress: _, ...quiet }: ComputeOptions,
): Promise<HostResult[]> {
  const there = results.filter(({ buffer }) => buffer !== undefined);
  try {
    const brought = await evaluate(there.map(storedArray), quiet);
    return results.map((result) => {
      const { dtype } = result;
      const none = typedArrayOver(new ArrayBuffer(0), dtype);
      return brought[there.indexOf(result)] ?? { data: none, dtype, shape: Object.freeze(result.shape) };
    });
  } finally {
    for (const { buffer } of there) buffer!.dispose();
  }
}

/** The results of a bounded job in their true sizes. */
export async function cutHostResults(
  results: readonly HostResult[],
  { cuts }: BoundedJob,
): Promise<HostResult[]> {
  const kept = await Promise.all(
    cuts.map((cut, k) => {
      const result = results[k]!;
      return cut === undefined ? result : cutInHost(result, Number(indexOf(results[cut.length]!)), cut.axis);
    }),
  );
  // The bound may be many times the size: memory of which copies alone are kept is free at once.
  const buffers = new Set(kept.map(bufferOf));
  for (const result of results) if (!buffers.has(bufferOf(result))) bufferOf(result)?.dispose();
  return kept;
}

/** The buffer that holds a result; undefined: it is an array. */
const bufferOf = ({ data }: HostResult): DeviceBuffer | undefined =>
  data instanceof HeldElements ? data.buffer : undefined;

/** Bytes that JavaScript copies sooner than a thread would have begun: in 0.02 ms. */
const COPIED_AT_ONCE = 2 ** 17;

/** The first elements along the first axis of a result, which then becomes the axis `axis`. */
async function cutInHost(result: HostResult, length: number, axis: number): Promise<HostResult> {
  const { dtype } = result;
  const shape = Object.freeze(cutShape(result.shape, length));
  // A small part of an array does not keep all of it in memory: threads of the CPU copy it, as they move axes.
  const isSmall = 2 * length < result.shape[0]!;
  const { data } = result;
  const values = sizeOfShape(shape) * (isComplex(dtype) ? 2 : 1);
  const isHeld = data instanceof HeldElements;
  if (axis === 0 && !isSmall)
    return { data: isHeld ? data.first(values) : data.subarray(0, values), dtype, shape };
  if (axis === 0 && sizeOfShape(shape) * byteLengthOf(dtype) <= (isHeld ? MOST_COPIED_BYTES : COPIED_AT_ONCE))
    return { data: isHeld ? data.copied(values) : data.slice(0, values), dtype, shape };
  const rows = isHeld
    ? slice(deviceArray(data.buffer, dtype, result.shape), [0, length])
    : hostArray({ type: 'host', data, offset: 0, strides: denseStrides(shape) }, dtype, shape);
  const [moved] = await evaluate([moveaxis(rows, 0, axis)], { device: 'cpu' });
  return moved!;
}

/** Computes expressions together and leaves the results on the device. */
export async function evaluateStored(
  exprs: readonly Expr[],
  options: ComputeOptions = {},
): Promise<StoredResult[]> {
  const bounded = boundedJob(exprs);
  if (bounded === undefined) return storedResults(exprs, await compute(exprs, options, 'device'));
  const { computed, cuts } = bounded;
  const executed = await compute(computed, options, 'device', undefined, {
    toHost: computed.length - cuts.length,
  });
  return cutStoredResults(executed, bounded);
}

/** The results of a bounded job that stayed on devices, in their true sizes; one run has brought its lengths to the host. */
export async function cutStoredResults(executed: Executed, bounded: BoundedJob): Promise<StoredResult[]> {
  const results = storedResults(bounded.computed.slice(0, bounded.cuts.length), executed);
  return cutTo(results, await sizesOf(executed, bounded, readCodes), bounded, evaluateStored);
}

/** Throws a MemoryError for results that cannot be brought to JavaScript. */
export function checkHostResults(exprs: readonly Expr[]): void {
  const hint = 'persist() it, compute it into a file, or compute parts of it';
  for (const { dtype, shape } of exprs) checkHostArray('compute', dtype, shape, hint);
}

/** The results of expressions that came to the host. */
export const hostResults = (
  exprs: readonly Expr[],
  { program, outputs }: Pick<Executed, 'program' | 'outputs'>,
): HostResult[] =>
  exprs.map(({ shape, dtype }, k) => {
    const at = program.outputs[k]!;
    const output = at < 0 ? new ArrayBuffer(0) : outputs[at]!;
    const data =
      output instanceof ArrayBuffer ? typedArrayOver(output, dtype) : new HeldElements(output, dtype);
    return { data, shape: Object.freeze(shape), dtype };
  });

/**
 * The results of expressions that stayed on the device. Equal ones share memory, and are disposed of one by
 * one.
 */
export function storedResults(exprs: readonly Expr[], { program, outputs }: Executed): StoredResult[] {
  const given = new Set<DeviceBuffer>();
  const bufferOf = (k: number): DeviceBuffer | undefined => {
    const buffer = outputs[program.outputs[k]!] as DeviceBuffer | undefined; // none at -1: no elements
    if (buffer === undefined) return undefined;
    if (given.has(buffer)) return buffer.share();
    given.add(buffer);
    return buffer;
  };
  return exprs.map(({ shape, dtype }, k) => ({ buffer: bufferOf(k), shape, dtype }));
}

/**
 * Computes expressions together into open files, one place for each. Gives the checksums of those that want
 * one; 0 for the others.
 */
export async function evaluateIntoFiles(
  exprs: readonly Expr[],
  files: readonly FileOutput[],
  options: ComputeOptions = {},
): Promise<number[]> {
  /** Files by output: equal expressions are one output. */
  const goingTo: FilesOf = (outputs, output) => files.filter((_, k) => outputs[k] === output);
  const { program, checksums } = await compute(exprs, options, 'file', goingTo);
  const { outputs } = program;
  return files.map((file, k) => {
    const at = outputs[k]!;
    if (at < 0) return file.checksum ?? 0; // no elements
    return checksums[at]![goingTo(outputs, at).indexOf(file)]!;
  });
}

function compute(
  exprs: readonly Expr[],
  options: ComputeOptions,
  destination: Destination,
  filesOf?: FilesOf,
  { toHost = 0, found }: Partial<Pick<Wanted, 'toHost' | 'found'>> = {},
): Executed | Promise<Executed> {
  const watch = watcher()?.compute(subjectOf(exprs, false), options.signal);
  const wanted = { destination, filesOf, toHost, found };
  if (watch === undefined) return computeWatched(exprs, options, wanted, undefined);
  const computing = async (): Promise<Executed> => computeWatched(exprs, options, wanted, watch);
  return watched(watch, computing());
}

/**
 * Where results are wanted, how many of the last ones, lengths, on the host all the same, and numbers that are known. Results
 * on the host that have lengths and are large up to their bounds stay on a GPU that has room for them.
 */
interface Wanted {
  readonly destination: Destination;
  readonly filesOf: FilesOf | undefined;
  readonly toHost: number;
  readonly found: FoundNumbers | undefined;
}

/** A promise where anything has to be waited for: of short runs it takes as long as their plans take to be found. */
function computeWatched(
  exprs: readonly Expr[],
  options: ComputeOptions,
  wanted: Wanted,
  watch: ComputeWatch | undefined,
): Executed | Promise<Executed> {
  checkComputeOptions('compute', options);
  if (wanted.destination === 'host') checkHostResults(exprs);
  const { signal } = options;
  signal?.throwIfAborted();
  const begun = timed('plan', 'canonicalize', () => canonicalOrSlices(exprs));
  const built = isSlices(begun)
    ? inTurnsOrNow(timedSlices('plan', 'canonicalize', begun), () => signal?.throwIfAborted())
    : begun;
  return whenThere(built, (canonical) =>
    whenThere(probeFor(options.device, hasContractions(canonical.graph)), () =>
      computeCanonical(canonical, exprs, options, wanted, watch),
    ),
  );
}

/** A compute of a canonical graph as it is before anything runs. */
interface Computing {
  readonly canonical: Canonical;
  readonly exprs: readonly Expr[];
  readonly options: ComputeOptions;
  readonly wanted: Wanted;
  readonly watch: ComputeWatch | undefined;
  readonly chosen: ChosenDevices;
  readonly job: Job;
  /** The index arrays that the run may look through itself. */
  readonly inRun: readonly IndexCheck[];
}

/** Index arrays, a turn to plan in, the run and what it leaves to be checked: any of them may have to be waited for. */
function computeCanonical(
  canonical: Canonical,
  exprs: readonly Expr[],
  options: ComputeOptions,
  wanted: Wanted,
  watch: ComputeWatch | undefined,
): Executed | Promise<Executed> {
  const chosen = devicesOf(canonical, options);
  const isOfHost = chosen.devices.length === 1 && chosen.devices[0]!.isHost;
  const job = jobOf(canonical, exprs);
  const checks = checksBelow(canonical);
  // Results on the host are in memory of their own, so that a run may find wrong indices itself.
  const inRun =
    wanted.destination === 'host' && isOfHost ? checks.filter((check) => mayBeInRun(canonical, check)) : [];
  const ahead = checks.filter((check) => !inRun.includes(check));
  const computing: Computing = { canonical, exprs, options, wanted, watch, chosen, job, inRun };
  const looked = checkIndices(computing, ahead);
  const turned = whenThere(looked, () => turnToPlan());
  return whenThere(turned, () =>
    orElse(
      () => executed(computing),
      (error) => failed(computing, error),
    ),
  );
}

/** The results of a compute, checked. */
function executed(computing: Computing): Executed | Promise<Executed> {
  const { exprs, options, wanted, watch, chosen, job } = computing;
  const { destination, filesOf, toHost, found } = wanted;
  options.signal?.throwIfAborted();
  const target = computeTargetOf(chosen, options, destination, destination === 'device' ? toHost : 0);
  const settings = settingsOf(options, destination, false, filesOf, watch);
  const isCut = destination === 'host' && isOneGpu(chosen) && isForCuts(exprs, toHost);
  const first = isCut
    ? executedToCut(
        job,
        computeTargetOf(chosen, options, 'device', toHost),
        settings,
        aheadOf(options, found),
      )
    : executedNow(job, target, settings);
  if (destination === 'host' && !isCut && first !== undefined && !(first instanceof Promise))
    keepBuilt(exprs, computing.canonical, target, options, first.program);
  return whenThere(first, (there) =>
    there === undefined
      ? executeInRows(job, target, settings, aheadOf(options, found)).then((all) =>
          checked(computing, all.executed, destination),
        )
      : checked(computing, there, isCut ? 'device' : destination),
  );
}

/** The results of a run, which are in a place, where their indices are in range and no call failed. */
function checked(computing: Computing, there: Executed, place: Destination): Executed | Promise<Executed> {
  const { canonical, inRun } = computing;
  const left = inRun.filter((check) => !isCheckedIn(there.program, canonical, check));
  const looked = checkIndices(computing, left);
  const ended = whenThere(looked, () => checkStatuses(canonical, there, place, readCodes));
  return whenThere(ended, () => there);
}

/** Throws for a run that failed. */
async function failed(computing: Computing, error: unknown): Promise<never> {
  const { options, inRun } = computing;
  options.signal?.throwIfAborted();
  if (mayBeOfIndices(error)) await checkIndices(computing, inRun);
  const told = await refused(computing, error);
  options.signal?.throwIfAborted();
  throw told;
}

const refused = async ({ canonical, exprs, options, wanted }: Computing, error: unknown): Promise<unknown> =>
  located(await refusalOfJob(error, canonical, options, wanted.destination), exprs);

/** The results of a job that runs at once. Undefined: it is to be planned, or room is to be made for it. */
function executedNow(
  job: Job,
  target: ComputeTarget,
  settings: ExecutionSettings,
): Executed | Promise<Executed | undefined> | undefined {
  try {
    const running = executeNow(job, target, settings);
    if (running === undefined) return undefined;
    if (running instanceof Promise) return ifThereIsRoom(() => running);
    const turn = turnToHandOver();
    return turn === undefined ? running : turn.then(() => running);
  } catch (error) {
    if (error instanceof MemoryError) return undefined;
    throw error;
  }
}

/** The results of a job on a GPU, and its lengths on the host. Results on the host may be windows that pass through the GPU. */
const executedToCut = (
  job: Job,
  target: ComputeTarget,
  settings: ExecutionSettings,
  ahead: NumbersAhead,
): Promise<Executed | undefined> =>
  ifThereIsRoom(
    async () => (await executeInRows(job, target, { ...settings, destination: 'device' }, ahead)).executed,
  );

/**
 * A graph with views of its inputs as they are now: what the user does to an array later cannot change which
 * memory is read.
 */
function jobOf(canonical: Canonical, exprs: readonly Expr[]): Job {
  try {
    const arrays = inputsOf(canonical);
    return { canonical, inputOf: (source) => arrays[source]!, segments: Segments.below(canonical) };
  } catch (error) {
    throw located(error, exprs);
  }
}

/** Brings codes of calls from devices to the host. */
export const readCodes: ReadCodes = async (codes) =>
  (await evaluate(codes.map(({ buffer, dtype }) => deviceArray(buffer, dtype, [])))).map(indexOf);

/** Computes the ends of index arrays, and throws for those that are out of range; undefined: there are none. */
function checkIndices(computing: Computing, checks: readonly IndexCheck[]): Promise<void> | undefined {
  if (checks.length === 0) return undefined;
  const { onProgress: _, ...quiet } = computing.options;
  return lookThrough(checks, checks.map(arrayOfCheck), async () => {
    const looking = evaluate(checks.flatMap(computedFor), quiet);
    const results = await looking.catch(async (error: unknown) => {
      throw await refused(computing, error);
    });
    return results.map(indexOf);
  });
}

/** Computes starts of rows before a job that needs them. */
const aheadOf = (
  { onProgress: _, ...quiet }: ComputeOptions,
  found: FoundNumbers = new Map(),
): NumbersAhead => ({
  compute: async (lines) =>
    hostResults(lines, await compute(lines, quiet, 'host', undefined, { found })).map(numbersOf),
  found,
});

/** The numbers of an int64 result. */
export function numbersOf({ data }: HostResult): number[] {
  return Array.from(arrayOf(data), Number);
}

/** A result that is one index. */
export function indexOf({ data }: HostResult): bigint {
  return BigInt(arrayOf(data)[0]!);
}

/** Errors that name a line by themselves. */
const PLACED = [NativeError, LinalgError, RangeArgumentError];

/**
 * An error of execution with the user's line: another error, since several computes may await the work that failed. What
 * functions of the user's threw is left as it is.
 */
export function located(error: unknown, exprs: readonly Expr[]): unknown {
  const place = formatSite(exprs[0]?.site);
  const isPlaced = PLACED.some((type) => error instanceof type);
  if (!isOwnError(error) || isFromUser(error) || isPlaced || place === undefined) return error;
  return withLine(error, `    while computing what was made at ${place}`);
}
