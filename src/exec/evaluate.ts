/**
 * Evaluates expressions: canonical graph → program (kept or new) → run → results. The only way anything runs.
 *
 * The JavaScript thread plans and then waits for a promise; copying and computing happen on native threads.
 */

import { parseBytes } from '../bytes.js';
import { config } from '../config.js';
import { ArgumentError, expected } from '../errors.js';
import { type Canonical, canonicalize, type SourceArray } from '../fusion/canonicalize.js';
import { byteLengthOf, DTYPE_INFO, type DType, isComplex } from '../graph/dtype.js';
import type { DeviceBuffer, Expr, FileRegion, Shape, Site, TypedArray } from '../graph/expr.js';
import { formatSite } from '../site.js';
import { type ChosenDevice, chooseDevice } from './devices.js';
import { typedArrayOver } from './host-memory.js';
import {
  cancel,
  createCancel,
  type FileOutput,
  probeCuda,
  type RunInput,
  type RunResult,
  run,
  tilesDone,
} from './native.js';
import type { Plan } from './plan.js';
import type { Place, Program } from './program.js';
import { type OnProgress, watchProgress } from './progress.js';
import { runWithin } from './within.js';

export interface ComputeOptions {
  /** `'cpu'`, `'cuda'` or `'cuda:N'`; without it a usable GPU is taken, else the CPU (`explain()` says which). */
  readonly device?: string | undefined;
  /** Leaves out the rewrites that may change the rounding of floating-point results. */
  readonly exact?: boolean | undefined;
  /**
   * The most memory of the device that the compute may hold at a time, in bytes or as text (`'2GiB'`): arenas, tiles, library
   * workspaces. What does not fit as a whole is computed in tiles; what cannot be is refused before anything runs, with
   * `MemoryError`. On the CPU, arrays that the user gives or gets do not count. Without it, the setting `WEFT_MEMORY`.
   */
  readonly memory?: number | string | undefined;
  /**
   * Told how far the compute is, several times a second while tiles are done, and once it is complete. What it throws stops
   * the compute, which then rejects with it. `progressLine()` makes one that keeps a line in the terminal.
   */
  readonly onProgress?: OnProgress | undefined;
  /** Stops the compute; the promise then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** A result in host memory, contiguous in C order. */
export interface HostResult {
  readonly data: TypedArray;
  readonly shape: Shape;
  readonly dtype: DType;
}

/** A result that stayed where it was computed; `undefined` buffer: it has no elements. */
export interface StoredResult {
  readonly buffer: DeviceBuffer | undefined;
  readonly shape: Shape;
  readonly dtype: DType;
}

/** Computes expressions together, shared work once; one result each, in order. */
export async function evaluate(exprs: readonly Expr[], options: ComputeOptions = {}): Promise<HostResult[]> {
  const { program, outputs } = await execute(exprs, options, 'host');
  return exprs.map(({ shape, dtype }, k) => {
    const at = program.plan.outputs[k]!;
    const bytes = at < 0 ? new ArrayBuffer(0) : (outputs[at] as ArrayBuffer);
    return { data: typedArrayOver(bytes, dtype), shape, dtype };
  });
}

/** Computes expressions together and leaves the results on the device. */
export async function evaluateStored(
  exprs: readonly Expr[],
  options: ComputeOptions = {},
): Promise<StoredResult[]> {
  const { program, outputs } = await execute(exprs, options, 'device');
  return exprs.map(({ shape, dtype }, k) => {
    const at = program.plan.outputs[k]!;
    return { buffer: at < 0 ? undefined : (outputs[at] as DeviceBuffer), shape, dtype };
  });
}

/**
 * Computes expressions together into open files, one place for each. Gives the checksums of those that want one; 0 for the
 * others.
 */
export async function evaluateIntoFiles(
  exprs: readonly Expr[],
  files: readonly FileOutput[],
  options: ComputeOptions = {},
): Promise<number[]> {
  /** Files by output: equal expressions are one output. */
  const goingTo = (plan: Plan, output: number): FileOutput[] =>
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
const probed = (): Promise<void> => {
  probing ??= probeCuda();
  return probing;
};

interface Executed {
  readonly program: Program;
  readonly outputs: RunResult['outputs'];
  readonly checksums: RunResult['checksums'];
}

async function execute(
  exprs: readonly Expr[],
  options: ComputeOptions,
  place: Place,
  filesOf?: (plan: Plan, output: number) => readonly FileOutput[],
): Promise<Executed> {
  const { signal, onProgress } = options;
  signal?.throwIfAborted();
  const canonical = canonicalize(exprs);
  if (options.device !== 'cpu') await probed(); // libraries are loaded off this thread
  const device = deviceOf(canonical, options);
  // Views of the inputs are taken now: what the user does to an array later cannot change which memory is read.
  const arrays = canonical.sources.map((source) => inputOf(source, canonical));
  const target = { device: device.name, exact: options.exact === true, budget: budgetOf(options), place };
  const token = signal === undefined && onProgress === undefined ? undefined : createCancel();
  const stop = (): void => cancel(token!);
  signal?.addEventListener('abort', stop, { once: true });
  const attempt = async (program: Program): Promise<Executed> => {
    const { plan, native } = program;
    const results = plan.buffers.filter((buffer) => buffer.role === 'output');
    const needed = plan.inputs.map((source) => arrays[source]!);
    signal?.throwIfAborted();
    const inputs = needed.every(isHere) ? needed : await bring(needed, signal);
    const running = run(native, inputs, {
      outputs: results.map((_, k) => (place === 'file' ? filesOf!(plan, k) : place)),
      cancel: token,
    });
    const { outputs, checksums } = await (onProgress === undefined
      ? running
      : watched(running, plan, token!, onProgress));
    return { program, outputs, checksums };
  };
  try {
    return await runWithin(canonical, target, attempt);
  } catch (error) {
    signal?.throwIfAborted();
    throw located(error, exprs);
  } finally {
    signal?.removeEventListener('abort', stop);
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

/** The most bytes that a compute may hold. */
export const budgetOf = ({ memory }: ComputeOptions): number | undefined =>
  memory === undefined ? config().memory : parseBytes('compute', memory);

/** The device a canonical graph is computed on. */
export function deviceOf(canonical: Canonical, options: ComputeOptions): ChosenDevice {
  const holders = new Set(
    canonical.sources.flatMap(({ source }) => (source.type === 'device' ? [source.buffer.device] : [])),
  );
  return chooseDevice(options.device, holders);
}

/** Elements that JavaScript is still to read. */
interface Unread {
  read(signal: AbortSignal | undefined): Promise<TypedArray>;
}

const isHere = (input: RunInput | Unread): input is RunInput => !('read' in input);

/** Inputs as a run takes them: what comes through JavaScript is read whole. */
async function bring(
  inputs: readonly (RunInput | Unread)[],
  signal: AbortSignal | undefined,
): Promise<RunInput[]> {
  const here = await Promise.all(inputs.map((input) => (isHere(input) ? input : input.read(signal))));
  signal?.throwIfAborted();
  return here;
}

/** The part of an array that is read. Throws if the array has lost its memory since it was wrapped. */
function inputOf(array: SourceArray, canonical: Canonical): RunInput | Unread {
  const { source, start, elementCount, dtype } = array;
  switch (source.type) {
    case 'device':
      return source.buffer;
    case 'file':
      return fileInput(source.region, dtype, start, elementCount);
    case 'reader':
      return { read: (signal) => source.reader.read(start, elementCount, signal) };
    case 'chunked':
      return chunkedInput(source.chunks, array, canonical);
    case 'host': {
      const values = isComplex(dtype) ? 2 : 1;
      const end = (start + elementCount) * values;
      if (source.data.length < end)
        throw lostMemory(`${end} values`, `${source.data.length} values`, canonical);
      return source.data.subarray(start * values, end);
    }
  }
}

function lostMemory(wanted: string, left: string, canonical: Canonical): ArgumentError {
  const what = left.startsWith('0 ') ? 'a detached ArrayBuffer' : left;
  const site = where(canonical.sites.values());
  return new ArgumentError(expected('compute', `an array of at least ${wanted}`, what, site));
}

function fileInput(region: FileRegion, dtype: DType, start: number, count: number): RunInput {
  const size = byteLengthOf(dtype);
  return {
    path: region.path,
    byteOffset: region.byteOffset + start * size,
    byteLength: count * size,
    swap: region.swapped ? byteLengthOf(DTYPE_INFO[dtype].component) : 0,
    stamp: region.stamp,
  };
}

/** The bytes of the chunks that hold the elements. */
function chunkedInput(
  chunks: readonly TypedArray[],
  { start, elementCount, dtype }: SourceArray,
  canonical: Canonical,
): RunInput {
  const size = byteLengthOf(dtype);
  const [first, end] = [start * size, (start + elementCount) * size];
  const parts: Uint8Array[] = [];
  let at = 0;
  for (const { buffer, byteOffset, byteLength } of chunks) {
    const from = Math.max(first - at, 0);
    const to = Math.min(end - at, byteLength);
    if (from < to) parts.push(new Uint8Array(buffer, byteOffset + from, to - from));
    at += byteLength;
  }
  if (at < end) throw lostMemory(`${end} bytes`, `${at} bytes`, canonical);
  return { chunks: parts };
}

const where = (sites: Iterable<Site>): string | undefined => {
  for (const site of sites) return `made at ${formatSite(site)}`;
  return undefined;
};

/** Adds the user's line to an error of execution. */
function located(error: unknown, exprs: readonly Expr[]): unknown {
  const site = exprs[0]?.site;
  if (error instanceof Error && site !== undefined)
    error.message += `\n    while computing what was made at ${formatSite(site)}`;
  return error;
}
