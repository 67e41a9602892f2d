/**
 * SumMaps: the part of a kernel that the order of its sums depends on, which is its index maps. They are kept
 * without repeats and read on where the kernel has grown, since a kernel is asked about at every merge.
 *
 * Kept by `mutable-kernel.ts`, read by `sum-order.ts`.
 */
import { affinesIn, liveValues, loadOf, type Tape } from '../kernel/algebra.js';
import { isOrdered } from '../kernel/arithmetic.js';
import { type Affine, type Instruction, sameNumbers } from '../kernel/kernel.js';

/** An index map, and for that of a load the position of its buffer, else -1. */
export interface IndexMap {
  readonly affine: Affine;
  readonly buffer: number;
}

/** The index maps that some values of a tape depend on. */
export function mapsOf(tape: readonly Instruction[], values: readonly number[]): readonly IndexMap[] {
  const maps = new IndexMaps();
  for (const position of liveValues(tape, values)) maps.add(tape[position]!);
  return maps.all;
}

/** Index maps without repeats: of those with the same strides and buffer, the first. */
class IndexMaps {
  readonly all: IndexMap[] = [];
  readonly #ofBuffer = new Map<number, Affine[]>();

  add(i: Instruction): void {
    const affines = affinesIn(i);
    const buffer = loadOf(i)?.buffer ?? -1;
    for (let k = 0; k < affines.length; k++) this.#note(affines[k]!, k === 0 ? buffer : -1);
  }

  #note(affine: Affine, buffer: number): void {
    const known = this.#ofBuffer.get(buffer);
    if (known?.some(({ strides }) => sameNumbers(strides, affine.strides)) === true) return;
    if (known === undefined) this.#ofBuffer.set(buffer, [affine]);
    else known.push(affine);
    this.all.push({ affine, buffer });
  }
}

export class SumMaps {
  readonly #kernel: Pick<Tape, 'tape'>;
  readonly #whole = new IndexMaps();
  #length = 0;
  #searched = 0;
  #sum = -1;
  #ofSum: readonly IndexMap[] | undefined;

  constructor(kernel: Pick<Tape, 'tape'>) {
    this.#kernel = kernel;
  }

  /** Position of the first reduction whose result depends on its order; -1: none. */
  get sum(): number {
    const { tape } = this.#kernel;
    for (; this.#sum < 0 && this.#searched < tape.length; this.#searched++)
      if (isOrdered(this.#kernel, this.#searched)) this.#sum = this.#searched;
    return this.#sum;
  }

  /** The index maps that this reduction depends on. */
  get ofSum(): readonly IndexMap[] {
    this.#ofSum ??= mapsOf(this.#kernel.tape, [this.sum]);
    return this.#ofSum;
  }

  /** The index maps of the whole tape. */
  get whole(): readonly IndexMap[] {
    const { tape } = this.#kernel;
    for (; this.#length < tape.length; this.#length++) this.#whole.add(tape[this.#length]!);
    return this.#whole.all;
  }
}
