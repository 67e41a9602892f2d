/**
 * Splits a kernel of several phases into kernels of one phase: results of a phase's reductions go to buffers
 * of their own, one value a row, that the later kernels load.
 *
 *     softmax of one long row   →   reduce max   |   reduce sum of exp   |   map: exp, divide
 *
 * For kernels with too few rows to walk them by one block each. Called by `cuda.ts`.
 */

import { accessesOf, extract, liveValues, mapAccesses, sizesOf } from '../../fusion/kernel/algebra.js';
import {
  type Access,
  type Instruction,
  type Kernel,
  product,
  type Store,
} from '../../fusion/kernel/kernel.js';
import { levelsOf } from '../../fusion/kernel/levels.js';
import { byteLengthOf } from '../../graph/dtype.js';

export interface SplitKernels {
  readonly kernels: readonly Kernel[];
  /** Buffers that the kernels hand results on in; they follow the kernel's own buffers. */
  readonly added: readonly { readonly byteLength: number; readonly position: number }[];
}

export function splitPhases(kernel: Kernel): SplitKernels {
  const levels = levelsOf(kernel);
  const reduces = kernel.tape.flatMap((i, position) => (i.kind === 'reduce' ? [position] : []));
  const rows = product(kernel.parallel);
  const buffers = [...kernel.buffers];
  const place = new Map<number, number>();
  for (const position of reduces) {
    place.set(position, buffers.length);
    buffers.push({ dtype: kernel.tape[position]!.dtype, role: 'output', elementCount: rows });
  }
  const lastReduce = Math.max(...reduces.map((position) => levels.phase[position]!));
  const kernels: Kernel[] = [];
  for (let phase = 0; phase < levels.phases; phase++) {
    const own = reduces.filter((position) => levels.phase[position] === phase);
    const stores = kernel.stores.filter(({ value }) =>
      levels.element[value] ? levels.phase[value] === phase : phase === Math.max(lastReduce, 0),
    );
    const handed = own.map((value): Store => ({ value, access: rowAccess(kernel, place.get(value)!) }));
    const replaced = (position: number): boolean => place.has(position) && levels.phase[position]! < phase;
    kernels.push(subKernel(kernel, phase, own.length > 0, [...stores, ...handed], replaced, place, buffers));
  }
  const added = reduces.map((position) => ({
    position: place.get(position)!,
    byteLength: rows * byteLengthOf(kernel.tape[position]!.dtype),
  }));
  return { kernels: kernels.filter((k) => k.stores.length > 0), added };
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
  phase: number,
  reduces: boolean,
  stores: readonly Store[],
  replaced: (position: number) => boolean,
  place: ReadonlyMap<number, number>,
  buffers: Kernel['buffers'],
): Kernel {
  const handedOn = kernel.tape.map(
    (i, position): Instruction =>
      replaced(position)
        ? { kind: 'load', dtype: i.dtype, access: rowAccess(kernel, place.get(position)!) }
        : i,
  );
  const values = stores.map((store) => store.value);
  const { tape, moved } = extract(handedOn, liveValues(handedOn, values));
  const written = new Set(stores.map((store) => store.access.buffer));
  const roles = buffers.map((buffer, k) => ({
    ...buffer,
    role: written.has(k) ? ('output' as const) : ('input' as const),
  }));
  return {
    name: `${kernel.name}_${phase}`,
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
