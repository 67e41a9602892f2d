/**
 * Runs a sharded plan: phase after phase, in each of which every device runs its program. Values that one
 * phase made lies in pieces on the devices, or in host memory that all of them write to, until the next one
 * reads it. Phases are queued ahead of the devices where they can be. Called by `run-program.ts`.
 */

import type { DeviceBuffer } from '../../graph/expr.js';
import { InternalError } from '../../host/errors.js';
import { bytesOver } from '../native/host-memory.js';
import {
  allocateHost,
  type BufferPiece,
  cancel,
  createCancel,
  createTileQueue,
  type FileOutput,
  hostBytesOf,
  type OutputDestination,
  type RunInput,
  type RunResult,
  run,
  tilesDone,
  writeFiles,
} from '../native/native.js';
import { type StallWatch, type Watching, watchStalls } from '../native/stalls.js';
import type { DeviceRun, Phase } from '../plan/plan.js';
import type { Program } from '../run/program.js';
import { synchronize } from '../run/synchronize.js';
import { allOf, errorsOf, nameDevice, worstOf } from './failures.js';
import { ShardedBuffer } from './sharded-buffer.js';

/** For each distinct result, in the order of the program's. */
type ShardedResult = Pick<RunResult, 'outputs' | 'checksums'>;

type Holding =
  | { readonly kind: 'given'; readonly input: RunInput }
  | { readonly kind: 'host'; readonly memory: ArrayBuffer | DeviceBuffer }
  | { readonly kind: 'pieces'; readonly pieces: readonly BufferPiece[] }
  | { readonly kind: 'files'; readonly checksums: readonly number[] };

/** A run of phases, which has begun. */
export class ShardedRun {
  /** Rejects with the first failure, once all runs have ended. */
  readonly result: Promise<ShardedResult>;
  readonly #program: Program;
  /** For a buffer that is a result for files: those files. */
  readonly #filesOf: ((buffer: number) => readonly FileOutput[]) | undefined;
  readonly #holdings = new Map<number, Holding>();
  /** By which runs count their tiles. */
  readonly #tokens: object[] = [];
  #isStopped = false;
  readonly #watch: StallWatch;
  /**
   * Of runs that gave their results before they had ended, the ends, and what others read of other devices'
   * memory.
   */
  #ends: Promise<unknown>[] = [];
  readonly #lent = new Set<number>();

  /** `inputs`: what the program's inputs are read from; `deadline`: milliseconds for a tile of a device. */
  constructor(
    program: Program,
    inputs: readonly RunInput[],
    deadline: number,
    filesOf: ((buffer: number) => readonly FileOutput[]) | undefined,
  ) {
    this.#program = program;
    this.#filesOf = filesOf;
    this.#watch = watchStalls(deadline);
    for (const [k, b] of program.inputs.entries()) this.#holdings.set(b, holdingOf(inputs[k]!));
    this.result = this.#run();
  }

  tilesDone(): number {
    return this.#tokens.reduce<number>((sum, token) => sum + tilesDone(token), 0);
  }

  /** Cancels what is under way and begins nothing more. */
  stop(): void {
    this.#isStopped = true;
    for (const token of this.#tokens) cancel(token);
  }

  async #run(): Promise<ShardedResult> {
    try {
      await this.#phases();
      return await this.#results();
    } catch (error) {
      this.#dispose();
      throw error;
    }
  }

