/**
 * Finishes a fused kernel: drops instructions that nothing uses, shares those of alternatives, puts reduced axes in
 * memory order, collapses axes that every access walks as one, orders buffers, and names it. Code is generated from the
 * result.
 *
 *     parallel [64, 32] all strides (32, 1)   →   parallel [2048] stride 1
 */

import { SHORT_REDUCTION } from '../../graph/reductions.js';
import { accessesOf, loadsOf, mapAccesses, withoutDead } from '../kernel/algebra.js';
import { functionsOf, hasMonoid, isConstant } from '../kernel/arithmetic.js';
import { mergeAxes, permuteAxes } from '../kernel/axes.js';
import { withChannels } from '../kernel/channels.js';
import {
  type Instruction,
  type Kernel,
  product,
  type Store,
  sameAffine,
  sameBounds,
  sameNumbers,
} from '../kernel/kernel.js';
import { withSharedChoices } from '../kernel/shared-choices.js';
import { hashOf as hashOfInstruction, isSame } from '../kernel/tape-builder.js';
import { DistinctList, mix, mixAll } from '../passes/hash.js';
import type { BufferKey } from './buffer-key.js';
import type { FusedKernel, KernelBuffer } from './fused-kernel.js';
import type { KernelInstance, Structure } from './kernel-instance.js';
import { orderOfReduced } from './reduced-order.js';

export interface LoweredKernel {
  readonly kernel: Kernel;
  /** The contents of each of `kernel.buffers`. */
  readonly keys: readonly BufferKey[];
}

/** The first kernel of a structure, lowered, and where its buffers are in kernels of the structure. */
interface LoweredStructure {
  /** An equal one of another structure, if there is any. */
  readonly kernel: Kernel;
  /** Of the structure's first kernel itself: it has the objects of `constants`. */
  readonly tape: readonly Instruction[];
  readonly order: readonly number[];
  readonly constants: readonly Instruction[];
}

/** Lowers the kernels of a graph, each structure once; equal kernels are the same object, for which code is made once. */
export class KernelLowering {
  readonly #known = new Map<Structure, LoweredStructure>();
  /** The first kernel of each structure, and those that share none. */
  readonly #kernels = new DistinctList(hashOfKernel, isSameKernel);

  readonly #channels: number;

  /** `channels`: places along short axes that kernels compute together, at most (`kernel/channels.ts`). */
  constructor(channels: number) {
    this.#channels = channels;
  }

