/**
 * Structures: what kernels of a graph have in common, all but their buffers and the values of their constants. Each is
 * found as kernels are written, and kept for those that follow, up to a number of instructions; beyond it a structure is
 * one kernel's own, and grows in place. Called by `partition.ts` and `merged-structures.ts`.
 */
import { dtypeCode } from '../../graph/dtype.js';
import { isConstant } from '../kernel/arithmetic.js';
import { type Instruction, type Store, sameAffine, sameNumbers } from '../kernel/kernel.js';
import { hashOfStructure, isSameStructure } from '../kernel/tape-builder.js';
import { HashChains, mix, mixAffine, mixAll } from '../passes/hash.js';
import { KernelInstance, type Structure } from './kernel-instance.js';
import { MutableKernel, type WrittenKernel } from './mutable-kernel.js';

/**
 * Instructions of all structures of a graph that are kept. Each step of a kernel that grows by merges that recur is
 * one: a kernel over 95 siblings takes 10,000.
 */
const MOST_KEPT = 2 ** 16;

/** The structures of the kernels of one graph. */
export class Structures {
  /** Those of kernels as they were written, with their writers. */
  readonly #written: { readonly kernel: WrittenKernel; readonly structure: Structure }[] = [];
  readonly #chains = new HashChains();
  readonly #mostKept: number;
  #count = 0;
  #kept = 0;

  /** `mostKept`: instructions of all structures that kernels share. */
  constructor(mostKept = MOST_KEPT) {
    this.#mostKept = mostKept;
  }

  /** The kernel that was written; its structure is shared with those that were written alike. */
  instanceOf(kernel: WrittenKernel, nodes: readonly number[]): KernelInstance {
    const structure = this.#find(kernel);
    return new KernelInstance(structure, kernel.buffers.buffers, constantsOf(kernel), nodes);
  }

  /** The structure of merged kernels, which does not grow from now on where it is kept: where it is asked for and room. */
  ofMerged(kernel: MutableKernel, keeps: boolean, recurs: boolean): Structure {
    return { kernel, number: keeps ? this.#keep(kernel) : -1, recurs };
  }

  /** The number of a structure that is kept; -1: there is no room for it. */
  #keep({ tape }: MutableKernel): number {
    if (this.#kept + tape.length > this.#mostKept) return -1;
    this.#kept += tape.length;
    return this.#count++;
  }

  #find(kernel: WrittenKernel): Structure {
    const hash = hashOf(kernel);
    for (let at = this.#chains.first(hash); at >= 0; at = this.#chains.next(at))
      if (isSame(this.#written[at]!.kernel, kernel)) return this.#written[at]!.structure;
    const made = MutableKernel.written(kernel);
    const structure = { kernel: made, number: this.#keep(made), recurs: false };
    if (structure.number >= 0) {
      this.#written.push({ kernel, structure });
      this.#chains.push(hash);
    }
    return structure;
  }
}

const NO_CONSTANTS: readonly Instruction[] = [];

function constantsOf({ tape: { instructions } }: WrittenKernel): readonly Instruction[] {
  const constants = instructions.filter(isConstant);
  return constants.length === 0 ? NO_CONSTANTS : constants;
}

/** Equal for kernels of one structure; 30 bits. */
function hashOf({ parallel, reduced, tape, buffers, stores }: WrittenKernel): number {
  let hash = mixAll(mixAll(parallel.length, parallel), reduced);
  for (const i of tape.instructions) hash = mix(hash, hashOfStructure(i));
  for (const { buffer } of buffers.all) hash = mix(hash, dtypeCode(buffer.dtype));
  for (const { value, access } of stores) hash = mixAffine(mix(hash, value), access);
  return hash & 0x3fffffff;
}

function isSame(a: WrittenKernel, b: WrittenKernel): boolean {
  const [tape, other] = [a.tape.instructions, b.tape.instructions];
  return (
    sameNumbers(a.parallel, b.parallel) &&
    sameNumbers(a.reduced, b.reduced) &&
    tape.length === other.length &&
    a.stores.length === b.stores.length &&
    a.buffers.all.length === b.buffers.all.length &&
    tape.every((i, k) => isSameStructure(i, other[k]!)) &&
    a.stores.every((store, k) => isSameStore(store, b.stores[k]!)) &&
    a.buffers.all.every(({ buffer }, k) => buffer.dtype === b.buffers.all[k]!.buffer.dtype)
  );
}

/** Whether two stores of written kernels, which have no bounds, are equal. */
const isSameStore = (a: Store, b: Store): boolean =>
  a.value === b.value && a.access.buffer === b.access.buffer && sameAffine(a.access, b.access);
