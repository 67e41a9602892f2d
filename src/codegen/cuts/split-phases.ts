/**
 * Splits a kernel into kernels of one phase whose reductions combine in one order (`sum-order.ts`): results
 * of reductions go to buffers of their own, one value a row, that the later kernels load.
 *
 *     softmax of one long row     →   reduce max   |   reduce sum of exp   |   map: exp, divide
 *     sums of halves and floats   →   reduce sum   |   reduce sum
 *
 * For kernels with too few rows to walk them by one block each, and for reductions that alone take different
 * schedules. Called by `cuda.ts`.
 */

import { accessesOf, extract, liveValues, mapAccesses, sizesOf } from '../../fusion/kernel/algebra.js';
import { isOrdered, reductionsOf } from '../../fusion/kernel/arithmetic.js';
import { create } from '../../fusion/kernel/instruction.js';
import {
  type Access,
  type Instruction,
  type Kernel,
  product,
  type Store,
} from '../../fusion/kernel/kernel.js';
import { type Levels, levelsOf } from '../../fusion/kernel/levels.js';
import { byteLengthOf } from '../../graph/dtype.js';
import { aloneOf, chooseInOrder } from '../cuda/schedules/sum-order.js';
import { normalize } from './domain.js';

export interface SplitKernels {
  readonly kernels: readonly Kernel[];
  /** Buffers that the kernels hand results on in; they follow the kernel's own buffers. */
  readonly added: readonly { readonly byteLength: number; readonly position: number }[];
}

/** One kernel of a split: reductions of one phase, and element-level stores. */
interface Step {
  readonly phase: number;
  readonly reductions: readonly number[];
  readonly stores: readonly Store[];
}

export function splitPhases(kernel: Kernel): SplitKernels {
  const levels = levelsOf(kernel);
  const reduces = reductionsOf(kernel);
  const rows = product(kernel.parallel);
  const buffers = [...kernel.buffers];
  const place = new Map<number, number>();
  for (const { position, dtype } of reduces) {
    place.set(position, buffers.length);
    buffers.push({ dtype, role: 'output', elementCount: rows });
  }
  const steps: Step[] = [];
  for (let phase = 0; phase < levels.phases; phase++)
    steps.push(...stepsOf(kernel, levels, phase, { buffers, place }));
  const stepOf = new Map(
    steps.flatMap(({ reductions }, step) => reductions.map((at) => [at, step] as const)),
  );
  const lastReduce = Math.max(...stepOf.values());
  const rowStores = kernel.stores.filter(({ value }) => !levels.element[value]);
  const kernels = steps.map((step, number) =>
    kernelOf(kernel, step, number, {
      buffers,
      place,
      stores: number === lastReduce ? rowStores : [],
      isGiven: (position) => stepOf.get(position)! < number,
    }),
  );
  const added = reduces.map(({ position, dtype }) => ({
    position: place.get(position)!,
    byteLength: rows * byteLengthOf(dtype),
  }));
  return { kernels: kernels.filter((k) => k.stores.length > 0), added };
}

/** The buffers of a split kernel, and that of each reduction's results. */
interface Handed {
  readonly buffers: Kernel['buffers'];
  readonly place: ReadonlyMap<number, number>;
}

/** The kernels of a phase: one where that keeps the order of each reduction. */
function stepsOf(kernel: Kernel, levels: Levels, phase: number, handed: Handed): Step[] {
  const inPhase = (position: number): boolean => levels.phase[position] === phase;
  const reductions = reductionsOf(kernel)
    .map(({ position }) => position)
    .filter(inPhase);
  const stores = kernel.stores.filter(({ value }) => levels.element[value] && inPhase(value));
  const keepsOrder = (step: Step): boolean => {
    const isGiven = (position: number): boolean => levels.phase[position]! < phase;
    const part = kernelOf(kernel, step, 0, { ...handed, stores: [], isGiven });
    return chooseInOrder(normalize(part)) !== undefined;
  };
  const whole: Step = { phase, reductions, stores };
  if (reductions.length === 0 || keepsOrder(whole)) return [whole];
  const groups = groupsOf(kernel, reductions).flatMap((group): Step[] => {
    const step: Step = { phase, reductions: group, stores: [] };
    if (group.length === 1 || keepsOrder(step)) return [step];
    return group.map((position) => ({ ...step, reductions: [position] }));
  });
  const taker = groups.findIndex((step) => keepsOrder({ ...step, stores }));
  if (taker < 0) return stores.length === 0 ? groups : [...groups, { phase, reductions: [], stores }];
  return groups.map((step, k) => (k === taker ? { ...step, stores } : step));
}

