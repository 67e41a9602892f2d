/**
 * Where the values of a sharded run lie: given, in host memory, in pieces on devices, in files. Made by
 * `sharded-run.ts`, whose phases read and write them.
 */
import type { DeviceBuffer } from '../../graph/expr.js';
import { InternalError } from '../../host/errors.js';
import { bytesOver } from '../native/host-memory.js';
import {
  allocateHost,
  type BufferPiece,
  type FileOutput,
  hostBytesOf,
  type OutputDestination,
  type RunInput,
  type RunResult,
  sliceBuffer,
  writeFiles,
} from '../native/native.js';
import type { DeviceRun, Phase, PhaseLoop } from '../plan/plan.js';
import type { Program } from '../run/program.js';
import { ShardedBuffer } from './sharded-buffer.js';

/** For each distinct result, in the order of the program's. */
export type ShardedResult = Pick<RunResult, 'outputs' | 'checksums'>;

type Holding =
  | { readonly kind: 'given'; readonly input: RunInput }
  | { readonly kind: 'host'; readonly memory: ArrayBuffer | DeviceBuffer }
  | { readonly kind: 'pieces'; readonly pieces: readonly BufferPiece[] }
  | { readonly kind: 'files'; readonly checksums: readonly number[] };

export class Holdings {
  readonly #program: Program;
  /** For a buffer that is a result for files: those files. */
  readonly #filesOf: ((buffer: number) => readonly FileOutput[]) | undefined;
  readonly #holdings = new Map<number, Holding>();

  /** `inputs`: what the program's inputs are read from. */
  constructor(
    program: Program,
    inputs: readonly RunInput[],
    filesOf: ((buffer: number) => readonly FileOutput[]) | undefined,
  ) {
    this.#program = program;
    this.#filesOf = filesOf;
    for (const [k, b] of program.inputs.entries()) this.#holdings.set(b, holdingOf(inputs[k]!));
  }

  /** Whether a run on a device reads pieces of a value on other ones. */
  isElsewhere(buffer: number, device: string): boolean {
    const holding = this.#holdings.get(buffer);
    return holding?.kind === 'pieces' && holding.pieces.some((piece) => piece.buffer.device !== device);
  }

  inputOf(buffer: number): RunInput {
    const holding = this.#holdings.get(buffer)!;
    switch (holding.kind) {
      case 'given':
        return holding.input;
      case 'host':
        return holding.memory instanceof ArrayBuffer ? bytesOver(holding.memory) : holding.memory;
      case 'pieces':
        return { pieces: holding.pieces };
      case 'files':
        throw new InternalError('[run] a result in files was to be read');
    }
  }

  /** Where a run of a phase writes what it makes. */
  destinationsOf({ outputs, plan }: DeviceRun, { kind }: Phase, at: number): OutputDestination[] {
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
    return isReadLater || files.length === 0 || files.some(({ checksum }) => checksum !== undefined)
      ? undefined
      : files;
  }

