/**
 * Evaluates expressions: canonical graph → program (kept or new) → run → results. The only way anything runs.
 *
 * The JavaScript thread plans and then waits for a promise; copying and computing happen on native threads.
 */

import { type Canonical, canonicalize } from '../../fusion/passes/canonicalize.js';
import { type IndexCheck, throwOutOfRange } from '../../fusion/passes/index-check.js';
import { canonicalOfPart, checksBelow, partsBelow } from '../../fusion/passes/segment.js';
import type { DType } from '../../graph/dtype.js';
import { type DeviceBuffer, type Expr, holdersOf, type Shape, type TypedArray } from '../../graph/expr.js';
import { config } from '../../host/config.js';
import { isOwnError, NativeError } from '../../host/errors.js';
import { formatSite } from '../../host/site.js';
import { type ChosenDevices, chooseDevices } from '../native/devices.js';
import { checkHostArray, MOST_EXTERNAL_BYTES, typedArrayOver } from '../native/host-memory.js';
import {
  cancel,
  createCancel,
  type FileOutput,
  hostBytesOf,
  type OutputPlace,
  probeCuda,
  type RunResult,
  run,
  tilesDone,
} from '../native/native.js';
import { timed } from '../native/recorder.js';
import { turnToPlan } from '../native/turns.js';
import type { Plan, PlanBuffer } from '../plan/plan.js';
import { executeSharded } from '../shards/sharded-execution.js';
import { budgetsOf } from './budgets.js';
import { type ComputeOptions, checkComputeOptions } from './compute-options.js';
import { inputsOf, runWithInputs } from './inputs.js';
import type { Place, Program } from './program.js';
import { type OnProgress, watchProgress } from './progress.js';
import { runWithin } from './run-within-budget.js';
import { Parts } from './segments.js';

/** A result in host memory, contiguous in C order. */
export interface HostResult {
  /** A function makes the array, once, when it is asked for. */
  readonly data: TypedArray | (() => TypedArray);
  readonly shape: Shape;
  readonly dtype: DType;
}

/** A result that stayed where it was computed; `undefined` buffer: it has no elements. */
export interface StoredResult {
  readonly buffer: DeviceBuffer | undefined;
  readonly shape: Shape;
  readonly dtype: DType;
}

/** What a run gave, for each of its expressions; in the order of the plan's outputs. */
export interface Executed {
  readonly program: { readonly plan: Pick<Plan, 'outputs'> };
  readonly outputs: RunResult['outputs'];
  readonly checksums: RunResult['checksums'];
}

/** Computes expressions together, shared work once; one result each, in order. */
export async function evaluate(exprs: readonly Expr[], options: ComputeOptions = {}): Promise<HostResult[]> {
  return hostResults(exprs, await execute(exprs, options, 'host'));
}

/** Computes expressions together and leaves the results on the device. */
export async function evaluateStored(
  exprs: readonly Expr[],
  options: ComputeOptions = {},
): Promise<StoredResult[]> {
  return storedResults(exprs, await execute(exprs, options, 'device'));
}

/** Results of the CPU from this size on stay buffers until their elements are asked for. */
const LEAST_HELD_BYTES = 2 ** 20;

/**
 * Where the results of a program are wanted. Each ArrayBuffer of many MiB makes the engine collect garbage,
 * which takes as long as computing it: large results on the host become one only for those who look at them,
 * unless they are too large to become one afterwards.
 */
export const placesOf = (
  results: readonly PlanBuffer[],
  device: string,
  place: 'host' | 'device',
): OutputPlace[] =>
  results.map(({ byteLength, windowed }) => {
    const isHeld = byteLength >= LEAST_HELD_BYTES && byteLength <= MOST_EXTERNAL_BYTES;
    return device === 'cpu' && windowed !== true && isHeld ? 'device' : place;
  });