/** Reductions by the order that they have alone; those that have none are a group of their own. */
function groupsOf(kernel: Kernel, reductions: readonly number[]): number[][] {
  const normal = normalize(kernel);
  const groups = new Map<string, number[]>();
  for (const position of reductions) {
    const order = isOrdered(kernel, position) ? aloneOf(normal, position).order : '';
    groups.set(order, [...(groups.get(order) ?? []), position]);
  }
  return [...groups.values()];
}

function kernelOf(
  kernel: Kernel,
  { reductions, stores }: Step,
  number: number,
  split: Handed & { readonly stores: readonly Store[]; readonly isGiven: (position: number) => boolean },
): Kernel {
  const { buffers, place, isGiven } = split;
  const handedOn = reductions.map(
    (value): Store => ({ value, access: rowAccess(kernel, place.get(value)!) }),
  );
  const replaced = (position: number): boolean => place.has(position) && isGiven(position);
  const all = [...stores, ...split.stores, ...handedOn];
  return subKernel(kernel, number, reductions.length > 0, all, replaced, place, buffers);
}

/** Dense over the parallel axes. */
function rowAccess(kernel: Kernel, buffer: number): Access {
  const strides = sizesOf(kernel).map(() => 0);
  let stride = 1;
  for (let k = kernel.parallel.length - 1; k >= 0; k--) {
    strides[k] = stride;
    stride *= kernel.parallel[k]!;
  }
  return { buffer, offset: 0, strides, bounds: [] };
}

/** The part of the tape that `stores` need; results of earlier reductions become loads. */
function subKernel(
  kernel: Kernel,
  step: number,
  reduces: boolean,
  stores: readonly Store[],
  replaced: (position: number) => boolean,
  place: ReadonlyMap<number, number>,
  buffers: Kernel['buffers'],
): Kernel {
  const handedOn = kernel.tape.map(
    (i, position): Instruction =>
      replaced(position) ? create.load(i.dtype, rowAccess(kernel, place.get(position)!)) : i,
  );
  const values = stores.map((store) => store.value);
  const { tape, moved } = extract(handedOn, liveValues(handedOn, values));
  const written = new Set(stores.map((store) => store.access.buffer));
  const roles = buffers.map((buffer, k) => ({
    ...buffer,
    role: written.has(k) ? ('output' as const) : ('input' as const),
  }));
  return {
    name: `${kernel.name}_${step}`,
    // Without a reduction of its own, a phase is a map over the whole domain.
    parallel: reduces ? kernel.parallel : sizesOf(kernel),
    reduced: reduces ? kernel.reduced : [],
    buffers: roles,
    tape,
    stores: stores.map((store) => ({ ...store, value: moved.get(store.value)! })),
  };
}

/** A kernel without the buffers that it does not touch; `used`: the old positions of those that it does. */
export function usedBuffers(kernel: Kernel): { readonly kernel: Kernel; readonly used: readonly number[] } {
  const used = [...new Set(accessesOf(kernel).map(({ buffer }) => buffer))].sort((a, b) => a - b);
  const renamed = mapAccesses(kernel, (access) => ({ ...access, buffer: used.indexOf(access.buffer) }));
  return { kernel: { ...renamed, buffers: used.map((k) => kernel.buffers[k]!) }, used };
}
