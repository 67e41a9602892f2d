/**
 * Programs and their runs: a program is created once from plain data and run many times. All waiting, copying
 * and computing happens on native threads. Called by `program.ts`, `run-program.ts` and
 * `sharded-run.ts`.
 */

import type { DeviceBuffer } from '../../graph/expr.js';
import { ArgumentError } from '../../host/errors.js';
import { completed, type Slices } from '../../host/slices.js';
import { deviceNamed } from '../targets/device.js';
import { NativeBuffer } from './device-buffers.js';
import { areSmall, bytesOver, isInHeap, MOST_COPIED_BYTES } from './host-memory.js';
import { addon, cudaAddon, guarded, type RawResult, rethrow, typed } from './native-addon.js';
import type { FileOutput, OutputDestination, RunInput, RunOptions, RunResult } from './native-types.js';
import type { NativeProgram, ProgramSpec } from './program-types.js';
import { ResultCollector } from './result-collector.js';
import { CompletionPoller, handedOver } from './turns.js';

/** An input as the addon reads it. */
function rawInput(input: RunInput): object {
  if (ArrayBuffer.isView(input)) return stableView(input);
  if (input instanceof NativeBuffer) return NativeBuffer.handleOf(input);
  if ('path' in input || 'read' in input) return input;
  if ('pieces' in input) {
    return {
      pieces: input.pieces.map(({ buffer, first }) => ({ buffer: NativeBuffer.handleOf(buffer), first })),
    };
  }
  return 'chunks' in input ? { chunks: input.chunks.map(stableView) } : NativeBuffer.handleOf(input);
}

/** A resizable buffer is copied: shrinking it would take pages away under a native thread. */
function stableView<View extends ArrayBufferView>(input: View): View | DataView {
  const { buffer, byteOffset, byteLength } = input;
  const resizable = 'resizable' in buffer && buffer.resizable === true;
  return resizable ? bytesOver(buffer.slice(byteOffset, byteOffset + byteLength)) : input;
}

const NOTHING = new ArrayBuffer(0);
const NONE: readonly never[] = [];
const collector = new ResultCollector({
  release: () => addon().releaseCollected(),
  hasCollected: () => addon().hasCollected(),
  keptBytes: () => {
    const host = addon()
      .memory()
      .find(({ device }) => deviceNamed(device).isHost);
    return host === undefined ? 0 : host.held - host.inUse;
  },
  totalBytes: () => addon().hostMemory().totalBytes,
});
const poller = new CompletionPoller((pollsAgain, spins) => addon().settle(pollsAgain, spins));

/** A program, and what its results are. */
class LoadedProgram implements NativeProgram {
  declare readonly __program: never;
  readonly #handle: object;
  readonly #device: string;
  readonly #inputCount: number;
  /** Of each output. */
  readonly #byteLengths: readonly number[];
  /** Bytes of results of the CPU in memory that the engine did not allocate. */
  readonly resultBytes: number;
  /** Whether runs whose results come to the host may be computed in the call that asks for them. */
  #isSmall: boolean;
  /**
   * Small inputs of the last small run, and from `MOST_INPUTS` on results, whose memory the addon knows: where an array is
   * the same one, and has its elements, they are where they were.
   */
  readonly #last: (object | undefined)[] = new Array(2 * MOST_INPUTS).fill(undefined);
  /** Milliseconds that the last run was waited for. */
  #waited = 0;

