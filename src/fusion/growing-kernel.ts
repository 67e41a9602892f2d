/**
 * GrowingKernel: a kernel that takes in others. It keeps what merging asks again and again (loads and stores by buffer,
 * levels, how much it computes), so that a merge costs what is added, not what is there.
 *
 * `merge.ts` and `cluster.ts` decide what is taken in.
 */
import { BufferList } from './buffer-list.js';
import {
  type FusedKernel,
  type KernelBuffer,
  mapInstruction,
  moveAccess,
  moveAffine,
} from './fused-kernel.js';
import { type Access, type Affine, argumentsOf, type Instruction, product, type Store } from './kernel.js';
import { TapeBuilder } from './tape-builder.js';
import type { TapeLevels } from './tape-levels.js';

/** What can be taken in: a fused kernel, or one that grew itself. */
interface Part {
  readonly tape: readonly Instruction[];
  readonly buffers: readonly KernelBuffer[];
  readonly nodes: readonly number[];
}

export class GrowingKernel implements Part {
  #parallel: readonly number[];
  #reduced: readonly number[];
  /** All axes, parallel ones first. */
  readonly sizes: readonly number[];
  readonly domainSize: number;
  /** Different loads by the buffer's key, in order of the tape. */
  readonly loads = new Map<string, Access[]>();
  readonly stores = new Map<string, Store>();
  readonly nodes: number[] = [];
  /** Instructions that two kernels are not likely to share: their sum bounds what a merge of them holds. */
  arithmetic = 0;
  /** What `tape-levels.ts` found on the kernel's own axes. */
  ownLevels: TapeLevels | undefined;
  readonly #tape: TapeBuilder;
  readonly #buffers = new BufferList();

  /** A kernel that computes nothing yet, or what `tape` has. */
  constructor(parallel: readonly number[], reduced: readonly number[], tape = new TapeBuilder()) {
    this.#tape = tape;
    this.#parallel = parallel;
    this.#reduced = reduced;
    this.sizes = reduced.length === 0 ? parallel : [...parallel, ...reduced];
    this.domainSize = product(this.sizes);
  }

  /** A fused kernel that may grow; what wrote the fused kernel goes on writing. */
  static of(kernel: FusedKernel): GrowingKernel {
    const grown = new GrowingKernel(kernel.parallel, kernel.reduced, kernel.writer);
    if (kernel.writer === undefined) grown.#take(kernel, kernel.stores, undefined);
    else grown.#adopt(kernel);
    return grown;
  }

  #adopt(kernel: FusedKernel): void {
    for (const buffer of kernel.buffers) this.#buffers.at(buffer);
    for (const i of kernel.tape) this.#note(i);
    for (const store of kernel.stores) this.stores.set(this.buffers[store.access.buffer]!.key, store);
    for (let k = 0; k < kernel.nodes.length; k++) this.nodes.push(kernel.nodes[k]!);
  }

  get parallel(): readonly number[] {
    return this.#parallel;
  }

  get reduced(): readonly number[] {
    return this.#reduced;
  }

  /** Buffers that accesses name; not all are in use. */
  get buffers(): readonly KernelBuffer[] {
    return this.#buffers.all;
  }

  get tape(): readonly Instruction[] {
    return this.#tape.instructions;
  }

  /** Says which of the same axes are parallel and which reduced. */
  setDomain(parallel: readonly number[], reduced: readonly number[]): void {
    this.#parallel = parallel;
    this.#reduced = reduced;
  }

  /**
   * Computes another kernel as well. What that one reads and this one stores is taken from its register: the caller has seen
   * to it that it is read where it is made. `axisOf[k]` is the axis here of the other's axis k; none: it has the same axes.
   */
  add(other: GrowingKernel, axisOf: readonly number[] | undefined): void {
    this.#take(other, other.stores.values(), axisOf);
  }

  #take(part: Part, stores: Iterable<Store>, axisOf: readonly number[] | undefined): void {
    const axes = this.sizes.length;
    const affine = <T extends Affine>(a: T): T => (axisOf === undefined ? a : moveAffine(a, axisOf, axes));
    const bufferAt = (at: number): number => this.#buffers.at(part.buffers[at]!);
    const moved = new Array<number>(part.tape.length);
    for (let p = 0; p < moved.length; p++) {
      const i = part.tape[p]!;
      const held = i.kind === 'load' ? this.stores.get(part.buffers[i.access.buffer]!.key) : undefined;
      moved[p] = held?.value ?? this.#write(mapInstruction(i, movedArgs(i, moved), affine, bufferAt));
    }
    for (const store of stores) {
      const buffer = part.buffers[store.access.buffer]!;
      const at = this.#buffers.at(buffer);
      const access =
        axisOf === undefined ? { ...store.access, buffer: at } : moveAccess(store.access, axisOf, axes, at);
      this.stores.set(buffer.key, { value: moved[store.value]!, access });
    }
    for (let k = 0; k < part.nodes.length; k++) this.nodes.push(part.nodes[k]!);
  }

  #write(i: Instruction): number {
    const count = this.tape.length;
    const at = this.#tape.add(i);
    if (at === count) this.#note(i);
    return at;
  }

  #note(i: Instruction): void {
    if (i.kind === 'load') this.#noteLoad(i.access);
    else if (i.kind === 'map' || i.kind === 'reduce' || i.kind === 'cast') this.arithmetic++;
  }

  #noteLoad(access: Access): void {
    const { key } = this.buffers[access.buffer]!;
    const known = this.loads.get(key);
    if (known === undefined) this.loads.set(key, [access]);
    else known.push(access);
  }

  /** Whether an access names the buffer. */
  has(key: string): boolean {
    return this.#buffers.has(key);
  }

  /** Drops the stores of values that nobody else needs. */
  keepStores(keeps: (key: string) => boolean): void {
    for (const key of this.stores.keys()) if (!keeps(key)) this.stores.delete(key);
  }

  toFused(): FusedKernel {
    return {
      parallel: this.#parallel,
      reduced: this.#reduced,
      buffers: this.buffers,
      tape: this.tape,
      stores: [...this.stores.values()],
      nodes: this.nodes,
    };
  }
}

const NONE: readonly number[] = [];

/** An instruction's arguments at their new positions; the old list where nothing moved. */
function movedArgs(i: Instruction, moved: readonly number[]): readonly number[] {
  const args = argumentsOf(i);
  if (args.length === 0) return NONE;
  for (const arg of args) if (moved[arg] !== arg) return args.map((a) => moved[a]!);
  return args;
}
