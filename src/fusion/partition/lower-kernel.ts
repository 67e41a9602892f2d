/**
 * Finishes a fused kernel: drops instructions that nothing uses, puts reduced axes in memory order, collapses
 * axes that every access walks as one, orders buffers, and names it. Code is generated from
 * the result.
 *
 *     parallel [64, 32] all strides (32, 1)   →   parallel [2048] stride 1
 */

import { accessesOf, loadsOf, mapAccesses, withoutDead } from '../kernel/algebra.js';
import { functionsOf, hasMonoid, isConstant } from '../kernel/arithmetic.js';
import { mergeAxes, permuteAxes } from '../kernel/axes.js';
import type { Instruction, Kernel } from '../kernel/kernel.js';
import { isSame } from '../kernel/tape-builder.js';
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
  readonly kernel: Kernel;
  readonly order: readonly number[];
  /** Of the structure's first kernel. */
  readonly constants: readonly Instruction[];
}

/** Lowers the kernels of a graph, each structure once; equal kernels are the same object, for which code is made once. */
export class KernelLowering {
  readonly #known = new Map<Structure, LoweredStructure>();

  lower(instance: KernelInstance): LoweredKernel {
    const { structure, buffers, constants } = instance;
    if (structure.number < 0) {
      const { kernel, order } = lowerKernel(structure.kernel.toFused());
      return { kernel, keys: order.map((at) => buffers[at]!.key) };
    }
    let known = this.#known.get(structure);
    if (known === undefined) {
      known = { ...lowerKernel(instance.toFused()), constants };
      this.#known.set(structure, known);
    }
    const held = known.order.map((at) => buffers[at]!);
    return { kernel: withContents(known, held, constants), keys: held.map(({ key }) => key) };
  }
}

/** A lowered kernel with the extents of other buffers, and with other constants. */
function withContents(
  { kernel, constants: own }: LoweredStructure,
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
    tape: kernel.tape.map((i) => (isConstant(i) ? constants[own.indexOf(i)]! : i)),
  };
}

const MAX_NAME = 56;

function lowerKernel(fused: FusedKernel): Omit<LoweredStructure, 'constants'> {
  const tidy = mergeAxes(sortReduced(withoutDead(fused)));
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

/** Reduced axes in memory order, which the elements of a user's monoid do not take. */
function sortReduced(kernel: FusedKernel): FusedKernel {
  if (kernel.reduced.length < 2 || hasMonoid(kernel)) return kernel;
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
