/**
 * Runs a dealt plan: phase after phase, in each of which every device runs its program. What one phase made lies in pieces on
 * the devices, or in host memory that all of them write to, until the next one reads it. Called by `dealt.ts`.
 */
import { DeviceLostError, InternalError } from '../errors.js';
import type { DeviceBuffer } from '../graph/expr.js';
import type { DealtPlan, DeviceRun, Phase } from './deal-plan.js';
import {
  allocateHostArray,
  type BufferPiece,
  cancel,
  createCancel,
  type FileOutput,
  type NativeProgram,
  type OutputPlace,
  type RunInput,
  type RunResult,
  run,
  tilesDone,
  writeFiles,
} from './native.js';
import { ShardedBuffer } from './sharded-buffer.js';
import { watchStalls } from './stalls.js';

export interface DealtProgram {
  readonly plan: DealtPlan;
  /** For each run of each phase. */
  readonly programs: readonly (readonly NativeProgram[])[];
}

export interface DealtRunOptions {
  /** For a buffer that is a result for files: those files. */
  readonly filesOf?: ((buffer: number) => readonly FileOutput[]) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds that a device may take for a tile. */
  readonly deadline: number;
  /** Told of the tokens by which runs count their tiles, phase by phase. */
  readonly onTokens?: ((tokens: readonly object[]) => void) | undefined;
}

/** For each distinct result, in the order of `resultsOf`. */
export interface DealtResult {
  readonly outputs: readonly (ArrayBuffer | DeviceBuffer)[];
  readonly checksums: readonly (readonly number[])[];
}

/** The buffers of a plan that are results, each once. */
export const resultsOf = ({ outputs }: DealtPlan): number[] => [...new Set(outputs)].filter((b) => b >= 0);

type Holding =
  | { readonly kind: 'given'; readonly input: RunInput }
  | { readonly kind: 'host'; readonly bytes: ArrayBuffer }
  | { readonly kind: 'pieces'; readonly pieces: readonly BufferPiece[] }
  | { readonly kind: 'files'; readonly checksums: readonly number[] };

/** Runs the plan; `inputOf` gives what a source is read from. Rejects with the first failure, once all runs have ended. */
export async function runDealt(
  program: DealtProgram,
  inputOf: (source: number) => RunInput,
  options: DealtRunOptions,
): Promise<DealtResult> {
  const running = new DealtRun(program, inputOf, options);
  try {
    for (const at of program.plan.phases.keys()) await running.phase(at);
    return await running.results();
  } catch (error) {
    running.dispose();
    throw error;
  }
}

class DealtRun {
  readonly #program: DealtProgram;
  readonly #options: DealtRunOptions;
  readonly #holdings = new Map<number, Holding>();
  /** The last phase that reads a buffer. */
  readonly #lastRead = new Map<number, number>();

  constructor(program: DealtProgram, inputOf: (source: number) => RunInput, options: DealtRunOptions) {
    this.#program = program;
    this.#options = options;
    const { buffers, phases } = program.plan;
    for (const [at, { runs }] of phases.entries())
      for (const { inputs } of runs) for (const b of inputs) this.#lastRead.set(b, at);
    for (const b of this.#lastRead.keys()) {
      const { role, source } = buffers[b]!;
      if (role !== 'input') continue;
      const input = inputOf(source);
      this.#holdings.set(b, holdingOf(input));
    }
  }