  /** Keeps what a run made. */
  take({ outputs, plan }: DeviceRun, destinations: readonly OutputDestination[], result: RunResult): void {
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

  drop(b: number): void {
    const holding = this.#holdings.get(b);
    this.#holdings.delete(b);
    if (holding !== undefined) free(holding);
  }

  /** A round's results are current in the next one, which writes to host memory of the one before. */
  rotate({ states }: PhaseLoop, isLead: boolean): void {
    for (const { first, current, next } of states) {
      const made = isLead ? first : next;
      const before = this.#holdings.get(current);
      this.#move(made, current);
      if (before?.kind === 'host' && !(before.memory instanceof ArrayBuffer))
        this.#holdings.set(next, before);
      else if (before !== undefined) free(before);
    }
  }

  /** Before states are kept for the `k`th time: those that wait in host memory are written where they belong. */
  placeFrames({ states }: PhaseLoop, k: number): void {
    const { plan, lockByteLength } = this.#program;
    for (const { frame, kept } of states) {
      if (frame < 0 || plan.values[frame]!.location === 'devices') continue;
      const { byteLength } = plan.values[frame]!;
      if (k === 0) {
        const memory = allocateHost(plan.devices[0]!, plan.values[kept]!.byteLength, lockByteLength);
        this.#holdings.set(kept, { kind: 'host', memory });
      }
      const whole = this.#holdings.get(kept);
      if (whole?.kind !== 'host') throw new InternalError('[run] kept states that lie nowhere');
      const memory = sliceBuffer(whole.memory as DeviceBuffer, k * byteLength, byteLength);
      this.#holdings.set(frame, { kind: 'host', memory });
    }
  }

  /** After that: those on devices are further pieces of what is kept. */
  keepFrames({ states }: PhaseLoop, k: number): void {
    for (const { frame, kept } of states) {
      const made = this.#holdings.get(frame);
      if (made?.kind === 'host') this.drop(frame);
      if (made?.kind !== 'pieces') continue;
      const before = this.#holdings.get(kept);
      const { byteLength } = this.#program.plan.values[frame]!;
      const moved = made.pieces.map(({ buffer, first }) => ({ buffer, first: first + k * byteLength }));
      const pieces = [...(before?.kind === 'pieces' ? before.pieces : []), ...moved];
      this.#holdings.set(kept, { kind: 'pieces', pieces });
      this.#holdings.delete(frame);
    }
  }

  /** Of a loop without a round: its first states are the last ones, and nothing else of `drops` is needed. */
  skip({ states }: PhaseLoop, drops: readonly number[]): void {
    for (const { initial, current } of states) {
      const holding = this.#holdings.get(initial);
      if (drops.includes(initial)) this.#move(initial, current);
      else if (holding !== undefined) this.#holdings.set(current, shared(holding));
    }
    for (const b of drops) this.drop(b);
  }

  #move(from: number, to: number): void {
    const holding = this.#holdings.get(from);
    this.#holdings.delete(from);
    if (holding === undefined) this.#holdings.delete(to);
    else this.#holdings.set(to, holding);
  }

  /** Whether a bool in host memory is true. */
  isTrue(buffer: number): boolean {
    const holding = this.#holdings.get(buffer);
    if (holding?.kind !== 'host') throw new InternalError('[run] a condition that is not in host memory');
    const memory = bytesOf(holding.memory);
    this.#holdings.set(buffer, { kind: 'host', memory });
    return new Uint8Array(memory)[0] !== 0;
  }

  /** The plan's results, which belong to the caller then. */
  async results(): Promise<ShardedResult> {
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
  dispose(): void {
    const { values } = this.#program.plan;
    for (const b of [...this.#holdings.keys()]) if (values[b]!.role !== 'input') this.drop(b);
  }
}

/**
 * A result in host memory that devices wrote to. It becomes an ArrayBuffer only for those who look at it:
 * the engine collects garbage for one of many MiB, and takes as long as many a compute.
 */
const bytesOf = (memory: ArrayBuffer | DeviceBuffer): ArrayBuffer =>
  memory instanceof ArrayBuffer ? memory : hostBytesOf(memory);

function free(holding: Holding): void {
  if (holding.kind === 'pieces') for (const { buffer } of holding.pieces) buffer.dispose();
  if (holding.kind === 'host' && !(holding.memory instanceof ArrayBuffer)) holding.memory.dispose();
}

/** Another holding of the same memory, which is freed by itself. */
function shared(holding: Holding): Holding {
  if (holding.kind === 'pieces')
    return {
      ...holding,
      pieces: holding.pieces.map(({ buffer, first }) => ({ buffer: buffer.share(), first })),
    };
  if (holding.kind !== 'host' || holding.memory instanceof ArrayBuffer) return holding;
  return { ...holding, memory: holding.memory.share() };
}

const isDeviceBuffer = (input: RunInput): input is DeviceBuffer => 'dispose' in input;

function holdingOf(input: RunInput): Holding {
  if (!isDeviceBuffer(input)) return { kind: 'given', input };
  return { kind: 'pieces', pieces: input.shards ?? [{ buffer: input, first: 0 }] };
}
