/**
 * KernelInstance: a kernel as its structure, which equal kernels share, with the buffers and constants of its own:
 *
 *     relu(x0 + b0), relu(x1 + b1), …   →   one structure, load, load, add, const, maximum; buffers x0 b0 y0, x1 b1 y1, …
 *
 * A network's layers are thousands of kernels of a few structures (`structures.ts`): each is kept once, merged with another
 * a few times at most (`merged-structures.ts`) and lowered once (`lower-kernel.ts`).
 */
import type { Instruction } from '../kernel/kernel.js';
import type { BufferKey } from './buffer-key.js';
import type { FusedKernel, KernelBuffer } from './fused-kernel.js';
import { type MutableKernel, withConstants } from './mutable-kernel.js';

/** A structure: a kernel that does not grow where it is shared. */
export interface Structure {
  readonly kernel: MutableKernel;
  /** Of a shared one; -1: one kernel's own. */
  readonly number: number;
  /** Whether it is of merged kernels, and more than one has come to it. */
  recurs: boolean;
}

export class KernelInstance {
  #structure: Structure;
  #buffers: readonly KernelBuffer[];
  #constants: readonly Instruction[];
  #reads: readonly BufferKey[] | undefined;
  #writes: readonly BufferKey[] | undefined;
  /** Graph nodes whose arithmetic it holds; one may stand more than once. */
  readonly nodes: number[];

  constructor(
    structure: Structure,
    buffers: readonly KernelBuffer[],
    constants: readonly Instruction[],
    nodes: readonly number[],
  ) {
    this.#structure = structure;
    this.#buffers = buffers;
    this.#constants = constants;
    this.nodes = [...nodes];
  }

  get structure(): Structure {
    return this.#structure;
  }

  /** The kernel that its structure was found with: of the same domain, tape and accesses, of other buffers and constants. */
  get model(): MutableKernel {
    return this.#structure.kernel;
  }

  /** By position. */
  get buffers(): readonly KernelBuffer[] {
    return this.#buffers;
  }

  /** In order of the tape. */
  get constants(): readonly Instruction[] {
    return this.#constants;
  }

  /** The buffers that it loads. */
  get reads(): readonly BufferKey[] {
    this.#reads ??= this.model.loaded.map((at) => this.#buffers[at]!.key);
    return this.#reads;
  }

  /** The buffers that it stores. */
  get writes(): readonly BufferKey[] {
    this.#writes ??= this.model.stored.map((at) => this.#buffers[at]!.key);
    return this.#writes;
  }

  /** The kernel itself, which may grow: a copy of a shared structure. */
  toMutable(): MutableKernel {
    return this.#structure.number < 0 ? this.model : this.model.instantiate(this.#buffers, this.#constants);
  }

  toFused(): FusedKernel {
    const kernel = this.model.toFused();
    return { ...kernel, buffers: this.#buffers, tape: withConstants(kernel.tape, this.#constants) };
  }

  /** Computes another one's nodes as well, by a structure that holds both. */
  become(
    structure: Structure,
    buffers: readonly KernelBuffer[],
    constants: readonly Instruction[],
    { nodes }: KernelInstance,
  ): void {
    this.#structure = structure;
    this.#buffers = buffers;
    this.#constants = constants;
    this.#reads = undefined;
    this.#writes = undefined;
    for (const node of nodes) this.nodes.push(node);
  }
}