  async phase(at: number): Promise<void> {
    const { signal, deadline, onTokens } = this.#options;
    signal?.throwIfAborted();
    const phase = this.#program.plan.phases[at]!;
    const places = phase.runs.map((deviceRun) => this.#placesOf(deviceRun, phase, at));
    const tokens = phase.runs.map(() => createCancel());
    onTokens?.(tokens);
    const stop = (): void => {
      for (const token of tokens) cancel(token);
    };
    signal?.addEventListener('abort', stop, { once: true });
    const watch = watchStalls(
      phase.runs.map(({ device }, k) => ({
        device: this.#program.plan.devices[device]!,
        progress: () => tilesDone(tokens[k]!),
      })),
      deadline,
    );
    const runs = phase.runs.map((deviceRun, k) =>
      watch.guard(
        k,
        run(
          this.#program.programs[at]![k]!,
          deviceRun.inputs.map((b) => this.#inputOf(b)),
          { outputs: places[k]!, cancel: tokens[k] },
        ).catch((error: unknown) => {
          throw named(error, this.#program.plan.devices[deviceRun.device]!);
        }),
      ),
    );
    try {
      const results = await allOf(runs, stop);
      for (const [k, result] of results.entries()) this.#take(phase.runs[k]!, places[k]!, result);
    } finally {
      watch.end();
      signal?.removeEventListener('abort', stop);
    }
    for (const b of phase.drops) this.#drop(b);
  }

  #inputOf(buffer: number): RunInput {
    const holding = this.#holdings.get(buffer)!;
    switch (holding.kind) {
      case 'given':
        return holding.input;
      case 'host':
        return new Uint8Array(holding.bytes);
      case 'pieces':
        return { pieces: holding.pieces };
      case 'files':
        throw new InternalError('[run] a result in files was to be read');
    }
  }

  #placesOf({ outputs, plan }: DeviceRun, { kind }: Phase, at: number): OutputPlace[] {
    return outputs.map((b): OutputPlace => {
      const { home, byteLength } = this.#program.plan.buffers[b]!;
      if (home === 'devices') return 'device';
      const files = this.#directFilesOf(b, at);
      if (files !== undefined) return files;
      if (kind === 'whole' && plan.buffers[b]!.windowed !== true) return 'host';
      let holding = this.#holdings.get(b);
      if (holding?.kind !== 'host') {
        holding = { kind: 'host', bytes: allocateHostArray(byteLength) };
        this.#holdings.set(b, holding);
      }
      return new Uint8Array(holding.bytes);
    });
  }

  /** The files that devices write a result to themselves: where none of them has all of it, nobody has its checksum. */
  #directFilesOf(b: number, at: number): readonly FileOutput[] | undefined {
    const { filesOf } = this.#options;
    if (filesOf === undefined || this.#program.plan.buffers[b]!.role !== 'output') return undefined;
    const files = filesOf(b);
    const isReadLater = (this.#lastRead.get(b) ?? at) > at;
    return isReadLater || files.some(({ checksum }) => checksum !== undefined) ? undefined : files;
  }

  /** Keeps what a run made. */
  #take({ outputs, plan }: DeviceRun, places: readonly OutputPlace[], result: RunResult): void {
    for (const [k, b] of outputs.entries()) {
      const place = places[k]!;
      const output = result.outputs[k]!;
      if (place === 'host') {
        this.#holdings.set(b, { kind: 'host', bytes: output as ArrayBuffer });
      } else if (place === 'device') {
        const known = this.#holdings.get(b);
        const pieces = known?.kind === 'pieces' ? known.pieces : [];
        const piece = { buffer: output as DeviceBuffer, first: plan.buffers[b]!.part?.[0] ?? 0 };
        if (piece.buffer.byteLength === 0) piece.buffer.dispose();
        else this.#holdings.set(b, { kind: 'pieces', pieces: [...pieces, piece] });
      } else if (Array.isArray(place)) {
        this.#holdings.set(b, { kind: 'files', checksums: place.map(() => 0) });
      }
    }
  }

  #drop(b: number): void {
    const holding = this.#holdings.get(b);
    this.#holdings.delete(b);
    if (holding?.kind === 'pieces') for (const { buffer } of holding.pieces) buffer.dispose();
  }

  /** What the plan's results are, which belong to the caller then. */
  async results(): Promise<DealtResult> {
    const outputs: (ArrayBuffer | DeviceBuffer)[] = [];
    const checksums: (readonly number[])[] = [];
    for (const b of resultsOf(this.#program.plan)) {
      const holding = this.#holdings.get(b)!;
      const { byteLength } = this.#program.plan.buffers[b]!;
      outputs.push(
        holding.kind === 'host'
          ? holding.bytes
          : holding.kind === 'pieces'
            ? ShardedBuffer.over(holding.pieces, byteLength)
            : new ArrayBuffer(0),
      );
      if (this.#options.filesOf === undefined) continue;
      checksums.push(
        holding.kind === 'host'
          ? await writeFiles(holding.bytes, this.#options.filesOf(b))
          : holding.kind === 'files'
            ? holding.checksums
            : [],
      );
    }
    return { outputs, checksums };
  }

  /** Frees what was made on devices. */
  dispose(): void {
    const { buffers } = this.#program.plan;
    for (const b of [...this.#holdings.keys()]) if (buffers[b]!.role !== 'input') this.#drop(b);
  }
}

/** The error of a lost device says which one it is: that of the run, or one that the run copies from. */
function named(error: unknown, device: string): unknown {
  if (!(error instanceof DeviceLostError) || error.device !== undefined) return error;
  const [, other] = /^\[(cuda:\d+)\]/.exec(error.message) ?? [];
  const message = other === undefined ? `[${device}] ${error.message}` : error.message;
  return new DeviceLostError(message, error.status, other ?? device);
}

const isDeviceBuffer = (input: RunInput): input is DeviceBuffer => 'dispose' in input;

function holdingOf(input: RunInput): Holding {
  if (!isDeviceBuffer(input)) return { kind: 'given', input };
  return { kind: 'pieces', pieces: input.shards ?? [{ buffer: input, first: 0 }] };
}

/**
 * All of the results. On the first failure the others are stopped, and it is thrown once they have ended; of several failures,
 * that a device was lost matters most, and that others were stopped least.
 */
async function allOf(runs: readonly Promise<RunResult>[], stop: () => void): Promise<RunResult[]> {
  const settled = await Promise.allSettled(
    runs.map((one) =>
      one.catch((error: unknown) => {
        stop();
        throw error;
      }),
    ),
  );
  const errors = settled.flatMap((result) =>
    result.status === 'rejected' ? [result.reason as unknown] : [],
  );
  if (errors.length > 0) {
    // What other devices left belongs to nobody.
    for (const result of settled)
      if (result.status === 'fulfilled')
        for (const output of result.value.outputs) if ('dispose' in output) output.dispose();
    const isStopped = (error: unknown): boolean => error instanceof DOMException;
    throw (
      errors.find((error) => error instanceof DeviceLostError) ??
      errors.find((error) => !isStopped(error)) ??
      errors[0]
    );
  }
  return settled.map((result) => (result as PromiseFulfilledResult<RunResult>).value);
}