  /**
   * Begins each phase once the one before is queued on its devices, and ends when all have ended: a run waits
   * by itself for what it reads of another device's.
   */
  async #phases(): Promise<void> {
    const stop = (): void => this.stop();
    try {
      for (const [at, { drops }] of this.#program.plan.phases.entries()) {
        if (this.#isStopped) throw new DOMException('This operation was aborted', 'AbortError');
        await this.#phase(at, stop);
        const isLast = at === this.#program.plan.phases.length - 1;
        // A device has room for the next phase when others have read what it is to drop.
        if (isLast || drops.some((b) => this.#lent.has(b))) await this.#allEnded(stop);
        for (const b of drops) this.#drop(b);
      }
    } catch (error) {
      stop();
      const failures = await Promise.allSettled(this.#ends);
      throw worstOf([error, ...errorsOf(failures)]);
    } finally {
      this.#watch.end();
    }
  }

  async #allEnded(stop: () => void): Promise<void> {
    const ends = this.#ends;
    this.#ends = [];
    this.#lent.clear();
    await allOf(ends, stop);
  }

  async #phase(at: number, stop: () => void): Promise<void> {
    const phase = this.#program.plan.phases[at]!;
    const destinations = phase.runs.map((deviceRun) => this.#destinationsOf(deviceRun, phase, at));
    const tokens = phase.runs.map(() => createCancel());
    this.#tokens.push(...tokens);
    const tileQueue = phase.parts === undefined ? undefined : createTileQueue(phase.parts);
    // Every device begins before anything else is done for one of them.
    const begun = phase.runs.map((_, k) => this.#begin(at, k, destinations[k]!, tokens[k]!, tileQueue));
    const runs = begun.map((results, k) => this.#watched(at, k, results, tokens[k]!));
    this.#ends.push(...runs.map(({ end }) => end));
    const results = await allOf(
      runs.map((run) => run.results),
      stop,
      freeOutputs,
    );
    for (const [k, result] of results.entries()) this.#take(phase.runs[k]!, destinations[k]!, result);
  }

  /** A device's run of a phase. Phases before the last one are queued ahead. */
  #begin(
    at: number,
    k: number,
    outputs: readonly OutputDestination[],
    token: object,
    tileQueue: object | undefined,
  ): Promise<RunResult> {
    const { plan, natives } = this.#program;
    const { inputs } = plan.phases[at]!.runs[k]!;
    const device = this.#deviceOf(at, k);
    const ahead = at < plan.phases.length - 1;
    const lent = inputs.map((b) => this.#lend(b, device));
    return run(natives[at]![k]!, lent, { outputs, cancel: token, ahead, tileQueue });
  }

  #deviceOf(at: number, k: number): string {
    const { phases, devices } = this.#program.plan;
    return devices[phases[at]!.runs[k]!.device]!;
  }

  /** A run that has begun, with errors that name its device, and given up where that does not get on. */
  #watched(at: number, k: number, begun: Promise<RunResult>, token: object): Watching<RunResult> {
    const device = this.#deviceOf(at, k);
    const fail = (error: unknown): never => {
      throw nameDevice(error, device);
    };
    const results = begun.catch(fail);
    const end = results.then(({ isAhead }) => (isAhead ? synchronize(device).catch(fail) : undefined));
    const watched = { device, progress: () => tilesDone(token), phase: at };
    const guarded = this.#watch.guard(watched, { results, end });
    guarded.end.catch(() => undefined); // ends are asked for once results are there
    return guarded;
  }

  /** An input for a run on a device. */
  #lend(buffer: number, device: string): RunInput {
    const holding = this.#holdings.get(buffer)!;
    if (holding.kind === 'pieces' && holding.pieces.some((piece) => piece.buffer.device !== device))
      this.#lent.add(buffer);
    return this.#inputOf(buffer);
  }

  #inputOf(buffer: number): RunInput {
    const holding = this.#holdings.get(buffer)!;
    switch (holding.kind) {
      case 'given':
        return holding.input;
      case 'host':
        return bytesOver(bytesOf(holding.memory));
      case 'pieces':
        return { pieces: holding.pieces };
      case 'files':
        throw new InternalError('[run] a result in files was to be read');
    }
  }

