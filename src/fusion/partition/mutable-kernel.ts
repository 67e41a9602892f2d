/**
 * MutableKernel: a kernel that takes in others. It keeps what merging asks again and again (what it does with
 * each buffer, levels, how much it computes), so that a merge costs what is added, not what is there.
 *
 * `merge.ts` decides what is taken in.
 */

import { isLeaf, loadOf } from '../kernel/algebra.js';
import { isConstant } from '../kernel/arithmetic.js';
import { mapInstruction } from '../kernel/instruction.js';
import {
  type Access,
  type Affine,
  argumentsOf,
  type Instruction,
  product,
  type Store,
} from '../kernel/kernel.js';
import { TapeBuilder } from '../kernel/tape-builder.js';
import type { BufferKey } from './buffer-key.js';
import { BufferList, type BufferUse, NO_STORES } from './buffer-list.js';
import { type FusedKernel, type KernelBuffer, moveAccess, moveAffine } from './fused-kernel.js';
import { SumMaps } from './sum-maps.js';
import type { TapeLevels } from './tape-levels.js';

/** A kernel as it was written, with its writers, which go on writing. */
export interface WrittenKernel {
  readonly parallel: readonly number[];
  readonly reduced: readonly number[];
  readonly tape: TapeBuilder;
  readonly buffers: BufferList;
  readonly stores: readonly Store[];
}

export const fusedOf = ({ parallel, reduced, tape, buffers, stores }: WrittenKernel): FusedKernel => ({
  parallel,
  reduced,
  buffers: buffers.buffers,
  tape: tape.instructions,
  stores,
});

export class MutableKernel {
  #parallel: readonly number[];
  #reduced: readonly number[];
  /** All axes, parallel ones first. */
  readonly sizes: readonly number[];
  readonly domainSize: number;
  /** Its constants, in order of the tape. */
  readonly constants: Instruction[];
  /** Instructions that two kernels are not likely to share: their sum bounds what a merge of them holds. */
  arithmetic: number;
  /** Levels on the kernel's own axes, from `tape-levels.ts`. */
  ownLevels: TapeLevels | undefined;
  #sumMaps: SumMaps | undefined;
  readonly #tape: TapeBuilder;
  readonly #buffers: BufferList;
  /** Kept until they change. */
  #loaded: readonly number[] | undefined;
  #stored: readonly number[] | undefined;

  /** `tape` and `buffers`: a kernel's, of which `constants` and `arithmetic` are known. */
  private constructor(
    { parallel, reduced }: Pick<WrittenKernel, 'parallel' | 'reduced'>,
    tape: TapeBuilder,
    buffers: BufferList,
    constants: Instruction[] = [],
    arithmetic = 0,
  ) {
    this.#parallel = parallel;
    this.#reduced = reduced;
    this.sizes = reduced.length === 0 ? parallel : [...parallel, ...reduced];
    this.domainSize = product(this.sizes);
    this.#tape = tape;
    this.#buffers = buffers;
    this.constants = constants;
    this.arithmetic = arithmetic;
  }

  /** A kernel that was written, whose writers are its own from now on. */
  static written(kernel: WrittenKernel): MutableKernel {
    const made = new MutableKernel(kernel, kernel.tape, kernel.buffers);
    for (const i of made.tape) made.#note(i);
    for (const store of kernel.stores) made.#store(store);
    return made;
  }

  /** A kernel that computes nothing yet. */
  static over(parallel: readonly number[], reduced: readonly number[]): MutableKernel {
    return new MutableKernel({ parallel, reduced }, new TapeBuilder(), new BufferList());
  }

  /** A fused kernel that may grow. */
  static of(kernel: FusedKernel): MutableKernel {
    const grown = MutableKernel.over(kernel.parallel, kernel.reduced);
    grown.#take(kernel, undefined);
    return grown;
  }