  lower(instance: KernelInstance): LoweredKernel {
    const { structure, buffers, constants } = instance;
    if (structure.number < 0) {
      const { kernel, order } = this.#lower(structure.kernel.toFused());
      return { kernel, keys: order.map((at) => buffers[at]!.key) };
    }
    let known = this.#known.get(structure);
    if (known === undefined) {
      known = { ...this.#lower(instance.toFused()), constants };
      this.#known.set(structure, known);
    }
    const held = known.order.map((at) => buffers[at]!);
    return { kernel: withContents(known, held, constants), keys: held.map(({ key }) => key) };
  }

  #lower(fused: FusedKernel): Omit<LoweredStructure, 'constants'> {
    const { kernel, order } = lowerKernel(fused, this.#channels);
    return { kernel: this.#kernels.all[this.#kernels.add(kernel)]!, tape: kernel.tape, order };
  }
}

/** Instructions that a kernel's hash is of: most kernels that differ do so in one of them. */
const HASHED = 8;

/** Equal for equal kernels; 30 bits. */
function hashOfKernel({ parallel, reduced, tape, stores }: Kernel): number {
  let hash = mixAll(mixAll(mix(tape.length, stores.length), parallel), reduced);
  for (let k = 0; k < tape.length && k < HASHED; k++) hash = mix(hash, hashOfInstruction(tape[k]!));
  return hash & 0x3fffffff;
}

const isSameKernel = (a: Kernel, b: Kernel): boolean =>
  a.tape.length === b.tape.length &&
  a.stores.length === b.stores.length &&
  a.buffers.length === b.buffers.length &&
  sameNumbers(a.parallel, b.parallel) &&
  sameNumbers(a.reduced, b.reduced) &&
  a.tape.every((i, k) => i.dtype === b.tape[k]!.dtype && isSame(i, b.tape[k]!)) &&
  a.stores.every((store, k) => isSameStore(store, b.stores[k]!)) &&
  a.buffers.every((buffer, k) => isSameBuffer(buffer, b.buffers[k]!));

const isSameStore = (a: Store, b: Store): boolean =>
  a.value === b.value &&
  a.access.buffer === b.access.buffer &&
  sameAffine(a.access, b.access) &&
  sameBounds(a.access.bounds, b.access.bounds);

const isSameBuffer = (a: Kernel['buffers'][number], b: Kernel['buffers'][number]): boolean =>
  a.dtype === b.dtype && a.role === b.role && a.elementCount === b.elementCount;

/** A lowered kernel with the extents of other buffers, and with other constants. */
function withContents(
  { kernel, tape, constants: own }: LoweredStructure,
  held: readonly KernelBuffer[],
  constants: readonly Instruction[],
): Kernel {
  const isAlike =
    held.every(({ elementCount }, k) => elementCount === kernel.buffers[k]!.elementCount) &&
    constants.every((constant, k) => isSame(constant, own[k]!));
  if (isAlike) return kernel;
  return {
    ...kernel,
    buffers: kernel.buffers.map((buffer, k) => ({ ...buffer, elementCount: held[k]!.elementCount })),
    tape: tape.map((i) => (isConstant(i) ? constants[own.indexOf(i)]! : i)),
  };
}

const MAX_NAME = 56;

function lowerKernel(fused: FusedKernel, channels: number): Pick<LoweredStructure, 'kernel' | 'order'> {
  const tidy = mergeAxes(
    withChannels(mergeAxes(sortReduced(withSharedChoices(withoutDead(fused)))), channels),
  );
  const { order, places } = orderBuffers(tidy);
  const { tape, stores } = mapAccesses(tidy, (access) => ({ ...access, buffer: places[access.buffer]! }));
  const isStored = new Uint8Array(order.length);
  for (const { access } of stores) isStored[access.buffer] = 1;
  const buffers = order.map((buffer) => tidy.buffers[buffer]!);
  const parameters = buffers.map(({ dtype, elementCount }, k) => ({
    dtype,
    role: isStored[k] === 1 ? ('output' as const) : ('input' as const),
    elementCount,
  }));
  const kernel = {
    name: nameOf(tidy),
    parallel: tidy.parallel,
    reduced: tidy.reduced,
    buffers: parameters,
    tape,
    stores,
  };
  return { kernel, order };
}

/** Reduced axes in memory order, which the elements of a user's monoid do not take, nor those of a short reduction. */
function sortReduced(kernel: FusedKernel): FusedKernel {
  if (kernel.reduced.length < 2 || hasMonoid(kernel) || product(kernel.reduced) <= SHORT_REDUCTION)
    return kernel;
  const first = kernel.parallel.length;
  const loads = loadsOf(kernel).map(({ access }) => access);
  const order = orderOfReduced({ first, sizes: kernel.reduced }, loads);
  return permuteAxes(kernel, [...kernel.parallel.keys(), ...order.map((axis) => first + axis)]);
}

/** Inputs in order of first load, then outputs in order of store; buffers no longer used are left out. */
function orderBuffers(kernel: FusedKernel): {
  readonly order: readonly number[];
  /** The place of each buffer in the order; -1: it is left out. */
  readonly places: readonly number[];
} {
  const order: number[] = [];
  const places = new Array<number>(kernel.buffers.length).fill(-1);
  const add = (buffer: number): void => {
    if (places[buffer] === -1) places[buffer] = order.push(buffer) - 1;
  };
  for (const { buffer } of accessesOf(kernel)) add(buffer);
  return { order, places };
}

const snakes = new Map<string, string>();

/** The name of an op in snake case; there are few, and each stands in many kernels. */
function snake(name: string): string {
  let text = snakes.get(name);
  if (text === undefined) {
    text = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    snakes.set(name, text);
  }
  return text;
}

/** `reduce_max_subtract_exp_sum`: its kind, then what it does in order of first use. */
function nameOf(kernel: FusedKernel): string {
  const words = functionsOf(kernel);
  let name = kernel.reduced.length === 0 ? 'map' : 'reduce';
  if (words.size === 0) return `${name}_copy`;
  for (const word of [...words].map(snake)) {
    if (name.length + word.length + 1 > MAX_NAME) return `${name}_etc`;
    name += `_${word}`;
  }
  return name;
}