  #destinationsOf({ outputs, plan }: DeviceRun, { kind }: Phase, at: number): OutputDestination[] {
    return outputs.map((b): OutputDestination => {
      const { location, byteLength } = this.#program.plan.values[b]!;
      if (location === 'devices') return 'device';
      const files = this.#directFilesOf(b, at);
      if (files !== undefined) return files;
      if (kind === 'whole' && plan.buffers[b]!.windowed !== true) return 'host';
      const holding = this.#holdings.get(b);
      if (holding?.kind !== 'host') {
        const { plan: whole, lockByteLength } = this.#program;
        const memory = allocateHost(whole.devices[0]!, byteLength, lockByteLength);
        this.#holdings.set(b, { kind: 'host', memory });
        return memory;
      }
      return holding.memory as DeviceBuffer;
    });
  }

  /**
   * The files that devices write a result to themselves: where none of them has all of it, nobody has its
   * checksum.
   */
  #directFilesOf(b: number, at: number): readonly FileOutput[] | undefined {
    const filesOf = this.#filesOf;
    if (filesOf === undefined || this.#program.plan.values[b]!.role !== 'output') return undefined;
    const files = filesOf(b);
    const isReadLater = (this.#program.lastRead.get(b) ?? at) > at;
    return isReadLater || files.some(({ checksum }) => checksum !== undefined) ? undefined : files;
  }

  /** Keeps what a run made. */
  #take({ outputs, plan }: DeviceRun, destinations: readonly OutputDestination[], result: RunResult): void {
    for (const [k, b] of outputs.entries()) {
      const destination = destinations[k]!;
      const output = result.outputs[k]!;
      if (destination === 'host') {
        this.#holdings.set(b, { kind: 'host', memory: output as ArrayBuffer });
      } else if (destination === 'device') {
        const known = this.#holdings.get(b);
        const pieces = known?.kind === 'pieces' ? known.pieces : [];
        const piece = { buffer: output as DeviceBuffer, first: plan.buffers[b]!.part?.[0] ?? 0 };
        if (piece.buffer.byteLength === 0) piece.buffer.dispose();
        else this.#holdings.set(b, { kind: 'pieces', pieces: [...pieces, piece] });
      } else if (Array.isArray(destination)) {
        this.#holdings.set(b, { kind: 'files', checksums: destination.map(() => 0) });
      }
    }
  }

  #drop(b: number): void {
    const holding = this.#holdings.get(b);
    this.#holdings.delete(b);
    if (holding?.kind === 'pieces') for (const { buffer } of holding.pieces) buffer.dispose();
    if (holding?.kind === 'host' && !(holding.memory instanceof ArrayBuffer)) holding.memory.dispose();
  }

  /** The plan's results, which belong to the caller then. */
  async #results(): Promise<ShardedResult> {
    const outputs: (ArrayBuffer | DeviceBuffer)[] = [];
    const checksums: (readonly number[])[] = [];
    for (const b of this.#program.resultValues) {
      const holding = this.#holdings.get(b)!;
      const { byteLength } = this.#program.plan.values[b]!;
      outputs.push(
        holding.kind === 'host'
          ? holding.memory
          : holding.kind === 'pieces'
            ? ShardedBuffer.over(holding.pieces, byteLength)
            : new ArrayBuffer(0),
      );
      if (this.#filesOf === undefined) continue;
      checksums.push(
        holding.kind === 'host'
          ? await writeFiles(bytesOf(holding.memory), this.#filesOf(b))
          : holding.kind === 'files'
            ? holding.checksums
            : [],
      );
    }
    return { outputs, checksums };
  }

  /** Frees what was made on devices. */
  #dispose(): void {
    const { values } = this.#program.plan;
    for (const b of [...this.#holdings.keys()]) if (values[b]!.role !== 'input') this.#drop(b);
  }
}

/**
 * A result in host memory that devices wrote to. It becomes an ArrayBuffer only for those who look at it:
 * the engine collects garbage for one of many MiB, and takes as long as many a compute.
 */
const bytesOf = (memory: ArrayBuffer | DeviceBuffer): ArrayBuffer =>
  memory instanceof ArrayBuffer ? memory : hostBytesOf(memory);

const isDeviceBuffer = (input: RunInput): input is DeviceBuffer => 'dispose' in input;

function holdingOf(input: RunInput): Holding {
  if (!isDeviceBuffer(input)) return { kind: 'given', input };
  return { kind: 'pieces', pieces: input.shards ?? [{ buffer: input, first: 0 }] };
}

/** Values left on other devices have no owner. */
function freeOutputs({ outputs }: RunResult): void {
  for (const output of outputs) if ('dispose' in output) output.dispose();
}