  /** A kernel of the same structure that may grow, with other buffers and constants in place of this one's. */
  instantiate(buffers: readonly KernelBuffer[], constants: readonly Instruction[]): MutableKernel {
    const tape = new TapeBuilder(withConstants(this.tape, constants));
    return new MutableKernel(this, tape, this.#buffers.withBuffers(buffers), [...constants], this.arithmetic);
  }

  get parallel(): readonly number[] {
    return this.#parallel;
  }

  get reduced(): readonly number[] {
    return this.#reduced;
  }

  /** The uses of its buffers; accesses name them by position. Not all are in use. */
  get uses(): readonly BufferUse[] {
    return this.#buffers.all;
  }

  /** The use of a buffer; undefined: no access names it. */
  useOf(key: BufferKey): BufferUse | undefined {
    return this.#buffers.of(key);
  }

  /** Different loads of a buffer, in order of the tape. */
  loadsOf(key: BufferKey): readonly Access[] {
    return this.useOf(key)?.loads ?? NO_LOADS;
  }

  /** The store that writes all of a buffer; undefined for one that is written part by part, or not at all. */
  storeOf(key: BufferKey): Store | undefined {
    const stores = this.storesOf(key);
    return stores.length === 1 ? stores[0] : undefined;
  }

  /** The store that writes what is read of a buffer: of several, one for each part, that of the part. */
  storeAt(key: BufferKey, { offset }: Pick<Affine, 'offset'>): Store | undefined {
    const stores = this.storesOf(key);
    return stores.length === 1 ? stores[0] : stores.find(({ access }) => access.offset === offset);
  }

  storesOf(key: BufferKey): readonly Store[] {
    return this.useOf(key)?.stores ?? NO_STORES;
  }

  /** Whether it loads or stores the buffer. */
  touches(key: BufferKey): boolean {
    const use = this.useOf(key);
    return use !== undefined && (use.loads.length > 0 || use.stores.length > 0);
  }

  /** Positions of the buffers that it loads. */
  get loaded(): readonly number[] {
    this.#loaded ??= [...this.uses.keys()].filter((at) => this.uses[at]!.loads.length > 0);
    return this.#loaded;
  }

  /** Positions of the buffers that it stores. */
  get stored(): readonly number[] {
    this.#stored ??= [...this.uses.keys()].filter((at) => this.uses[at]!.stores.length > 0);
    return this.#stored;
  }

  /** The addresses that it takes: a buffer that it loads and stores counts twice. */
  get bufferCount(): number {
    return this.loaded.length + this.stored.length;
  }

  /** The contents of its buffers, by position. */
  get buffers(): KernelBuffer[] {
    return this.#buffers.buffers;
  }

  /** The part of it that the order of its sums depends on. */
  get sumMaps(): SumMaps {
    this.#sumMaps ??= new SumMaps(this);
    return this.#sumMaps;
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
   * Computes another kernel as well. Values that it reads and this kernel stores are taken from registers:
   * the caller has seen to it that it is read where it is made. `axisOf[k]` is the axis here of the other's
   * axis k; none: it has the same axes.
   */
  add(other: MutableKernel, axisOf: readonly number[] | undefined): void {
    this.#take(other.toFused(), axisOf);
  }

  #take(part: FusedKernel, axisOf: readonly number[] | undefined): void {
    const axes = this.sizes.length;
    const affine = <T extends Affine>(a: T): T => (axisOf === undefined ? a : moveAffine(a, axisOf, axes));
    const bufferAt = (at: number): number => this.#buffers.at(part.buffers[at]!);
    const moved = new Array<number>(part.tape.length);
    for (let p = 0; p < moved.length; p++) {
      const i = part.tape[p]!;
      const read = loadOf(i);
      const held = read && this.storeAt(part.buffers[read.buffer]!.key, read);
      moved[p] = held?.value ?? this.#write(mapInstruction(i, movedArgs(i, moved), affine, bufferAt));
    }
    for (const store of part.stores) {
      const buffer = part.buffers[store.access.buffer]!;
      const at = this.#buffers.at(buffer);
      const access =
        axisOf === undefined ? { ...store.access, buffer: at } : moveAccess(store.access, axisOf, axes, at);
      this.#store({ value: moved[store.value]!, access });
    }
  }

  #store(store: Store): void {
    const use = this.uses[store.access.buffer]!;
    use.stores = use.stores.length === 0 ? [store] : [...use.stores, store];
    this.#stored = undefined;
  }

  #write(i: Instruction): number {
    const count = this.tape.length;
    const at = this.#tape.add(i);
    if (at === count) this.#note(i);
    return at;
  }

  #note(i: Instruction): void {
    const read = loadOf(i);
    if (read !== undefined) {
      this.#buffers.noteLoad(read);
      this.#loaded = undefined;
    } else if (isConstant(i)) {
      this.constants.push(i);
    } else if (!isLeaf(i)) {
      this.arithmetic++;
    }
  }

  /** Drops the stores of values that nobody else needs. */
  keepStores(isLiveOut: (key: BufferKey) => boolean): void {
    for (const use of this.uses)
      if (use.stores.length > 0 && !isLiveOut(use.buffer.key)) use.stores = NO_STORES;
    this.#stored = undefined;
  }

  get stores(): readonly Store[] {
    const stores: Store[] = [];
    for (const use of this.uses) for (const store of use.stores) stores.push(store);
    return stores;
  }

  toFused(): FusedKernel {
    const { parallel, reduced, buffers, tape, stores } = this;
    return { parallel, reduced, buffers, tape, stores };
  }
}

/** A tape with other constants, in order. */
export function withConstants(
  tape: readonly Instruction[],
  constants: readonly Instruction[],
): readonly Instruction[] {
  if (constants.length === 0) return tape;
  let next = 0;
  return tape.map((i) => (isConstant(i) ? constants[next++]! : i));
}

const NO_LOADS: readonly Access[] = [];
const NONE: readonly number[] = [];

/** An instruction's arguments at their new positions; the old list where nothing moved. */
function movedArgs(i: Instruction, moved: readonly number[]): readonly number[] {
  const args = argumentsOf(i);
  if (args.length === 0) return NONE;
  for (const arg of args) if (moved[arg] !== arg) return args.map((a) => moved[a]!);
  return args;
}