  constructor(spec: ProgramSpec, handle: object) {
    this.#handle = handle;
    this.#device = spec.device;
    this.#inputCount = spec.buffers.filter(({ role }) => role === 'input').length;
    this.#byteLengths = spec.buffers.flatMap(({ role, byteLength, part }) =>
      role !== 'output' ? [] : [part === undefined ? byteLength : part[1] - part[0]],
    );
    const ofOurs = this.#byteLengths.filter((byteLength) => byteLength > MOST_COPIED_BYTES);
    this.resultBytes = this.isOnHost ? ofOurs.reduce((sum, byteLength) => sum + byteLength, 0) : 0;
    this.#isSmall = this.isOnHost && areSmall(this.#byteLengths);
  }

  get isOnHost(): boolean {
    return deviceNamed(this.#device).isHost;
  }

  static handleOf(program: NativeProgram): object {
    if (!(#handle in program)) throw new ArgumentError('[run] expected a program of this thread');
    return program.#handle;
  }

  /** The same of a run that may have put some elsewhere, in files or in memory that was there. */
  bytesKept(places: readonly RawDestination[]): number {
    let sum = 0;
    for (let k = 0; k < places.length; k++) {
      const byteLength = this.#byteLengths[k]!;
      if (byteLength > MOST_COPIED_BYTES && typeof places[k] === 'boolean') sum += byteLength;
    }
    return sum;
  }

  /** The bytes of each result; undefined: no run is small. */
  get smallResults(): readonly number[] | undefined {
    return this.#isSmall ? this.#byteLengths : undefined;
  }

  /** Whether a run was small and wrote its results; false: it is to go the way of others. */
  runSmall(
    inputs: readonly RunInput[],
    results: readonly ArrayBuffer[],
    numbers: Uint8Array | undefined,
  ): boolean {
    if (inputs.length !== this.#inputCount) return false;
    const last = this.#last;
    let isOther: boolean | undefined = true;
    try {
      const memory = new Array<object | undefined>(FEW_ARGUMENTS);
      let at = 0;
      let given = 0;
      // Arrays are read in this call, in which no other JavaScript runs.
      for (let k = 0; k < inputs.length; k++) {
        const input = inputs[k]!;
        if (last[k] === input) continue;
        given |= 1 << k;
        const isView = ArrayBuffer.isView(input);
        memory[at++] = isView ? input : rawInput(input);
        last[k] = isView && input.buffer.byteLength <= MOST_KNOWN_BYTES ? input : undefined;
      }
      for (let k = 0; k < results.length; k++) {
        const result = results[k]!;
        if (last[MOST_INPUTS + k] === result) continue;
        given |= 1 << (MOST_INPUTS + k);
        memory[at++] = result;
        last[MOST_INPUTS + k] = isInHeap(result.byteLength) ? result : undefined;
      }
      if (numbers !== undefined) memory[at++] = numbers;
      const handle = this.#handle;
      isOther =
        at <= FEW_ARGUMENTS
          ? addon().runSmall(handle, given, memory[0], memory[1], memory[2], memory[3])
          : addon().runSmall(handle, given, ...memory);
    } finally {
      // The addon may not know of any of them, also where an input was refused before it was called.
      if (isOther !== undefined) last.fill(undefined);
    }
    if (isOther === undefined) return true;
    this.#isSmall = isOther;
    return false;
  }

  /** Begins a run that nothing follows while it is under way. */
  begin(
    inputs: readonly RunInput[],
    keep: readonly RawDestination[],
    numbers: Uint8Array | undefined,
  ): RawResult | Promise<RawResult> {
    try {
      const read = new Array<object>(inputs.length);
      for (let k = 0; k < read.length; k++) read[k] = rawInput(inputs[k]!);
      if (this.resultBytes > 0) collector.count(this.bytesKept(keep));
      return addon().run(this.#handle, read, keep, undefined, false, false, false, undefined, numbers);
    } catch (error) {
      throw typed(error);
    }
  }

  /** The result of a run that has begun. Its completion is polled: a wake-up takes longer. */
  awaited(given: Promise<RawResult>): Promise<RunResult> {
    if (!this.isOnHost) poller.watch(this.#waited);
    const begin = performance.now();
    return given.then((values) => {
      this.#waited = performance.now() - begin;
      return this.resultOf(values);
    }, rethrow);
  }

  /** The result of a run, from the addon's. */
  resultOf(values: RawResult): RunResult {
    const count = this.#byteLengths.length;
    const outputs: (ArrayBuffer | DeviceBuffer)[] = [];
    let isInFiles = false;
    for (let k = 0; k < count; k++) {
      const value = values[k];
      if (value instanceof ArrayBuffer) outputs.push(value);
      else if (value === undefined || Array.isArray(value)) {
        isInFiles ||= value !== undefined;
        outputs.push(NOTHING);
      } else outputs.push(new NativeBuffer(this.#device, this.#byteLengths[k]!, value as object));
    }
    const nanoseconds = values[count] as number;
    const checksums = isInFiles ? values.slice(0, count).map(sumsOf) : NONE;
    const result = { outputs, checksums, nanoseconds, isAhead: nanoseconds < 0 };
    if (values.length === count + 1) return result;
    const [taken, issued, ended, reported] = values.slice(count + 1) as number[];
    return { ...result, timeline: { taken: taken!, issued: issued!, ended: ended!, reported: reported! } };
  }
}

/** Of small runs; the addon has as many outputs. */
const MOST_INPUTS = 16;

/** Of the buffer of an input that is known, and so kept by the program: its memory is found in 0.03 µs. */
const MOST_KNOWN_BYTES = 2 ** 14;

/** A call that names as many arguments takes 0.1 µs less than one with a list of them. */
const FEW_ARGUMENTS = 4;

const sumsOf = (value: unknown): readonly number[] => (Array.isArray(value) ? value : []);

/** Buffers that are read at a time: each takes some 0.6 µs. */
const BUFFERS_AT_ONCE = 1024;
/** Tapes that are read at a time: those of 10,000 merged maps, which have the most buffers, take 0.2 ms each. */
const TAPES_AT_ONCE = 4;
/** Steps that are read at a time: some have tables of thousands of tiles. */
const STEPS_AT_ONCE = 8;

/** The lengths of the parts of a list, of at most so many items each. */
function* countsOf({ length }: readonly unknown[], most: number): Generator<number> {
  for (let first = 0; first < length; first += most) yield Math.min(most, length - first);
}

/** Checks a program and makes it ready to run. Throws `ArgumentError` for a spec that is malformed. */
export const createProgram = (spec: ProgramSpec): NativeProgram => completed(createProgramInSlices(spec));

/** As `createProgram`. */
export function* createProgramInSlices(spec: ProgramSpec): Slices<NativeProgram> {
  const owner = deviceNamed(spec.device).isHost ? addon() : cudaAddon();
  const draft = guarded(() => owner.beginProgram(spec));
  for (const count of countsOf(spec.buffers, BUFFERS_AT_ONCE)) {
    guarded(() => owner.addBuffers(draft, spec, count));
    yield;
  }
  for (const count of countsOf(spec.tapes ?? [], TAPES_AT_ONCE)) {
    guarded(() => owner.addTapes(draft, spec, count));
    yield;
  }
  for (const count of countsOf(spec.steps, STEPS_AT_ONCE)) {
    guarded(() => owner.addSteps(draft, spec, count));
    yield;
  }
  return new LoadedProgram(
    spec,
    guarded(() => owner.endProgram(draft, spec)),
  );
}

/**
 * Runs a program. `inputs` has one entry for each buffer of role `input`, in order: an array of exactly its
 * bytes, which must not be written to until the promise settles, several of them one after the other, a
 * region of a file, a reader, or a buffer on the program's device.
 *
 * Rejects with `ArgumentError` (inputs that do not fit), `FileError`, `MemoryError`, `DeviceError`,
 * `DeviceLostError`, or an `AbortError` after `cancel(options.cancel)`.
 */
export function run(
  program: NativeProgram,
  inputs: readonly RunInput[],
  options: RunOptions,
): Promise<RunResult> {
  try {
    const result = runNow(program, inputs, options);
    return result instanceof Promise ? result : handedOver(result);
  } catch (error) {
    return Promise.reject(error);
  }
}

/** As `run`, which throws at once, and gives a result that is there at once as it is. */
export function runNow(
  program: NativeProgram,
  inputs: readonly RunInput[],
  options: RunOptions,
): RunResult | Promise<RunResult> {
  // Few promises and closures: a repeated small compute waits for little else.
  try {
    const handle = LoadedProgram.handleOf(program);
    const keep = rawDestinations(options.outputs);
    const { cancel, timeline = false, whenQueued = false, ahead = false, tileQueue, numbers } = options;
    const read = inputs.map(rawInput);
    const loaded = program as LoadedProgram;
    if (loaded.resultBytes > 0) collector.count(loaded.bytesKept(keep));
    const given = addon().run(handle, read, keep, cancel, timeline, whenQueued, ahead, tileQueue, numbers);
    return given instanceof Promise ? loaded.awaited(given) : loaded.resultOf(given);
  } catch (error) {
    throw typed(error);
  }
}

/** Whether a program is of the CPU. */
export function isOfCpu(program: NativeProgram): boolean {
  LoadedProgram.handleOf(program);
  return (program as LoadedProgram).isOnHost;
}

/**
 * As `runNow` of a program of the CPU, for destinations as the addon reads them. Without promises in between: the addon's own
 * gives the result to `made`, or its error to `failed`.
 */
export function runToHost<T>(
  program: NativeProgram,
  inputs: readonly RunInput[],
  keep: readonly RawDestination[],
  numbers: Uint8Array | undefined,
  made: (result: RunResult) => T,
  failed: (error: unknown) => Promise<T>,
): T | Promise<T> {
  const loaded = program as LoadedProgram;
  const given = loaded.begin(inputs, keep, numbers);
  if (!(given instanceof Promise)) return made(loaded.resultOf(given));
  return given.then(
    (values) => made(loaded.resultOf(values)),
    (error: unknown) => failed(typed(error)),
  );
}

/** The bytes of each result of a program of the CPU whose runs may be small; undefined: none is. */
export function smallResults(program: NativeProgram): readonly number[] | undefined {
  LoadedProgram.handleOf(program);
  return (program as LoadedProgram).smallResults;
}

/**
 * Computes a small run of the CPU, all of whose results come to memory of the host's, of exactly their bytes; throws at
 * once. False: it is not such a run, or has to wait, and nothing was computed.
 */
export function runSmall(
  program: NativeProgram,
  inputs: readonly RunInput[],
  results: readonly ArrayBuffer[],
  numbers: Uint8Array | undefined,
): boolean {
  try {
    return (program as LoadedProgram).runSmall(inputs, results, numbers);
  } catch (error) {
    throw typed(error);
  }
}

/** Where a result goes, as the addon reads it. */
export type RawDestination = boolean | readonly FileOutput[] | object;

/** Of lists that all runs of a program have. */
const known = new WeakMap<readonly OutputDestination[], readonly RawDestination[]>();

export function rawDestinations(outputs: readonly OutputDestination[]): readonly RawDestination[] {
  const before = known.get(outputs);
  if (before !== undefined) return before;
  const raw = outputs.map(rawDestination);
  if (raw.every((each) => typeof each === 'boolean')) known.set(outputs, raw);
  return raw;
}

function rawDestination(destination: OutputDestination): RawDestination {
  if (typeof destination === 'string') return destination === 'device';
  return destination instanceof NativeBuffer ? NativeBuffer.handleOf(destination) : destination;
}