/** Throws a MemoryError for results that cannot be brought to JavaScript. */
export function checkHostResults(exprs: readonly Expr[]): void {
  const hint = 'persist() it, compute it into a file, or compute parts of it';
  for (const { dtype, shape } of exprs) checkHostArray('compute', dtype, shape, hint);
}

/** The results of expressions that came to the host. */
export const hostResults = (exprs: readonly Expr[], { program, outputs }: Executed): HostResult[] =>
  exprs.map(({ shape, dtype }, k) => {
    const at = program.plan.outputs[k]!;
    const output = at < 0 ? new ArrayBuffer(0) : outputs[at]!;
    const data =
      output instanceof ArrayBuffer
        ? typedArrayOver(output, dtype)
        : () => typedArrayOver(hostBytesOf(output), dtype);
    return { data, shape, dtype };
  });

/**
 * The results of expressions that stayed on the device. Equal ones share memory, and are disposed of one by
 * one.
 */
export function storedResults(exprs: readonly Expr[], { program, outputs }: Executed): StoredResult[] {
  const given = new Set<DeviceBuffer>();
  const bufferOf = (k: number): DeviceBuffer | undefined => {
    const buffer = outputs[program.plan.outputs[k]!] as DeviceBuffer | undefined; // none at -1: no elements
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
  const goingTo = (plan: Pick<Plan, 'outputs'>, output: number): FileOutput[] =>
    files.filter((_, k) => plan.outputs[k] === output);
  const { program, checksums } = await execute(exprs, options, 'file', goingTo);
  const { plan } = program;
  return files.map((file, k) => {
    const at = plan.outputs[k]!;
    if (at < 0) return file.checksum ?? 0; // no elements
    return checksums[at]![goingTo(plan, at).indexOf(file)]!;
  });
}

let probing: Promise<void> | undefined;
/** Loads CUDA's libraries off this thread, once. */
export const probed = (): Promise<void> => {
  probing ??= probeCuda();
  return probing;
};

async function execute(
  exprs: readonly Expr[],
  options: ComputeOptions,
  place: Place,
  filesOf?: (plan: Pick<Plan, 'outputs'>, output: number) => readonly FileOutput[],
): Promise<Executed> {
  checkComputeOptions('compute', options);
  if (place === 'host') checkHostResults(exprs);
  const { signal, onProgress } = options;
  signal?.throwIfAborted();
  const canonical = timed('plan', 'canonicalize', () => canonicalize(exprs));
  if (options.device !== 'cpu') await probed(); // libraries are loaded off this thread
  const chosen = devicesOf(canonical, options);
  const checks = checksBelow(canonical);
  if (chosen.isSharded) {
    await checkIndices(checks, exprs, options);
    return sharded(exprs, canonical, chosen, options, place, filesOf);
  }
  const device = { name: chosen.names[0]! };
  // Views of the inputs are taken now: what the user does to an array later cannot change which memory is
  // read.
  const arrays = inputsOf(canonical);
  await checkIndices(checks, exprs, options);
  const parts = Parts.below(canonical);
  const target = {
    device: device.name,
    exact: options.exact === true,
    ...budgetsOf(options, [device.name]),
    place,
  };
  const token = signal === undefined && onProgress === undefined ? undefined : createCancel();
  // The tiles of parts are not told as progress: they have a token of their own.
  const partsToken = parts === undefined || signal === undefined ? undefined : createCancel();
  const stop = (): void => {
    cancel(token!);
    if (partsToken !== undefined) cancel(partsToken);
  };
  signal?.addEventListener('abort', stop, { once: true });
  const attempt = async (program: Program): Promise<Executed> => {
    const { plan, native } = program;
    const results = plan.buffers.filter((buffer) => buffer.role === 'output');
    const needed = plan.inputs.map((source) => arrays[source]!);
    signal?.throwIfAborted();
    const { outputs, checksums } = await runWithInputs(needed, { plan, signal, parts }, (inputs) => {
      const running = run(native, inputs, {
        outputs:
          place === 'file' ? results.map((_, k) => filesOf!(plan, k)) : placesOf(results, device.name, place),
        cancel: token,
      });
      return onProgress === undefined ? running : watched(running, plan, token!, onProgress);
    });
    return { program, outputs, checksums };
  };
  try {
    const turn = turnToPlan();
    if (turn !== undefined) await turn;
    signal?.throwIfAborted();
    await parts?.compute(target, partsToken, signal);
    return await runWithin(canonical, target, attempt);
  } catch (error) {
    signal?.throwIfAborted();
    throw located(error, exprs);
  } finally {
    signal?.removeEventListener('abort', stop);
    parts?.clear();
  }
}

/**
 * Computes the ends of index arrays, and throws for those that are out of range. `exprs`: what is computed
 * with them.
 */
async function checkIndices(
  checks: readonly IndexCheck[],
  exprs: readonly Expr[],
  options: ComputeOptions,
): Promise<void> {
  if (checks.length === 0) return;
  const { onProgress: _, ...quiet } = options;
  const computing = evaluate(
    checks.flatMap((check) => check.ends),
    quiet,
  );
  const ends = await computing.catch((error: unknown) => {
    throw located(error, exprs);
  });
  throwOutOfRange(checks, ends.map(indexOf));
}

/** A result that is one index. */
export function indexOf({ data }: HostResult): bigint {
  const array = typeof data === 'function' ? data() : data;
  return BigInt(array[0]!);
}

/** As `execute`, on several devices. */
async function sharded(
  exprs: readonly Expr[],
  canonical: Canonical,
  { names }: ChosenDevices,
  options: ComputeOptions,
  place: Place,
  filesOf: ((plan: Pick<Plan, 'outputs'>, output: number) => readonly FileOutput[]) | undefined,
): Promise<Executed> {
  const { signal, onProgress, exact, onDeviceLost = 'fail', deadline = config().deadline } = options;
  try {
    const turn = turnToPlan();
    if (turn !== undefined) await turn;
    signal?.throwIfAborted();
    const target = { devices: names, exact: exact === true, ...budgetsOf(options, names), place };
    const running = { signal, onProgress, onDeviceLost, deadline, filesOf };
    return await executeSharded(canonical, target, running);
  } catch (error) {
    signal?.throwIfAborted();
    throw located(error, exprs);
  }
}

/** A run whose progress is told. What `onProgress` throws cancels the run and is what it rejects with. */
async function watched<T>(
  running: Promise<T>,
  plan: Plan,
  token: object,
  onProgress: OnProgress,
): Promise<T> {
  let thrown: { readonly error: unknown } | undefined;
  const stop = watchProgress(
    plan,
    () => tilesDone(token),
    onProgress,
    (error) => {
      thrown ??= { error };
      cancel(token);
    },
  );
  const isComplete = await running.then(
    () => true,
    () => false,
  );
  stop(isComplete);
  if (thrown !== undefined) throw thrown.error;
  return running;
}

/** For each array on a device that a graph and the parts below it read: the devices that hold it. */
function holdersIn(canonical: Canonical): (readonly string[])[] {
  const holders: (readonly string[])[] = [];
  for (const { sources } of [canonical, ...partsBelow(canonical).map(canonicalOfPart)])
    for (const { source } of sources) if (source.type === 'device') holders.push(holdersOf(source.buffer));
  return holders;
}

/** The devices a canonical graph is computed on. */
export function devicesOf(canonical: Canonical, options: ComputeOptions): ChosenDevices {
  checkComputeOptions('compute', options);
  return chooseDevices(options, holdersIn(canonical));
}

/** Adds the user's line to an error of execution; not to what his own functions threw. */
export function located(error: unknown, exprs: readonly Expr[]): unknown {
  const place = formatSite(exprs[0]?.site);
  if (isOwnError(error) && !(error instanceof NativeError) && place !== undefined)
    error.message += `\n    while computing what was made at ${place}`;
  return error;
}
